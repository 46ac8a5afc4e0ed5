"""The bootstrap where every cluster has weights of its own: what its refits are, what it says."""

from __future__ import annotations

import pickle
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

import ewp
from ewp.data.splits import Resampler
from ewp.datasets import make_simulation2, make_subspaces
from ewp.diagnostics import refit as refitting
from ewp.diagnostics import resampling as module
from ewp.diagnostics.bootstrap import BootstrapResults
from ewp.diagnostics.refit import Resample, fitted_data
from ewp.diagnostics.resampling import (
    Candidates,
    _objectives,
    _rule_of_clusters,
    distinct_solutions,
    estimates,
    fit_from_scratch,
    refit,
)
from ewp.metrics import match_labels
from ewp.results.results import EWPResults
from tests.support.interruptions import interrupted_from

FIELDS = ("weight_draws", "centroid_shifts", "weight_jackknife", "centroid_jackknife", "similarity")
NAMES = list("abcdefgh")


def words(found):
    """The summary on one line."""
    return " ".join(str(found).split())


def fit(X, **options):
    stated = {"lam": 0.1 * len(X), "scale": "standard", "weights": "cluster", "random_state": 0}
    return ewp.fit(X, 3, **stated | options)


@pytest.fixture(scope="module")
def data():
    X = make_subspaces(3, 150, 8, 3, random_state=0).X
    return pd.DataFrame(X, columns=NAMES, index=[f"r{i}" for i in range(150)])


@pytest.fixture(scope="module")
def results(data):
    return fit(data)


@pytest.fixture(scope="module")
def found(results):
    return results.bootstrap(60, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn_from(results, count):
    """Some resamples of the rows of a fit."""
    source = fitted_data(results)
    resampler = Resampler.of(source.X, source.weight, results.n_clusters)
    rngs = np.random.default_rng(0).spawn(count)
    return source, [Resample(*resampler.draw(rng), i) for i, rng in enumerate(rngs)]


def objective(X, counts, theta, weights, lam):
    """The limit objective with weights of every cluster, of features standardised with counts."""
    total, p = counts.sum(), X.shape[1]
    mean = counts @ X / total
    z, center = X - mean, theta - mean
    spread = np.sqrt(counts @ z**2 / total)
    z, center = z / spread, center / spread
    distance = ((z[:, None] - center) ** 2 * weights).sum(axis=2)
    entropy = np.where(weights > 0, weights * np.log(np.maximum(weights, 1e-300) * p), 0.0)
    distance += lam / total * entropy.sum(axis=1)
    return counts @ distance.min(axis=1) - lam * np.log(p)


# --- refits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": None},
        {"dispersion": "between"},
        {"scale": "decorrelate"},
        {"prior": [1.0, 2, 1, 1, 0, 1, 1, 1]},
        {"sample_weight": np.linspace(0.5, 2, 150)},
        {"polish": False, "s0": -1.0},
    ],
    ids=str,
)
def test_weights_of_every_resample_are_on_the_simplex_and_near_the_fit(data, options):
    results = fit(data, **options)
    found = results.bootstrap(40, n_jackknife=6, random_state=0)
    assert found.weight_draws.shape == (40, 3, 8)
    assert found.weight_jackknife.shape == (6, 3, 8)
    for draws in (found.weight_draws, found.weight_jackknife):
        assert (draws >= 0).all()
        np.testing.assert_allclose(draws.sum(axis=-1), 1.0)
        np.testing.assert_allclose(draws.mean(axis=0), results.weights, atol=0.05)
    if "prior" in options:
        assert (found.weight_draws[..., 4] == 0).all()
    assert found.converged == 1.0


