"""R's k-means: recorded answers, names, layouts of the data, seeds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from ewp.peers.hartigan_wong import hartigan_wong
from r_bridge import RWarning, stats
from r_bridge.errors import RCallError
from tests.support.r import clusters, require_r
from validation import recordings


@pytest.fixture(autouse=True)
def _r():
    require_r()


@pytest.mark.parametrize(("case", "name"), recordings.starts())
def test_recorded_kmeans_is_returned(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    for max_iter, recorded in start["kmeans"].items():
        if "error" in recorded:
            with pytest.raises(RCallError):
                stats.kmeans(X, centers=start["centers"], iter_max=int(max_iter))
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RWarning)
            found = stats.kmeans(X, centers=start["centers"], iter_max=int(max_iter))
        assert found.labels.tolist() == recorded["labels"]
        native = hartigan_wong(X, start["centers"], max_iter=int(max_iter))
        np.testing.assert_array_equal(found.labels, native.labels)
        np.testing.assert_allclose(found.centers, native.centers, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.withinss, native.withinss, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("algorithm", ["Hartigan-Wong", "Lloyd", "Forgy", "MacQueen"])
def test_kmeans_keeps_the_names_and_adds_up(algorithm):
    X = clusters()
    columns = [f"gene {i}" for i in range(X.shape[1])]
    table = pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))], columns=columns)
    found = stats.kmeans(table, 3, nstart=5, iter_max=50, algorithm=algorithm, seed=1)
    assert found.labels.index.equals(table.index)
    assert list(found.centers.columns) == columns
    means = table.groupby(found.labels).mean()
    np.testing.assert_allclose(found.centers, means, atol=1e-12)
    assert found.labels.value_counts().sort_index().tolist() == found.size.tolist()
    assert found.tot_withinss == pytest.approx(found.withinss.sum())
    assert found.totss == pytest.approx(found.tot_withinss + found.betweenss)
    assert list(found.tidy().columns) == ["cluster", *columns, "size", "withinss"]
    assert list(found.glance().columns) == ["totss", "tot.withinss", "betweenss", "iter"]
    heading, names, *_ = str(found).splitlines()
    assert heading.startswith(f"K-means by R, {algorithm}: 3 clusters of sizes 20, 20, 20; between")
    assert all(column in names for column in columns)
    assert "<td>" in found._repr_html_()


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "int"])
def test_every_layout_of_the_data_gives_the_same_answer(layout):
    X = np.round(clusters() * 4)
    views = {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "float32": X.astype(np.float32),
        "int": X.astype(int),
    }
    wanted = stats.kmeans(X, 3, seed=1)
    found = stats.kmeans(views[layout], 3, seed=1)
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.centers, wanted.centers)


def test_without_a_seed_one_is_drawn_and_returned():
    X = np.random.default_rng(0).normal(size=(200, 3))
    first, second = stats.kmeans(X, 6), stats.kmeans(X, 6)
    assert first.seed != second.seed
    again = stats.kmeans(X, 6, seed=first.seed)
    pd.testing.assert_frame_equal(again.centers, first.centers)
