"""The documentation builds without warnings and a network, and nothing public is missing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer
from bs4 import BeautifulSoup
from sphinx.util.inventory import InventoryFile

import ewp
import ewp.peers
from ewp.cli import app

ROOT = Path(__file__).parents[2]
SITE = ROOT / "vignettes" / "site"
MODULES = ("ewp", "ewp.datasets", "ewp.peers", "r_bridge", "r_bridge.sparcl", "r_bridge.stats")
RESULTS = (
    "ewp.EWPResults",
    "ewp.diagnostics.bootstrap.BootstrapResults",
    "ewp.diagnostics.stability.StabilityResults",
    "ewp.diagnostics.feature_tests.FeatureTests",
    "ewp.diagnostics.mean_differences.MeanDifferences",
    "ewp.diagnostics.consistency.ConsistencyResults",
    "ewp.diagnostics.agreement.Agreement",
    "ewp.diagnostics.refinement.Refinement",
    "ewp.diagnostics.profile_table.Profile",
    "ewp.comparison.results.Comparison",
    "ewp.comparison.several.SeveralComparisons",
    "ewp.select.LambdaSelection",
    "ewp.select.KSelection",
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
    inner = {"ewp.select.LambdaSelection.of"}
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


def test_links_within_the_site_lead_to_pages_and_anchors(site):
    parsed = {
        page.resolve(): BeautifulSoup(page.read_text(), "html.parser")
        for page in site.rglob("*.html")
    }
    anchors = {page: {tag["id"] for tag in soup.select("[id]")} for page, soup in parsed.items()}
    broken = []
    for page, soup in parsed.items():
        for link in (tag["href"] for tag in soup.select("article a[href]")):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            known = not anchor or unquote(anchor) in anchors.get(target, ())
            if not target.exists() or not known:
                broken.append((page.name, link))
    assert broken == []


def test_formulas_are_mathml(site):
    for name in ("explanation/annealing", "tutorial/how_ewp_works", "reference/fitting"):
        parsed = BeautifulSoup((site / f"{name}.html").read_text(), "html.parser")
        assert parsed.find("math") is not None
        assert "\\frac" not in parsed.get_text()


def test_notebooks_are_shown_with_their_pictures(site):
    for path in (ROOT / "vignettes").glob("*.md"):
        page = (site / "tutorial" / f"{path.stem}.html").read_text()
        assert re.search(r"<img[^>]+_images/", page)


def test_front_page_leads_to_every_part(site):
    parsed = BeautifulSoup((site / "index.html").read_text(), "html.parser")
    links = {a["href"] for a in parsed.select("article a[href]")}
    parts = ("tutorial", "howto", "reference", "explanation")
    assert {f"{part}/index.html" for part in parts} | {"neighbours.html", "citing.html"} <= links
    assert ewp.__version__ in parsed.title.get_text()