def test_objectives_are_what_the_formula_says_and_below_those_of_the_estimates(results):
    source, drawn = drawn_from(results, 12)
    X = source.X
    for one, resample in zip(refit(source, estimates(source), drawn), drawn, strict=True):
        counts = np.zeros(len(X))
        counts[resample.rows] = resample.weight
        assert counts.sum() == len(X)
        value = objective(X, counts, one.centroids, one.weights, results.lam)
        assert one.objective == pytest.approx(value, rel=1e-9)
        before = objective(
            X, counts, results.centroids.to_numpy(), results.weights.to_numpy(), results.lam
        )
        assert value < before


@pytest.mark.parametrize("options", [{}, {"scale": None}, {"dispersion": "between"}], ids=str)
def test_a_refit_is_the_fit_to_its_counts(data, options):
    """One of its own, from starts of its own, to the rows with their counts as sample weights."""
    results = fit(data, **options)
    source, drawn = drawn_from(results, 4)
    for one, resample in zip(refit(source, estimates(source), drawn), drawn, strict=True):
        own = fit(
            data.iloc[resample.rows],
            lam=results.lam,
            sample_weight=resample.weight,
            **options,
        )
        order = match_labels(
            own.predict(data).to_numpy(), results.labels.to_numpy(), results.n_clusters
        ).argsort()
        assert one.objective == pytest.approx(own.objective, rel=1e-9)
        np.testing.assert_allclose(one.weights, own.weights.to_numpy()[order], atol=1e-4)
        np.testing.assert_allclose(one.centroids, own.centroids.to_numpy()[order], atol=1e-4)


def test_equal_resamples_have_intervals_without_width(results, monkeypatch):
    everything = np.arange(results.n_obs)
    monkeypatch.setattr(Resampler, "draw", lambda self, rng: (everything, np.ones(150)))
    found = results.bootstrap(5, n_jackknife=0, random_state=0)
    for draw in found.weight_draws:
        np.testing.assert_allclose(draw, results.weights, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(found.weight_intervals()["se"], 0.0, atol=1e-6)
    np.testing.assert_array_equal(found.similarity, 1.0)


def test_clusters_that_a_resample_numbers_otherwise_are_matched(results):
    source, drawn = drawn_from(results, 5)
    order = [2, 0, 1]
    turned = Candidates(source.centroids[None, order], source.cluster_weights[None, order])
    for one, two in zip(
        refit(source, estimates(source), drawn), refit(source, turned, drawn), strict=True
    ):
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-9)
        np.testing.assert_allclose(one.centroids, two.centroids, atol=1e-9)
        np.testing.assert_array_equal(one.similarity, two.similarity)


def test_from_scratch_clusters_come_in_the_order_of_the_fit(results):
    source, drawn = drawn_from(results, 6)
    heaviest = np.sort(np.argsort(-source.cluster_weights, axis=1)[:, :2], axis=1)
    for one in fit_from_scratch(source, drawn):
        own = np.sort(np.argsort(-one.weights, axis=1)[:, :3], axis=1)
        for known, new in zip(heaviest, own, strict=True):
            assert set(known) <= set(new)


def test_a_solution_is_judged_by_the_objective_at_its_partition(results):
    """That of the fit, of the fit's own partition and all rows once."""
    source = fitted_data(results)
    whole = Resample(np.arange(150), np.ones(150), 0)
    engine, runs, own = refitting.as_runs(source, [whole], source.options)
    rule = _rule_of_clusters(engine, runs, own)
    (value,) = _objectives(engine, runs, rule, source.labels)
    assert value == pytest.approx(results.objective, rel=1e-9)
    moved = source.labels.copy()
    moved[:20] = (moved[:20] + 1) % 3
    assert _objectives(engine, runs, rule, moved)[0] > value


