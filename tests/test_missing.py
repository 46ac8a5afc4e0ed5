"""Missing values as a user meets them: errors, predictions, tables, files, choices, questions."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.utils import get_tags
from typer.testing import CliRunner

import ewp
from ewp import EWP
from ewp.cli import app
from ewp.datasets import make_simulation2
from tests.support.results import assert_identical

NAMES = list("abcdefgh")


@pytest.fixture(scope="module")
def holey():
    X, labels, _ = make_simulation2(4, n=200, p=8, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    return pd.DataFrame(X, columns=NAMES), labels


@pytest.fixture(scope="module")
def model(holey):
    return EWP(4, lam=20.0, missing="observed", random_state=0).fit(holey[0])


def test_by_default_missing_values_are_counted_and_the_cure_is_named(holey):
    X = holey[0]
    absent = X.isna().to_numpy()
    told = (
        f"{absent.sum()} missing values, in {absent.any(axis=1).sum()} of 200 rows and 8 of 8 "
        'columns, first in row 0, column .*missing="observed"'
    )
    with pytest.raises(ValueError, match=told):
        ewp.fit(X, 4, 20.0)
    one = X.fillna(0.0)
    one.loc[7, "c"] = np.nan
    with pytest.raises(ValueError, match=r"1 missing value, .* first in row 7, column 'c'"):
        ewp.fit(one, 4, 20.0)


def test_rows_and_columns_without_any_value_are_named(holey):
    rows, columns = holey[0].copy(), holey[0].copy()
    rows.iloc[[3, 8]] = np.nan
    columns["c"] = np.nan
    options = {"missing": "observed", "random_state": 0}
    with pytest.raises(ValueError, match="2 rows of X have no observed value: 3, 8; drop them"):
        ewp.fit(rows, 4, 20.0, **options)
    with pytest.raises(ValueError, match="1 column of X has no observed value: 'c'; drop it"):
        ewp.fit(columns, 4, 20.0, **options)
    lazy = da.from_array(columns.to_numpy(), chunks=(64, 8))
    with pytest.raises(ValueError, match="1 column of X has no observed value: 2; drop it"):
        ewp.fit(lazy, 4, 20.0, **options)
    with pytest.raises(ValueError, match="row of X has no observed value: 1"):
        EWP(4, 20.0, **options).fit(holey[0]).predict(rows.iloc[2:4])


@pytest.mark.parametrize("wrong", ["drop", None, True])
def test_what_is_done_with_missing_values_is_one_of_two(holey, wrong):
    with pytest.raises(ValueError, match=r"missing=.* give one of 'error', 'observed'"):
        ewp.fit(holey[0], 4, 20.0, missing=wrong)
    with pytest.raises(ValueError, match=r"missing=.* give one of 'error', 'observed'"):
        ewp.select_k(holey[0], [2, 3], missing=wrong)


def test_infinity_is_refused_all_the_same(holey):
    X = holey[0].copy()
    X.iloc[5, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity .* in row 5, column 'b'"):
        ewp.fit(X, 4, 20.0, missing="observed")


def test_scikit_learn_is_told(model):
    assert get_tags(model).input_tags.allow_nan
    assert not get_tags(EWP(4)).input_tags.allow_nan


def test_predictions_of_the_rows_are_their_labels(holey, model):
    X = holey[0]
    results = model.results_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(results.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    added = results.augment()
    nearest = model.transform(X).min(axis=1)
    np.testing.assert_allclose(added[".distance"], nearest, rtol=1e-9)
    # the sum of squares that is reported is that of these distances
    within = np.bincount(model.labels_, nearest**2)
    np.testing.assert_allclose(results.clusters["withinss"], within, rtol=1e-9)
    complete = X.dropna()
    np.testing.assert_array_equal(results.predict(complete), results.labels[complete.index])


def test_a_score_is_of_observed_values(holey, model):
    """A row's gain is that of its values; what the fit explains is known without the data."""
    X = holey[0]
    shares = X.isna().mean()
    np.testing.assert_allclose(model.results_.missing_share, shares, atol=1e-12)
    centroids = model.results_.centroids.to_numpy()[model.labels_]
    within = ((X - centroids) ** 2).sum()
    np.testing.assert_allclose(model.results_.within, within, rtol=1e-9)
    whole = X.dropna()
    by_row = [model.score(whole.iloc[[i]]) for i in range(5)]
    assert model.score(whole.iloc[:5]) == pytest.approx(np.mean(by_row), rel=1e-9)
    blind = whole.copy()
    noise = NAMES[-1]  # not relevant: hardly anything is lost with it
    blind[noise] = np.nan
    assert model.score(blind) == pytest.approx(model.score(whole), rel=0.02)


