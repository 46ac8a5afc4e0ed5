"""Dask collections are checked as data in memory are, and keep the names of their rows."""

import numpy as np
import pandas as pd
import pytest

import ewp

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"a": np.repeat([0.0, 9.0], 100) + RNG.normal(size=200), "b": 3 * RNG.normal(size=200)},
    index=[f"row{i}" for i in range(200)],
)
ROWS = da.from_array(FRAME.to_numpy(), chunks=(50, 2))


def collection():
    return dd.from_pandas(FRAME, npartitions=4, sort=False)


@pytest.mark.parametrize("bad", [-50.0, np.nan, np.inf, 1e200])
def test_weights_of_rows_are_checked_and_told_by_their_number(bad):
    weight = np.ones(200)
    weight[170] = bad
    told = []
    for given in (weight, da.from_array(weight, chunks=50)):
        with pytest.raises(ValueError, match="sample_weight") as error:
            ewp.fit(ROWS, 2, 100.0, sample_weight=given)
        told.append(str(error.value))
    assert told[0] == told[1]


@pytest.mark.filterwarnings("error:divide", "error:invalid")
def test_weights_that_are_all_zero_are_told():
    with pytest.raises(ValueError, match="all of sample_weight is zero"):
        ewp.fit(ROWS, 2, 100.0, sample_weight=da.zeros(200, chunks=50))
    with pytest.raises(ValueError, match=r"has shape \(100,\), but X has 200 rows"):
        ewp.fit(ROWS, 2, 100.0, sample_weight=da.ones(100, chunks=50))


def test_a_column_of_weights_weighs_the_rows():
    here = ewp.fit(FRAME, 2, 100.0, sample_weight=FRAME["a"].abs(), random_state=0)
    table = collection()
    there = ewp.fit(table, 2, 100.0, sample_weight=table["a"].abs(), random_state=0)
    np.testing.assert_allclose(there.weights, here.weights, rtol=1e-9)
    series = ewp.fit(table, 2, 100.0, sample_weight=FRAME["a"].abs()[::-1], random_state=0)
    np.testing.assert_allclose(series.weights, here.weights, rtol=1e-9)


def test_labels_keep_the_names_of_the_rows():
    found = ewp.fit(collection(), 2, 100.0, random_state=0)
    assert found.labels.index.tolist() == FRAME.index.tolist()
    assert found.augment().index.tolist() == FRAME.index.tolist()


def test_every_method_takes_them():
    model, here = (ewp.EWP(2, 100.0, random_state=0).fit(X) for X in (collection(), FRAME))
    np.testing.assert_allclose(model.transform(collection()), here.transform(FRAME), rtol=1e-9)
    assert model.score(collection()) == pytest.approx(here.score(FRAME), rel=1e-9)
    weight = np.linspace(1, 2, 200)
    lazy = model.score(collection(), sample_weight=da.from_array(weight, chunks=70))
    assert lazy == pytest.approx(here.score(FRAME, sample_weight=weight), rel=1e-9)
    axes = model.results_.plot_clusters()
    assert [axes.get_xlabel(), axes.get_ylabel()] == [
        here.results_.plot_clusters().get_xlabel(),
        here.results_.plot_clusters().get_ylabel(),
    ]


def test_empty_partitions_and_blocks_of_unknown_length_are_no_hindrance():
    table = collection()
    part = table[table["a"] < 3]
    model = ewp.EWP(2, 100.0, random_state=0).fit(part)
    np.testing.assert_array_equal(model.predict(part).compute(), model.labels_)
    array = table.to_dask_array(lengths=True)
    unknown = array[array[:, 0] < 3]
    found = ewp.fit(unknown, 2, 100.0, random_state=0)
    np.testing.assert_array_equal(found.labels, model.labels_)
    assert np.isnan(unknown.shape[0])


def test_one_dimension_and_bad_rows_are_told():
    with pytest.raises(ValueError, match=r"X has 1 dimension\(s\)"):
        ewp.fit(ROWS[:, 0], 2, 100.0)
    bad = FRAME.to_numpy().copy()
    bad[170, 1] = np.nan
    broken = da.from_array(bad, chunks=(50, 2))
    with pytest.raises(ValueError, match=r"1 missing value, in .* first in row 170, column 1"):
        ewp.fit(broken, 2, 100.0)
    with pytest.raises(ValueError, match=r"1 missing value, in .* first in row 170, column 1"):
        ewp.EWP(2, 100.0, random_state=0).fit(ROWS).predict(broken).compute()
    dates = da.from_array(np.full((200, 2), np.datetime64("2026-01-01")), chunks=(50, 2))
    with pytest.raises(ValueError, match="dates or durations"):
        ewp.fit(dates, 2, 100.0)
