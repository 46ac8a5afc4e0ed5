"""Count splitting: halves of counts, one clustered, the other scored."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score as nmi

import ewp
from ewp.selection.count_splitting import CountSplitting
from tests.support.families import counts


def test_halves_are_independent_and_sum_to_the_counts():
    X = np.random.default_rng(0).poisson(5.0, (4000, 3)).astype(float)
    made = CountSplitting(3).for_families(("poisson",) * 3, None)
    for half in made.replicates(X, None, np.random.default_rng(1)):
        other = X - half
        assert (other >= 0).all()
        assert half.mean() == pytest.approx(2.5, abs=0.05)
        for column in range(3):
            assert abs(np.corrcoef(half[:, column], other[:, column])[0, 1]) < 0.06


def test_counts_are_clustered_and_noise_is_told():
    X, labels, _ = counts(np.random.default_rng(0), n=200, p=40, relevant=12, apart=1.2)
    options = {"divergence": "poisson", "offset": "size", "criterion": "splitting"}
    found = ewp.select_lambda(X, 3, **options, n_lams=6, random_state=0)
    assert nmi(labels, found.results.labels) > 0.95
    assert found.results.selection["evidence"]["gain"] > 1.0
    noise, _, _ = counts(np.random.default_rng(1), n=200, p=20, relevant=0)
    with pytest.warns(ewp.NoClustersWarning):
        ewp.select_lambda(noise, 3, **options, n_lams=4, random_state=0)


def test_a_weight_of_two_is_a_factor():
    X, _, _ = counts(np.random.default_rng(2), n=120, p=10, relevant=5)
    options = {"divergence": "poisson", "criterion": "splitting", "n_lams": 3, "random_state": 0}
    one = ewp.select_lambda(X, 3, **options)
    two = ewp.select_lambda(X, 3, sample_weight=np.full(120, 2.0), **options)
    np.testing.assert_allclose(two.table["lam"], 2 * one.table["lam"], rtol=1e-9)
    np.testing.assert_allclose(two.table["mean"], one.table["mean"], atol=0.2)


@pytest.mark.parametrize(
    ("X", "options", "said"),
    [
        (np.ones((9, 2)) * np.arange(9)[:, None], {}, 'give divergence="poisson"'),
        (
            np.ones((9, 2)) * np.arange(9)[:, None] / 2,
            {"divergence": "poisson"},
            "row 1 has 0.5 in column 0",
        ),
    ],
)
def test_what_cannot_be_split_is_told(X, options, said):
    with pytest.raises(ValueError, match=said):
        ewp.select_lambda(X, 2, criterion="splitting", random_state=0, **options)
