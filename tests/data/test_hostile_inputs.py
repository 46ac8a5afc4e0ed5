"""Data that would give wrong numbers without a word are refused or put right, at every door."""

import datetime
import os

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.peers import KMeans
from tests.support.designs import sixty_rows

X = sixty_rows()
NAMED = pd.DataFrame(X, columns=list("abcd"), index=[f"r{i}" for i in range(60)])


# --- dates -------------------------------------------------------------------------------------

START = np.datetime64("2026-01-01T00:00:00")
DATES = START + (X * 1e5).astype("timedelta64[s]")


@pytest.mark.parametrize(
    "data",
    [
        DATES,
        DATES - START,
        DATES.tolist(),
        DATES.astype(object),
        pd.DataFrame({"a": X[:, 0], "t": [datetime.date(2026, 1, 1)] * 60}),
        pd.DataFrame({"a": X[:, 0], "t": pd.Series([pd.NaT] * 60, dtype=object)}),
        pd.DataFrame({"a": X[:, 0], "t": pd.date_range("2026", periods=60)}),
    ],
)
def test_dates_and_durations_are_no_numbers(data):
    with pytest.raises(ValueError, match=r"dates or durations|not numeric: 't'"):
        ewp.fit(data, 2, 100.0)


# --- names -------------------------------------------------------------------------------------


class Polars:
    """What matters here of a table of polars: names in a list, and a way to pandas."""

    def __init__(self, frame):
        self._frame = frame
        self.columns = list(frame.columns)
        self.shape = frame.shape

    def to_pandas(self):
        return self._frame

    def __array__(self, dtype=None, copy=None):
        return self._frame.to_numpy(dtype)

    def __len__(self):
        return len(self._frame)


def arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


def dask(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2, sort=False)


def names_of(table):
    return list(getattr(table, "column_names", table.columns))


@pytest.mark.parametrize("kind", [pd.DataFrame, Polars, arrow, dask])
def test_tables_of_every_kind_keep_their_names_and_are_compared_by_them(kind):
    model = ewp.EWP(2, 100.0, random_state=0).fit(kind(NAMED))
    found = model.results_
    assert found.weights.index.tolist() == list("abcd")
    labels = np.asarray(ewp.fit(NAMED, 2, 100.0, random_state=0).labels)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(np.asarray(model.predict(kind(NAMED))), labels)
    np.testing.assert_array_equal(np.asarray(found.predict(kind(NAMED))), labels)
    assert names_of(found.augment(kind(NAMED)))[:4] == list("abcd")
    swapped = kind(NAMED[list("bacd")])
    np.testing.assert_array_equal(np.asarray(found.predict(swapped)), labels)
    np.testing.assert_array_equal(found.transform(swapped), found.transform(NAMED))
    there = found.augment(swapped)
    assert names_of(there)[:4] == list("bacd")
    np.testing.assert_array_equal(there[".distance"], found.augment(NAMED)[".distance"])
    for call in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="feature names should match"):
            call(swapped)


def test_a_refused_fit_of_a_peer_leaves_it_as_it_was():
    model = KMeans(2, random_state=0).fit(NAMED)
    with pytest.raises(ValueError, match="n_clusters"):
        model.set_params(n_clusters=-1).fit(NAMED[list("bacd")])
    assert model.feature_names_in_.tolist() == list("abcd")


# --- weights, starts and numbers -----------------------------------------------------------------


def test_weights_of_rows_are_matched_by_name():
    weight = pd.Series(np.linspace(0.5, 2, 60), index=NAMED.index)
    there = ewp.fit(NAMED, 2, 100.0, sample_weight=weight, random_state=0)
    shuffled = weight.sample(frac=1, random_state=0)
    found = ewp.fit(NAMED, 2, 100.0, sample_weight=shuffled, random_state=0)
    pd.testing.assert_series_equal(found.weights, there.weights)
    by_place = ewp.fit(NAMED, 2, 100.0, sample_weight=weight.reset_index(drop=True), random_state=0)
    pd.testing.assert_series_equal(by_place.weights, there.weights)
    with pytest.raises(ValueError, match="sample_weight is labelled 'z', 'r1'"):
        ewp.fit(NAMED, 2, 100.0, sample_weight=weight.rename({"r0": "z"}))


@pytest.mark.parametrize("option", ["sample_weight", "prior", "init"])
def test_masked_options_are_refused_as_masked_data_are(option):
    shape = {"sample_weight": (60,), "prior": (4,), "init": (2, 4)}[option]
    value = np.ma.masked_array(np.ones(shape), np.zeros(shape))
    value[(1,) * len(shape)] = np.ma.masked
    with pytest.raises(ValueError, match=f"{option} has 1 masked values"):
        ewp.fit(X, 2, 100.0, **{option: value})


def test_starting_centroids_beyond_all_data_are_refused():
    start = np.vstack([X[0], np.full(4, 1e50)])
    with pytest.raises(ValueError, match=r"init: centroid 1 is 1e[+]50 in column 0"):
        ewp.fit(X, 2, 100.0, init=start, s0=-np.inf, polish=False)
    near = np.vstack([X[0], np.full(4, 1e6)])
    assert ewp.fit(X, 2, 100.0, init=near, random_state=0).converged


