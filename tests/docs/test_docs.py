"""The documentation builds without warnings and a network, and nothing public is missing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from bs4 import BeautifulSoup
from sphinx.util.inventory import InventoryFile

import ewp
import ewp.peers
from ewp.cli import app

ROOT = Path(__file__).parents[2]
SITE = ROOT / "vignettes" / "site"
HOW_TO = sorted((SITE / "howto").glob("*.md"))
MODULES = ("ewp", "ewp.datasets", "ewp.peers", "r_bridge", "r_bridge.sparcl", "r_bridge.stats")
RESULTS = (
    "ewp.EWPResults",
    "ewp.bootstrap_results.BootstrapResults",
    "ewp.stability.StabilityResults",
    "ewp.feature_tests.FeatureTests",
    "ewp.consistency.ConsistencyResults",
    "ewp.agreement.Agreement",
    "ewp.comparison_results.Comparison",
    "ewp.selection.LambdaSelection",
    "ewp.selection.KSelection",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("docs")
    command = [
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(out / "doctrees"),
    ]
    done = subprocess.run(
        [sys.executable, *command, str(SITE), str(out / "html")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


def documented(site):
    """Names of the objects in the inventory of the built site."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {
        name
        for kind, entries in inventory.data.items()
        if kind.startswith("py:")
        for name in entries
    }


def public_names():
    for module in MODULES:
        loaded = importlib.import_module(module)
        yield module
        yield from (f"{module}.{name}" for name in loaded.__all__)


def public_methods():
    for path in RESULTS:
        module, name = path.rsplit(".", 1)
        cls = getattr(importlib.import_module(module), name)
        for member in dir(cls):
            value = getattr(cls, member)
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                yield f"{path}.{member}"


def test_everything_public_is_in_the_reference(site):
    found = documented(site)
    # constructors from the inside of the package are not for users
    inner = {"ewp.selection.LambdaSelection.of"}
    wanted = {*public_names(), *RESULTS, *public_methods()} - inner
    assert wanted - found == set()


def test_estimators_are_documented_with_their_methods(site):
    found = documented(site)
    peers = [f"ewp.peers.{n}" for n in ewp.peers.__all__ if n.endswith("Means")]
    assert len(peers) == 5
    for cls in ("ewp.EWP", *peers):
        assert {f"{cls}.{method}" for method in ("fit", "predict", "transform")} <= found


def test_every_command_and_option_is_on_the_page_of_the_command_line(site):
    text = BeautifulSoup(
        (site / "reference/commandline.html").read_text(), "html.parser"
    ).get_text()
    commands = typer.main.get_command(app).commands
    assert {"compare", "demo", "doctor"} <= set(commands)
    for name, command in commands.items():
        assert f"ewp {name}" in text
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                assert parameter.opts[0] in text


def test_pages_load_nothing_from_a_network(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        parsed = BeautifulSoup(page.read_text(), "html.parser")
        loaded = [tag.get("src") or tag.get("href") for tag in parsed.select("script, link, img")]
        assert [url for url in loaded if url and re.match(r"(https?:)?//", url)] == []


def test_formulas_are_mathml(site):
    for name in ("explanation/annealing", "tutorial/how_ewp_works", "reference/fitting"):
        parsed = BeautifulSoup((site / f"{name}.html").read_text(), "html.parser")
        assert parsed.find("math") is not None
        assert "\\frac" not in parsed.get_text()


def test_notebooks_are_shown_with_their_pictures(site):
    for path in (ROOT / "vignettes").glob("*.md"):
        page = (site / "tutorial" / f"{path.stem}.html").read_text()
        assert re.search(r"<img[^>]+_images/", page)


@pytest.mark.parametrize("page", HOW_TO, ids=lambda path: path.stem)
def test_code_of_the_how_to_pages_runs(page):
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, page.name, "exec"), namespace)


def test_front_page_leads_to_every_part(site):
    parsed = BeautifulSoup((site / "index.html").read_text(), "html.parser")
    links = {a["href"] for a in parsed.select("article a[href]")}
    parts = ("tutorial", "howto", "reference", "explanation")
    assert {f"{part}/index.html" for part in parts} | {"neighbours.html", "citing.html"} <= links
    assert ewp.__version__ in parsed.title.get_text()
