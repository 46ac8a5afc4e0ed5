"""Divergences and sizes of rows under misuse: odd data and options, files tampered with."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import ewp
from ewp import EWPResults
from ewp.selection.family_density import Counted, FamilyDensity
from tests.support.families import counts


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X, _, _ = counts(rng, n=120, p=6, relevant=4, apart=1.2)
    return pd.DataFrame(X, columns=list("abcdef"), index=[f"r{i}" for i in range(len(X))])


@pytest.fixture(scope="module")
def sizes(table):
    return pd.Series(np.linspace(0.5, 3.0, len(table)), index=table.index)


@pytest.fixture(scope="module")
def sized(table, sizes):
    return ewp.fit(table, 3, 20.0, divergence="poisson", offset=sizes, random_state=0)


def shuffled(values):
    return values.sample(frac=1.0, random_state=1)


# -- sizes of rows -----------------------------------------------------------------------------


def test_sizes_are_matched_with_rows_by_name(table, sizes, sized):
    options = {"divergence": "poisson", "random_state": 0}
    again = ewp.fit(table, 3, 20.0, offset=shuffled(sizes), **options)
    assert again.objective == sized.objective
    assert (sized.predict(table, shuffled(sizes)) == sized.labels).all()
    expected = sized.transform(table, sizes)
    pd.testing.assert_frame_equal(sized.transform(table, shuffled(sizes)), expected)
    estimator = ewp.EWP(3, 20.0, offset=sizes, **options).fit(table)
    assert (estimator.predict(table, shuffled(sizes)) == estimator.labels_).all()
    assert np.allclose(estimator.transform(table, shuffled(sizes)), expected)
    with pytest.raises(ValueError, match=r"offset is labelled .* offset.to_numpy"):
        ewp.fit(table, 3, 20.0, offset=sizes.rename(lambda name: f"s{name}"), **options)


def test_sizes_follow_rows_that_are_fitted_again_in_another_order(table, sized):
    again = sized.refit(X=shuffled(table), lam=10.0)
    assert again.objective == pytest.approx(sized.refit(lam=10.0).objective, rel=1e-12)


def test_sizes_of_other_rows_are_asked_for(table, sizes, sized):
    with pytest.raises(ValueError, match=r"X has 50 rows, but the fit had sizes of its 120"):
        sized.refit(X=table.iloc[:50])
    again = sized.refit(X=table.iloc[:50], offset=sizes.iloc[:50])
    assert again.n_obs == 50


def test_grids_and_critical_exponents_match_names_too(table, sizes):
    options = {"divergence": "poisson"}
    one = ewp.lambda_path(table, 3, offset=sizes, **options)
    assert np.array_equal(one, ewp.lambda_path(table, 3, offset=shuffled(sizes), **options))
    names = pd.Series({"a": "poisson", "b": "euclidean"} | dict.fromkeys("cdef", "poisson"))
    found = ewp.critical_exponent(table, divergence=names)
    assert ewp.critical_exponent(table, divergence=names.iloc[::-1]) == found
    # columns without names are called as in the results
    by_name = {f"x{i}": name for i, name in enumerate(names)}
    assert ewp.critical_exponent(table.to_numpy(), divergence=by_name) == found


def test_new_rows_with_sizes_are_augmented(table, sizes, sized):
    found = sized.augment(table.iloc[:9], offset=sizes.iloc[:9])
    pd.testing.assert_frame_equal(found, sized.augment().iloc[:9])
    with pytest.raises(ValueError, match="offset belongs to X"):
        sized.augment(offset=sizes)


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        ("auto", 'None, "size", or one size'),
        (["a"] * 120, "offset must be numbers"),
        ({"r0": 1.0}, 'None, "size", or one size'),
        (np.r_[np.ones(119), 1e300], "would not count"),
        (np.r_[np.ones(119), 1e-300], "would not count"),
    ],
)
def test_odd_sizes_are_refused_in_words(table, offset, said):
    with pytest.raises(ValueError, match=said):
        ewp.fit(table, 3, 20.0, divergence="poisson", offset=offset)


def test_rows_without_counts_cannot_be_predicted_and_the_cure_works(table):
    found = ewp.fit(table, 3, 20.0, divergence="poisson", offset="size", random_state=0)
    with pytest.raises(ValueError, match=r"2 such rows\); drop such rows$"):
        found.predict(np.zeros((2, 6)))


# -- divergences -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["poisson", "bernoulli", "gamma"])
def test_new_rows_outside_of_the_domain_are_refused(table, name):
    X = {"poisson": table, "bernoulli": 1.0 * (table > 5), "gamma": table + 0.5}[name]
    found = ewp.fit(X, 3, 20.0, divergence=name, random_state=0)
    strange = X.iloc[:3].copy()
    strange.iloc[1, 2] = -1.0
    for answer in (found.predict, found.transform, found.augment, found.plot_clusters):
        with pytest.raises(ValueError, match=r"column 'c' has -1 \(row 1\)"):
            answer(strange)
    estimator = ewp.EWP(3, 20.0, divergence=name, random_state=0).fit(X)
    for answer in (estimator.predict, estimator.transform):
        with pytest.raises(ValueError, match=r"has -1 \(row 1\)"):
            answer(strange)


def test_a_series_names_divergences_by_column(table):
    names = pd.Series({"a": "poisson", "b": "euclidean"} | dict.fromkeys("cdef", "poisson"))
    options = {"scale": "standard", "random_state": 0}
    found = ewp.fit(table, 3, 20.0, divergence=names.iloc[::-1], **options)
    assert found.divergence == tuple(names)
    assert ewp.fit(table, 3, 20.0, divergence=pl.Series(names.tolist()), **options).divergence == (
        tuple(names)
    )
    for strange in (np.array("poisson"), b"poisson", [["poisson"], ["gamma", "gamma"]]):
        with pytest.raises(ValueError, match="divergence"):
            ewp.fit(table, 3, 20.0, divergence=strange, **options)


def test_a_call_with_divergences_by_name_can_be_run(table):
    families = {"a": "poisson", "b": "poisson"}
    found = ewp.fit(table, 3, 20.0, divergence=families, scale="standard", random_state=0)
    again = eval(found.call, {"ewp": ewp, "X": table})
    assert again.objective == found.objective


@pytest.mark.parametrize("weighted", [False, True])
def test_saved_fits_to_rows_with_sizes_of_their_own_can_be_read(table, sizes, weighted, tmp_path):
    weight = np.linspace(1.0, 2.0, len(table)) if weighted else None
    options = {"divergence": "poisson", "offset": sizes, "sample_weight": weight}
    found = ewp.fit(table, 3, 20.0, random_state=0, **options)
    found.save(tmp_path / "fit")
    again = EWPResults.load(tmp_path / "fit")
    assert str(again.summary()) == str(found.summary())
    assert (again.predict(table, sizes) == found.labels).all()
    refitted = again.refit(X=shuffled(table) if weight is None else table, sample_weight=weight)
    assert refitted.objective == pytest.approx(found.objective, rel=1e-12)


def test_what_does_not_go_with_divergences_by_column_is_told_in_words(table):
    with pytest.raises(ValueError, match="with divergences by column: such fits cannot be trimmed"):
        ewp.fit(table, 3, 20.0, divergence={"a": "poisson"}, robust="trim")


@pytest.mark.parametrize(("name", "value"), [("gamma", 0.0), ("poisson", -1.0), ("bernoulli", 2.0)])
def test_starting_centroids_outside_of_the_domain_are_refused(table, name, value):
    X = (table > 5) * 1.0 if name == "bernoulli" else table + 1.0
    init = np.full((3, 6), 0.5)
    init[1, 2] = value
    with pytest.raises(ValueError, match=r"column 'c'.*mend init"):
        ewp.fit(X, 3, 20.0, divergence=name, init=init)


def test_an_estimator_predicts_rows_of_sparse_matrices(table):
    X = sp.csr_matrix(table.to_numpy())
    for offset in (None, "size"):
        estimator = ewp.EWP(3, 20.0, divergence="poisson", offset=offset, random_state=0).fit(X)
        assert (estimator.predict(X) == estimator.labels_).all()
        assert np.allclose(estimator.transform(X), estimator.transform(table.to_numpy()))


# -- words -------------------------------------------------------------------------------------


def test_no_word_speaks_of_ellipsoids_or_squares_where_there_are_none(table, tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = ewp.select_k(table, [1, 2, 3], n_lams=2, divergence="poisson", random_state=0)
        yes = ewp.fit((table > 5) * 1.0, 3, "auto", divergence="bernoulli", random_state=0)
    found.results.report(tmp_path / "page.html")
    texts = [
        *(str(one.message) for one in told),
        str(found.summary()),
        str(found.results.summary()),
        str(yes.summary()),
        (tmp_path / "page.html").read_text(encoding="utf-8"),
    ]
    for text in texts:
        joined = " ".join(text.split())
        for word in (
            "elliptical",
            "ellipsoid",
            "box-shaped",
            "sums of squares",
            "weighted variance lies",
        ):
            assert word not in joined


def test_a_profile_says_that_its_means_are_per_unit_of_size(sized, table):
    assert "divided by the sizes" in str(sized.profile())
    plain = ewp.fit(table, 3, 20.0, divergence="poisson", random_state=0)
    assert "in the units of the data" in str(plain.profile())


# -- files -------------------------------------------------------------------------------------


def _tampered(path, target, change):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes().decode())
    change(arrays, header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with open(target, "wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("family_mean", -1.0),
        ("family_mean", np.inf),
        ("family_units", np.inf),
        ("family_lowest", -1.0),
        ("family_lowest", np.inf),
        ("family_highest", -1.0),
        ("offset", None),
        ("offset", "size"),
        ("offset", "other"),
        ("reference", 3.0),
        ("divergence", "gamma"),
        ("divergence", "euclidean"),
        ("divergence", "strange"),
        ("divergence", 5),
    ],
)
def test_files_that_were_tampered_with_are_refused(sized, tmp_path, part, value):
    path, target = tmp_path / "own", tmp_path / "other"
    sized.save(path)

    def change(arrays, header):
        if part in arrays:
            arrays[part] = np.full_like(arrays[part], value)
        elif part == "reference":
            header[part] = value
        else:
            header["options"][part] = value

    _tampered(path, target, change)
    with pytest.raises(ValueError, match="is damaged"):
        EWPResults.load(target)
    _tampered(path, target, lambda arrays, header: None)
    assert EWPResults.load(target).objective == sized.objective


# -- ends of the domains -----------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(
    ("name", "end"), [("poisson", 0.0), ("bernoulli", 0.0), ("bernoulli", 1.0)]
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_column_that_was_constant_says_nothing_of_new_rows(table, name, end, scale):
    X = (1.0 * (table > 5) if name == "bernoulli" else table).assign(g=end)
    found = ewp.fit(X, 3, 20.0, divergence=name, scale=scale, random_state=0)
    changed = X.assign(g=1.0 - end)
    pd.testing.assert_frame_equal(found.transform(changed), found.transform(X))
    # rows without weight may vary there
    X.iloc[:5, -1] = 1.0 - end
    weight = np.r_[np.zeros(5), np.ones(len(X) - 5)]
    options = {"divergence": name, "scale": scale, "random_state": 0}
    without = ewp.fit(X.iloc[5:], 3, 20.0, **options)
    found = ewp.fit(X, 3, 20.0, sample_weight=weight, **options)
    assert found.objective == pytest.approx(without.objective, rel=1e-12)
    assert (found.labels == without.predict(X)).all()


def test_shares_of_weighted_rows_lie_between_the_ends():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = (rng.random((40, 3)) < 0.5) * 1.0
        X[:, 0] = np.repeat([0, 1], 20)
        weight = rng.uniform(0.1, 3.0, 40)
        found = ewp.fit(
            X, 2, 5.0, divergence="bernoulli", sample_weight=weight, n_init=1, random_state=0
        )
        assert found.centroids.to_numpy().max() <= 1.0


def test_a_column_in_proportion_to_the_sizes_is_constant():
    rng = np.random.default_rng(0)
    size = rng.uniform(0.1, 3.0, 40)
    X = np.column_stack([rng.poisson(3.0, 40), 0.1 * size])
    options = {"divergence": "poisson", "scale": "standard", "random_state": 0}
    found = ewp.fit(X, 2, 5.0, offset=size, **options)
    assert found.weights.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="distinct rows"):
        ewp.fit(X[:, :1] + 1.0, 2, 5.0, offset="size", divergence="poisson")


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_the_sizes_do_not_matter_for_what_held_out_rows_gain(factor):
    values, labels, size = counts(np.random.default_rng(0), n=80, p=5, relevant=3)
    train, test = np.arange(0, 80, 2), np.arange(1, 80, 2)
    one, other = (
        FamilyDensity(Counted(("poisson",) * 5, values, own), train, test, None)
        for own in (size, factor * size)
    )
    partition = labels[None, train]
    assert np.allclose(one.judge_all(partition)[0].gain, other.judge_all(partition)[0].gain)


def test_one_divergence_for_all_columns_is_listed_once(table, tmp_path):
    found = ewp.fit(table, 3, 20.0, divergence="poisson", random_state=0)
    assert found.options["divergence"] == "poisson"
    found.save(tmp_path / "fit")
    assert EWPResults.load(tmp_path / "fit").fit_options.divergence == ("poisson",) * 6
