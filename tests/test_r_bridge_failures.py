"""Broken installations and bad calls, in programs of their own: each message says what to do."""

from __future__ import annotations

from tests.r_support import fake_r, require_r, run_python

CALL = """
import numpy as np, r_bridge
X = np.random.default_rng(0).normal(size=(10, 3))
try:
    r_bridge.{call}
except r_bridge.RBridgeError as error:
    print(type(error).__name__)
    print(error)
"""


def message_of(call: str, **environment: str | None) -> str:
    done = run_python(CALL.format(call=call), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


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


def test_cran_out_of_reach(tmp_path):
    require_r()
    profile = tmp_path / "profile.R"
    profile.write_text('assign(".lib.loc", .Library, envir = environment(.libPaths))\n')
    nowhere = f"file://{tmp_path}/cran"
    said = message_of(f"install_sparcl({nowhere!r})", R_PROFILE_USER=str(profile))
    assert said.startswith("InstallationError\nCRAN cannot be reached from this machine")
    assert "R CMD INSTALL sparcl_<version>.tar.gz" in said


def test_bad_calls():
    """R stops, a value is missing, there are more clusters than rows; then all is well."""
    require_r()
    calls = {
        "stats.kmeans(X, centers=[[0, 0, 0], [99, 99, 99]])": (
            "RCallError\nstats::kmeans stopped in R: empty cluster",
            "give other centers",
        ),
        "stats.kmeans(np.where(X > 1, np.nan, X), 2)": (
            "RInputError\nInput X contains NaN",
            "drop or impute missing values",
        ),
        "sparcl.kmeans_sparse_cluster(X, 12)": (
            "RInputError\nk=12 exceeds the 10 distinct rows of X",
            "ask for fewer clusters",
        ),
    }
    code = "print('|')\n".join(CALL.format(call=call) for call in calls)
    done = run_python(code + "print('|')\nprint(r_bridge.stats.kmeans(X, 2).size.sum())")
    *messages, last = done.stdout.split("|\n")
    for said, (start, cure) in zip(messages, calls.values(), strict=True):
        assert said.startswith(start)
        assert cure in said
    assert last == "10\n"


def test_the_doctor_of_a_machine_without_r(tmp_path):
    code = "from ewp.cli import app; app(['doctor'])"
    done = run_python(code, PATH=str(tmp_path))
    assert done.returncode == 1
    steps = [line for line in done.stdout.splitlines() if line[:2] in ("1.", "2.", "3.")]
    assert steps[0].startswith("1. R was not found")
    assert "sparcl is needed too" in steps[-1]
    assert done.stdout.strip().endswith("Then run again: ewp doctor")


def test_a_comparison_with_sparcl_fails_before_it_computes(tmp_path):
    """The name alone is enough: nobody imports r_bridge here."""
    code = """
import numpy as np, ewp, sys
assert "r_bridge" not in sys.modules
import ewp.comparison
ewp.comparison.select_lambda = None
try:
    ewp.compare(np.arange(20.0).reshape(10, 2), 2, methods=("ewp", "sparcl"))
except RuntimeError as error:
    print(type(error).__name__, error)
"""
    done = run_python(code, PATH=str(tmp_path))
    assert done.stdout.startswith("RNotFoundError R was not found"), done.stderr


def test_the_command_compare_says_what_is_missing(tmp_path):
    table = tmp_path / "data.csv"
    table.write_text("a,b\n1,2\n3,4\n9,9\n")
    words = ["compare", str(table), "-k2", "--methods", "sparcl"]
    code = f"from ewp.cli import app; app({words!r})"
    done = run_python(code, PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("ewp compare: R was not found")
    assert "Traceback" not in done.stderr


def test_in_ci_a_missing_r_is_a_failure(tmp_path):
    code = "import sys; sys.path.insert(0, '.'); from tests.r_support import require_r; require_r()"
    for ci, outcome in (("true", "Failed: CI=true, but R cannot be called"), (None, "Skipped: R")):
        done = run_python(code, PATH=str(tmp_path), CI=ci)
        assert outcome in done.stderr
