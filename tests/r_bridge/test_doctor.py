"""What is found on a machine, with or without R, what is wrong with it, and the cure of each."""

from __future__ import annotations

import io
import tarfile
import tomllib

import pytest
from typer.testing import CliRunner

import r_bridge
from ewp.cli import app
from r_bridge.doctor import REQUIREMENTS, Environment
from r_bridge.errors import PackageMissingError, RNotFoundError, Rpy2Error
from tests.support.r import CALL, ROOT, fake_r, message_of, require_r, run_python

WORKING = Environment("/opt/R", "4.2.2", "3.6.6", "3.6.5", "API", None, "1.0.4", None)


# -- what is installed --------------------------------------------------------------------------


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


OTHER = """
import importlib.metadata, sys
from pathlib import Path
folder = Path({folder!r})
(folder / "ewp-{version}.dist-info").mkdir()
text = "Metadata-Version: 2.1\\nName: ewp\\nVersion: {version}\\nAuthor: {author}\\n"
(folder / "ewp-{version}.dist-info" / "METADATA").write_text(text)
sys.path.insert(0, str(folder))
import r_bridge
found = r_bridge.check()
print(found.other_ewp, found.ready)
print(found)
"""


def test_the_other_package_called_ewp_is_told_with_the_cure(tmp_path):
    done = run_python(OTHER.format(folder=str(tmp_path), version="0.1.1", author="Somebody Else"))
    assert done.stdout.startswith("0.1.1 False"), done.stderr
    assert "Another package called ewp (0.1.1)" in done.stdout
    assert "pip uninstall -y ewp" in done.stdout


def test_an_old_copy_of_this_package_is_not_taken_for_the_other(tmp_path):
    author = "The ewp developers"
    done = run_python(OTHER.format(folder=str(tmp_path), version="0.1.0", author=author))
    assert done.stdout.startswith("None"), done.stderr


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


def test_the_doctor_of_a_machine_without_r(tmp_path):
    code = "from ewp.cli import app; app(['doctor'])"
    done = run_python(code, PATH=str(tmp_path))
    assert done.returncode == 1
    steps = [line for line in done.stdout.splitlines() if line[:2] in ("1.", "2.", "3.")]
    assert steps[0].startswith("1. R was not found")
    assert "sparcl is needed too" in steps[-1]
    assert done.stdout.strip().endswith("Then run again: ewp doctor")


# -- what a call says, in programs of their own -------------------------------------------------


def test_no_r(tmp_path):
    said = message_of("stats.kmeans(X, 2)", PATH=str(tmp_path))
    assert said.startswith("RNotFoundError\nR was not found: no program R on the PATH")
    assert "Install R: " in said
    assert "ewp doctor" in said


def test_a_wrong_home(tmp_path):
    said = message_of("stats.kmeans(X, 2)", R_HOME=str(tmp_path))
    assert said.startswith(f"RNotFoundError\nR_HOME={tmp_path} does not lead to R")
    assert "unset R_HOME" in said


def test_no_rpy2(tmp_path):
    """A module that cannot be imported hides the installed one."""
    code = "import sys; sys.modules['rpy2'] = None\n" + CALL.format(call="stats.kmeans(X, 2)")
    done = run_python(code, R_HOME=str(fake_r(tmp_path)))
    assert done.stdout.startswith("Rpy2Error\nThe Python package rpy2 is not installed.")
    assert "-m pip install 'rpy2>=3.6.4' 'rpy2-rinterface>=3.6.4,<3.6.6'" in done.stdout


def test_rpy2_too_new_for_r(tmp_path):
    """Packages of these names and versions, failing as the real ones do with an R before 4.5."""
    site = tmp_path / "site"
    for name, version in (("rpy2", "3.6.7"), ("rpy2_rinterface", "3.6.7")):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        title = name.replace("_", "-")
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {title}\nVersion: {version}\n"
        )
    module = site / "rpy2" / "rinterface.py"
    module.parent.mkdir()
    (module.parent / "__init__.py").write_text("")
    module.write_text(
        "class error(Exception):\n    pass\n"
        "raise error(\"symbol 'R_getVar' not found in library 'libR.so'\")\n"
    )
    home = fake_r(tmp_path / "R", version="4.2.2")
    said = message_of("stats.kmeans(X, 2)", PYTHONPATH=str(site), R_HOME=str(home))
    assert said.startswith("Rpy2Error\nrpy2-rinterface 3.6.7 needs R 4.5 or newer, and R is 4.2.2")
    assert "symbol 'R_getVar' not found" in said
    assert "-m pip install 'rpy2>=3.6.4' 'rpy2-rinterface>=3.6.4,<3.6.6'" in said


def test_python_inside_r_is_not_given_another_r():
    code = "import os; os.environ['R_SESSION_INITIALIZED'] = f'PID={os.getpid()}:NAME=reticulate'\n"
    said = run_python(code + CALL.format(call="stats.kmeans(X, 2)")).stdout
    assert said.startswith("RBridgeError\nThis Python runs inside R")
    assert "Call sparcl in R itself" in said


def test_sparcl_missing(tmp_path):
    require_r()
    profile = tmp_path / "profile.R"
    profile.write_text('assign(".lib.loc", .Library, envir = environment(.libPaths))\n')
    said = message_of("sparcl.kmeans_sparse_cluster(X, 2)", R_PROFILE_USER=str(profile))
    assert said.startswith("PackageMissingError\nthe R package sparcl is not installed.")
    assert 'install.packages("sparcl")' in said
    assert "r_bridge.install_sparcl()" in said


# -- installing sparcl --------------------------------------------------------------------------


def test_cran_out_of_reach(tmp_path):
    require_r()
    profile = tmp_path / "profile.R"
    profile.write_text('assign(".lib.loc", .Library, envir = environment(.libPaths))\n')
    nowhere = f"file://{tmp_path}/cran"
    said = message_of(f"install_sparcl({nowhere!r})", R_PROFILE_USER=str(profile))
    assert said.startswith("InstallationError\nCRAN cannot be reached from this machine")
    assert "R CMD INSTALL sparcl_<version>.tar.gz" in said


def test_sparcl_is_installed_from_a_repository_and_found_at_once(tmp_path):
    """A package of that name with nothing in it, in a repository of files and its own library."""
    library, contrib = tmp_path / "library", tmp_path / "cran" / "src" / "contrib"
    library.mkdir()
    contrib.mkdir(parents=True)
    description = "Package: sparcl\nVersion: 9.9\n"
    (contrib / "PACKAGES").write_text(description)
    more = "Title: T\nDescription: D.\nAuthor: A\nMaintainer: A <a@b.c>\nLicense: BSD_3_clause\n"
    with tarfile.open(contrib / "sparcl_9.9.tar.gz", "w:gz") as archive:
        for name, text in (("DESCRIPTION", description + more), ("NAMESPACE", "")):
            entry = tarfile.TarInfo(f"sparcl/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    profile = tmp_path / "profile.R"
    where = f'c("{library}", .Library)'
    profile.write_text(f'assign(".lib.loc", {where}, envir = environment(.libPaths))\n')
    code = f"""
import r_bridge
from r_bridge import session
asked = {{"package": "sparcl", "quietly": True}}
print(session.call("base", "requireNamespace", asked).value[0])
print(r_bridge.install_sparcl("file://{tmp_path}/cran"))
print(session.call("base", "requireNamespace", asked).value[0])
"""
    done = run_python(code, R_PROFILE_USER=str(profile))
    assert done.stdout.split() == ["0", "9.9", "1"], done.stderr
    assert (library / "sparcl").is_dir()
