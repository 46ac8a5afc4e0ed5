"""Pictures of the clusters hold the numbers they claim to show."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import ewp
from ewp.display.axes import PALETTE
from ewp.display.pair_plots import plot_biplot, plot_pairs
from ewp.display.profile_plots import plot_heatmap, plot_parallel, plot_silhouettes
from ewp.metrics import silhouettes
from ewp.report.svg import draw
from tests.support.results import make_results, uneven_weights


@pytest.fixture(autouse=True)
def _draw_and_close_figures():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


# --- heatmap -----------------------------------------------------------------------------------


def test_cells_are_the_centroids_in_standard_deviations():
    results = make_results(weights=[0.1, 0.4, 0.2, 0.25, 0.05])
    ax = results.plot_heatmap(top=3)
    wanted = ((results.centroids - results.center) / results.spread).iloc[:, [1, 3, 2]].T
    np.testing.assert_allclose(ax.collections[0].get_array(), wanted)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x1", "x3", "x2"]
    assert "2 lighter features hold 15 %" in ax.get_xlabel()
    shown = [float(text.replace("−", "-")) for text in texts(ax)]
    np.testing.assert_allclose(shown, wanted.to_numpy().ravel(), atol=0.0501)


def test_the_colours_are_symmetric_about_the_mean():
    ax = plot_heatmap([[-3.0, 0.0], [1.0, 0.5]], [0.5, 0.5])
    low, high = ax.collections[0].get_clim()
    assert -low == high == pytest.approx(3.0, rel=0.05)
    assert "0.0" in texts(ax)


def test_letters_and_cells_keep_their_colours_on_a_dark_page():
    svg = str(draw(make_results().plot_heatmap, "heat", "A heatmap."))
    letters = re.findall(r'style="[^"]*fill: ([^;"]+)[^"]*"[^>]*>[+−0]', svg)
    assert letters
    assert not any("var(" in colour for colour in letters)


def test_a_heatmap_needs_no_data():
    results = make_results(data=None)
    assert results.plot_heatmap().get_xlabel() == "cluster"


def test_an_old_file_without_deviations_says_so():
    with pytest.raises(ValueError, match="fit again"):
        make_results(spread=None).plot_heatmap()


# --- parallel coordinates ----------------------------------------------------------------------


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_lines_are_the_clusters_means_of_the_heaviest_features():
    weight = uneven_weights()
    results = make_results(weights=[0.1, 0.4, 0.2, 0.25, 0.05], sample_weight=weight)
    drawn = lines(results.plot_parallel(top=2))
    assert list(drawn) == ["0", "1", "2"]
    wanted = ((results.centroids - results.center) / results.spread)[["x1", "x3"]]
    for j in range(3):
        np.testing.assert_allclose(drawn[str(j)].get_ydata(), wanted.iloc[j])
        assert drawn[str(j)].get_color() == PALETTE[j]


def test_bands_hold_four_fifths_of_the_rows():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 1))
    ax = plot_parallel(z, np.zeros(4000, dtype=int), [1.0])
    low, high = np.quantile(ax.collections[0].get_paths()[0].vertices[:, 1], [0, 1])
    assert np.mean((z > low) & (z < high)) == pytest.approx(0.8, abs=0.01)


def test_a_row_of_weight_two_is_two_rows_in_the_bands():
    rng = np.random.default_rng(1)
    z, copies = rng.normal(size=(50, 2)), rng.integers(1, 4, 50)
    one = plot_parallel(z, np.zeros(50, dtype=int), [0.6, 0.4], mass=copies)
    two = plot_parallel(np.repeat(z, copies, axis=0), np.zeros(copies.sum(), dtype=int), [0.6, 0.4])
    edges = [ax.collections[0].get_paths()[0].vertices for ax in (one, two)]
    np.testing.assert_allclose(*edges, atol=0.15)


def test_more_clusters_than_colours_have_lines_of_their_own():
    ax = make_results(n=200, k=9).plot_parallel()
    drawn = lines(ax)
    looks = {(line.get_color(), line.get_linestyle()) for line in drawn.values()}
    assert len(drawn) == len(looks) == 9


# --- silhouettes -------------------------------------------------------------------------------


def test_silhouettes_are_those_of_the_weighted_metric():
    results = make_results(scaling="standard")
    ax = results.plot_silhouettes()
    metric = results.weights.to_numpy() / results.scale**2
    values = silhouettes(results.data.to_numpy(), results.labels.to_numpy(), metric)
    means = [values[results.labels == j].mean() for j in range(3)]
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert shown == [f"{j}: mean {mean:.2f}" for j, mean in enumerate(means)]
    assert ax.lines[0].get_xdata()[0] == pytest.approx(values.mean())
    for j, bars in enumerate(ax.collections):
        x = bars.get_paths()[0].vertices[:, 0]
        assert x.max() == pytest.approx(values[results.labels == j].max())
        assert to_hex(bars.get_facecolor()[0]).upper() == PALETTE[j]


def test_one_cluster_has_no_silhouettes():
    with pytest.raises(ValueError, match="two clusters or more"):
        make_results(k=1).plot_silhouettes()
    with pytest.raises(ValueError, match="two clusters or more"):
        plot_silhouettes([np.nan, np.nan], [0, 0])


# --- pairs -------------------------------------------------------------------------------------


def test_ellipses_hold_nine_tenths_of_a_normal_cluster():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3000, 2)) @ [[2.0, 0.7], [0.0, 0.5]]
    ax = plot_pairs(points, np.zeros(3000, dtype=int), ["a", "b"])[1]
    from matplotlib.path import Path

    inside = Path(np.array(ax.lines[0].get_data()).T).contains_points(points)
    assert inside.mean() == pytest.approx(0.9, abs=0.015)


def test_pairs_are_of_the_heaviest_or_of_the_named_features():
    results = make_results(weights=[0.1, 0.4, 0.2, 0.25, 0.05])
    axes = results.plot_pairs()
    assert len(axes) == 6
    assert [ax.get_xlabel() for ax in axes[3:]] == ["x1", "x3", "x2"]
    offsets = axes[1].collections[0].get_offsets()
    np.testing.assert_allclose(offsets, results.data[["x1", "x3"]])
    named = results.plot_pairs(features=["x4", "x0"])
    assert (named[1].get_xlabel(), named[1].get_ylabel()) == ("x4", "x0")
    with pytest.raises(ValueError, match="features: 'y' given"):
        results.plot_pairs(features=["y", "x0"])
    with pytest.raises(ValueError, match="no pairs"):
        results.plot_pairs(features=["x0"])


def test_histograms_count_the_rows():
    results = make_results(sample_weight=uneven_weights())
    top = results.plot_pairs(top=2)[0]
    heaviest = results.data[results.weights.idxmax()]
    cells = np.linspace(heaviest.min(), heaviest.max(), 21)
    for j, patch in enumerate(top.patches[::2]):
        own = (results.labels == j).to_numpy()
        counts, _ = np.histogram(heaviest[own], cells, weights=results.sample_weight[own])
        assert patch.get_xy()[:, 1].max() == pytest.approx(counts.max())


# --- biplot ------------------------------------------------------------------------------------


def test_arrows_point_where_features_grow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [3.0, 2.0, 0.1, 0.1]
    ax = plot_biplot(X, np.zeros(200, dtype=int), X[:1], np.full(4, 0.25), names=list("abcd"))
    points = np.asarray(ax.collections[0].get_offsets())
    tips = {text.get_text(): np.array(text.xy) for text in ax.texts if text.get_text()}
    assert set(tips) == {"a", "b"}
    for name, column in (("a", 0), ("b", 1)):
        along = points @ tips[name]
        assert np.corrcoef(along, X[:, column])[0, 1] > 0.99
    assert np.hypot(*tips["a"]) <= np.abs(points).max()


def test_a_biplot_shows_the_points_of_the_plane():
    results = make_results(scaling="standard", weights=[3, 2, 2, 1, 1])
    one, two = results.plot_biplot(), results.plot_clusters()
    offsets = [np.asarray(ax.collections[0].get_offsets()) for ax in (one, two)]
    np.testing.assert_allclose(*offsets)
    assert one.get_xlabel() == two.get_xlabel()
    with pytest.raises(ValueError, match="one feature"):
        plot_biplot([[1.0], [2.0]], [0, 1], [[1.0], [2.0]], [1.0])


# --- of a fit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["parallel", "silhouettes", "pairs", "biplot"])
def test_without_data_the_cure_is_named(name):
    results = make_results(data=None)
    rows = make_results().data
    with pytest.raises(ValueError, match="pass them as X"):
        getattr(results, f"plot_{name}")()
    getattr(results, f"plot_{name}")(rows)


@pytest.mark.parametrize("name", ["heatmap", "parallel", "silhouettes", "biplot"])
def test_a_given_axes_is_used(name):
    _, ax = plt.subplots()
    assert getattr(make_results(), f"plot_{name}")(ax=ax) is ax


def test_decorrelated_features_are_drawn_as_they_are_weighted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)) + np.repeat([[0.0], [6.0]], 40, axis=0)
    results = ewp.fit(X, 2, lam=20.0, scale="decorrelate", random_state=0, n_init=1)
    assert any("decorrelated" in text for text in texts(results.plot_biplot()))
    columns = results.to_columns(X)
    metric = results.weights.to_numpy()
    values = silhouettes(columns, results.labels.to_numpy(), metric)
    ax = results.plot_silhouettes()
    assert ax.lines[0].get_xdata()[0] == pytest.approx(values.mean())


def test_the_curve_of_the_criterion_is_that_of_the_selection():
    X = make_results().data
    chosen = ewp.select_lambda(X, 3, n_lams=3, scale="standard", random_state=0)
    one, two = chosen.results.plot_selection(), chosen.plot()
    np.testing.assert_allclose(one.lines[0].get_xydata(), two.lines[0].get_xydata())
    errors = one.containers[0][2][0].get_segments()
    full = chosen.table["replicates"] == chosen.table["replicates"].max()
    np.testing.assert_allclose([np.ptp(e[:, 1]) / 2 for e in errors], chosen.table["se"][full])
    with pytest.raises(ValueError, match="was given"):
        make_results().plot_selection()
