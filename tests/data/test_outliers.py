"""Values many orders beyond the rest are told with their rows; heavy tails are left alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ewp
from ewp.cli import app
from ewp.data.outliers import far_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) + np.repeat([0.0, 6.0], 200)[:, None]


def with_values(value, rows=(7, 31, 250), column=1):
    data = X.copy()
    data[list(rows), column] = value
    return data


def told(data, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ewp.fit(data, 2, 400.0, random_state=0, **options)
    return [str(one.message) for one in caught if one.category is ewp.OutlierWarning]


@pytest.mark.parametrize("value", [9.96921e36, -3.4e38, 1e20, 999999999.0, -9999.0, 999.0, 32767.0])
@pytest.mark.parametrize("rows", [(7,), (7, 31, 250), tuple(range(0, 300, 2))])
def test_codes_are_told_with_column_and_rows(value, rows):
    (text,) = told(with_values(value, rows))
    count = f"{len(rows)} values" if len(rows) > 1 else "1 value"
    assert f"column 'x1': {count} of {value:.6g}" in text
    assert "missing values?" in text
    assert str(rows[0]) in text


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: RNG.standard_t(3, n),
        lambda n: RNG.standard_cauchy(n),
        lambda n: RNG.lognormal(0, 3, n),
        lambda n: np.floor(np.abs(RNG.standard_cauchy(n)) * 3),
        lambda n: RNG.poisson(2, n) * (RNG.random(n) < 0.1) * 1000.0,
        lambda n: 1 / (1 + np.exp(60 * RNG.normal(size=n))),
        lambda n: RNG.integers(0, 2, n) * 1.0,
        lambda n: RNG.normal(size=n) + 1e4 * (RNG.random(n) < 0.5),
        lambda n: np.ones(n),
    ],
)
@pytest.mark.parametrize("n", [8, 40, 1500])
def test_heavy_tails_and_rare_events_are_no_outliers(draw, n):
    assert sum(far_values(draw(n)).any() for _ in range(100)) == 0


def test_kinds_of_data_are_told_alike(tmp_path):
    pytest.importorskip("pyarrow")
    data = with_values(1e20)
    frame = pd.DataFrame(data, columns=list("abc"), index=[f"r{i}" for i in range(400)])
    (text,) = told(frame)
    assert "column 'b': 3 values of 1e+20" in text
    assert "'r7', 'r31', 'r250'" in text
    frame.to_parquet(tmp_path / "x.parquet", index=False)
    np.save(tmp_path / "x.npy", data)
    for source in (
        tmp_path / "x.npy",
        tmp_path / "x.parquet",
        lambda: iter([data[:90], data[90:]]),
    ):
        (found,) = told(source)
        assert "3 values of 1e+20" in found
        assert "7, 31, 250" in found
    table = frame.to_csv(index=False, float_format="%.9g")
    shown = CliRunner().invoke(app, ["fit", "-", "-k", "2", "--lam", "400"], input=table)
    assert shown.exit_code == 0
    assert "ewp fit: column 'b': 3 values of 1e+20" in shown.stderr


def test_rows_on_a_cluster_are_told_too():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(with_values(1e20), columns=list("abc"))
    (text,) = told(dd.from_pandas(frame, npartitions=3))
    assert "column 'b': 3 values of 1e+20" in text
    assert "7, 31, 250" in text
    assert told(dd.from_pandas(pd.DataFrame(X), npartitions=3)) == []


def test_values_are_told_in_their_own_units_where_features_are_decorrelated():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(with_values(1e12), columns=list("abc"))
    for data in (frame, dd.from_pandas(frame, npartitions=3)):
        (text,) = told(data, scale="decorrelate")
        assert "column 'b': 3 values of 1e+12" in text
    assert told(dd.from_pandas(pd.DataFrame(X), npartitions=3), scale="decorrelate") == []


def test_rows_of_weight_zero_are_not_told():
    weight = np.ones(400)
    weight[[7, 31, 250]] = 0
    assert told(with_values(1e20), sample_weight=weight) == []
    assert len(told(with_values(1e20))) == 1


def test_comparisons_tell_too_and_columns_that_are_many_are_counted():
    with pytest.warns(ewp.OutlierWarning, match="column 'x1': 3 values"):
        ewp.compare(with_values(1e20), 2, methods=["kmeans"], n_trials=1)
    wide = np.tile(with_values(1e20, column=1), (1, 8))
    (text,) = told(wide)
    assert text.count("column 'x") == 5
    assert "3 more columns" in text
