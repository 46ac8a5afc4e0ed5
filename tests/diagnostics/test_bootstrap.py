"""Intervals from resamples: what they must be, and what they must not depend on."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

import ewp
from ewp.data.splits import Resampler
from ewp.datasets import make_simulation2
from ewp.diagnostics import refit as refitting
from ewp.diagnostics import resampling as module
from ewp.diagnostics.bootstrap import BootstrapResults
from ewp.diagnostics.refit import Resample, fitted_data
from ewp.diagnostics.resampling import (
    Candidates,
    distinct_solutions,
    estimates,
    fit_from_scratch,
    refit,
)
from ewp.results.results import EWPResults
from tests.support.interruptions import interrupted_from

FIELDS = ("weight_draws", "centroid_shifts", "weight_jackknife", "centroid_jackknife")


def words(found):
    """The summary on one line."""
    return " ".join(str(found).split())


def fit(X, **options):
    return ewp.fit(X, 3, lam=0.05 * len(X), random_state=0, **options)


@pytest.fixture(scope="module")
def data():
    X = make_simulation2(3, n=160, p=6, n_relevant=3, random_state=1).X
    return pd.DataFrame(X, columns=list("abcdef"), index=[f"r{i}" for i in range(160)])


@pytest.fixture(scope="module")
def results(data):
    return fit(data)


@pytest.fixture(scope="module")
def found(results):
    return results.bootstrap(60, random_state=0)


# --- resamples ---------------------------------------------------------------------------------


def test_equal_resamples_have_intervals_without_width(results, monkeypatch):
    data = fitted_data(results)
    everything = Resampler.of(data.X, data.weight, results.n_clusters).rows

    def draw(self, rng):
        return everything, np.ones(len(everything))

    monkeypatch.setattr(Resampler, "draw", draw)
    found = results.bootstrap(8, n_jackknife=0, random_state=0)
    table = found.weight_intervals(method="percentile")
    for end in ("lower", "upper"):
        np.testing.assert_allclose(table[end], results.weights, rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(table["se"], 0.0, atol=1e-12)
    centroids = found.centroid_intervals(method="percentile")
    for end in ("lower", "upper"):
        np.testing.assert_allclose(centroids[end], results.centroids.to_numpy().ravel(), atol=1e-6)
    assert set(found.selection_frequency) == {0.0, 1.0}
    assert found.rank_switches().empty


def test_whole_numbers_as_weights_are_repetitions(data):
    X = data.to_numpy()[:60]
    repeats = np.random.default_rng(0).integers(1, 4, size=60)
    lam = 0.05 * repeats.sum()
    weighted = ewp.fit(X, 3, lam=lam, sample_weight=repeats, random_state=0)
    repeated = ewp.fit(np.repeat(X, repeats, axis=0), 3, lam=lam, random_state=0)
    one, two = (fit.bootstrap(5, n_jackknife=4, random_state=3) for fit in (weighted, repeated))
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-5, atol=1e-6)


def test_the_order_of_the_rows_does_not_matter(data, results):
    order = np.random.default_rng(0).permutation(len(data))
    one = results.bootstrap(5, n_jackknife=4, random_state=3)
    two = fit(data.iloc[order]).bootstrap(5, n_jackknife=4, random_state=3)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-5, atol=1e-6)


def test_a_feature_that_a_resample_does_not_vary_gets_no_weight():
    X = make_simulation2(2, n=30, p=3, n_relevant=2, random_state=0).X
    X[:, 2] = 0.0
    X[4, 2] = 5.0
    found = ewp.fit(X, 2, lam=2.0, random_state=0).bootstrap(20, n_jackknife=0, random_state=0)
    assert np.isfinite(found.weight_draws).all()
    assert (found.weight_draws[:, 2] < 0.5).all()
    assert (found.weight_draws[:, 2] == 0).any()


def test_more_clusters_than_a_resample_has_rows_are_refused():
    X = np.arange(32.0).reshape(16, 2)
    with pytest.raises(ValueError, match="too few rows for so many clusters"):
        ewp.fit(X, 16, lam=1.0, random_state=0).bootstrap(3)


# --- solutions other than the fit's ------------------------------------------------------------


@pytest.fixture(scope="module")
def pure_noise():
    """One feature of noise has all the weight, and others would have it in other resamples."""
    return ewp.fit(np.random.default_rng(0).standard_normal((300, 6)), 3, lam=5.0, random_state=0)


def test_on_pure_noise_the_interval_goes_from_nearly_nothing_to_nearly_everything(pure_noise):
    heaviest = int(np.argmax(pure_noise.weights))
    assert pure_noise.weights.iloc[heaviest] > 0.9999
    found = pure_noise.bootstrap(100, random_state=0)
    row = found.weight_intervals().iloc[heaviest]
    assert row["lower"] < 0.01
    assert row["upper"] > 0.99
    assert row["method"] == "percentile"
    dissolved = found.clusters["dissolved"]
    assert (dissolved > 20).all()
    first = dissolved.sort_values(ascending=False, kind="stable").index[0]
    text = words(found)
    assert f"In {dissolved[first]} of 100 resamples cluster {first} is another one" in text
    assert "clusters are other ones in more resamples than lie beyond an end" in text
    assert f"In {dissolved[first]} of 100 resamples" in words(pure_noise)
    local = pure_noise.bootstrap(100, start="estimates", random_state=0)
    assert local.weight_intervals().iloc[heaviest]["lower"] > 0.99
    assert "in all resamples, which were fitted from this fit" in words(local)


def test_the_lowest_objective_of_all_that_was_found_wins(pure_noise):
    """A resample ends no higher than from the estimates alone, up to where its steps end."""
    source = fitted_data(pure_noise)
    resampler = Resampler.of(source.X, None, 3)
    drawn = [Resample(*resampler.draw(rng), i) for i, rng in enumerate(generators(30))]
    alone = refit(source, estimates(source), drawn)
    begin = distinct_solutions(source, fit_from_scratch(source, drawn[:20]))
    assert len(begin.weights) > 3
    together = refit(source, begin, drawn)
    one, two = (np.array([fit.objective for fit in fits]) for fits in (alone, together))
    assert (two <= one + 1e-2 * np.abs(one)).mean() > 0.9
    assert (two < one - 1e-2 * np.abs(one)).mean() > 0.2
    for fit in together:
        assert fit.similarity.shape == (3,)


def generators(count):
    return np.random.default_rng(0).spawn(count)


def test_clusters_that_a_resample_numbers_otherwise_are_matched(results):
    source = fitted_data(results)
    turned = Candidates(source.centroids[None, [2, 0, 1]], source.weights[None])
    resampler = Resampler.of(source.X, None, 3)
    drawn = [Resample(*resampler.draw(rng), 0) for rng in generators(5)]
    for one, two in zip(
        refit(source, estimates(source), drawn), refit(source, turned, drawn), strict=True
    ):
        np.testing.assert_allclose(one.centroids, two.centroids, atol=1e-6)
        np.testing.assert_allclose(one.similarity, 1.0)


def test_clusters_that_are_there_are_found_again(found):
    table = found.clusters
    assert table.index.tolist() == [0, 1, 2]
    assert (table["jaccard"] > 0.99).all()
    assert (table["dissolved"] == 0).all()
    assert (table["recovered"] == 60).all()
    assert "Every cluster is found again in all resamples" in words(found)


def test_of_nearly_equal_solutions_one_is_tried(results):
    source = fitted_data(results)
    same = fit_from_scratch(source, [Resample(np.arange(160), np.ones(160), i) for i in range(4)])
    assert len(distinct_solutions(source, same).weights) == 1


def test_a_start_that_is_not_known_is_refused(results):
    with pytest.raises(ValueError, match="start='random' is unknown"):
        results.bootstrap(40, start="random")


def test_the_start_is_part_of_the_call(data):
    results = fit(data)
    found = results.bootstrap(40, start="estimates", n_jackknife=0, random_state=1)
    assert 'start="estimates"' in found.call
    assert found.start == "estimates"
    assert "start='scratch' and stability() ask" in words(found)


# --- how many resamples ------------------------------------------------------------------------


def test_five_resamples_are_too_few_for_95_percent_and_say_so(results):
    with pytest.warns(UserWarning, match="5 resamples are too few for 95 % intervals"):
        found = results.bootstrap(5, n_jackknife=0, random_state=0)
    assert "5 resamples are too few for 95 % intervals: 33 % of all" in words(found)


def test_enough_resamples_say_nothing(results):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = results.bootstrap(160, n_jackknife=0, random_state=0)
        found.weight_intervals()
    assert "steady ends" not in words(found)


def test_a_higher_level_than_the_resamples_reach_is_told(found):
    with pytest.warns(UserWarning, match="60 resamples are too few for 99 % intervals"):
        found.weight_intervals(0.99)
    assert "about 1.5 of the 60 resamples lie beyond each; 160" in words(found)


# --- what comes out ----------------------------------------------------------------------------


def test_weights_and_centroids_are_where_the_fit_is(found, results, data):
    np.testing.assert_allclose(found.weight_draws.sum(axis=1), 1.0)
    for method in ("auto", "bca", "percentile"):
        table = found.weight_intervals(method=method)
        assert list(table.index) == list("abcdef")
        assert ((table["lower"] > 0) & (table["upper"] < 1)).all()
        assert (table["lower"] < table["upper"]).all()
        inside = (table["lower"] <= table["weight"]) & (table["weight"] <= table["upper"])
        assert inside.iloc[:3].all()
    theta = found.centroid_intervals()
    assert len(theta) == 18
    relevant = theta[theta["feature"].isin(list("abc"))]
    # the standard error of a mean: 0.015 over the root of about 53 rows
    assert relevant["se"].between(0.001, 0.004).all()
    assert (
        (relevant["lower"] < relevant["centroid"]) & (relevant["upper"] > relevant["centroid"])
    ).all()


def test_intervals_grow_with_the_level(found):
    narrow, wide = found.weight_intervals(0.5), found.weight_intervals(0.95)
    assert (narrow["lower"] >= wide["lower"]).all()
    assert (narrow["upper"] <= wide["upper"]).all()


def test_log_ratios_are_centred_or_relative_to_a_feature(found):
    centred = found.log_ratios()
    assert centred["log_ratio"].sum() == pytest.approx(0.0, abs=1e-9)
    relative = found.log_ratios("b", method="percentile")
    assert (relative.loc["b", ["log_ratio", "lower", "upper"]] == 0).all()
    w = found.weights
    np.testing.assert_allclose(relative["log_ratio"], np.log(w / w["b"]))
    with pytest.raises(ValueError, match="no feature is called 'z'"):
        found.log_ratios("z")


def test_features_with_more_than_an_equal_share_are_selected(found):
    assert found.threshold == pytest.approx(1 / 6)
    assert found.selection_frequency.tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def made(draws, weights=None):
    draws = np.asarray(draws, dtype=float)
    names = [f"x{i}" for i in range(draws.shape[1])]
    w = pd.Series(draws[0] if weights is None else weights, index=names)
    nothing = np.zeros((0, draws.shape[1]))
    centroids = pd.DataFrame(np.zeros((1, len(w))), columns=names)
    shifts = np.zeros((len(draws), 1, len(w)), dtype=np.float32)
    return BootstrapResults(w, centroids, draws, shifts, nothing, shifts[:0], 0.3, 1.0, True)


def test_pairs_that_change_places_are_counted():
    found = made([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.6, 0.1, 0.3], [0.2, 0.5, 0.3]])
    pairs = found.rank_switches()
    assert pairs[["heavier", "lighter"]].to_numpy().tolist() == [
        ["x0", "x1"],
        ["x0", "x2"],
        ["x1", "x2"],
    ]
    assert pairs["switched"].tolist() == [0.5, 0.25, 0.25]
    assert len(found.rank_switches(least=0.3)) == 1
    assert found.selection_frequency.tolist() == [0.5, 0.5, 0.0]
    assert "x0 and x1 in 50 %" in str(found)


def test_names_with_any_characters_can_be_printed():
    found = made([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]])
    found.weights.index = found.centroids.columns = ["a <b>&", "x_1 $50%$", "n" * 200]
    assert "a &lt;b&gt;&amp;" in found._repr_html_()
    assert r"x\_1 \$50\%\$" in found.summary().as_latex()
    assert max(map(len, str(found).splitlines())) <= 100


def test_without_a_jackknife_there_are_percentiles_only(results):
    found = results.bootstrap(4, n_jackknife=0, random_state=0)
    assert (found.weight_intervals()["method"] == "percentile").all()
    assert "because without a jackknife there is no acceleration" in words(found)
    with pytest.raises(ValueError, match="need the jackknife"):
        found.weight_intervals(method="bca")


def test_the_fits_own_summary_and_picture_show_the_intervals(data):
    results = fit(data)
    assert "lower" not in str(results)
    found = results.bootstrap(20, random_state=0)
    assert results.bootstrap_ is found
    text = str(results)
    assert "selected" in text
    assert "95 % bootstrap interval" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    ax = results.plot_weights()
    segments = ax.collections[0].get_segments()
    table = found.weight_intervals().sort_values("weight", ascending=False, kind="stable")
    ends = np.array([segment[:, 0] for segment in segments])
    np.testing.assert_allclose(ends, table[["lower", "upper"]])
    plt.close("all")


@pytest.mark.parametrize(("p", "shown"), [(5, 5), (4434, 20)])
def test_the_picture_shows_the_heaviest_features(p, shown):
    rng = np.random.default_rng(0)
    found = made(rng.dirichlet(np.full(p, 0.3), size=30))
    ax = found.plot()
    assert len(ax.get_yticks()) == shown
    assert ("4414 more features" in ax.get_xlabel()) == (p == 4434)
    assert len(ax.figure.axes) == 2
    ax.figure.canvas.draw()
    assert len(str(found).splitlines()) < 42
    plt.close("all")


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results):
    one, two = (
        results.bootstrap(4, n_jackknife=3, random_state=4, n_jobs=n_jobs) for n_jobs in (None, 2)
    )
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize(("stop", "kept"), [(5, 4), (9, 8)])
def test_an_interruption_keeps_what_is_finished(results, monkeypatch, stop, kept):
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 1)
    monkeypatch.setattr(module, "refit", interrupted_from(stop, module.refit))
    with pytest.warns(UserWarning, match=f"{stop - 1} of 13 resamples are finished"):
        found = results.bootstrap(8, n_jackknife=5, random_state=0)
    assert (found.n_boot, found.complete, len(found.weight_jackknife)) == (kept, False, 0)
    assert "INTERRUPTED" in str(found)


def test_results_survive_a_file(data, tmp_path):
    results = fit(data)
    found = results.bootstrap(6, n_jackknife=4, random_state=0)
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.bootstrap_.weight_intervals(), found.weight_intervals())
    pd.testing.assert_frame_equal(
        loaded.bootstrap_.centroid_intervals(), found.centroid_intervals()
    )
    assert str(loaded) == str(results)
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.bootstrap()
    again = loaded.bootstrap(6, n_jackknife=4, X=data, random_state=0)
    np.testing.assert_allclose(again.weight_draws, found.weight_draws, rtol=1e-9)


def test_data_that_are_not_those_of_the_fit_are_refused(data, results):
    with pytest.raises(ValueError, match="159 rows, but the fit had 160"):
        results.bootstrap(X=data.iloc[1:])
    with pytest.raises(ValueError, match="not the data of the fit"):
        results.bootstrap(X=data.iloc[::-1])
    weight = np.linspace(1, 2, len(data))
    weighted = ewp.fit(data, 3, lam=8.0, sample_weight=weight, random_state=0)
    with pytest.raises(ValueError, match="pass them as sample_weight"):
        weighted.bootstrap(X=data)
    assert weighted.bootstrap(3, n_jackknife=0, X=data, sample_weight=weight).n_boot == 3


@pytest.mark.parametrize(
    "options",
    [
        {"scale": "standard"},
        {"dispersion": "between"},
        {"polish": False, "s0": -1.0},
        {"prior": [1.0, 2, 1, 1, 0, 1]},
    ],
)
def test_the_options_of_the_fit_are_those_of_the_resamples(data, options):
    results = fit(data, **options)
    used = fitted_data(results).options
    assert used.standardise == (options.get("scale") == "standard")
    assert used.between == (options.get("dispersion") == "between")
    assert bool(used.effort.rounds) == options.get("polish", True)
    found = results.bootstrap(4, start="estimates", n_jackknife=0, random_state=0)
    np.testing.assert_allclose(found.weight_draws.mean(axis=0), results.weights, atol=0.15)
    if "prior" in options:
        assert (found.weight_draws[:, 4] == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": -1.0}, "threshold=-1.0 must be a weight"),
        ({"threshold": 1.0}, "threshold=1.0 must be below 1"),
        ({"n_jobs": 0}, "n_jobs=0 must be None, a positive number"),
        ({"progress": "yes"}, "progress='yes' must be True, False or None"),
        ({"sample_weight": np.ones(160)}, "sample_weight belongs to X"),
    ],
)
def test_options_out_of_range_are_refused(results, options, message):
    with pytest.raises(ValueError, match=message):
        results.bootstrap(4, **options)


def test_small_weights_are_printed_with_the_digits_of_their_intervals():
    draws = np.array([[2.52e-4, 1 - 2.52e-4], [2.53e-4, 1 - 2.53e-4], [2.5e-4, 1 - 2.5e-4]])
    assert "2.520e-04" in str(made(draws))


def test_a_start_of_the_users_own_is_that_of_the_refits(data):
    """Also where it is the automatic one: it asks for the published annealing."""
    assert fitted_data(fit(data)).options.first_exponent is None
    assert fitted_data(fit(data, s0=-1.0)).options.s0 == -1.0
