"""The page about a fit or a comparison: what it says, and that it keeps to itself."""

import base64
import hashlib
import re
import warnings
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ewp
from ewp.cli import app
from ewp.common.calls import versions
from ewp.datasets import make_simulation2
from ewp.report.page import data_hash, render_report
from tests.support.results import assert_identical, make_results

NASTY = ["<script>alert(1)</script>", "</style><b>", 'a & b\'s "$x_1$"', "{{ 7 * 7 }}", "plain"]
VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """Elements and words of a page; complains about tags that do not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.identities = [], [], [], []
        self.words = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        self.identities += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words += f"{data} "

    @property
    def text(self):
        return " ".join(self.words.split())


@pytest.fixture(scope="module")
def chosen():
    X = make_simulation2(3, n=120, p=5, n_relevant=2, random_state=0).X
    return ewp.fit(pd.DataFrame(X, columns=list("abcde")), 3, random_state=3)


def recipe_on(html):
    """The lines of Python at the end of a page."""
    return unescape(re.search(r"<pre>(.*?)</pre>", html, re.DOTALL)[1])


def page_of(found, **options):
    """The page about an object, as text."""
    return render_report(*found._page(), **options)


def test_a_fit_is_told_in_one_sentence_with_the_call_that_repeats_it(chosen):
    text = Page(page_of(chosen)).text
    assert (
        "120 rows with 5 features were put into 3 clusters, and the features were weighted, by "
        "Entropy Weighted Power k-means"
    ) in text
    assert "chosen by what held-out rows gain from the clusters." in text
    named = {"X": chosen.data}
    exec(recipe_on(page_of(chosen)), named)
    assert_identical(named["results"], chosen)


def test_the_call_names_what_cannot_be_printed():
    X = make_simulation2(3, n=120, p=5, n_relevant=2, random_state=0).X
    X = np.c_[X, np.ones(len(X))]  # a constant column gets no weight, without a prior
    given = {
        "init": X[[0, 40, 80]],
        "prior": np.array([1.0, 2.0, 1.0, 1.0, 0.0, 1.0]),
        "sample_weight": np.linspace(0.5, 1.5, len(X)),
    }
    for names in ([], ["init"], ["prior"], ["sample_weight", "init"]):
        chosen = {name: given[name] for name in names}
        first = ewp.fit(X, 3, 6.0, random_state=1, **chosen)
        recipe = recipe_on(page_of(first))
        # twelve numbers or so are written out
        assert [name for name in given if f"{name}={name}" in recipe] == [
            name for name in ("init", "sample_weight") if name in names
        ]
        assert ("prior=[1.0, 2.0, 1.0, 1.0, 0.0, 1.0]" in recipe) == ("prior" in names)
        known = {"X": X, **given}
        exec(recipe, known)
        assert_identical(known["results"], first)


def test_the_page_of_a_comparison_repeats_it():
    X, y, _ = make_simulation2(3, n=60, p=4, n_relevant=2, random_state=0)
    found = ewp.compare(X, 3, y, ("kmeans", "ewp"), n_trials=2, lam=3.0)
    known = {"X": X, "y": y}
    exec(recipe_on(page_of(found)), known)
    assert known["found"].weights.equals(found.weights)
    assert "lam=3.0" in found.call


def test_the_choice_of_the_penalty_is_drawn_with_the_choice_marked(chosen, tmp_path):
    page = page_of(chosen)
    section = page[page.index('id="penalty"') : page.index('id="annealing"')]
    assert "chosen by the predictive criterion" in section
    assert "<svg" in section
    assert ">chosen<" in section
    chosen.save(tmp_path / "model.npz")
    loaded = ewp.EWPResults.load(tmp_path / "model.npz")
    again = page_of(loaded)
    assert section in again
    assert 'id="penalty"' not in page_of(make_results())


def test_the_trace_names_the_critical_exponent():
    page = Page(page_of(make_results(critical_exponent=-2.0, s0=-1.0)))
    assert "critical one, −2; the start lies ABOVE it" in page.text
    assert "reached" in "".join(page.text.split())  # mathematics is set letter by letter
    below = Page(page_of(make_results(critical_exponent=-0.75, s0=-1.0)))
    assert "the start lies below it" in below.text


def test_clusters_are_told_apart_by_their_weighted_distance_from_all_rows():
    results = make_results(n=90, p=4, k=3, weights=[0.5, 0.5, 1e-9, 1e-9])
    deviation = (results.centroids - results.center) / results.spread
    from ewp.report.fit import _clusters

    for j, cluster in enumerate(_clusters(results)):
        first = cluster["apart"][0]
        row = deviation.loc[j, ["x0", "x1"]].abs()
        assert first["feature"] == row.idxmax()
        shown = float(first["sd"].replace("−", "-"))
        assert shown == pytest.approx(deviation.loc[j, first["feature"]], abs=0.051)
        assert first["high"] == (shown > 0)


def test_names_are_text_wherever_they_appear():
    results = make_results(names=NASTY, rows=[f"<i>{i}</i>" for i in range(60)])
    results.bootstrap(10, n_jackknife=0, random_state=0)
    results.test_features(random_state=0)
    html = page_of(results, title="<u>title</u>", details={"<em>": "<strong>x</strong>"})
    page = Page(html)
    assert not {"script", "b", "i", "u", "em", "strong"} & set(page.tags) - {"i", "b"}
    assert html.count("<i style=") == page.tags.count("i")  # the bars alone
    assert html.count("<b style=") == page.tags.count("b")
    assert NASTY[0] in page.text
    assert "<u>title</u>" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert html.count("</style>") == 1


@pytest.fixture(scope="module")
def pages(chosen):
    full = make_results(n=90)
    full.bootstrap(10, n_jackknife=0, random_state=0)
    full.stability(5, random_state=0)
    full.consistency(random_state=0)
    full.compare_to(full.labels.to_numpy())
    X, y, _ = make_simulation2(3, n=60, p=4, n_relevant=2, random_state=0)
    compared = ewp.compare(X, 3, y, n_trials=2, lam=3.0, wbound=1.4, random_state=5)
    return {
        "chosen": page_of(chosen),
        "full": page_of(full),
        "compared": page_of(compared),
        "one feature": page_of(make_results(p=1, weights=[1.0])),
        "one cluster": page_of(make_results(k=1)),
        "many clusters": page_of(make_results(n=400, k=70)),
        "without data": page_of(make_results(data=None, spread=None)),
        "limit alone": page_of(make_results(s0=-np.inf)),
    }


def test_pages_are_well_formed_and_every_name_is_unique(pages):
    for html in pages.values():
        page = Page(html)
        assert len(set(page.identities)) == len(page.identities)
        assert html.startswith("<!doctype html>")


def test_pages_point_nowhere_but_into_themselves(pages):
    for html in pages.values():
        for tag, name, value in Page(html).attributes:
            if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
                assert value.startswith(("#", "data:")), (tag, name, value[:80])
        assert "@import" not in html
        assert not re.search(r"url\((?!#)", html)
        known = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
        assert set(re.findall(r"https?://[^\s\"'<)]+", html)) <= known


def test_pictures_take_the_colours_of_the_page(pages):
    for html in pages.values():
        figures = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
        used = set(re.findall(r"var\((--[\w-]+)\)", html))
        style = html[: html.index("</style>")]
        assert {"--g0", "--c0"} <= used
        for name in used:
            # light, dark and paper
            assert len(re.findall(rf"{name}: #", style)) == 3, name
        assert "#0072b2" not in figures.lower()
        assert not re.search(r"#(?:000000|ffffff)\b", figures.lower())


def test_what_was_asked_after_the_fit_is_on_the_page(pages):
    page = Page(pages["full"])
    for title in ("Intervals", "Stability of the clusters", "Consistency"):
        assert title in page.text
    assert "95 % interval" in page.text
    assert "Agreement with another clustering" in page.text
    assert "Consistency" not in Page(pages["chosen"]).text


def test_a_comparison_shows_its_table_settings_and_seed(pages):
    page = Page(pages["compared"])
    assert "5 methods put 60 rows with 4 raw features into 3 clusters" in page.text
    assert "against known classes" in page.text
    for name in ("kmeans", "wkmeans", "power", "sparse", "ewp"):
        assert name in page.text
    assert "wbound 1.4" in page.text
    assert "random_state=5" in page.text


def test_the_page_can_be_traced_to_its_data(chosen):
    text = Page(page_of(chosen, details={"File": "data.csv"})).text
    own = hashlib.sha256(chosen.data.to_numpy().astype("<f8").tobytes()).hexdigest()
    assert own in text
    assert "random_state = 3" in text
    assert "File data.csv" in text
    for name, version in versions().items():
        assert f"{name} {version}" in text
    assert data_hash(np.asfortranarray(chosen.data)) == own
    assert data_hash(object()) is None
    assert "the data are not held here" in Page(page_of(make_results(data=None))).text


def test_many_features_make_a_short_page_with_the_whole_table_inside():
    p = 4000
    results = make_results(n=60, p=p, names=[f"gene_{i:04d}_with_a_long_name" for i in range(p)])
    html = page_of(results)
    assert len(html) < 700_000
    page = Page(html)
    assert "… and 3,975 more features" in page.text
    links = [value for tag, name, value in page.attributes if tag == "a" and name == "href"]
    kind, content = links[0].split(",", 1)
    assert kind == "data:text/csv;charset=utf-8;base64"
    table = pd.read_csv(pd.io.common.BytesIO(base64.b64decode(content)), index_col="feature")
    assert table["weight"].is_monotonic_decreasing
    wanted = results.weights[table.index].to_numpy()
    np.testing.assert_allclose(table["weight"], wanted, rtol=1e-5)


def test_a_fit_that_did_not_converge_says_so():
    page = Page(page_of(make_results(converged=False)))
    assert "Not converged after max_iter = 300 steps" in page.text


def test_the_command_line_writes_pages(tmp_path):
    X, labels, _ = make_simulation2(3, n=60, p=4, n_relevant=2, random_state=0)
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=labels)
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    common = [str(path), "-k", "3", "--lam", "3", "--report"]
    fit, compared = tmp_path / "fit.html", tmp_path / "compared.html"
    runner = CliRunner()
    assert runner.invoke(app, ["fit", *common, str(fit), "--drop", "kind"]).exit_code == 0
    rest = ["--truth", "kind", "--trials", "2", "--methods", "kmeans,ewp"]
    assert runner.invoke(app, ["compare", *common, str(compared), *rest]).exit_code == 0
    for page in (fit, compared):
        text = Page(page.read_text(encoding="utf-8")).text
        assert hashlib.sha256(path.read_bytes()).hexdigest() in text
        assert str(path) in text


def test_figures_that_are_open_elsewhere_do_not_matter(tmp_path):
    from matplotlib import pyplot as plt

    for _ in range(plt.rcParams["figure.max_open_warning"]):
        plt.figure()
    before = plt.get_fignums()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        make_results().report(tmp_path / "page.html")
    assert plt.get_fignums() == before
