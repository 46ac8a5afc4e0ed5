"""Tables of any library: the same numbers, the names kept, what is no number named with a cure."""

import datetime
import decimal
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ewp
from ewp.data.frames import as_frame, as_table, column_names
from ewp.report.page import data_hash
from tests.support.designs import sixty_rows

X = sixty_rows()
NAMED = pd.DataFrame(dict(zip(["width", "height", "área", "n"], X.T, strict=True)))
ARROW = pa.Table.from_pandas(NAMED, preserve_index=False)
OPTIONS = {"k": 2, "lam": 100.0, "random_state": 0}
BASE = ewp.fit(NAMED, **OPTIONS)
ARI_CLASSES = ["u"] * 30 + ["v"] * 30


class Interchange:
    """A table that offers nothing but the data-frame interchange."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


class Capsule:
    """A table that offers nothing but Arrow's PyCapsule interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


#: From a table of Arrow to another kind, and the kind that comes back.
KINDS = {
    "polars": (pl.from_arrow, pl.DataFrame),
    "polars, lazy": (lambda table: pl.from_arrow(table).lazy(), pl.DataFrame),
    "arrow": (lambda table: table, pa.Table),
    "arrow, batch": (lambda table: table.combine_chunks().to_batches()[0], pa.Table),
    "arrow, reader": (lambda table: table.to_reader(), pa.Table),
    "interchange": (Interchange, pa.Table),
    "capsule": (Capsule, pa.Table),
    "narwhals": (lambda table: nw.from_native(pl.from_arrow(table)), nw.DataFrame),
    "pandas, nullable": (lambda table: table.to_pandas().convert_dtypes(), pd.DataFrame),
    "pandas, arrow": (
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame,
    ),
}
LIBRARIES = ["polars", "arrow", "pandas, nullable", "pandas, arrow"]


def of_kind(kind, table=ARROW):
    return KINDS[kind][0](table)


def same_fit(found, there=BASE):
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)
    pd.testing.assert_frame_equal(found.centroids, there.centroids, check_exact=True)
    np.testing.assert_array_equal(found.labels, there.labels)
    assert found.objective == there.objective
    assert found.data_sha256 == there.data_sha256
    assert found.call == there.call


# --- the same numbers, under the same names ------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_fits_are_equal_to_the_last_bit(kind):
    same_fit(ewp.fit(of_kind(kind), **OPTIONS))
    model = ewp.EWP(2, lam=100.0, random_state=0).fit(of_kind(kind))
    same_fit(model.results_)
    assert model.feature_names_in_.tolist() == list(NAMED)
    np.testing.assert_array_equal(model.predict(of_kind(kind)), BASE.labels)
    np.testing.assert_array_equal(model.transform(of_kind(kind)), BASE.transform(NAMED))
    there = ewp.EWP(2, lam=100.0, random_state=0).fit(NAMED)
    assert model.score(of_kind(kind)) == there.score(NAMED)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_found_by_name_in_any_order(kind):
    swapped = ARROW.select(["n", "área", "width", "height"])
    np.testing.assert_array_equal(BASE.predict(of_kind(kind, swapped)), BASE.labels)
    distances = np.asarray(BASE.transform(of_kind(kind, swapped)))
    np.testing.assert_array_equal(distances, BASE.transform(NAMED))


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_missing_or_unknown_are_told_as_of_pandas(kind):
    for table in (ARROW.drop_columns(["n"]), ARROW.append_column("who", [["a"] * 60])):
        with pytest.raises(ValueError, match="not those of the fit") as there:
            BASE.predict(table.to_pandas())
        with pytest.raises(ValueError, match="not those of the fit") as found:
            BASE.predict(of_kind(kind, table))
        assert str(found.value) == str(there.value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_augmented_is_of_the_kind_that_came(kind):
    own = ewp.fit(of_kind(kind), **OPTIONS)
    for found in (own.augment(), BASE.augment(of_kind(kind))):
        assert isinstance(found, KINDS[kind][1])
        assert list(column_names(found)) == [*NAMED, ".cluster", ".distance"]
        there = as_table(found)
        np.testing.assert_array_equal(there[".cluster"], BASE.labels)
        np.testing.assert_array_equal(there[".distance"], BASE.augment()[".distance"])
        np.testing.assert_array_equal(there[list(NAMED)].to_numpy(float), X)
    with pytest.raises(ValueError, match=r"already have a column '\.cluster'"):
        own.augment(found)


def test_pandas_keeps_its_index_and_a_frame_that_was_given_is_left_alone():
    rows = NAMED.set_axis([f"r{i}" for i in range(60)])
    assert BASE.augment(rows).index.equals(rows.index)
    assert BASE.predict(rows).index.equals(rows.index)
    frame = of_kind("polars")
    BASE.augment(frame)
    assert frame.columns == list(NAMED)


def test_predictions_go_into_a_frame_of_polars():
    frame = of_kind("polars")
    found = frame.with_columns(cluster=BASE.predict(frame))
    assert found["cluster"].to_list() == BASE.labels.tolist()


@pytest.mark.parametrize("kind", ["polars, lazy", "arrow, reader"])
def test_questions_after_the_fit_have_the_same_answers(kind):
    def asked(results, X):
        yield results.bootstrap(40, X=X(), random_state=0).weights
        yield results.stability(5, X=X(), random_state=0).jaccard
        yield results.profile(X=X()).table
        yield results.test_features(X=X(), random_state=0).table
        yield results.test_differences(X=X(), random_state=0).table
        yield results.refine(X=X()).probabilities
        yield pd.DataFrame(np.asarray(results.refinement_.predict_proba(X())))
        yield results.refit(X=X(), lam=150.0).weights.to_frame()
        yield results.compare_to(pl.Series(ARI_CLASSES, dtype=pl.Categorical)).overlap

    found = asked(ewp.fit(of_kind(kind), **OPTIONS), lambda: of_kind(kind))
    there = asked(ewp.fit(NAMED, **OPTIONS), lambda: NAMED)
    for one, other in zip(found, there, strict=True):
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other), check_exact=True)


