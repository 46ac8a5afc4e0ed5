"""Files of results: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ewp
from ewp.diagnostics import RECORDS
from ewp.results import storage
from ewp.results.results import EWPResults
from ewp.results.storage import FORMAT_VERSION, _decode, _encode
from ewp.solver.fit import FitOptions
from tests.support.results import make_results


def round_trip(results, directory):
    path = directory / "fit"
    results.save(path)
    return EWPResults.load(path)


def rewrite(path, **members):
    """Replace members of an archive by other bytes."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content |= {f"{name}.npy": value for name, value in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            archive.writestr(name, value)


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def header_of(path):
    with np.load(path) as archive:
        return json.loads(archive["header"].tobytes())


def with_header(path, **changes):
    text = json.dumps(header_of(path) | changes).encode()
    rewrite(path, header=npy(np.frombuffer(text, dtype=np.uint8)))


# --- the round trip ----------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_every_field_survives_except_the_data(tmp_path, scaling):
    weights = np.random.default_rng(2).uniform(1, 3, 60)
    results = make_results(scaling=scaling, sample_weight=weights, critical_exponent=-np.inf)
    loaded = round_trip(results, tmp_path)
    pd.testing.assert_series_equal(loaded.weights, results.weights)
    pd.testing.assert_frame_equal(loaded.centroids, results.centroids)
    pd.testing.assert_series_equal(loaded.labels, results.labels)
    pd.testing.assert_frame_equal(loaded.objective_trace, results.objective_trace)
    pd.testing.assert_frame_equal(loaded.clusters, results.clusters)
    for name in ("center", "scale", "prior", "spread"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(results, name))
    for name in ("objective", "lam", "s0", "eta", "converged", "n_iter", "totss", "scaling"):
        assert getattr(loaded, name) == getattr(results, name)
        assert type(getattr(loaded, name)) is type(getattr(results, name))
    assert loaded.critical_exponent == -np.inf
    assert loaded.options == results.options
    assert loaded.data is None
    assert loaded.sample_weight is None


def test_a_loaded_result_speaks_and_predicts_as_the_original(tmp_path):
    results = make_results(120, 30, 8, rows=[f"r{i}" for i in range(120)])
    loaded = round_trip(results, tmp_path)
    assert str(loaded) == str(results)
    assert repr(loaded) == repr(results)
    assert loaded._repr_html_() == results._repr_html_()
    pd.testing.assert_frame_equal(loaded.tidy(), results.tidy())
    pd.testing.assert_frame_equal(loaded.glance(), results.glance())
    X = results.data
    pd.testing.assert_series_equal(loaded.predict(X), results.predict(X))
    pd.testing.assert_frame_equal(loaded.transform(X), results.transform(X))
    pd.testing.assert_frame_equal(loaded.augment(X), results.augment())


def test_fields_that_may_be_missing_stay_missing(tmp_path):
    assert round_trip(make_results(spread=None), tmp_path).spread is None


@pytest.mark.parametrize(
    "names",
    [
        [3, 1, 4, 15, 9],
        [0.5, 1.5, np.nan, np.inf, -1.0],
        ["a", "b\x00", "\u00e9\u4e2d", "", "two\nlines"],
        pd.Index([1, "one", 2.5, True, "x"], dtype=object),
        pd.RangeIndex(2, 12, 2),
        pd.Index([1, 2, 3, 4, 5], dtype=np.uint8),
        pd.Index(list("abcde"), name="gene"),
    ],
)
def test_numbers_and_texts_keep_their_type_as_names(tmp_path, names):
    names = pd.Index(names)
    rows = names.append([names] * 11)
    loaded = round_trip(make_results(60, 5, names=names, rows=rows), tmp_path)
    pd.testing.assert_index_equal(loaded.feature_names, names)
    pd.testing.assert_index_equal(loaded.labels.index, rows)


@pytest.mark.parametrize(
    "names",
    [
        pd.date_range("2020-01-01", periods=5),
        pd.MultiIndex.from_product([["a"], range(5)]),
        pd.CategoricalIndex(list("abcde")),
    ],
)
def test_other_names_become_text_and_still_predict(tmp_path, names):
    results = make_results(names=names)
    loaded = round_trip(results, tmp_path)
    assert list(loaded.feature_names) == [str(name) for name in names]
    np.testing.assert_array_equal(loaded.predict(results.data), results.predict(results.data))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
@settings(deadline=None, max_examples=50)
def test_json_values_survive_strict_json(value):
    text = json.dumps(_encode(value), allow_nan=False)
    assert repr(_decode(json.loads(text))) == repr(value)


def test_options_of_numpy_types_become_plain(tmp_path):
    options = FitOptions(3, 30.0, n_init=np.int64(3), tol=np.float32(0.5))
    selection = {"unit": "nats", "total": np.float64(60), "x": (1, np.nan), "of": np.eye(2)}
    make_results(fit_options=options, selection=selection).save(tmp_path / "fit")
    kept = storage.read(tmp_path / "fit")
    assert kept["fit_options"].n_init == 3
    assert kept["fit_options"].tol == 0.5
    assert kept["selection"]["of"] == [[1.0, 0.0], [0.0, 1.0]]
    assert np.isnan(kept["selection"]["x"][1])