def test_the_lowest_objective_of_all_that_was_found_wins():
    noise = fit(np.random.default_rng(0).standard_normal((200, 6)))
    source, drawn = drawn_from(noise, 30)
    alone = refit(source, estimates(source), drawn)
    begin = distinct_solutions(source, fit_from_scratch(source, drawn[:20]))
    assert len(begin.weights) > 3
    together = refit(source, begin, drawn)
    one, two = (np.array([fit.objective for fit in fits]) for fits in (alone, together))
    assert (two <= one + 1e-2 * np.abs(one)).mean() > 0.9
    assert (two < one).mean() > 0.5
    found = noise.bootstrap(40, random_state=0)
    assert (found.clusters["dissolved"] > 0).all()
    assert "is another one" in words(found)
    assert "clusters are other ones in more resamples than lie beyond an end" in words(found)


def test_of_nearly_equal_solutions_one_is_tried(results):
    source = fitted_data(results)
    same = fit_from_scratch(source, [Resample(np.arange(150), np.ones(150), i) for i in range(4)])
    assert len(distinct_solutions(source, same).weights) == 1


def test_whole_numbers_as_weights_are_repetitions(data):
    X = data.to_numpy()[:90]
    repeats = np.random.default_rng(0).integers(1, 4, size=90)
    lam = 0.1 * repeats.sum()
    weighted = fit(X, lam=lam, sample_weight=repeats)
    repeated = fit(np.repeat(X, repeats, axis=0), lam=lam)
    one, two = (fit.bootstrap(5, n_jackknife=4, random_state=3) for fit in (weighted, repeated))
    for name in FIELDS[:4]:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-4, atol=1e-5)


def test_the_order_of_the_rows_does_not_matter(data, results):
    order = np.random.default_rng(0).permutation(len(data))
    one = results.bootstrap(5, n_jackknife=4, random_state=3)
    two = fit(data.iloc[order]).bootstrap(5, n_jackknife=4, random_state=3)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-5, atol=1e-6)


def test_a_choice_that_falls_on_clusters_is_resampled_with_them():
    X = make_subspaces(4, 400, 20, 4, sd=0.2, shift=1.0, random_state=2).X
    results = ewp.fit(X, 4, weights="auto", random_state=0)
    assert results.by_cluster
    found = results.bootstrap(40, n_jackknife=0, random_state=0)
    assert found.weight_draws.shape == (40, 4, 20)
    np.testing.assert_allclose(found.weight_draws.mean(axis=0), results.weights, atol=0.02)
    with pytest.raises(ValueError, match=r'results\.refit\(weights="common"\)'):
        results.consistency()


def test_intervals_cover_the_weights_of_the_population():
    """Of clusters far apart: variances are sd² where a cluster lives and 1 elsewhere."""
    sd, n, per_row = 0.4, 400, 0.3
    covered, counted = 0, 0
    for seed in range(12):
        design = make_subspaces(3, n, 8, 3, sd=sd, shift=2.5, random_state=seed)
        results = fit(design.X, lam=per_row * n, scale=None, dispersion="within")
        if ewp.metrics.rand_index(design.labels, results.labels.to_numpy()) < 0.99:
            continue  # clusters that share their features are not found again
        truth = np.exp(-np.where(design.centers != 0, sd**2, 1.0) / per_row)
        truth /= truth.sum(axis=1, keepdims=True)
        order = match_labels(results.labels.to_numpy(), design.labels, 3)
        table = results.bootstrap(160, start="estimates", random_state=0).weight_intervals()
        lower, upper = (table[end].to_numpy().reshape(3, 8) for end in ("lower", "upper"))
        covered += ((lower <= truth[order]) & (truth[order] <= upper)).sum()
        counted += truth.size
    assert counted >= 6 * 24
    assert 0.88 < covered / counted < 0.99


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results):
    one, two = (
        results.bootstrap(12, n_jackknife=3, random_state=4, n_jobs=n_jobs) for n_jobs in (None, 2)
    )
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_the_size_of_a_batch_changes_last_digits_only(results, monkeypatch):
    wanted = results.bootstrap(9, n_jackknife=3, random_state=0)
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 2)
    other = results.bootstrap(9, n_jackknife=3, random_state=0)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(other, name), getattr(wanted, name), atol=1e-9)


