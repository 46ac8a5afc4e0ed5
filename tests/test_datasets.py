"""The simulation designs have the stated distributions; real data load from either source."""

from __future__ import annotations

import gzip
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from ewp import datasets
from ewp.datasets import (
    DATASETS,
    load_dataset,
    make_feature_selection,
    make_simulation1,
    make_simulation2,
)

SEEDED = [
    lambda state: make_simulation1(3, random_state=state),
    lambda state: make_simulation2(4, random_state=state),
    lambda state: make_feature_selection(random_state=state),
]


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch):
    monkeypatch.delenv("EWP_DATA", raising=False)


@pytest.fixture
def toy_table():
    rows = {"a": [1, 2, 3, 4], "b": [0.1, 0.2, 0.30000000000000004, 1e-300], "class": [2, 1, 2, 3]}
    return pd.DataFrame(rows)


def write(table, folder, name):
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / f"{name}.csv.gz", index=False)
    return folder


# Simulations


def test_every_public_name_exists():
    assert all(hasattr(datasets, name) for name in datasets.__all__)


def test_default_sizes_are_the_papers():
    assert make_simulation1(20).X.shape == (1000, 22)
    assert make_simulation1(20).centers.shape == (100, 22)
    assert make_simulation2(3).X.shape == (300, 100)
    assert make_feature_selection().X.shape == (1000, 20)
    assert make_feature_selection().centers.shape == (10, 20)


def test_simulation_is_three_arrays_in_order_and_keeps_its_centres():
    simulation = make_simulation2(3, random_state=0)
    X, labels, relevant = simulation
    assert len(simulation) == 3
    assert simulation[0] is X is simulation.X
    assert simulation[-1] is relevant is simulation.relevant
    assert simulation[1] is labels is simulation.labels
    assert simulation.centers.shape == (3, 100)
    copy = pickle.loads(pickle.dumps(simulation))
    np.testing.assert_array_equal(copy.centers, simulation.centers)


def test_simulation1_means_are_a_ten_by_ten_grid_of_spacing_one_tenth():
    centers = make_simulation1(2, random_state=0).centers[:, :2]
    expected = {(i, j) for i in range(1, 11) for j in range(1, 11)}
    assert {tuple(point) for point in np.rint(10 * centers).astype(int)} == expected
    np.testing.assert_allclose(10 * centers, np.rint(10 * centers), rtol=1e-15)


@pytest.mark.parametrize("make", [make_simulation2, lambda k, **kw: make_simulation1(40, **kw)])
def test_relevant_features_scatter_by_sd_about_their_means_and_others_are_noise(make):
    simulation = make(5, n=20_000, sd=0.03, random_state=1)
    X, labels, relevant = simulation
    residual = X - simulation.centers[labels]
    expected = np.ones(X.shape[1])
    expected[relevant] = 0.03
    # Five standard errors of a standard deviation, and of a mean.
    np.testing.assert_allclose(residual.std(axis=0) / expected, 1, atol=5 / np.sqrt(2 * 20_000))
    np.testing.assert_allclose(residual.mean(axis=0) / expected, 0, atol=5 / np.sqrt(20_000))
    irrelevant = np.setdiff1d(np.arange(X.shape[1]), relevant)
    assert not simulation.centers[:, irrelevant].any()


def test_simulation2_means_fill_the_unit_interval():
    means = make_simulation2(2000, n=2000, p=5, random_state=0).centers
    assert 0 < means.min() < 0.001
    assert 0.999 < means.max() < 1
    np.testing.assert_allclose(means.mean(), 0.5, atol=5 * np.sqrt(1 / 12 / means.size))


def test_clusters_are_equally_likely():
    labels = make_simulation2(10, n=50_000, p=5, random_state=0).labels
    sizes = np.bincount(labels, minlength=10)
    assert ((sizes - 5000) ** 2 / 5000).sum() < 35  # chi-square on 9, p = 6e-5
    assert len(set(sizes)) > 1  # drawn, not balanced


@settings(max_examples=50, deadline=None)
@given(k=st.integers(1, 30), extra=st.integers(0, 20), seed=st.integers(0, 2**32))
def test_every_cluster_has_a_point_even_when_n_is_k(k, extra, seed):
    simulation = make_simulation2(k, n=k + extra, p=2, n_relevant=1, random_state=seed)
    np.testing.assert_array_equal(np.unique(simulation.labels), np.arange(k))
    assert np.issubdtype(simulation.labels.dtype, np.integer)
    assert np.isfinite(simulation.X).all()


@pytest.mark.parametrize("draw", SEEDED)
def test_same_seed_gives_the_same_data_and_another_seed_does_not(draw):
    np.testing.assert_array_equal(draw(7).X, draw(np.int64(7)).X)
    np.testing.assert_array_equal(draw(7).labels, draw(np.random.default_rng(7)).labels)
    assert not np.array_equal(draw(7).X, draw(8).X)
    assert not np.array_equal(draw(None).X, draw(None).X)


@pytest.mark.parametrize("draw", SEEDED)
@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_generators_are_reproducible_and_move_on(draw, source):
    first, second = source(3), source(3)
    np.testing.assert_array_equal(draw(first).X, draw(second).X)
    assert not np.array_equal(draw(first).X, draw(source(3)).X)
    np.testing.assert_array_equal(draw(first).X, [draw(second).X, draw(second).X][1])


