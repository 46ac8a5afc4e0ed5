"""Clusters refined by a mixture where values are missing: correlations tell what a row has not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.diagnostics import refine as module
from ewp.results.results import EWPResults

HOW = {"lam": 40.0, "scale": "standard", "missing": "observed", "random_state": 0}
FEW = {"covariance": "tied", "tails": "normal"}


def correlated(seed=0, n=200, share=0.15):
    """Two clusters along one direction of correlated features, noise beside them, and holes."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 1)) + 0.25 * rng.normal(size=(n, 4))
    X[:, :2] += 1.3 * y[:, None]
    X[:, 2:] -= 1.3 * y[:, None]
    X[:, 0] *= 3.0
    table = pd.DataFrame(np.c_[X, rng.normal(size=(n, 1))], columns=list("abcde"))
    return table.mask(rng.random(table.shape) < share), y


@pytest.fixture(scope="module")
def data():
    return correlated()


@pytest.fixture(scope="module")
def results(data):
    return ewp.fit(data[0], 2, **HOW)


@pytest.fixture(scope="module")
def found(results):
    return dataclasses.replace(results).refine()


@pytest.fixture(scope="module")
def few(results):
    return dataclasses.replace(results).refine(**FEW)


def test_correlations_tell_what_a_row_has_not(data, results, found):
    X, y = data
    assert found.clearly_better
    assert normalized_mutual_info_score(y, found.labels) > 0.75
    assert normalized_mutual_info_score(y, results.labels) < 0.65
    filled = ewp.fit(X.fillna(X.mean()), 2, lam=40.0, scale="standard", random_state=0)
    imputed = normalized_mutual_info_score(y, filled.refine().labels)
    assert imputed < normalized_mutual_info_score(y, found.labels) - 0.03


def test_predictions_are_those_of_the_fit_and_of_rows_with_and_without_holes(data, found):
    X = data[0]
    pd.testing.assert_frame_equal(found.predict_proba(X), found.probabilities)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    whole = correlated(1, share=0.0)
    assert normalized_mutual_info_score(whole[1], found.predict(whole[0])) > 0.8
    nothing = np.full((1, 5), np.nan)
    nothing[0, 4] = 0.3  # of the features that take part it has none
    if "e" not in found.features:
        np.testing.assert_allclose(found.predict_proba(nothing)[0], found.proportions)


def test_a_saved_refinement_predicts_rows_with_holes(tmp_path, data, results, found):
    dataclasses.replace(results, refinement_=found).save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit").refinement_
    assert loaded.missing == "observed"
    np.testing.assert_array_equal(loaded.predict_proba(data[0]), found.predict_proba(data[0]))


def test_a_refinement_of_whole_data_refuses_rows_with_holes(data):
    whole = data[0].dropna()
    found = ewp.fit(whole, 2, 30.0, scale="standard", random_state=0).refine()
    with pytest.raises(ValueError, match="missing values"):
        found.predict(data[0])


def test_data_without_holes_are_refined_as_without_the_option():
    X, _ = correlated(share=0.0)
    one, other = (
        ewp.fit(X, 2, **HOW | {"missing": what}).refine(**FEW) for what in ("error", "observed")
    )
    pd.testing.assert_frame_equal(one.probabilities, other.probabilities)
    assert one.bic == other.bic
    pd.testing.assert_frame_equal(one.candidates, other.candidates)


def test_units_do_not_matter_and_are_those_of_observed_values(data, few):
    factor = np.array([100.0, 0.01, 7.0, 1.0, 3.0])
    scaled = ewp.fit(data[0] * factor + 5.0, 2, **HOW).refine(**FEW)
    pd.testing.assert_series_equal(scaled.labels, few.labels)
    np.testing.assert_allclose(scaled.probabilities, few.probabilities, atol=1e-5)
    used = data[0].columns.isin(few.features)
    less = (data[0].notna().to_numpy() @ (np.log(factor) * used)).sum()
    assert scaled.log_likelihood == pytest.approx(few.log_likelihood - less, rel=1e-7)
    assert scaled.gain == pytest.approx(few.gain, rel=1e-4)


def test_the_order_of_rows_does_not_matter(data, few):
    X = data[0].iloc[np.random.default_rng(0).permutation(len(data[0]))]
    other = ewp.fit(X, 2, **HOW).refine(**FEW)
    pd.testing.assert_series_equal(other.labels.sort_index(), few.labels)
    assert other.gain == pytest.approx(few.gain, rel=1e-4)


def test_weights_are_copies(data):
    X = data[0].to_numpy()
    copies = np.random.default_rng(0).integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), copies)
    how = HOW | {"lam": 0.2 * copies.sum()}
    weighted = ewp.fit(X, 2, **how, sample_weight=copies).refine(**FEW)
    repeated = ewp.fit(X[again], 2, **how).refine(**FEW)
    np.testing.assert_allclose(
        weighted.probabilities.iloc[again], repeated.probabilities, atol=1e-5
    )
    assert weighted.gain == pytest.approx(repeated.gain, rel=1e-4)
    assert weighted.bic == pytest.approx(repeated.bic, rel=1e-6)


def test_many_rows_are_represented_by_a_sample(monkeypatch, data, results, few):
    monkeypatch.setattr(module, "_MOST_ROWS", 140)
    part = dataclasses.replace(results).refine(**FEW)
    assert len(part.labels) == len(data[0])
    assert normalized_mutual_info_score(part.labels, few.labels) > 0.8


def test_pictures_and_words(data, found):
    assert "refined" in str(found.summary())
    assert found.plot() is not None
    assert found.plot(data[0]) is not None
