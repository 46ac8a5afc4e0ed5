"""Pictures hold the numbers they claim to show."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from ewp.display.axes import PALETTE, subsample
from ewp.display.plots import plot_clusters, plot_trace, plot_weights
from tests.support.results import make_results, make_trace


@pytest.fixture(autouse=True)
def _draw_and_close_figures():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def tick_labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def diamonds(ax):
    """Positions of the centroids drawn."""
    return np.vstack([c.get_offsets() for c in ax.collections[1:]])


# --- weights -----------------------------------------------------------------------------------


def test_bars_are_the_sorted_weights():
    results = make_results(names=list("abcde"), weights=[0.1, 0.4, 0.2, 0.25, 0.05])
    ax = results.plot_weights()
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [0.4, 0.25, 0.2, 0.1, 0.05])
    assert tick_labels(ax) == list("bdcae")
    assert ax.yaxis_inverted()
    assert ax.lines[0].get_xdata()[0] == pytest.approx(1 / 5)
    assert ax.get_xlabel() == "weight"


def test_many_features_are_cut_and_the_rest_is_stated():
    w = np.random.default_rng(0).dirichlet(np.full(4434, 0.05))
    ax = plot_weights(w, top=20)
    assert len(ax.patches) == 20
    rest = 100 * np.sort(w)[:-20].sum()
    assert f"the other 4414 features hold {rest:.3g} % of the weight" in ax.get_xlabel()


def test_intervals_are_drawn_for_the_features_shown():
    w = np.array([0.2, 0.5, 0.3])
    ax = plot_weights(w, top=2, intervals=(w / 2, w * 1.5))
    ends = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(ends, [[0.25, 0.75], [0.15, 0.45]])


def test_names_are_not_read_as_mathematics_and_long_ones_are_cut():
    ax = plot_weights([0.5, 0.3, 0.2], ["$\\broken$", "n" * 200, 7])
    ax.figure.canvas.draw()
    shown = tick_labels(ax)
    assert shown[0] == "\\$\\broken\\$"
    assert len(shown[1]) < 40
    assert shown[2] == "7"


def test_a_given_axes_is_used_and_returned():
    _, axes = plt.subplots(1, 3)
    results = make_results()
    assert results.plot_weights(axes[0]) is axes[0]
    assert results.plot_trace(axes[1]) is axes[1]
    assert results.plot_clusters(ax=axes[2]) is axes[2]
    assert len(plt.get_fignums()) == 1
    assert len(axes[0].figure.axes) == 3


def test_no_feature_cannot_be_drawn():
    with pytest.raises(ValueError, match="top=0"):
        plot_weights([1.0], top=0)


# --- trace -------------------------------------------------------------------------------------


def test_trace_draws_both_objectives_phases_and_the_exponent():
    trace = make_trace()
    ax = make_results(objective_trace=trace, critical_exponent=-27.0).plot_trace()
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["$f_s$, annealed"].get_ydata(), trace["f_s"])
    np.testing.assert_array_equal(lines[r"$f_{-\infty}$, limit"].get_ydata(), trace["f_inf"])
    assert texts(ax) == ["anneal", "finish", "polish"]
    reached = trace["iteration"][trace["s"] <= -27.0].iloc[0]
    assert lines["$s_c = -27$ reached"].get_xdata()[0] == reached
    below = ax.figure.axes[1]
    assert below.get_yscale() == "log"
    np.testing.assert_array_equal(below.lines[-1].get_ydata(), -trace["s"][:30])
    assert ax.get_yscale() == "linear"


def test_phases_too_short_for_their_name_are_in_the_legend():
    ax = make_results(objective_trace=make_trace(300, 3, 4)).plot_trace()
    assert texts(ax) == ["anneal"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"finish", "polish"} <= set(legend)


def test_a_trace_without_annealing_has_no_panel_for_the_exponent():
    ax = plot_trace([0, 1], [-np.inf] * 2, [3, 2], [3, 2], ["finish"] * 2, critical_exponent=-5.0)
    assert len(ax.figure.axes) == 1
    assert len(ax.lines) == 2


def test_a_negative_objective_and_a_single_row_can_be_drawn():
    ax = plot_trace([0], [-1.0], [-4.0], [-5.0], ["anneal"], critical_exponent=np.nan)
    assert ax.lines[0].get_ydata()[0] == -4.0


# --- clusters ----------------------------------------------------------------------------------


def test_two_features_that_hold_the_weight_are_the_axes():
    results = make_results(names=list("abcde"), weights=[0.001, 0.6, 0.0, 0.399, 0.0])
    ax = results.plot_clusters()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "d")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), results.data[["b", "d"]])
    np.testing.assert_array_equal(diamonds(ax), results.centroids[["b", "d"]])


def test_more_features_are_projected_on_principal_components_of_the_weighted_metric():
    results = make_results(80, 6, 3, weights=[4, 3, 2, 1, 1, 1], scaling="standard")
    ax = results.plot_clusters()
    z = (results.data.to_numpy() - results.center) / results.scale
    z = z * np.sqrt(results.weights.to_numpy())
    values, vectors = np.linalg.eigh(np.cov(z.T))
    expected = z @ vectors[:, :-3:-1]
    drawn = np.asarray(ax.collections[0].get_offsets())
    np.testing.assert_allclose(np.abs(drawn), np.abs(expected), atol=1e-9)
    share = 100 * values[-1] / values.sum()
    assert ax.get_xlabel() == f"component 1 ({share:.0f} % of weighted variance)"
    means = pd.DataFrame(drawn).groupby(results.labels.to_numpy()).mean()
    np.testing.assert_allclose(diamonds(ax), means, atol=1e-9)


def test_components_of_wide_data_agree_with_the_dense_decomposition():
    results = make_results(70, 300, 3, weights=np.ones(300))
    z = results.data.to_numpy() - results.center
    u, d, _ = np.linalg.svd(z / np.sqrt(300), full_matrices=False)
    drawn = np.asarray(results.plot_clusters().collections[0].get_offsets())
    np.testing.assert_allclose(np.abs(drawn), np.abs(u[:, :2] * d[:2]), atol=1e-8)


def test_features_can_be_chosen_and_one_is_drawn_as_a_strip():
    results = make_results(names=list("abcde"))
    ax = results.plot_clusters(features=["e", "a"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("e", "a")
    strip = results.plot_clusters(features=["c"])
    np.testing.assert_array_equal(strip.collections[0].get_offsets()[:, 0], results.data["c"])
    assert len(strip.get_yticks()) == 0


@pytest.mark.parametrize(
    ("features", "words"),
    [(["zzz", "a"], "zzz"), (["a", "b", "c"], "one or two"), ([], "one or two")],
)
def test_features_that_cannot_be_axes_are_refused(features, words):
    with pytest.raises(ValueError, match=words):
        make_results(names=list("abcde")).plot_clusters(features=features)


@pytest.mark.parametrize("k", [1, 2, 7, 20, 100])
def test_points_and_centroids_share_the_colour_of_their_cluster(k):
    results = make_results(300, 5, k)
    ax = results.plot_clusters()
    assert len(diamonds(ax)) == k
    faces = np.vstack([c.get_facecolors() for c in ax.collections[1:]])
    colours = [to_hex(face) for face in faces]
    assert set(colours) <= {to_hex(colour) for colour in PALETTE}
    points = [to_hex(face) for face in ax.collections[0].get_facecolors()]
    assert points == [colours[j] for j in results.labels]
    if k <= len(PALETTE):
        assert len(set(colours)) == k
    assert (ax.get_legend() is not None) == (k <= 10)
    assert texts(ax) == ([] if k <= 10 else [str(j) for j in range(k)])


def test_neighbouring_clusters_differ_in_colour():
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    ax = plot_clusters(grid, np.arange(100), grid, [0.5, 0.5])
    colours = np.array([to_hex(c) for c in ax.collections[1].get_facecolors()])
    near = np.linalg.norm(grid[:, None] - grid, axis=2) == 1.0
    assert not (near & (colours[:, None] == colours)).any()


def test_many_rows_are_thinned_always_in_the_same_way():
    drawn = subsample(20_000)
    assert len(drawn) == 5000
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(drawn, subsample(20_000))
    results = make_results(6000, 5, 3, weights=[0.5, 0.5, 0, 0, 0], frame=False)
    ax = results.plot_clusters()
    offsets = np.asarray(ax.collections[0].get_offsets())
    np.testing.assert_array_equal(np.sort(offsets[:, 0]), np.sort(results.data[subsample(6000), 0]))


def test_new_rows_are_drawn_in_the_colours_of_their_predicted_clusters():
    results = make_results(weights=[0.5, 0.5, 0, 0, 0])
    new = results.data.iloc[::3]
    ax = results.plot_clusters(new)
    points = [to_hex(face) for face in ax.collections[0].get_facecolors()]
    assert points == [PALETTE[j].lower() for j in results.predict(new)]
    rows = results.plot_clusters(new.to_numpy().tolist())
    np.testing.assert_array_equal(rows.collections[0].get_offsets(), new.iloc[:, :2])


def test_clusters_without_data_ask_for_them():
    with pytest.raises(ValueError, match="pass them as X"):
        make_results(data=None).plot_clusters()