def test_sd_zero_puts_the_points_on_their_centres():
    X, labels, relevant = simulation = make_simulation2(4, sd=0, random_state=0)
    np.testing.assert_array_equal(X[:, relevant], simulation.centers[labels][:, relevant])


def test_no_irrelevant_feature_at_all_is_allowed():
    assert make_simulation1(0).X.shape == (1000, 2)
    assert make_simulation2(2, p=5).X.shape == (200, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_simulation1(-1), "d=-1"),
        (lambda: make_simulation1(2.0), "d=2.0 must be an integer"),
        (lambda: make_simulation1(2, n=99), "n=99 rows cannot fill k=100"),
        (lambda: make_simulation2(0), "k=0"),
        (lambda: make_simulation2(True), "k=True must be an integer"),
        (lambda: make_simulation2(3, n=2), "n=2 rows cannot fill k=3"),
        (lambda: make_simulation2(3, p=4), "n_relevant=5 exceeds .* p=4"),
        (lambda: make_simulation2(3, n_relevant=0), "n_relevant=0"),
        (lambda: make_simulation2(3, sd=-1), "sd must be .* not -1"),
        (lambda: make_simulation2(3, sd=np.nan), "sd must be .* not nan"),
        (lambda: make_simulation2(3, random_state="a"), "random_state='a'"),
    ],
)
def test_bad_arguments_are_named_with_their_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Real data


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("iris", (150, 4), [50, 50, 50]),
        ("wine", (178, 13), [59, 71, 48]),
        ("wdbc", (569, 30), [357, 212]),
    ],
)
def test_three_sets_come_with_scikit_learn(name, shape, sizes):
    data = load_dataset(name)
    X, y = data
    assert X.shape == data.frame.shape == shape
    assert np.bincount(y).tolist() == sizes
    assert (data.name, data.k, data.source) == (name, len(sizes), "scikit-learn")
    assert "class" not in X
    assert "target" not in X
    assert (X.dtypes == np.float64).all()
    assert X.index.equals(y.index)


def test_wdbc_is_rounded_as_keel_does_and_benign_comes_first():
    wdbc, original = load_dataset("wdbc"), load_breast_cancer()
    exact = [
        [Decimal(repr(x)).quantize(Decimal("0.001")) for x in row] for row in original.data.tolist()
    ]
    np.testing.assert_array_equal(wdbc.X, np.array(exact, dtype=float))
    np.testing.assert_array_equal(wdbc.y == 0, original.target_names[original.target] == "benign")


def test_file_is_read_exactly_with_classes_from_zero(tmp_path, toy_table):
    folder = write(toy_table, tmp_path, "GLIOMA")
    data = load_dataset("GLIOMA", data_dir=folder)
    np.testing.assert_array_equal(data.X, toy_table[["a", "b"]])
    assert (data.X.dtypes == np.float64).all()
    assert data.y.tolist() == [1, 0, 1, 2]
    assert (data.name, data.k, data.source) == ("GLIOMA", 3, str(folder / "GLIOMA.csv.gz"))


@pytest.mark.parametrize("name", DATASETS)
def test_names_are_case_insensitive_and_so_are_files(tmp_path, toy_table, name):
    folder = write(toy_table, tmp_path, name.lower())
    assert load_dataset(name.upper(), data_dir=str(folder)).name == name
    assert load_dataset(name.lower(), data_dir=folder).X.shape == (4, 2)


def test_environment_names_the_folder_and_the_argument_overrules_it(
    tmp_path, toy_table, monkeypatch
):
    monkeypatch.setenv("EWP_DATA", str(write(toy_table, tmp_path / "one", "newthyroid")))
    assert len(load_dataset("newthyroid").X) == 4
    other = write(toy_table.head(3), tmp_path / "two", "newthyroid")
    assert len(load_dataset("newthyroid", data_dir=other).X) == 3


def test_a_file_takes_precedence_over_scikit_learn(tmp_path, toy_table):
    folder = write(toy_table, tmp_path, "iris")
    assert load_dataset("iris", data_dir=folder).X.shape == (4, 2)
    assert load_dataset("wine", data_dir=folder).source == "scikit-learn"


@pytest.mark.parametrize("where", ["unset", "empty", "absent"])
def test_missing_file_names_variable_folder_and_cure(tmp_path, where):
    folder = {"unset": None, "empty": tmp_path, "absent": tmp_path / "nowhere"}[where]
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset("warpar10p", data_dir=folder)
    message = str(caught.value)
    assert "EWP_DATA" in message
    assert "data_dir=" in message
    assert "warpAR10P.csv.gz" in message
    assert folder is None or str(folder) in message


@pytest.mark.parametrize("name", ["moons", "", None])
def test_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match="unknown data set") as caught:
        load_dataset(name)
    assert all(known in str(caught.value) for known in DATASETS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,a\n1,2\n", "last column is 'a', not 'class'"),
        ("a,class\n1,0.5\n", "'class' must hold integers"),
        ("a,class\n1,2\n1,\n", "could not convert"),
        ("a,class\n1,red\n", "could not convert string 'red'"),
        ("a,b,class\n1,2\n", "3 names for 2 columns"),
    ],
)
def test_damaged_file_is_refused_with_its_path(tmp_path, text, message):
    path = tmp_path / "iris.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ValueError, match=message) as caught:
        load_dataset("iris", data_dir=tmp_path)
    assert str(path) in str(caught.value)
