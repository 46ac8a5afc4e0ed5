"""The code of the README and of the how-to pages runs and prints what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.results import assert_identical

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
HOW_TO = sorted((ROOT / "vignettes" / "site" / "howto").glob("*.md"))
#: Pages that show what their code prints.
SHOWING = {
    "README",
    "choose_k",
    "compare_methods",
    "correlated_features",
    "counts",
    "data_frames",
    "data_sets",
    "describe_clusters",
    "outliers",
    "refine",
    "reports",
    "single_precision",
    "subspaces",
    "test_differences",
    "uncertainty",
}


@pytest.mark.parametrize("page", [README, *HOW_TO], ids=lambda path: path.stem)
def test_code_runs_and_prints_what_the_page_shows(page):
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(), flags=re.DOTALL)
    namespace: dict[str, object] = {}
    printed = ""
    compared = 0
    for language, block in blocks:
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, page.name, "exec"), namespace)
            printed = out.getvalue()
        else:
            assert printed.endswith(block)
            compared += 1
    assert (compared > 0) == (page.stem in SHOWING)


def test_the_calls_that_pages_print_give_the_same_fit():
    page = next(path for path in HOW_TO if path.stem == "reports")
    namespace: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)[:2]:
        exec(compile(block, page.name, "exec"), namespace)
    (shown,) = re.findall(r"```text\n(.*?)```", page.read_text(), flags=re.DOTALL)
    calls = [line for line in shown.splitlines() if line.startswith("ewp.")]
    namespace["sample_weight"] = namespace["weighted"].sample_weight
    assert len(calls) == 2
    for call, first in zip(calls, (namespace["results"], namespace["weighted"]), strict=True):
        assert_identical(eval(call, namespace), first)


def test_readme_is_short():
    assert len(README.read_text().splitlines()) <= 150


def test_targets_of_make_that_are_named_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for page in (README, ROOT / "CONTRIBUTING.md", *HOW_TO):
        text = page.read_text()
        named = set(re.findall(r"(?:^|`)make ([a-z]+)", text, flags=re.MULTILINE))
        assert named <= targets, page.name
