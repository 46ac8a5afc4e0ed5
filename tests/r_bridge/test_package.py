"""The package as a whole: its import, its README, and the tests' own demand for R."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

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
