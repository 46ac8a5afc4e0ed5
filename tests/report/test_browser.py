"""Pages in a real browser: they fit the screen, complain about nothing and ask for nothing."""

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.datasets import make_simulation2
from tests.support.browser import Browser
from tests.support.results import make_results

LONG = "a_feature_with_a_name_that_is_much_longer_than_any_telephone_is_wide_" * 2


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    X, y, _ = make_simulation2(3, n=120, p=6, n_relevant=2, random_state=0)
    frame = pd.DataFrame(X, columns=[LONG, *"bcdef"])
    full = ewp.fit(frame, 3, random_state=0)
    full.bootstrap(10, n_jackknife=0, random_state=0)
    full.test_features(random_state=0)
    full.consistency(random_state=0)
    full.stability(5, random_state=0)
    found = {
        "fit": full,
        "comparison": ewp.compare(frame, 3, y, n_trials=2, lam=6.0, wbound=1.4, random_state=0),
        "wide": make_results(n=60, p=4000, k=12),
        "nasty": make_results(names=["<script>console.error(1)</script>", "b", "c", "d", "&"]),
        "many": make_results(n=900, k=70),
    }
    for name, results in found.items():
        results.report(folder / f"{name}.html")
    return folder


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("name", ["fit", "comparison", "wide", "nasty", "many"])
def test_a_page_fits_the_screen_in_silence(browser, pages, name, width, dark):
    browser.open(pages / f"{name}.html", width=width, dark=dark)
    root = "document.documentElement"
    assert browser.ask(f"{root}.clientWidth") == width
    assert browser.ask(f"{root}.scrollWidth") <= width
    assert browser.ask("document.body.scrollWidth") <= width
    assert browser.complaints == []
    # pictures with many points hold a bitmap of their own
    asked = [url for url in browser.requests if not url.startswith("data:image/png;base64,")]
    assert asked == [(pages / f"{name}.html").resolve().as_uri()]
    figures = browser.ask(
        "[...document.querySelectorAll('figure svg')].map(x => x.getBoundingClientRect())"
        ".map(x => [x.width, x.height])"
    )
    assert len(figures) >= 2
    assert np.min(figures) > 100


def test_pages_are_dark_at_night_and_light_on_paper(browser, pages):
    def brightness(expression):
        colour = browser.ask(expression)
        return np.mean([float(x) for x in colour[colour.index("(") + 1 : -1].split(",")][:3])

    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('figure svg text')).fill"
    for dark, media, light in ((False, "", True), (True, "", False), (True, "print", True)):
        browser.open(pages / "fit.html", width=1280, dark=dark, media=media)
        assert (brightness(paper) > 200) == light
        assert (brightness(ink) < 80) == light


def test_the_table_of_all_features_is_a_link_to_save(browser, pages):
    browser.open(pages / "wide.html", width=1280)
    link = "document.querySelector('a[download]')"
    assert browser.ask(f"{link}.download") == "features.csv"
    lines = browser.ask(f"fetch({link}.href).then(x => x.text()).then(x => x.split('\\n').length)")
    assert lines == 4002  # a header, and an end of line


def test_scripts_in_names_do_not_run(browser, pages):
    browser.open(pages / "nasty.html", width=1280)
    assert browser.ask("document.scripts.length") == 0
    assert "<script>console.error(1)</script>" in browser.ask("document.body.innerText")