@pytest.mark.parametrize("kind", ["polars, lazy", "arrow, reader"])
def test_choices_and_comparisons_are_the_same(kind):
    few = {"n_lams": 3, "random_state": 0}
    for choose in (
        lambda X: ewp.select_lambda(X, 2, **few),
        lambda X: ewp.select_k(X, range(1, 4), **few),
        lambda X: ewp.compare(
            X, 2, pl.Series(ARI_CLASSES), ("kmeans", "ewp"), n_trials=6, lam=100.0, random_state=0
        ),
    ):
        one, other = choose(of_kind(kind)), choose(NAMED)
        tables = [x.table() if callable(x.table) else x.table for x in (one, other)]
        tables = [table.drop(columns="seconds", errors="ignore") for table in tables]
        pd.testing.assert_frame_equal(*tables, check_exact=True)
        assert one.call == other.call
    np.testing.assert_array_equal(ewp.lambda_path(of_kind(kind), 2), ewp.lambda_path(NAMED, 2))
    peer = ewp.peers.KMeans(2, random_state=0).fit(of_kind(kind))
    assert peer.feature_names_in_.tolist() == list(NAMED)


def test_pictures_and_pages_of_a_fit_to_polars(tmp_path):
    found = ewp.fit(of_kind("polars"), **OPTIONS)
    found.plot_clusters(of_kind("polars, lazy"))
    found.report(tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text()
    assert "Rows and centroids in the plane" in page
    found.save(tmp_path / "fit.ewp")
    again = ewp.EWPResults.load(tmp_path / "fit.ewp")
    np.testing.assert_array_equal(again.predict(of_kind("arrow")), BASE.labels)


def test_scikit_learn_sets_the_output_to_polars():
    model = ewp.EWP(2, lam=100.0, random_state=0).set_output(transform="polars")
    found = model.fit_transform(of_kind("polars"))
    assert isinstance(found, pl.DataFrame)
    assert found.columns == model.get_feature_names_out().tolist() == ["ewp0", "ewp1"]


# --- options by row and by column ----------------------------------------------------------------


WEIGHT = np.arange(1.0, 61.0)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(WEIGHT),
        pl.Series(WEIGHT.astype(int)),
        pa.array(WEIGHT),
        pa.chunked_array([WEIGHT[:20], WEIGHT[20:]]),
        pd.Series(WEIGHT).astype("Int64"),
        pd.Series(WEIGHT).astype("int64[pyarrow]"),
    ],
    ids=lambda column: str(type(column)),
)
def test_columns_of_any_library_are_weights_of_rows(column):
    found = ewp.fit(of_kind("polars"), **OPTIONS, sample_weight=column)
    there = ewp.fit(NAMED, **OPTIONS, sample_weight=WEIGHT)
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series([None, *WEIGHT[1:]]), "NaN or inf.* in row 0"),
        (pd.Series([*WEIGHT[1:], None], dtype="Int64"), "NaN or inf.* in row 59"),
        (pl.Series(["a"] * 60), "sample_weight must be numbers.*'a'"),
        (pl.Series(WEIGHT[1:]), "X has 60 rows"),
    ],
)
def test_weights_that_are_none_are_told(column, message):
    with pytest.raises(ValueError, match=message):
        ewp.fit(of_kind("polars"), **OPTIONS, sample_weight=column)


