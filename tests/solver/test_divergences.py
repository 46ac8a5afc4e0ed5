"""Fits with divergences of the columns' own: what holds for squared differences holds for them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score as nmi

import ewp
from ewp.engine.bregman import BregmanEngine
from ewp.solver.critical_exponent import engine_critical_exponent
from ewp.solver.iterate import centroid_step, iterate, step_of_run
from ewp.solver.schedules import Annealed
from ewp.solver.weights import RelativeEntropy
from tests.support.families import NAMES, clusters, counts, half_deviance
from tests.support.strategies import SLOW

OTHERS = NAMES[1:]
MIXED = ("euclidean", "poisson", "bernoulli", "gamma")


@st.composite
def problems(draw):
    """Rows of one family or of several, a number of clusters and a penalty."""
    seed = draw(st.integers(0, 2**32 - 1))
    names = draw(st.sampled_from([*((name,) * 3 for name in OTHERS), MIXED]))
    rng, k = np.random.default_rng(seed), draw(st.integers(1, 4))
    X, _ = clusters(names, rng, draw(st.integers(8, 40)), max(k, 2))
    X += 0.0 if "bernoulli" in names else rng.choice([0.0, 1.0])
    lam = draw(st.sampled_from([0.01, 0.1, 1.0, 10.0])) * len(X)
    return X, names, k, lam, seed % 1000


def fit(problem, X=None, **options):
    data, names, k, lam, seed = problem
    data = data if X is None else X
    k = min(k, len(np.unique(data, axis=0)))
    return ewp.fit(data, k, lam, divergence=names, random_state=seed, **options)


def divergences(X, found, names):
    """Weighted divergence of every row from every centroid, written out."""
    weights, centroids = found.weights.to_numpy(), found.centroids.to_numpy()
    return np.array([half_deviance(X, theta, names) @ weights for theta in centroids]).T


@given(problems(), st.sampled_from(["within", "between"]), st.booleans(), st.booleans())
@SLOW
def test_objective_never_rises_along_the_trace(problem, dispersion, polish, standard):
    scale = "standard" if standard else None
    found = fit(problem, dispersion=dispersion, polish=polish, scale=scale)
    trace = found.objective_trace
    slack = 1e-9 * np.abs(trace["f_s"]).max()
    assert (np.diff(trace["f_s"]) <= slack).all()
    assert trace["f_inf"].iloc[-1] == found.objective
    assert found.converged


@given(problems())
@SLOW
def test_weights_lie_on_the_simplex_and_centroids_in_the_hull(problem):
    found, X = fit(problem), problem[0]
    weights = found.weights.to_numpy()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    centroids = found.centroids.to_numpy()
    slack = 1e-9 * np.ptp(X, axis=0)
    assert (centroids >= X.min(axis=0) - slack).all()
    assert (centroids <= X.max(axis=0) + slack).all()


@given(problems())
@SLOW
def test_a_fit_is_a_fixed_point_of_hard_clustering(problem):
    """Centroids are means of their rows, rows are with the nearest, weights are in closed form."""
    X, names, _, lam, _ = problem
    found = fit(problem)
    labels, d = found.labels.to_numpy(), divergences(X, found, names)
    own = d[np.arange(len(X)), labels]
    assert (own <= d.min(axis=1) * (1 + 1e-6) + 1e-9).all()
    for j in np.unique(labels):
        mean = X[labels == j].mean(axis=0)
        np.testing.assert_allclose(found.centroids.to_numpy()[j], mean, rtol=1e-6, atol=1e-9)
    theta = found.centroids.to_numpy()[labels]
    dispersion = half_deviance(X, theta, names).sum(axis=0)
    varying = np.ptp(X, axis=0) > 0
    if varying.any():
        w = np.where(varying, np.exp(-(dispersion - dispersion[varying].min()) / lam), 0.0)
        np.testing.assert_allclose(found.weights, w / w.sum(), rtol=1e-5, atol=1e-7)
        entropy = sum(one * np.log(one) for one in found.weights if one > 0)
        assert found.objective == pytest.approx(own.sum() + lam * entropy, rel=1e-6, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(["poisson", "gamma"]))
@SLOW
def test_with_equal_weights_and_hard_memberships_it_is_bregman_hard_clustering(seed, k, name):
    rng, names = np.random.default_rng(seed), ("euclidean", name, name)
    X, _ = clusters(names, rng, 30, max(k, 2))
    X += 1.0  # no mean is at the end of its domain
    theta = X[rng.choice(len(X), k, replace=False)] * 0.5 + X.mean(axis=0) * 0.5
    found = ewp.fit(X, k, 1e12, divergence=names, s0=-np.inf, polish=False, init=theta)
    for _ in range(200):  # Banerjee and others (2005)
        d = np.array([half_deviance(X, one, names).sum(axis=1) for one in theta])
        labels = d.argmin(axis=0)
        assume(len(np.unique(labels)) == k)  # else a cluster is seeded anew
        new = np.array([X[labels == j].mean(axis=0) for j in range(k)])
        if np.allclose(new, theta, rtol=1e-14, atol=0):
            break
        theta = new
    assert nmi(labels, found.labels) == pytest.approx(1.0)


@pytest.mark.parametrize("names", [*[(name,) * 3 for name in OTHERS], MIXED])
@pytest.mark.parametrize("s", [-1.5, -8.0])
def test_a_step_is_that_of_the_paper_with_another_divergence(names, s):
    rng = np.random.default_rng(0)
    X, _ = clusters(names, rng, 40, 3)
    k, p, lam, a = 3, len(names), 25.0, rng.uniform(0.5, 2, 40)
    engine = BregmanEngine(X, a, names=names).in_double()
    centroids = 0.5 * X[:k] + 0.5 * X.mean(axis=0)
    w = rng.dirichlet(np.ones(p))
    d = np.array([half_deviance(X, one, names) @ w for one in centroids]).T
    mean = (d**s).mean(axis=1)
    phi = a[:, None] * d ** (s - 1) * mean[:, None] ** (1 / s - 1) / k
    wanted = phi.T @ X / phi.sum(axis=0)[:, None]
    dispersion = sum(phi[:, j] @ half_deviance(X, wanted[j], names) for j in range(k))
    stats = step_of_run(engine.statistics, engine.to_engine_units(centroids), w, s)
    theta, found, _ = centroid_step(stats, centroids, engine.divergence)
    np.testing.assert_allclose(engine.to_data_units(theta), wanted, rtol=1e-9)
    np.testing.assert_allclose(found, dispersion, rtol=1e-8)
    assert stats.power == pytest.approx(a @ mean ** (1 / s), rel=1e-10)
    rule = RelativeEntropy.make(lam, engine.squares)
    new = np.exp(-(dispersion - dispersion.min()) / lam)
    np.testing.assert_allclose(rule.update(found), new / new.sum(), rtol=1e-8)


@pytest.mark.parametrize("names", [*[(name,) * 4 for name in OTHERS], MIXED])
@pytest.mark.parametrize("weighted", [False, True])
def test_predicted_growth_factor_matches_the_iterated_map(names, weighted):
    rng = np.random.default_rng(7)
    X, _ = clusters(names, rng, 150, 3)
    a = rng.uniform(0.5, 2, 150) if weighted else None
    engine = BregmanEngine(X, a, names=names).in_double()
    w = rng.dirichlet(np.ones(4))
    critical = engine_critical_exponent(engine, w)
    public = ewp.critical_exponent(X, weights=w, sample_weight=a, divergence=names)
    assert public == pytest.approx(critical, rel=1e-12)
    largest = 1.0 / (1.0 - critical)
    curved = w * engine.divergence.curvature
    for s in (0.5 * critical - 0.1, 1.5 * critical - 1.0):
        delta, factor = rng.standard_normal(4), 0.0
        for _ in range(300):  # power iteration on the map itself
            delta *= 1e-5 / np.sqrt(curved @ delta**2)
            middle = engine.divergence.mean
            theta = np.vstack([middle + delta, middle - delta])
            stats = step_of_run(engine.statistics, theta, w, s)
            new, _, _ = centroid_step(stats, theta, engine.divergence)
            moved = (new[0] - new[1]) / 2
            factor = np.sqrt(curved @ moved**2) / np.sqrt(curved @ delta**2)
            delta = moved
        assert factor == pytest.approx((1 - s) * largest, rel=1e-4)
        assert (factor > 1) == (s < critical)


def test_many_columns_have_the_same_critical_exponent():
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, (50, 300)).astype(float)
    w, mean = rng.dirichlet(np.ones(300)), X.mean(axis=0)
    away = half_deviance(X, mean, ("poisson",) * 300) @ w
    rows = (X - mean) * np.sqrt(w / mean / away[:, None])
    wanted = 1.0 - 1.0 / np.linalg.eigvalsh(rows.T @ rows / 50)[-1]
    found = ewp.critical_exponent(X, weights=w, divergence="poisson")
    assert found == pytest.approx(wanted, rel=1e-8)


def test_squared_differences_named_column_by_column_are_the_default():
    rng = np.random.default_rng(3)
    X, _ = clusters(("euclidean",) * 4, rng, 80, 3)
    one = ewp.fit(X, 3, 20.0, random_state=0)
    two = ewp.fit(X, 3, 20.0, divergence=["euclidean"] * 4, random_state=0)
    assert two.families is None
    assert one.objective == two.objective


def test_mixed_columns_with_squared_differences_give_their_numbers():
    """A constant column of counts makes the columns mixed and adds nothing."""
    rng = np.random.default_rng(3)
    X, _ = clusters(("euclidean",) * 3, rng, 80, 3)
    mixed = np.column_stack([X + 50.0, np.full(80, 2.0)])
    one = ewp.fit(X, 3, 20.0, random_state=0, scale="standard")
    two = ewp.fit(
        mixed, 3, 20.0, divergence=["euclidean"] * 3 + ["poisson"], scale="standard", random_state=0
    )
    assert two.objective == pytest.approx(one.objective, rel=1e-8)
    np.testing.assert_allclose(two.weights[:3], one.weights, rtol=1e-6)
    assert (two.labels.to_numpy() == one.labels.to_numpy()).all()


@pytest.mark.parametrize("names", [*[(name,) * 4 for name in OTHERS], MIXED])
def test_a_row_of_weight_two_is_two_rows(names):
    rng = np.random.default_rng(5)
    X, _ = clusters(names, rng, 40, 2)
    a = rng.integers(1, 4, 40)
    one = ewp.fit(X, 2, 30.0, divergence=names, sample_weight=a, random_state=0)
    two = ewp.fit(np.repeat(X, a, axis=0), 2, 30.0, divergence=names, random_state=0)
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-6)
    np.testing.assert_allclose(one.centroids, two.centroids, rtol=1e-6)


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_units_of_a_column_do_not_matter_where_columns_are_standardised(name):
    rng = np.random.default_rng(6)
    X, _ = clusters((name,) * 4, rng, 60, 3)
    units = np.array([1.0, 10.0, 0.1, 3.0])
    one, two = (
        ewp.fit(rows, 3, 12.0, divergence=name, scale="standard", random_state=0)
        for rows in (X, X * units)
    )
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-6)
    np.testing.assert_allclose(one.centroids * units, two.centroids, rtol=1e-6)


def test_yes_and_no_change_places():
    rng = np.random.default_rng(6)
    X, _ = clusters(("bernoulli",) * 5, rng, 60, 3)
    one, two = (
        ewp.fit(rows, 3, 12.0, divergence="bernoulli", random_state=0) for rows in (X, 1 - X)
    )
    assert one.objective == pytest.approx(two.objective, rel=1e-9)


@pytest.mark.parametrize("names", [*[(name,) * 4 for name in OTHERS], MIXED])
def test_order_of_rows_and_columns_does_not_matter(names):
    rng = np.random.default_rng(8)
    X, _ = clusters(names, rng, 50, 3)
    rows, columns = rng.permutation(50), rng.permutation(4)
    one = ewp.fit(X, 3, 15.0, divergence=names, random_state=1)
    other = [names[i] for i in columns]
    two = ewp.fit(X[np.ix_(rows, columns)], 3, 15.0, divergence=other, random_state=1)
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    assert nmi(one.labels.to_numpy()[rows], two.labels) == pytest.approx(1.0)


def test_sizes_are_weights_of_rows_per_unit():
    rng = np.random.default_rng(0)
    X, _, size = counts(rng, n=80, p=8, relevant=4)
    one = ewp.fit(X, 3, 50.0, divergence="poisson", offset=size, random_state=0)
    two = ewp.fit(
        X / size[:, None], 3, 50.0, divergence="poisson", sample_weight=size, random_state=0
    )
    assert one.objective == pytest.approx(two.objective, rel=1e-12)
    np.testing.assert_allclose(one.centroids, two.centroids, rtol=1e-9)
    labels = one.labels.to_numpy()
    for j in range(3):  # sums of counts over sums of sizes
        mine = labels == j
        wanted = X[mine].sum(axis=0) / size[mine].sum()
        np.testing.assert_allclose(one.centroids.loc[j], wanted, rtol=1e-6)
    assert one.clusters["mass"].tolist() == one.clusters["size"].tolist()


def test_row_totals_are_sizes():
    rng = np.random.default_rng(1)
    X, _, _ = counts(rng, n=60, p=10, relevant=5)
    sizes = X.sum(axis=1) / X.sum(axis=1).mean()
    one = ewp.fit(X, 3, 50.0, divergence="poisson", offset="size", random_state=0)
    two = ewp.fit(X, 3, 50.0, divergence="poisson", offset=sizes, random_state=0)
    assert one.objective == pytest.approx(two.objective, rel=1e-12)
    new, _, _ = counts(np.random.default_rng(2), n=30, p=10, relevant=5)
    assert (
        one.predict(new) == two.predict(new, offset=new.sum(axis=1) / X.sum(axis=1).mean())
    ).all()
    twice = one.predict(2 * new)
    assert (twice == one.predict(new)).all()


def test_a_fit_recovers_clusters_of_counts_of_very_different_sizes():
    scores = {"sized": [], "plain": [], "raw": []}
    for seed in range(3):
        X, labels, _ = counts(np.random.default_rng(seed), p=100, relevant=20, apart=1.2, extra=0.1)
        for name, options in (
            ("sized", {"divergence": "poisson", "offset": "size"}),
            ("plain", {"divergence": "poisson"}),
            ("raw", {}),
        ):
            found = ewp.fit(X, 3, **options, random_state=0)
            scores[name].append(nmi(labels, found.labels))
    assert np.mean(scores["sized"]) > 0.97
    assert np.mean(scores["raw"]) < 0.4
    assert np.mean(scores["plain"]) < 0.4


def test_a_latent_class_design_is_recovered():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    share = np.where(rng.random((3, 40)) < 0.5, 0.1, 0.9)
    share[:, 24:] = rng.uniform(0.1, 0.9, 16)
    X = (rng.random((300, 40)) < share[labels]).astype(float)
    found = ewp.fit(X, 3, divergence="bernoulli", random_state=0)
    assert nmi(labels, found.labels) > 0.95
    assert found.weights[:24].mean() > found.weights[24:].mean()


@pytest.mark.parametrize("name", OTHERS)
def test_one_cloud_is_told(name):
    rng = np.random.default_rng(0)
    X, _ = clusters((name,) * 6, rng, 150, 1)
    with pytest.warns(ewp.NoClustersWarning):
        ewp.fit(X, 3, divergence=name, random_state=0)


def test_the_number_of_clusters_of_counts_is_found():
    X, _, _ = counts(np.random.default_rng(4), n=300, p=40, relevant=12, k=3, apart=1.0)
    found = ewp.select_k(
        X, range(1, 6), divergence="poisson", offset="size", n_lams=5, random_state=0
    )
    assert found.k == 3
    noise, _, _ = counts(np.random.default_rng(5), n=200, p=40, relevant=0)
    found = ewp.select_k(
        noise, range(1, 4), divergence="poisson", offset="size", n_lams=4, random_state=0
    )
    assert found.k == 1


@pytest.mark.parametrize("names", [*[(name,) * 4 for name in OTHERS], MIXED])
def test_saved_results_predict_and_print_the_same(names, tmp_path):
    rng = np.random.default_rng(9)
    X, _ = clusters(names, rng, 60, 3)
    found = ewp.fit(X, 3, 20.0, divergence=names, scale="standard", random_state=0)
    found.save(tmp_path / "fit.ewp")
    again = ewp.EWPResults.load(tmp_path / "fit.ewp")
    new, _ = clusters(names, rng, 40, 3)
    assert (again.predict(new) == found.predict(new)).all()
    np.testing.assert_array_equal(again.transform(new), found.transform(new))
    assert str(again.summary()) == str(found.summary())
    assert again.divergence == found.divergence
    assert again.refit(X=X).objective == found.refit().objective


def test_predictions_are_the_labels_and_distances_the_objective():
    rng = np.random.default_rng(10)
    X, _, size = counts(rng, n=90, p=6, relevant=4)
    model = ewp.EWP(3, 40.0, divergence="poisson", offset=size, random_state=0).fit(X)
    assert (model.predict(X, offset=size) == model.labels_).all()
    squared = model.transform(X, offset=size) ** 2
    again = ewp.EWP(3, 40.0, divergence="poisson", offset=size, random_state=0).fit_transform(X)
    np.testing.assert_allclose(again**2, squared, rtol=1e-12)
    entropy = model.lam_ * sum(w * np.log(w) for w in model.feature_weights_ if w > 0)
    assert squared.min(axis=1).sum() + entropy == pytest.approx(model.objective_, rel=1e-9)
    distance = model.results_.augment()[".distance"]
    np.testing.assert_allclose(distance, squared.min(axis=1) ** 0.5, rtol=1e-9)


def test_intervals_and_stability_of_counts():
    X, _, _ = counts(np.random.default_rng(2), n=120, p=8, relevant=4, k=2)
    found = ewp.fit(
        X, 2, 300.0, divergence="poisson", offset="size", scale="standard", random_state=0
    )
    table = found.bootstrap(60, random_state=0).weight_intervals()
    assert (table["lower"] <= table["weight"]).all()
    assert (table["weight"] <= table["upper"]).all()
    assert (found.stability(10, random_state=0).clusters["jaccard"] > 0.9).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"divergence": "poison"}, "divergence"),
        ({"divergence": 3}, "divergence=3"),
        ({"divergence": ["poisson"]}, "1 families for 2 columns"),
        ({"divergence": {"c": "poisson"}}, "'c', which is no column"),
        ({"divergence": "bernoulli"}, r"column 'a' has 3 \(row 1\)"),
        ({"divergence": "gamma"}, r"column 'a' has 0 \(row 0\)"),
        ({"divergence": "poisson", "offset": "total"}, "offset"),
        ({"divergence": "poisson", "offset": 2.0}, "one size for every row"),
        ({"divergence": "poisson", "offset": [1.0, 2.0]}, "X has 6 rows"),
        ({"divergence": "poisson", "offset": [1, 1, 1, -2, 1, 1]}, "row 3 has size -2"),
        ({"offset": "size"}, "offset is for counts"),
        ({"divergence": {"a": "poisson"}, "offset": "size"}, "divergence='euclidean'"),
        ({"divergence": "poisson", "missing": "observed"}, "complete rows"),
        ({"divergence": "poisson", "robust": "trim"}, "trimmed"),
        ({"divergence": "poisson", "scale": "decorrelate"}, "decorrelated"),
        ({"divergence": "poisson", "dtype": "float32"}, "double precision"),
    ],
)
def test_what_does_not_go_together_is_told(options, said):
    X = pd.DataFrame({"a": [0, 3, 1, 2, 5, 4], "b": [0, 1, 0, 1, 2, 7]}, dtype=float)
    with pytest.raises(ValueError, match=said):
        ewp.fit(X, 2, 3.0, **options)


def test_rows_without_counts_have_no_size():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 0.0]])
    with pytest.raises(ValueError, match="row 0 has no counts"):
        ewp.fit(X, 2, 3.0, divergence="poisson", offset="size")


def test_what_is_for_squared_differences_is_refused():
    rng = np.random.default_rng(0)
    X, _ = clusters(("poisson",) * 3, rng, 40, 2)
    model = ewp.EWP(2, 20.0, divergence="poisson", random_state=0).fit(X)
    found = model.results_
    for name in ("test_features", "refine", "consistency"):
        with pytest.raises(
            ValueError, match=f"{name}\\(\\) is for columns with squared differences"
        ):
            getattr(found, name)()
    with pytest.raises(ValueError, match=r"test_differences\(\) is for columns"):
        found.test_differences(0, 1)
    with pytest.raises(ValueError, match=r"score\(\) is for columns"):
        model.score(X)
    with pytest.raises(ValueError, match="leave it out"):
        found.predict(X, offset=np.ones(40))


def test_an_annealing_reaches_the_limit_from_its_critical_exponent():
    rng = np.random.default_rng(1)
    X, labels = clusters(("poisson",) * 3, rng, 90, 3, apart=2.5)
    engine = BregmanEngine(X, names=("poisson",) * 3)
    rule = RelativeEntropy.make(90.0, engine.squares)
    w = rule.start()
    start = min(-1.0, engine_critical_exponent(engine, w))
    theta = engine.seeds(rng.choice(90, 3, replace=False))
    found = iterate(engine, theta, w, rule, Annealed(start, 1.05), max_iter=500, tol=1e-8)
    assert found.converged
    assert found.trace[-1].s == -np.inf
    assert nmi(labels, engine.assign(found.theta, found.weights)[0]) > 0.4