def test_one_row_may_not_outweigh_all_others_beyond_the_digits_of_a_number():
    weight = np.ones(60)
    weight[3] = 1e99
    with pytest.raises(ValueError, match=r"row 3 has 1e\+99, all others have 59 together"):
        ewp.fit(X, 2, 100.0, sample_weight=weight)
    weight[3] = 1e6
    assert np.isfinite(ewp.fit(X, 2, 1e8, sample_weight=weight, random_state=0).objective)


@pytest.mark.parametrize(
    "call",
    [
        lambda huge: ewp.fit([[huge, 1], [2, 3]], 1, 1.0),
        lambda huge: ewp.fit(X, 2, 100.0, prior=[1, 2, 3, huge]),
        lambda huge: ewp.fit(X, 2, 100.0, sample_weight=[huge] * 60),
        lambda huge: ewp.fit(X, 2, 100.0, init=[[huge] * 4] * 2),
        lambda huge: ewp.fit(X, 2, huge),
        lambda huge: ewp.fit(X, huge, 1.0),
        lambda huge: ewp.fit(X, 2, 1.0, s0=huge),
        lambda huge: ewp.compare(X, 2, n_trials=huge),
        lambda huge: ewp.select_k(X, [2, huge]),
        lambda huge: ewp.fit(X, 2, 100.0, random_state=0).predict([[huge, 1, 2, 3]]),
        lambda huge: ewp.fit(X, 2, 100.0, random_state=0).consistency(huge),
    ],
)
def test_numbers_beyond_floating_point_are_told_in_a_sentence(call):
    with pytest.raises(ValueError, match=r"large|must be|beyond") as told:
        call(10**400)
    assert len(str(told.value)) < 300


@pytest.mark.filterwarnings("error")
def test_data_of_the_smallest_numbers_are_fitted_or_refused_without_noise():
    with pytest.raises(ValueError, match="multiply X by a constant"):
        ewp.fit(X * 1e-155, 2, 1e-308)
    plain = ewp.fit(X, 2, 100.0, random_state=0)
    small = ewp.fit(X * 2.0**-450, 2, 100.0 * 2.0**-900, random_state=0)
    np.testing.assert_array_equal(small.weights, plain.weights)
    np.testing.assert_array_equal(small.labels, plain.labels)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-140, 1e-46, 1e39, 1e90])
def test_automatic_choices_and_intervals_do_not_depend_on_units(unit):
    def table(c):
        found = ewp.fit(X * c, 2, 100.0 * c * c, random_state=0)
        return found.bootstrap(40, random_state=0).centroid_intervals()

    there, here = table(unit), table(1.0)
    for name in ("centroid", "lower", "upper", "se"):
        np.testing.assert_allclose(there[name] / unit, here[name], rtol=1e-6, atol=1e-9)
    labels = [ewp.fit(X * c, 2, random_state=0).labels for c in (1.0, unit)]
    np.testing.assert_array_equal(*labels)


# --- layout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_layout_of_an_array_does_not_show_in_one_digit(seed):
    rng = np.random.default_rng(seed)
    for table in (rng.integers(1, 6, (200, 6)).astype(float), rng.normal(size=(80, 7))):
        one, two = (ewp.fit(order(table), 4, 50.0, random_state=seed) for order in LAYOUTS)
        assert one.objective == two.objective
        np.testing.assert_array_equal(one.labels, two.labels)
        np.testing.assert_array_equal(one.weights, two.weights)


LAYOUTS = (np.ascontiguousarray, np.asfortranarray)


# --- rows that come in blocks --------------------------------------------------------------------


def blocks(bad=None):
    data = X.copy()
    if bad is not None:
        data[bad, 1] = np.nan
    return lambda: iter([data[:20], data[20:20], data[20:45], data[45:]])


def test_an_empty_block_does_no_harm_and_rows_are_counted_over_all_blocks():
    found = ewp.fit(blocks(), 2, 100.0, random_state=0)
    np.testing.assert_array_equal(found.labels, ewp.fit(X, 2, 100.0, random_state=0).labels)
    with pytest.raises(ValueError, match="in row 51, column 1"):
        ewp.fit(blocks(51), 2, 100.0)


def test_a_bad_row_of_a_parquet_file_is_told_by_its_number(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("ewp.data.sources.BATCH_ROWS", 16)
    bad = NAMED.copy()
    bad.iloc[51, 1] = np.nan
    bad.to_parquet(tmp_path / "x.parquet", index=False)
    with pytest.raises(ValueError, match="in row 51, column 'b'"):
        ewp.fit(tmp_path / "x.parquet", 2, 100.0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_a_full_folder_for_temporary_files_is_told(monkeypatch):
    def make(**options):
        return os.open("/dev/full", os.O_WRONLY), "/dev/shm-that-is-full/rows"

    monkeypatch.setattr("ewp.data.sources.tempfile.mkstemp", make)
    with pytest.raises(OSError, match=r"No space left on device; name a folder .* by TMPDIR"):
        ewp.fit(blocks(), 2, 100.0)


# --- results -------------------------------------------------------------------------------------


def test_a_fit_to_a_file_augments_its_rows(tmp_path):
    np.save(tmp_path / "x.npy", X)
    table = ewp.fit(tmp_path / "x.npy", 2, 100.0, random_state=0).augment()
    np.testing.assert_array_equal(table.iloc[:, :4], X)
    assert table[".cluster"].nunique() == 2