def test_an_array_of_starting_centroids_is_kept(tmp_path):
    results = make_results(names=list("abcde"))
    start = results.centroids.to_numpy() + 1.0
    results.fit_options = dataclasses.replace(results.fit_options, init=start)
    loaded = round_trip(results, tmp_path)
    np.testing.assert_array_equal(loaded.fit_options.init, start)
    assert loaded.options["init"] == "array"


def test_a_file_that_lacks_the_starting_centroids_starts_from_the_estimates(tmp_path):
    """So did files of earlier versions."""
    results = make_results()
    results.fit_options = dataclasses.replace(results.fit_options, init=np.ones((3, 5)))
    results.save(tmp_path / "fit")
    with np.load(tmp_path / "fit") as archive:
        kept = {name: archive[name] for name in archive.files if name != "init"}
    with (tmp_path / "fit").open("wb") as file:
        np.savez_compressed(file, **kept)
    loaded = EWPResults.load(tmp_path / "fit")
    np.testing.assert_array_equal(loaded.fit_options.init, results.centroids)


def test_files_without_and_with_unknown_diagnostics_are_read(tmp_path):
    make_results().save(tmp_path / "fit")
    header = header_of(tmp_path / "fit")
    assert header["diagnostics"] == {}
    with_header(tmp_path / "fit", diagnostics={"later_": {"x": {"value": 1}}})
    assert EWPResults.load(tmp_path / "fit").bootstrap_ is None
    del header["diagnostics"]
    text = json.dumps(header).encode()
    rewrite(tmp_path / "fit", header=npy(np.frombuffer(text, dtype=np.uint8)))
    assert EWPResults.load(tmp_path / "fit").n_clusters == 3


# --- the file ----------------------------------------------------------------------------------


def test_the_path_is_used_as_given_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "a model.ewp"
    make_results().save(str(path))
    assert os.listdir(tmp_path) == ["a model.ewp"]
    make_results(lam=7.0).save(path)
    assert os.listdir(tmp_path) == ["a model.ewp"]
    assert EWPResults.load(str(path)).lam == 7.0


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "fit"
    make_results(lam=7.0).save(path)

    def interrupted(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_results(lam=8.0).save(path)
    assert os.listdir(tmp_path) == ["fit"]
    assert EWPResults.load(path).lam == 7.0


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
def test_a_file_gets_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    make_results().save(tmp_path / "fit")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "fit")}
    assert len(modes) == 1


def test_a_file_is_small(tmp_path):
    results = make_results(20_000, 10, 3)
    results.save(tmp_path / "fit")
    assert (tmp_path / "fit").stat().st_size < results.data.to_numpy().nbytes / 50


def test_the_header_is_strict_json(tmp_path):
    make_results(critical_exponent=-np.inf, objective=np.nan).save(tmp_path / "fit")
    with np.load(tmp_path / "fit") as archive:
        text = archive["header"].tobytes().decode()

    def refuse(constant):
        raise AssertionError(constant)

    json.loads(text, parse_constant=refuse)


# --- what is refused ---------------------------------------------------------------------------


def test_a_missing_file_or_a_directory_is_named(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(ValueError, match="there is no file"):
            EWPResults.load(path)


@pytest.mark.parametrize("content", [b"", b"x,y\n1,2\n", pickle.dumps([1]), npy(np.eye(2))])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "fit").write_bytes(content)
    with pytest.raises(ValueError, match=r"not an \.npz archive"):
        EWPResults.load(tmp_path / "fit")


def test_other_archives_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.eye(2))
    with pytest.raises(ValueError, match="does not hold EWP results"):
        EWPResults.load(tmp_path / "other.npz")
    make_results().save(tmp_path / "fit")
    with_header(tmp_path / "fit", kind="something else")
    with pytest.raises(ValueError, match="something else"):
        EWPResults.load(tmp_path / "fit")


def test_a_newer_format_asks_for_an_upgrade(tmp_path):
    make_results().save(tmp_path / "fit")
    with_header(tmp_path / "fit", format_version=FORMAT_VERSION + 1)
    with pytest.raises(ValueError, match="upgrade ewp"):
        EWPResults.load(tmp_path / "fit")


class Malicious:
    def __reduce__(self):
        return (os.mkdir, ("owned",))


@pytest.mark.parametrize("member", ["weights", "header", "labels", "rows"])
def test_a_pickle_inside_is_refused_and_not_run(tmp_path, monkeypatch, member):
    monkeypatch.chdir(tmp_path)
    make_results(rows=np.arange(60) * 3).save("fit")
    bomb = npy(np.array([Malicious()], dtype=object), allow_pickle=True)
    rewrite(tmp_path / "fit", **{member: bomb})
    with pytest.raises(ValueError, match="does not hold EWP results, or is damaged"):
        EWPResults.load("fit")
    assert os.listdir(tmp_path) == ["fit"]