def test_where_the_data_come_from_does_not_matter(holey, model, tmp_path):
    X = holey[0].to_numpy()
    np.save(tmp_path / "x.npy", X)
    how = {"k": 4, "lam": 20.0, "missing": "observed", "random_state": 0}
    masked = np.ma.masked_invalid(X)
    blocks = [X[:70], X[70:]]
    for data in (X, tmp_path / "x.npy", masked, lambda: iter(blocks)):
        found = ewp.fit(data, **how)
        np.testing.assert_array_equal(found.labels, model.labels_)
        assert found.objective == pytest.approx(model.objective_, rel=1e-12)
    with pytest.raises(ValueError, match="missing value"):
        ewp.fit(tmp_path / "x.npy", 4, 20.0)


def test_blocks_on_a_cluster(holey, model):
    X = holey[0].to_numpy()
    # the first block is complete in a column that others are not
    X = X[np.argsort(np.isnan(X[:, 0]), kind="stable")]
    lazy = da.from_array(X, chunks=(64, 8))
    here = EWP(4, 20.0, missing="observed", random_state=0).fit(X)
    found = EWP(4, 20.0, missing="observed", random_state=0).fit(lazy)
    np.testing.assert_array_equal(found.labels_, here.labels_)
    np.testing.assert_allclose(found.feature_weights_, here.feature_weights_, rtol=1e-9)
    np.testing.assert_allclose(found.results_.within, here.results_.within, rtol=1e-9)
    np.testing.assert_array_equal(here.predict(lazy).compute(), here.labels_)
    np.testing.assert_allclose(here.transform(lazy).compute(), here.transform(X), rtol=1e-12)
    assert here.score(lazy) == pytest.approx(here.score(X), rel=1e-12)
    with pytest.raises(ValueError, match="missing values"):
        ewp.fit(lazy, 4, 20.0)
    with pytest.raises(ValueError, match='scale="decorrelate" needs all values'):
        ewp.fit(lazy, 4, 20.0, scale="decorrelate", missing="observed")


def test_the_summary_the_page_and_the_call_tell(holey, model, tmp_path):
    results = model.results_
    text = " ".join(str(results.summary()).split())
    share = holey[0].isna().to_numpy().mean()
    assert f"Missing values: {100 * share:.1f} %" in text
    assert "missing completely at random" in text
    assert 'missing="observed"' in results.call
    results.report(tmp_path / "page.html")
    assert 'data-name="missing"' in (tmp_path / "page.html").read_text()
    assert "missing" not in str(ewp.fit(holey[0].fillna(0.0), 4, 20.0, random_state=0))


def test_saved_results_predict_as_before(holey, model, tmp_path):
    model.results_.save(tmp_path / "fit")
    loaded = ewp.EWPResults.load(tmp_path / "fit")
    np.testing.assert_array_equal(loaded.predict(holey[0]), model.labels_)
    np.testing.assert_array_equal(loaded.observed, model.results_.observed)
    np.testing.assert_array_equal(loaded.within, model.results_.within)
    assert loaded.missing == "observed"
    assert str(loaded.summary()) == str(model.results_.summary())
    again = loaded.refit(X=holey[0])
    np.testing.assert_array_equal(again.labels, model.labels_)


def test_weights_of_rows_are_copies_of_them(holey):
    X = holey[0].to_numpy()
    copies = np.random.default_rng(1).integers(0, 3, len(X))
    copies[:4] = 1
    how = {"lam": 20.0, "missing": "observed", "random_state": 0}
    one = ewp.fit(X, 4, sample_weight=copies.astype(float), **how)
    other = ewp.fit(np.repeat(X, copies, axis=0), 4, **how)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-8)
    np.testing.assert_array_equal(np.repeat(one.labels, copies), other.labels)