def test_starts_are_matched_with_the_columns_and_priors_by_position():
    start = NAMED.iloc[[0, -1]]
    there = ewp.fit(NAMED, **OPTIONS, init=start, prior=[1, 1, 0, 1])
    swapped = pl.from_pandas(start[["n", "width", "área", "height"]])
    found = ewp.fit(of_kind("polars"), **OPTIONS, init=swapped, prior=pl.Series([1, 1, 0, 1]))
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)


# --- types of columns ----------------------------------------------------------------------------


@st.composite
def tables(draw):
    """A table of Arrow with columns of numbers and missing values, and these numbers."""
    n = draw(st.integers(2, 6))
    kinds = {
        pa.int8(): st.integers(-128, 127),
        pa.uint16(): st.integers(0, 65535),
        pa.int64(): st.integers(-(2**63), 2**63 - 1),
        # of Arrow's zeros pandas forgets the sign
        pa.float64(): st.floats(-1e99, 1e99).map(lambda x: x + 0.0),
        pa.float32(): st.floats(-1e9, 1e9, width=32).map(lambda x: x + 0.0),
        pa.bool_(): st.booleans(),
        pa.decimal128(20, 3): st.decimals(-(10**15), 10**15, places=3, allow_nan=False),
    }
    names = draw(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4, unique=True))
    columns, numbers = [], []
    for _ in names:
        kind = draw(st.sampled_from(list(kinds)))
        absent = st.none() if draw(st.booleans()) else st.nothing()
        values = draw(st.lists(kinds[kind] | absent, min_size=n, max_size=n))
        columns.append(pa.array(values, kind))
        numbers.append([np.nan if value is None else float(value) for value in values])
    return pa.table(columns, names=names), np.array(numbers).T


@given(tables())
def test_numbers_of_all_types_are_read_exactly(drawn):
    table, numbers = drawn
    for kind in LIBRARIES:
        frame = of_kind(kind, table)
        found = as_table(frame)
        assert list(found.columns) == table.column_names
        assert data_hash(frame) == data_hash(numbers)


MISSING = ARROW.set_column(0, "width", pa.array([None, *X[1:, 0]])).set_column(
    3, "n", pa.array([None if value > 3 else bool(value > 0) for value in X[:, 3]])
)


@pytest.mark.parametrize("kind", LIBRARIES)
def test_nulls_are_missing_values(kind):
    numbers = pd.DataFrame(
        {name: [np.nan if v is None else v for v in MISSING[name].to_pylist()] for name in NAMED},
        dtype=float,
    )
    there = ewp.fit(numbers, **OPTIONS, missing="observed")
    found = ewp.fit(of_kind(kind, MISSING), **OPTIONS, missing="observed")
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)
    assert found.data_sha256 == there.data_sha256
    for frame in (numbers, of_kind(kind, MISSING)):
        with pytest.raises(ValueError, match=r"column 'width'; EWP with missing=.observed") as told:
            ewp.fit(frame, **OPTIONS)
        assert f"{int(numbers.isna().sum().sum())} missing values" in str(told.value)


def test_a_column_of_nulls_alone_has_no_observed_value():
    for frame in (
        of_kind("polars").with_columns(empty=None),
        ARROW.append_column("empty", pa.nulls(60)),
        NAMED.assign(empty=None),
    ):
        with pytest.raises(ValueError, match="no observed value: 'empty'; drop it"):
            ewp.fit(frame, **OPTIONS, missing="observed")


def test_odd_types_of_numbers_are_numbers():
    frame = of_kind("polars").with_columns(
        big=pl.Series([None, *range(59)], dtype=pl.Int128),
        thing=pl.Series([1, 2.5] * 30, dtype=pl.Object, strict=False),
    )
    there = NAMED.assign(big=[np.nan, *range(59)], thing=[1, 2.5] * 30)
    assert data_hash(frame) == data_hash(there)
    objects = pd.DataFrame({"a": [pd.NA, 1, 2.5, True, decimal.Decimal("0.1")]}, dtype=object)
    assert data_hash(objects.assign(b=1)) == data_hash(np.c_[[np.nan, 1, 2.5, 1, 0.1], np.ones(5)])
    half = pa.table({"a": np.arange(3, dtype=np.float16)})
    assert as_table(half)["a"].tolist() == [0, 1, 2]