@pytest.mark.parametrize(
    ("member", "array"),
    [
        ("centroids", np.eye(2)),
        ("center", np.ones(3)),
        ("weights", np.ones(4)),
        ("labels", np.full(60, 99)),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, member, array):
    make_results().save(tmp_path / "fit")
    rewrite(tmp_path / "fit", **{member: npy(array)})
    with pytest.raises(ValueError, match="damaged"):
        EWPResults.load(tmp_path / "fit")


@pytest.fixture(scope="module")
def decorrelated():
    X = np.random.default_rng(0).standard_normal((60, 4)).cumsum(axis=1)
    return X, ewp.fit(X, 2, 60.0, scale="decorrelate:0.25", n_init=2, random_state=0)


def test_a_fit_to_decorrelated_features_is_kept_with_its_map(tmp_path, decorrelated):
    X, results = decorrelated
    loaded = round_trip(results, tmp_path)
    assert loaded.scaling == "decorrelate:0.25"
    assert loaded.decorrelation.shrinkage == 0.25
    for name in ("center", "scale", "axes", "roots"):
        kept = getattr(loaded.decorrelation, name)
        np.testing.assert_array_equal(kept, getattr(results.decorrelation, name))
    np.testing.assert_array_equal(loaded.transform(X), results.transform(X))
    # what older versions cannot predict from they must not read
    assert header_of(tmp_path / "fit")["format_version"] == 2
    make_results().save(tmp_path / "plain")
    assert header_of(tmp_path / "plain")["format_version"] == 1


@pytest.mark.parametrize(
    ("member", "array"),
    [
        ("axes", np.eye(3)),
        ("roots", np.ones(3)),
        ("roots", np.zeros(4)),
        ("scale", np.zeros(4)),
        ("center", np.full(4, np.nan)),
        ("shrinkage", np.array(0.0)),
        ("shrinkage", np.array(1)),
    ],
)
def test_maps_that_do_not_fit_are_refused(tmp_path, decorrelated, member, array):
    decorrelated[1].save(tmp_path / "fit")
    rewrite(tmp_path / "fit", **{f"decorrelation_{member}": npy(array)})
    with pytest.raises(ValueError, match="damaged"):
        EWPResults.load(tmp_path / "fit")


@given(position=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
@settings(deadline=None, max_examples=60)
def test_a_damaged_file_loads_or_raises_value_error(tmp_path_factory, position, byte, cut):
    path = tmp_path_factory.getbasetemp() / f"damaged-{os.getpid()}"
    make_results(20, 3, 2).save(path)
    content = bytearray(path.read_bytes())
    content[position % len(content)] = byte
    path.write_bytes(content[: position % len(content)] if cut else content)
    with contextlib.suppress(ValueError):
        assert EWPResults.load(path).n_clusters == 2


# --- files of before the package had rooms -----------------------------------------------------

FILES = Path(__file__).parent / "files"


def made_data():
    """The rows that the two files were fitted to."""
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 6.0, 12.0], [20, 15, 10])
    columns = {
        "a": group + rng.normal(size=45),
        "b": rng.normal(size=45) * 3,
        "c": -group + rng.normal(size=45),
    }
    return pd.DataFrame(columns, index=[f"row {i}" for i in range(45)])


def test_a_file_of_before_loads_and_is_what_a_fit_gives_today():
    with pytest.warns(UserWarning, match="feature_tests_ is left out: an earlier version"):
        loaded = EWPResults.load(FILES / "chosen_with_diagnostics.npz")
    # the splits by which the penalty is chosen are others today
    family = {"scale": loaded.fit_options.scale, "dispersion": loaded.dispersion}
    today = ewp.fit(made_data(), 3, loaded.lam, random_state=0, **family)
    np.testing.assert_array_equal(loaded.labels, today.labels)
    np.testing.assert_allclose(loaded.weights, today.weights, rtol=1e-9)
    assert loaded.options.keys() == {*today.options, "selection"}
    assert loaded.starts is None
    assert loaded.selection["criterion"] == "predictive"
    np.testing.assert_array_equal(loaded.predict(made_data()), today.labels)
    assert loaded.feature_tests_ is None
    for name in RECORDS:
        assert str(getattr(loaded, name))
    assert "Entropy Weighted Power k-means" in str(loaded)
    assert loaded.bootstrap(40, X=made_data(), random_state=0).n_boot == 40


def test_a_bootstrap_of_before_has_intervals_and_says_what_it_lacks():
    found = EWPResults.load(FILES / "chosen_with_diagnostics.npz").bootstrap_
    assert (found.start, found.similarity) == ("estimates", None)
    table = found.weight_intervals()
    assert (table["lower"] <= table["upper"]).all()
    assert "start='scratch'" in " ".join(str(found).split())
    with pytest.raises(ValueError, match=r"earlier version.*run bootstrap\(\) again"):
        _ = found.clusters


def test_a_file_of_before_without_its_start_goes_on_from_the_estimates():
    loaded = EWPResults.load(FILES / "given_start.npz")
    assert loaded.options["init"] == "array"
    np.testing.assert_array_equal(loaded.fit_options.init, loaded.centroids)
    assert loaded.stability(3, X=made_data(), random_state=0).n_boot == 3
