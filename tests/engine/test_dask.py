"""Data of Dask, on a real cluster and without one."""

import os
import signal
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Engine
from ewp.engine.dask import DaskEngine
from ewp.solver.iterate import step_of_run
from tests.support.in_memory import LAM, K, fitted, same, simulated


@pytest.fixture(scope="module")
def data():
    return simulated()


@pytest.fixture(scope="module")
def reference(data):
    return fitted(data)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_dask_arrays_give_the_answer_of_the_array(client, data, reference):
    import dask.array as da

    X = data[0]
    for chunks in ((400, 20), (1500, 7), (311, 20)):
        found = ewp.fit(da.from_array(X, chunks=chunks), K, LAM, random_state=1)
        same(found, reference, atol=1e-12)


def test_blocks_that_lie_together_are_one_task(client, data):
    import dask.array as da

    engine = DaskEngine(da.from_array(data[0], chunks=(100, -1)))
    assert sorted(i for group in engine._groups for i in group) == list(range(15))
    assert len(engine._groups) <= sum(client.nthreads().values())
    theta, weights = engine.to_engine_units(data[0][:K]), np.full(20, 0.05)
    found = step_of_run(engine.statistics, theta, weights, -3.0)
    parts = [
        ArrayEngine(data[0][i : i + 100], center=engine.center, keep=False)
        for i in range(0, 1500, 100)
    ]
    metric, s = engine.metric(theta[None], weights[None]), np.array([-3.0])
    plain = parts[0].accumulate(metric, s)
    for part in parts[1:]:
        plain += part.accumulate(metric, s)
    np.testing.assert_array_equal(found.sums, plain.sums[0])  # added in the order of the blocks
    assert found.power == plain.power[0]


def test_a_fit_within_a_task_does_not_wait_for_itself(data):
    import dask.array as da
    from distributed import Client, LocalCluster

    def job(X):
        return ewp.fit(da.from_array(X, chunks=(500, -1)), K, LAM, random_state=1).objective

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as only,
    ):
        found = only.submit(job, data[0]).result(timeout=120)
    assert np.isfinite(found)


def test_dask_without_distributed(data, reference, monkeypatch):
    import dask
    import dask.array as da

    monkeypatch.setitem(sys.modules, "distributed", None)
    with dask.config.set(scheduler="threads"):
        found = ewp.fit(da.from_array(data[0], chunks=(500, -1)), K, LAM, random_state=1)
    same(found, reference, atol=1e-9)


def test_dask_weights_and_standardised_features(client, data):
    import dask.array as da

    X = data[0]
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    options = {"scale": "standard", "random_state": 1}
    reference = ewp.fit(X, K, 200.0, sample_weight=weight, **options)
    lazy = da.from_array(X, chunks=(500, 20))
    for given in (weight, da.from_array(weight, chunks=333)):
        same(ewp.fit(lazy, K, 200.0, sample_weight=given, **options), reference, atol=1e-12)


def test_dask_tables_keep_names_and_predict_lazily(client, data, reference):
    import dask.dataframe as dd

    table = pd.DataFrame(data[0], columns=[f"gene {i}" for i in range(20)])
    lazy = dd.from_pandas(table, npartitions=4)
    model = ewp.EWP(K, LAM, random_state=1).fit(lazy)
    same(model.results_, reference, atol=1e-12)
    assert list(model.results_.weights.index) == list(table.columns)
    predicted = model.predict(lazy)
    assert hasattr(predicted, "dask")
    np.testing.assert_array_equal(predicted.compute(), reference.labels)


def test_dask_data_are_checked(client):
    import dask.array as da
    import dask.dataframe as dd

    bad = np.ones((40, 3))
    bad[25, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        ewp.fit(da.from_array(bad, chunks=(10, 3)), 2, 1.0)
    with pytest.raises(ValueError, match="k=2 exceeds the 1 distinct rows"):
        ewp.fit(da.ones((40, 3), chunks=(10, 3)), 2, 1.0)
    text = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(ValueError, match=r"not numeric: 'b' \("):
        ewp.fit(text, 2, 1.0)


def test_a_lost_worker_does_not_lose_the_fit(client, data, reference):
    import dask.array as da

    lazy = da.from_array(data[0], chunks=(100, 20))
    victims = list(client.run(os.getpid).values())
    steps = []

    def kill_once(row):
        steps.append(row)
        if len(steps) == 3:
            os.kill(victims[0], signal.SIGKILL)

    from ewp.common.parallel import one_blas_thread
    from ewp.data.sources import open_source
    from ewp.engine import make_engine
    from ewp.solver.fit import FitOptions, fit_engine

    engine = make_engine(open_source(lazy), K)
    assert isinstance(engine, Engine)
    rng = np.random.default_rng(1)
    with one_blas_thread():
        found = fit_engine(engine, FitOptions(K, LAM), rng, on_step=kill_once)
    assert len(steps) > 3
    assert found.solution.objective == pytest.approx(reference.objective, rel=1e-9)


def test_threads_of_dask_without_a_cluster(data, reference):
    import dask
    import dask.array as da

    with dask.config.set(scheduler="threads"):
        found = ewp.fit(da.from_array(data[0], chunks=(500, 20)), K, LAM, random_state=1)
    same(found, reference, atol=1e-12)
    assert threading.active_count() < 50