@pytest.mark.parametrize(("stop", "kept"), [(5, 4), (9, 8)])
def test_an_interruption_keeps_what_is_finished(results, monkeypatch, stop, kept):
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 1)
    monkeypatch.setattr(module, "refit", interrupted_from(stop, module.refit))
    with pytest.warns(UserWarning, match=f"{stop - 1} of 13 resamples are finished"):
        found = results.bootstrap(8, n_jackknife=5, random_state=0)
    assert (found.n_boot, found.complete) == (kept, False)
    assert found.weight_jackknife.shape == (0, 3, 8)
    assert "INTERRUPTED" in str(found)


# --- what comes out ----------------------------------------------------------------------------


def test_tables_have_a_level_for_the_cluster(found, results):
    for method in ("auto", "bca", "percentile"):
        table = found.weight_intervals(method=method)
        assert table.index.names == ["cluster", "feature"]
        assert list(table.loc[1].index) == NAMES
        np.testing.assert_array_equal(table["weight"].to_numpy().reshape(3, 8), results.weights)
        assert (table["lower"] < table["upper"]).all()
        assert ((table["lower"] > 0) & (table["upper"] < 1)).all()
    np.testing.assert_allclose(table["se"].to_numpy(), found.weight_draws.std(axis=0).ravel())
    assert len(found.centroid_intervals()) == 24
    narrow, wide = found.weight_intervals(0.5), found.weight_intervals(0.95)
    assert (narrow["lower"] >= wide["lower"]).all()
    assert (narrow["upper"] <= wide["upper"]).all()


def test_selected_features_are_those_in_which_a_cluster_lives(found, results):
    frequency = found.selection_frequency
    assert frequency.shape == (3, 8)
    assert frequency.index.equals(results.weights.index)
    assert list(frequency.columns) == NAMES
    assert found.threshold == pytest.approx(1 / 8)
    assert ((frequency > 0.9) == (results.weights > 0.15)).all(axis=None)
    long = found.weight_intervals()["selected"].to_numpy()
    np.testing.assert_array_equal(long.reshape(3, 8), frequency)


def test_log_ratios_are_within_a_cluster(found, results):
    centred = found.log_ratios()
    np.testing.assert_allclose(centred["log_ratio"].groupby(level="cluster").sum(), 0, atol=1e-9)
    relative = found.log_ratios("b", method="percentile")
    w = results.weights.to_numpy()
    np.testing.assert_allclose(relative["log_ratio"], np.log(w / w[:, [1]]).ravel(), atol=1e-12)
    assert (relative.xs("b", level="feature")[["lower", "upper"]] == 0).all(axis=None)
    with pytest.raises(ValueError, match="no feature is called 'z'"):
        found.log_ratios("z")


def made(draws, similarity=None):
    """Records of draws of shape (B, k, p), whose first one is the estimate."""
    draws = np.asarray(draws, dtype=float)
    count, k, p = draws.shape
    names = [f"x{i}" for i in range(p)]
    weights = pd.DataFrame(draws[0], columns=names)
    centroids = pd.DataFrame(np.zeros((k, p)), columns=names)
    shifts = np.zeros((count, k, p))
    similarity = np.ones((count, k)) if similarity is None else similarity
    return BootstrapResults(
        weights, centroids, draws, shifts, draws[:0], shifts[:0], 0.3, 1.0, True, similarity
    )


def test_pairs_change_places_within_a_cluster():
    first = [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]
    found = made(np.stack([first, np.tile([0.2, 0.2, 0.6], (4, 1))], axis=1))
    pairs = found.rank_switches()
    assert pairs.to_numpy().tolist() == [
        [0, "x0", "x1", 0.5],
        [0, "x0", "x2", 0.25],
        [0, "x1", "x2", 0.25],
    ]
    assert "x0 and x1 of cluster 0 in 50 %" in words(found)
    assert found.selection_frequency.to_numpy().tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    steady = made(np.tile([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3]], (4, 1, 1)))
    assert steady.rank_switches().empty
    assert "The order of the 3 heaviest features of every cluster is the same" in words(steady)