WORDS = ["u", "v"] * 30
DAYS = [datetime.date(2020, 1, 1 + i % 28) for i in range(60)]
TIMES = [datetime.datetime(2020, 1, 1 + i % 28) for i in range(60)]


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (NAMED.assign(kind=WORDS), "'kind' (str)"),
        (NAMED.assign(kind=pd.Series(WORDS, dtype=object)), "'kind' (str)"),
        (NAMED.assign(kind=pd.Categorical(WORDS)), "'kind' (category)"),
        (NAMED.assign(kind=pd.Categorical([1, 2] * 30)), "'kind' (category)"),
        (NAMED.assign(day=pd.to_datetime(TIMES)), "'day' (datetime64"),
        (NAMED.assign(day=DAYS), "'day' (date)"),
        (NAMED.assign(many=[[1.0]] * 60), "'many' (list)"),
        (NAMED.assign(kind=WORDS, other=WORDS, day=TIMES, third=WORDS), "'third' (str)"),
        (of_kind("polars").with_columns(kind=pl.Series(WORDS)), "'kind' (String)"),
        (
            of_kind("polars").with_columns(kind=pl.Series(WORDS, dtype=pl.Categorical)),
            "'kind' (Categorical)",
        ),
        (of_kind("polars").with_columns(day=pl.Series(DAYS)), "'day' (Date)"),
        (
            of_kind("polars").with_columns(day=pl.Series(TIMES), kind=pl.lit("q")),
            "'day' (Datetime)",
        ),
        (of_kind("polars").with_columns(many=pl.Series([[1.0]] * 60)), "'many' (List)"),
        (
            of_kind("polars").with_columns(
                a=pl.lit("q"), b=pl.lit("q"), c=pl.lit("q"), d=pl.lit("q")
            ),
            "'d' (String)",
        ),
        (ARROW.append_column("kind", [WORDS]), "'kind' (String)"),
        (
            ARROW.append_column("kind", pa.array(WORDS).dictionary_encode()),
            "'kind' (Categorical)",
        ),
        (ARROW.append_column("day", [DAYS]), "'day' (Date)"),
    ],
)
def test_columns_without_numbers_are_named_and_the_calls_that_are_told_are_cures(frame, told):
    with pytest.raises(ValueError, match=r"column\(s\) of X are not numeric") as error:
        ewp.fit(frame, **OPTIONS)
    words = str(error.value)
    assert told in words
    with pytest.raises(ValueError, match=r"column\(s\) of X are not numeric"):
        ewp.EWP(2, lam=100.0).fit(NAMED).predict(frame)
    known = {"X": frame, "pandas": pd, "polars": pl}
    dropped = words.split("drop them, ")[1].split(", or code")[0]
    same_fit(ewp.fit(eval(dropped, known), **OPTIONS))
    coded = words.split("as numbers")[1]
    if "categories by" in coded:
        call = coded.split("categories by ")[1].split(" and dates")[0].replace("...", "'a'")
        names = column_names(eval(call, known))
        assert any(str(name).startswith(("kind_", "a_")) for name in names)
    if "dates by" in coded:
        days = eval(coded.split("dates by ")[1], known)
        assert sorted({*days.to_list()}) == list(range(28))


def test_names_that_are_not_unique_are_told():
    twice = pa.table([ARROW["n"], ARROW["n"]], names=["n", "n"])
    with pytest.raises(ValueError, match="not unique: 'n'; rename them"):
        ewp.fit(twice, **OPTIONS)


def test_one_column_alone_is_no_table():
    for column in (pl.Series(X[:, 0]), pa.chunked_array([X[:, 0]])):
        with pytest.raises(ValueError, match="2D"):
            ewp.fit(column, **OPTIONS)


def test_tables_in_memory_are_held_as_they_came():
    frame = of_kind("polars")
    assert ewp.fit(frame, **OPTIONS).data is frame
    assert as_frame(NAMED) is NAMED
    assert as_frame(X) is X


def test_tables_of_unknown_libraries_without_pyarrow_name_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.interchange", None)
    with pytest.raises(ImportError, match="type Interchange needs pyarrow: pip install pyarrow"):
        ewp.fit(Interchange(ARROW), **OPTIONS)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "bool[pyarrow]"])
def test_nullable_columns_of_dask(kind):
    dd = pytest.importorskip("dask.dataframe")
    frame = NAMED.assign(flag=pd.Series([None] + [True, False] * 29 + [True]).astype(kind))
    there = ewp.fit(frame, **OPTIONS, missing="observed")
    lazy = dd.from_pandas(frame, npartitions=2)
    found = ewp.fit(lazy, **OPTIONS, missing="observed")
    np.testing.assert_allclose(found.weights, there.weights, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(found.predict(lazy)), there.labels)