def test_the_penalty_is_chosen_where_values_are_missing(holey):
    """By every criterion; the clusters are those of the complete data."""
    from sklearn.metrics import adjusted_rand_score

    X, labels = holey
    for criterion in ("predictive", "stability", "gap"):
        found = ewp.select_lambda(
            X, 4, criterion=criterion, cv=3, n_lams=4, missing="observed", random_state=0
        ).results
        assert adjusted_rand_score(labels, found.labels) > 0.9
        assert not found.scaling.startswith("decorrelate")
        assert 'missing="observed"' in found.call
    same = [ewp.fit(X, 4, missing="observed", random_state=0) for _ in range(2)]
    assert_identical(*same)


def test_the_number_of_clusters_is_chosen(holey):
    found = ewp.select_k(holey[0], range(1, 6), n_lams=4, missing="observed", random_state=0)
    assert found.k == 4


def test_questions_after_the_fit(holey):
    X = holey[0]
    results = ewp.fit(X, 4, 20.0, missing="observed", random_state=0)
    boot = results.bootstrap(20, random_state=0)
    assert boot.summary()
    stable = results.stability(10, random_state=0)
    assert stable.clusters["jaccard"].min() > 0.8
    assert results.compare_to(results.labels).ari == 1.0
    assert results.plot_clusters() is not None
    assert results.refine().predict(X).equals(results.refinement_.labels)
    with pytest.raises(ValueError, match='scale="decorrelate" needs all values'):
        ewp.fit(X, 4, 20.0, scale="decorrelate", missing="observed")


def test_the_command_line(tmp_path, holey):
    path = tmp_path / "data.csv"
    holey[0].to_csv(path, index=False)

    def run(*arguments):
        return CliRunner().invoke(app, [str(x) for x in arguments])

    refused = run("fit", path, "-k", 4, "--lam", 20)
    assert refused.exit_code == 2
    assert "--missing observed" in refused.stderr
    how = ("--missing", "observed", "--lam", 20)
    done = run("fit", path, "-k", 4, *how, "--out", tmp_path / "out")
    assert done.exit_code == 0
    own = ewp.fit(holey[0], 4, 20.0, missing="observed", random_state=0)
    assert done.stdout.strip().startswith(str(own.summary()).strip())
    assigned = run("predict", tmp_path / "out", path)
    assert assigned.exit_code == 0
    lines = assigned.stdout.splitlines()[1:]
    assert [int(line.split(",")[1]) for line in lines] == own.labels.tolist()
    assert "--missing" not in run("compare", path, "-k", 4).stderr
    chosen = run("select", path, "-k", 4, "--missing", "observed", "--grid", 3, "--folds", 2)
    assert chosen.exit_code == 0


def test_the_estimator_assigns_decorrelated_rows_as_its_results_do():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) @ rng.standard_normal((5, 5))
    X[:100] += 3 * rng.standard_normal(5)
    model = EWP(3, lam=100.0, scale="decorrelate", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), model.results_.transform(X), rtol=1e-12)
    lazy = da.from_array(X, chunks=(64, 5))
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.labels_)
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(X), rtol=1e-9)


def test_a_grid_of_ones_own_is_that_of_complete_data():
    """In expectation: sums of squares stand for all rows."""
    X, _, _ = make_simulation2(4, n=4000, p=6, random_state=0)
    Z = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    Z[np.isnan(Z).all(axis=1), 0] = 0.5
    own = ewp.lambda_path(Z, 4, missing="observed")
    np.testing.assert_allclose(own, ewp.lambda_path(X, 4), rtol=0.1)
    with pytest.raises(ValueError, match="missing values"):
        ewp.lambda_path(Z, 4)


def test_columns_that_hold_nothing_where_rows_count():
    """Constant where observed, or observed in rows without weight alone."""
    nan = np.nan
    X = np.array([[1.0, 3.0, nan], [2.0, nan, nan], [7.0, 3.0, 5.0], [8.0, nan, nan]])
    found = ewp.fit(
        X, 2, 1.0, sample_weight=[1, 1, 0, 1], missing="observed", n_init=1, random_state=0
    )
    np.testing.assert_array_equal(found.weights, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(found.centroids["x2"], [5.0, 5.0])
    np.testing.assert_array_equal(found.centroids["x1"], [3.0, 3.0])
    with pytest.raises(ValueError, match="one value wherever it is observed"):
        ewp.fit([[1.0, nan], [nan, 2.0], [1.0, 2.0]], 2, 1.0, missing="observed")