def test_only_the_cluster_that_is_another_one_loses_its_bca_intervals(found):
    similarity = found.similarity.copy()
    similarity[:20, 1] = 0.2
    changed = BootstrapResults(
        **{field: getattr(found, field) for field in found.__dataclass_fields__}
        | {"similarity": similarity}
    )
    own, other = found.weight_intervals(), changed.weight_intervals()
    assert (other.loc[1, "method"] == "percentile").all()
    assert (own.loc[1, "method"] == "BCa").any()
    pd.testing.assert_frame_equal(own.loc[[0, 2]], other.loc[[0, 2]])
    assert "In 20 of 60 resamples cluster 1 is another one" in words(changed)


def test_the_summary_lists_the_heaviest_features_of_every_cluster(found, results):
    text = str(found)
    assert "Bootstrap of the weights of every cluster, 60 resamples" in text
    for name, w in results.weights.iterrows():
        for feature in w.nlargest(3).index:
            assert any(line.split()[:2] == [feature, str(name)] for line in text.splitlines())
    lines = str(found.summary(2)).splitlines()
    assert sum(bool(re.match("[a-h] +[012] ", line)) for line in lines) == 6
    assert "... and 6 more features in every cluster." in words(found.summary(2))
    assert max(map(len, text.splitlines())) <= 100
    assert repr(found) == "BootstrapResults: 60 resamples, 3 x 8 weights, 3 x 8 centroids"
    with pytest.raises(ValueError, match="top"):
        found.summary(0)


def test_many_clusters_are_summed_up():
    rng = np.random.default_rng(0)
    many = made(rng.dirichlet(np.full(50, 0.3), size=(40, 30)))
    assert "... and 10 more clusters." in words(many)
    assert len(str(many).splitlines()) < 120
    ax = many.plot(top=5)
    drawn = [one for one in ax.figure.axes if one.axison]
    assert [one.get_title(loc="left") for one in drawn] == [f"cluster {j}" for j in range(12)]
    assert "18 more clusters" in ax.figure._supxlabel.get_text()
    ax.figure.canvas.draw()


def test_names_with_any_characters_can_be_printed():
    found = made(np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 2)))
    found.weights.columns = found.centroids.columns = ["a <b>&", "x_1 $50%$", "n" * 200]
    assert "a &lt;b&gt;&amp;" in found._repr_html_()
    assert r"x\_1 \$50\%\$" in found.summary().as_latex()
    assert max(map(len, str(found).splitlines())) <= 100
    found.plot().figure.canvas.draw()


def test_the_picture_has_a_panel_a_cluster(found):
    ax = found.plot(top=5)
    assert len(ax.figure.axes) == 3
    names = [label.get_text() for label in ax.get_yticklabels()]
    table = found.weight_intervals()
    for j, panel in enumerate(ax.figure.axes):
        ends = np.array([segment[:, 0] for segment in panel.collections[0].get_segments()])
        np.testing.assert_allclose(ends, table.loc[j].loc[names, ["lower", "upper"]])
        shares = [text.get_text() for text in panel.texts[: len(names)]]
        assert shares == [f"{100 * share:.0f}" for share in table.loc[j].loc[names, "selected"]]
    one = found.plot(cluster=2)
    assert one.get_yticklabels()[0].get_text() == table.loc[2, "weight"].idxmax()
    assert found.plot(cluster=1, ax=plt.figure().add_subplot()) is not None


