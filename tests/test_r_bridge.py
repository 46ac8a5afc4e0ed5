"""The bridge without R: what it finds, what it advises, and the parts that are plain Python."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import dendrogram
from typer.testing import CliRunner

import r_bridge
from ewp.cli import app
from r_bridge.compare import agreement_table, matched, plot_comparison
from r_bridge.doctor import REQUIREMENTS, Environment
from r_bridge.errors import PackageMissingError, RCallError, RInputError, RNotFoundError, Rpy2Error
from r_bridge.hierarchical import SparseHierarchy, linkage_from_merge
from r_bridge.inputs import check_bounds, check_seed, check_start, read
from r_bridge.results import selected
from tests.r_support import ROOT, fake_r

WORKING = Environment("/opt/R", "4.2.2", "3.6.6", "3.6.5", "API", None, "1.0.4", None)

# -- what is installed ------------------------------------------------------------------------


def test_importing_needs_neither_r_nor_rpy2(tmp_path):
    code = (
        "import sys; sys.modules['rpy2'] = None; import ewp, r_bridge, r_bridge.sparcl; "
        "print(r_bridge.check().starts, 'rpy2.rinterface' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]


def test_a_machine_without_r_gets_the_cure(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("R_HOME", raising=False)
    found = r_bridge.check()
    assert found.r_version is None
    assert not found.ready
    assert found.problems[0].kind is RNotFoundError
    assert "Install R: " in str(found)


@pytest.mark.parametrize(
    ("program", "cure"),
    [
        ("apt-get", "apt-get install -y r-base-dev"),
        ("dnf", "dnf install -y R-devel"),
        ("brew", "brew install r"),
        ("conda", "conda install -c conda-forge r-base"),
        ("nothing", "from the Comprehensive R Archive Network"),
    ],
)
def test_the_cure_is_the_command_of_the_system(monkeypatch, tmp_path, program, cure):
    (tmp_path / program).write_text("#!/bin/sh\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("R_HOME", raising=False)
    assert cure in r_bridge.check().problems[0].cure


def test_a_wrong_home_is_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("R_HOME", str(tmp_path / "nowhere"))
    found = r_bridge.check()
    assert found.r_version is None
    assert f"R_HOME={tmp_path / 'nowhere'} does not lead to R" in str(found)
    assert "unset R_HOME" in str(found)


def test_r_is_asked_for_home_version_and_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("R_HOME", str(fake_r(tmp_path, version="4.4.1")))
    found = r_bridge.check()
    assert (found.r_home, found.r_version, found.sparcl) == (str(tmp_path), "4.4.1", "1.0.4")
    assert found.reticulate is None


def test_an_r_that_does_not_run_is_quoted(monkeypatch, tmp_path):
    program = fake_r(tmp_path) / "bin" / "R"
    program.write_text("#!/bin/sh\necho 'Error in .Rprofile' >&2\nexit 1\n")
    monkeypatch.setenv("R_HOME", str(tmp_path))
    found = r_bridge.check()
    assert found.r_version is None
    assert "does not run: Error in .Rprofile" in str(found)


@pytest.mark.parametrize(
    ("changes", "kinds", "cure"),
    [
        ({}, [], "Python can call sparcl."),
        ({"sparcl": None}, [PackageMissingError], 'install.packages("sparcl")'),
        (
            {"mode": None, "rinterface": "3.6.7", "failure": "symbol 'R_getVar' not found"},
            [Rpy2Error],
            "needs R 4.5 or newer, and R is 4.2.2",
        ),
        ({"mode": None, "failure": "no libR.so"}, [Rpy2Error], "--force-reinstall --no-cache-dir"),
        ({"mode": None, "rpy2": None, "rinterface": None}, [Rpy2Error], "rpy2 is not installed"),
    ],
)
def test_every_problem_has_its_kind_and_cure(changes, kinds, cure):
    found = Environment(**{**vars(WORKING), **changes})
    assert [problem.kind for problem in found.problems] == kinds
    assert found.ready == (not kinds)
    assert cure in str(found)
    assert len(str(found).splitlines()) < 25


def test_every_cure_of_rpy2_names_the_versions_that_work():
    for rinterface in ("3.6.5", "3.6.7", None):
        broken = {"rinterface": rinterface, "mode": None, "rpy2": rinterface, "failure": "it broke"}
        (problem,) = Environment(**{**vars(WORKING), **broken}).problems
        assert all(requirement in problem.cure for requirement in REQUIREMENTS)


def test_the_advice_is_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tuple(project["optional-dependencies"]["r"]) == REQUIREMENTS


@pytest.mark.parametrize(("sparcl", "status"), [("1.0.4", 0), (None, 1)])
def test_doctor_prints_one_screen_and_exits_with_the_verdict(monkeypatch, sparcl, status):
    found = Environment(**{**vars(WORKING), "sparcl": sparcl})
    monkeypatch.setattr("r_bridge.check", lambda: found)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == status
    assert result.output.strip() == str(found)


# -- errors -----------------------------------------------------------------------------------


def test_an_error_of_r_keeps_its_parts_and_adds_the_cure():
    error = RCallError("stats::kmeans", "empty cluster: try a better set of initial centers", "hm")
    again = pickle.loads(pickle.dumps(error))
    assert (again.function, again.console) == ("stats::kmeans", "hm")
    assert str(again).startswith("stats::kmeans stopped in R: empty cluster")
    assert "give other centers" in str(again)


# -- checks before R --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], "contains NaN"),
        ([["a", "b"], ["c", "d"]], "could not convert|not numeric"),
        ([[1.0, 2.0]], "X is 1 x 2"),
    ],
)
def test_unfit_data_are_refused(X, message):
    with pytest.raises(RInputError, match=message):
        read(X, columns=2)


@pytest.mark.parametrize(
    ("K", "centers", "message"),
    [
        (None, None, "neither K nor centers"),
        (1, None, "K=1 must be at least 2"),
        (9, None, "k=9 exceeds the 5 distinct rows"),
        (None, [[0.0, 1.0, 2.0]], "centers have 3 columns, but X has 2"),
        (3, [[0.0, 1.0], [2.0, 3.0]], "K=3, but there are 2 centers"),
        (None, [[0.0, np.inf], [2.0, 3.0]], "infinity"),
    ],
)
def test_unfit_starts_are_refused(K, centers, message):
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(RInputError, match=message):
        check_start(X, K, centers, least=2)


@pytest.mark.parametrize("bounds", [1.0, [1.5, 0.5], [], [[1.5]], "wide", np.nan])
def test_unfit_bounds_are_refused(bounds):
    with pytest.raises(RInputError):
        check_bounds(bounds)


def test_seeds_are_checked_or_drawn():
    assert check_seed(7) == 7
    assert check_seed(np.random.default_rng(1)) == check_seed(np.random.default_rng(1))
    assert check_seed(None) != check_seed(None)
    for wrong in (-1, 2**31, 1.5, "one"):
        with pytest.raises(RInputError, match="seed="):
            check_seed(wrong)


# -- agreement, trees, pictures ---------------------------------------------------------------


def test_labels_are_matched_whatever_their_numbers():
    rng = np.random.default_rng(0)
    reference = pd.Series(rng.integers(5, size=200))
    for _ in range(10):
        assert matched(pd.Series(rng.permutation(5)[reference]), reference).equals(reference)


def test_the_table_measures_agreement_with_the_reference():
    labels = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]})
    weights = pd.DataFrame({"a": [0.6, 0.4, 0.0], "b": [0.6, 0.4, 1e-11], "c": [1 / 3] * 3})
    table = agreement_table(labels, weights, "a", y=pd.Series([1, 1, 2, 2]))
    assert table["features"].tolist() == [2, 2, 3]
    np.testing.assert_allclose(table["ARI"], [1, 1, -0.5])
    np.testing.assert_allclose(table["ARI truth"], [1, 1, -0.5])
    np.testing.assert_allclose(table["overlap"], [1, 1, 2 / 3])
    np.testing.assert_allclose(table["weight r"], [1, 1, np.nan])


def test_selection_is_relative_to_the_largest_weight():
    weights = pd.Series([5.0, 0.01, 1e-6], index=["a", "b", "c"])
    assert list(selected(weights)) == list(selected(1e-9 * weights)) == ["a", "b"]


def test_a_tree_of_r_becomes_one_of_scipy_and_can_be_cut():
    merge = np.array([[-1, -2], [-4, -5], [-3, 1], [2, 3]])
    rows = pd.Index(list("abcde"))
    linkage = linkage_from_merge(merge, np.array([1.0, 2.0, 3.0, 4.0]))
    assert sorted(dendrogram(linkage, no_plot=True)["leaves"]) == list(range(5))
    tree = SparseHierarchy(
        wbound=1.5,
        weights=pd.Series([1.0]),
        dissimilarity=pd.DataFrame(np.zeros((5, 5)), index=rows, columns=rows),
        linkage=linkage,
        order=rows,
        criterion=0.0,
        console="",
    )
    assert tree.cut(2).to_dict() == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}
    assert tree.cut(3).tolist() == [0, 0, 1, 2, 2]
    assert repr(tree) == "Sparse hierarchy by sparcl, wbound 1.5: 5 rows; 1 of 1 features"
    assert tree._repr_html_() == f"<p>{tree}</p>"


def test_the_picture_shows_weights_and_every_partition():
    labels = pd.DataFrame({"sparcl": [0, 0, 1, 1], "native": [0, 0, 1, 1], "EWP": [0, 1, 1, 1]})
    weights = pd.DataFrame(np.full((40, 3), 1 / 40), columns=labels.columns)
    figure = plot_comparison(weights, labels, top=10)
    left, native, ewp = figure.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == list(labels)
    assert len(left.get_yticks()) == 10
    assert "30 lighter features" in left.get_xlabel()
    assert native.get_title() == "4 of 4 rows alike"
    assert ewp.get_title() == "3 of 4 rows alike"
