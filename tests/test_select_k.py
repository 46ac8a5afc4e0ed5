"""Choosing the number of clusters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold

import ewp
from ewp.datasets import make_simulation2
from ewp.selection.criteria import Predictive


@pytest.mark.parametrize("scale", [None, "standard"])
def test_number_of_clusters(scale):
    found = []
    for seed in range(3):
        X, labels, _ = make_simulation2(5, p=20, random_state=seed)
        chosen = ewp.select_k(
            X,
            range(3, 8),
            scale=scale,
            dispersion="within",
            cv=3,
            n_lams=5,
            random_state=seed,
        )
        found.append(chosen.k)
        assert adjusted_rand_score(labels, chosen.fits[5].labels) > 0.99
    assert found.count(5) >= 2
    assert "number of clusters" in str(chosen)
    assert chosen.results.n_clusters == chosen.k
    marked = [line for line in chosen.plot().lines if line.get_label() == "chosen"]
    assert marked[0].get_xdata()[0] == chosen.k


@pytest.fixture(scope="module")
def data():
    return make_simulation2(3, n=120, p=5, random_state=1)


FAST = {"scale": "standard", "n_lams": 2, "random_state": 0}


@pytest.mark.parametrize(
    "make", [lambda X: KFold(3, shuffle=True), lambda X: KFold(3).split(X)], ids=["random", "once"]
)
def test_a_splitter_is_asked_once_for_all_numbers(data, make):
    X, _, _ = data
    chosen = ewp.select_k(X, [1, 2, 3], cv=make(X), **FAST)
    assert chosen.k == 3
    # equal folds: the lead over one cluster, which gains nothing, is the mean itself
    one, _, three = chosen.table.to_dict("records")
    assert one["lead"] == pytest.approx(three["mean"], rel=1e-9)


@pytest.mark.parametrize("criterion", ["stability", "gap"])
def test_one_cluster_does_not_win_where_there_are_three(data, criterion):
    X, _, _ = data
    chosen = ewp.select_k(X, [1, 3], criterion, cv=2, **FAST)
    assert chosen.k == 3
    assert chosen.table["mean"].iloc[0] == pytest.approx(0.0, abs=1e-9)


def test_table_and_summary_agree(data):
    X, _, _ = data
    chosen = ewp.select_k(X, [4, 2, 3], cv=3, **FAST)
    assert chosen.table["k"].tolist() == [2, 3, 4]
    apart = chosen.table[chosen.table["separation"] > 0.038]
    assert apart["k"].tolist() == [2, 3]
    best = apart["k"][apart["mean"].idxmax()]
    close = apart["lead"] <= apart["se_lead"] + 1e-9
    assert chosen.k == apart["k"][close].min()
    text = " ".join(str(chosen.summary()).split())
    assert f"k = {chosen.k}: the smallest within" in " ".join(text.split())
    rule = f"one standard error of the difference to the best ({best}), of those whose clusters"
    assert f"{rule} are separated." in text
    for mean in chosen.table["mean"]:
        assert f"{mean:.4g}" in text
    assert chosen.fits[chosen.k] is chosen.results
    sharp = ewp.select_k(X, [4, 2, 3], cv=3, rule="max", **FAST)
    assert sharp.k == best
    words = "the best, of those whose clusters are separated"
    assert repr(sharp) == f"KSelection: k = {best} of 2, 3, 4, {words}"


def test_interruption_keeps_the_finished_numbers(data, monkeypatch):
    X, _, _ = data
    plain = Predictive.score_replicates

    def interrupted(self, X, weight, options, *rest):
        if options[0].n_clusters == 4:
            raise KeyboardInterrupt
        return plain(self, X, weight, options, *rest)

    monkeypatch.setattr(Predictive, "score_replicates", interrupted)
    with pytest.warns(UserWarning, match="interrupted: choosing among k = 2, 3$"):
        chosen = ewp.select_k(X, [2, 3, 4, 5], cv=3, **FAST)
    assert not chosen.complete
    assert chosen.k == 3
    assert chosen.table["k"].tolist() == [2, 3]
    assert "interrupted" in str(chosen.summary())
    with pytest.raises(KeyboardInterrupt):
        ewp.select_k(X, [4, 5], cv=3, **FAST)


def test_numbers_that_cannot_be_scored_do_not_compete():
    X, _, _ = make_simulation2(2, n=9, p=5, random_state=0)
    with pytest.warns(UserWarning, match="9 distinct rows: too few to choose a penalty for k=8"):
        chosen = ewp.select_k(X, [2, 8], **FAST)
    assert chosen.k == 2
    assert chosen.table["mean"].isna().tolist() == [False, True]
    with (
        pytest.warns(UserWarning, match="too few"),
        pytest.raises(ValueError, match="too few distinct rows to score k = 8"),
    ):
        ewp.select_k(X, [8], **FAST)


@pytest.mark.parametrize(
    ("ks", "options", "message"),
    [
        (3, {}, "ks=3 is no list"),
        ([], {}, "ks is empty"),
        ([2.0], {}, "ks=2.0 must be an integer"),
        ([0, 2], {}, "ks=0 must be at least 1"),
        ([2, 121], {}, "k=121 exceeds the 120 distinct rows"),
        ([2], {"rule": "stable"}, "rule='stable' is unknown"),
        ([2], {"lam": 3.0}, "lam=3.0 leaves nothing to select; .* as lams"),
        ([2], {"random_state": "a"}, "random_state='a' is no seed"),
    ],
)
def test_bad_options_are_named(data, ks, options, message):
    with pytest.raises(ValueError, match=message):
        ewp.select_k(data[0], ks, **options)


def test_the_seed_alone_decides(data):
    X, _, _ = data
    one, again = (
        ewp.select_k(X, [2, 3], cv=3, **(FAST | {"random_state": np.random.default_rng(5)}))
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one.table, again.table, check_exact=True)