def test_pictures_that_cannot_be_drawn_are_refused_with_a_cure(found):
    with pytest.raises(ValueError, match="cluster=3 is none of the clusters 0, 1, 2"):
        found.plot(cluster=3)
    with pytest.raises(ValueError, match="such as cluster=0, or leave ax out"):
        found.plot(plt.figure().add_subplot())
    common = fit(make_simulation2(3, n=90, p=6, random_state=0).X, weights="common")
    with pytest.raises(ValueError, match="cluster=0: all clusters have the same weights"):
        common.bootstrap(40, n_jackknife=0, random_state=0).plot(cluster=0)


def test_the_fits_own_summary_page_and_picture_show_the_intervals(data, tmp_path):
    results = fit(data)
    assert "lower" not in str(results)
    found = results.bootstrap(40, random_state=0)
    text = str(results)
    assert "95 % bootstrap interval of the weight (40 resamples)" in " ".join(text.split())
    heaviest = results.weights.loc[2].idxmax()
    assert any(line.split()[:2] == [heaviest, "2"] for line in text.splitlines())
    ax = results.plot_weights(top=3)
    row = found.weight_intervals().loc[0].sort_values("weight").iloc[-1]
    assert any(
        text.get_text().endswith(f"\n{row['lower']:.2f}–{row['upper']:.2f}") for text in ax.texts
    )
    results.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Bootstrap of the weights of every cluster, 40 resamples" in page
    assert "cluster 2" in page
    assert "selected, %" in page


# --- files -------------------------------------------------------------------------------------


def test_results_survive_a_file_and_a_pickle(data, tmp_path):
    results = fit(data)
    found = results.bootstrap(40, n_jackknife=6, random_state=0)
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    for kept in (loaded.bootstrap_, pickle.loads(pickle.dumps(found))):
        for table in ("weight_intervals", "centroid_intervals", "log_ratios", "rank_switches"):
            pd.testing.assert_frame_equal(getattr(kept, table)(), getattr(found, table)())
        pd.testing.assert_frame_equal(kept.selection_frequency, found.selection_frequency)
        assert str(kept) == str(found)
    assert str(loaded) == str(results)
    assert loaded.bootstrap_.call == found.call
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.bootstrap()
    again = loaded.bootstrap(40, n_jackknife=6, X=data, random_state=0)
    np.testing.assert_allclose(again.weight_draws, found.weight_draws, rtol=1e-9)


def test_draws_that_do_not_fit_the_weights_are_a_damaged_file(data, tmp_path):
    results = fit(data)
    found = results.bootstrap(40, n_jackknife=0, random_state=0)
    found.weight_draws = found.weight_draws[:, :2]
    results.save(tmp_path / "fit")
    with pytest.raises(ValueError, match="damaged"):
        EWPResults.load(tmp_path / "fit")


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, "threshold=1.0 must be below 1"),
        ({"start": "random"}, "start='random' is unknown"),
        ({"n_boot": 1}, "n_boot=1"),
        ({"sample_weight": np.ones(150)}, "sample_weight belongs to X"),
    ],
)
def test_options_out_of_range_are_refused(results, options, message):
    with pytest.raises(ValueError, match=message):
        results.bootstrap(**{"n_boot": 40} | options)


def test_data_that_are_not_those_of_the_fit_are_refused(data, results):
    with pytest.raises(ValueError, match="149 rows, but the fit had 150"):
        results.bootstrap(X=data.iloc[1:])
    with pytest.raises(ValueError, match="not the data of the fit"):
        results.bootstrap(X=data.iloc[::-1])
    holes = data.copy()
    holes.iloc[3, 2] = np.nan
    with pytest.raises(ValueError, match="missing"):
        results.bootstrap(X=holes)


def test_a_feature_that_a_resample_does_not_vary_gets_no_weight(data):
    X = data.to_numpy().copy()
    X[:, 2] = 0.0
    X[4, 2] = 5.0
    found = fit(X, scale=None).bootstrap(20, n_jackknife=0, random_state=0)
    assert np.isfinite(found.weight_draws).all()
    gone = (found.weight_draws[..., 2] == 0).all(axis=1)
    assert gone.any()
    assert not gone.all()
