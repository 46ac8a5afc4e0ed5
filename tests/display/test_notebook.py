"""What results show in a notebook: the content of the printout, as HTML in which names are text."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.display.summary import SummaryMixin

NAMES = ["<script>alert(1)</script>", "a & b", '"quoted"', "plain"]


@pytest.fixture(scope="module")
def shown():
    X = make_simulation2(2, n=80, p=4, n_relevant=2, random_state=0).X
    frame = pd.DataFrame(X, columns=NAMES)
    results = ewp.fit(frame, 2, 4.0, random_state=0)
    other = ewp.fit(frame, 2, 8.0, random_state=0)
    found = {
        "bootstrap": results.bootstrap(10, n_jackknife=0, random_state=0),
        "stability": results.stability(5, random_state=0),
        "tests": results.test_features(random_state=0),
        "consistency": results.consistency(random_state=0),
        "agreement": results.compare_to(other),
        "refinement": results.refine(),
        "profile": results.profile(),
        "differences": results.test_differences(n_refits=1, random_state=0),
        "lambda": ewp.select_lambda(frame, 2, n_lams=2, cv=2, random_state=0),
        "k": ewp.select_k(frame, [1, 2], n_lams=2, cv=2, random_state=0),
        "comparison": ewp.compare(frame, 2, methods=("kmeans", "ewp"), n_trials=2, lam=4.0),
        "several": ewp.compare(
            {"<b>": X, "a & b": 2 * X}, 2, methods=("kmeans", "ewp"), n_trials=2, lam=4.0
        ),
        "fit": results,
    }
    assert all(isinstance(value, SummaryMixin) for value in found.values())
    return found


class Content(HTMLParser):
    """Words and tags of HTML."""

    def __init__(self, html):
        super().__init__()
        self.words, self.tags = "", []
        self.feed(html)

    def handle_data(self, data):
        self.words += f" {data} "

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)


KINDS = (
    "fit",
    "lambda",
    "k",
    "comparison",
    "several",
    "bootstrap",
    "stability",
    "tests",
    "consistency",
    "agreement",
    "refinement",
    "profile",
    "differences",
)


@pytest.mark.parametrize("kind", KINDS)
def test_html_has_the_words_of_the_text_and_no_other_tags_than_tables(shown, kind):
    content = Content(shown[kind]._repr_html_())
    assert set(content.tags) <= {"table", "tr", "td", "th", "caption", "tbody", "thead", "br"}
    text = re.sub(r"[=-]{5,}", " ", str(shown[kind]))
    assert "".join(text.split()) == "".join(content.words.split())


def test_every_kind_of_result_is_looked_at(shown):

    assert {type(value) for value in shown.values()} == set(SummaryMixin.__subclasses__())
