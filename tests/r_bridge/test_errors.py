"""Errors of the bridge: they keep their parts, and R goes on after them."""

from __future__ import annotations

import pickle

from r_bridge.errors import RCallError
from tests.support.r import CALL, require_r, run_python


def test_an_error_of_r_keeps_its_parts_and_adds_the_cure():
    error = RCallError("stats::kmeans", "empty cluster: try a better set of initial centers", "hm")
    again = pickle.loads(pickle.dumps(error))
    assert (again.function, again.console) == ("stats::kmeans", "hm")
    assert str(again).startswith("stats::kmeans stopped in R: empty cluster")
    assert "give other centers" in str(again)


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
            "or impute the values",
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
