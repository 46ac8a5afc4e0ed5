"""The package as a whole: its import, its wheel, its README, and the tests' own demand for R."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from zipfile import ZipFile

import pytest

import ewp
from tests.support.r import ROOT, run_python


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


def test_the_wheel_holds_the_bridge_and_nothing_of_the_r_package(tmp_path):
    """Built with the hatchling that is installed, or else with one that pip fetches."""
    installed = find_spec("hatchling") is not None
    options = ["--no-deps", "--quiet", *(["--no-build-isolation"] if installed else [])]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", tmp_path, ROOT],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    unreachable = "No matching distribution found for hatchling" in done.stderr
    if unreachable and os.environ.get("CI") != "true":
        pytest.skip("hatchling, which builds the wheel, is neither installed nor in reach")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {
        "ewp",
        "r_bridge",
    }
    scripts = (path for path in (ROOT / "r_bridge").iterdir() if path.suffix in (".py", ".R"))
    bridge = [name for name in names if name.startswith("r_bridge/")]
    assert sorted(bridge) == sorted(f"r_bridge/{path.name}" for path in scripts)


def test_name_and_version_are_the_same_everywhere():
    """The distribution is called ewp-kmeans; the name ewp is another package's on the index."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "ewp-kmeans"
    for extra in project["optional-dependencies"].values():
        assert not any(re.match(r"ewp(?!-kmeans)\b", requirement) for requirement in extra)
    description = (ROOT / "r_bridge" / "rpkg" / "DESCRIPTION").read_text()
    versions = {
        project["version"],
        ewp.__version__,
        re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1],
        re.search(r"^Version: (\S+)$", description, re.MULTILINE)[1],
    }
    assert versions == {ewp.__version__}


def test_no_page_tells_to_install_the_other_package():
    pages = [*ROOT.glob("*.md"), *(ROOT / "r_bridge").glob("**/*.md")]
    pages += [*(ROOT / "vignettes").glob("**/*.md"), *(ROOT / "ewp").glob("**/*.py")]
    pages += [*(ROOT / "r_bridge").glob("*.py"), *(ROOT / "validation").glob("*.py")]
    for page in pages:
        wrong = re.findall(r"pip install [^\n`]*\bewp(?!-kmeans)[\[\s'`\"]", page.read_text())
        assert not wrong, page


def test_workflows_hold_no_secret_and_publishing_is_by_trust():
    workflows = {path.name: path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert set(workflows) == {"tests.yml", "publish.yml"}
    for text in workflows.values():
        assert not re.search(r"secrets|password:|token:(?! write)", text)
    assert "id-token: write" in workflows["publish.yml"]
    programs = {name for text in workflows.values() for name in re.findall(r"\.ci/[\w-]+", text)}
    assert programs == {".ci/run", ".ci/check-dist"}
    assert all(os.access(ROOT / name, os.X_OK) for name in programs)


def test_the_table_of_the_r_package_names_both_sides_whole():
    folder = ROOT / "r_bridge" / "rpkg"
    table = (folder / "README.md").read_text().partition("## Python and R")[2]
    cells = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert all(len(row) == 2 and all(cell.strip() for cell in row) for row in cells)
    # functions and estimators; what they return is asked by the methods of a fit
    python = [
        name
        for module in (ewp, ewp.peers, ewp.datasets)
        for name in module.__all__
        if inspect.isfunction(value := getattr(module, name)) or hasattr(value, "get_params")
    ]
    inside = {
        "rows_of",
        "checked",
        "metric",
        "common_metric",
        "nearest",
        "to_columns",
        "columns_of",
    }
    python += [
        name
        for name, value in vars(ewp.EWPResults).items()
        if inspect.isfunction(value) and name[0] != "_" and name not in inside
    ]
    named = " ".join(row[0] for row in cells)
    missing = [name for name in python if not re.search(rf"\b{name}\b", named)]
    assert missing == []
    exported = re.findall(r"^export\((\w+)\)", (folder / "NAMESPACE").read_text(), re.MULTILINE)
    named = " ".join(row[1] for row in cells)
    assert [name for name in exported if f"{name}(" not in named] == []


def test_in_ci_a_missing_r_is_a_failure(tmp_path):
    code = "import sys; sys.path.insert(0, '.'); from tests.support.r import require_r; require_r()"
    for ci, outcome in (("true", "Failed: CI=true, but R cannot be called"), (None, "Skipped: R")):
        done = run_python(code, PATH=str(tmp_path), CI=ci)
        assert outcome in done.stderr


@pytest.mark.sparcl
def test_the_readme_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "r_bridge" / "README.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", text, re.DOTALL).groups()
    exec(compile(code, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert [line.rstrip() for line in said.splitlines()] == printed.splitlines()
    assert (tmp_path / "comparison.png").is_file()
