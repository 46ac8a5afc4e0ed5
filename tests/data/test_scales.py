"""Features of very different scale are told where nobody has stated a scaling."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ewp
from ewp.cli import app
from ewp.data.scales import UNEQUAL

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
ROWS = (ROWS - ROWS.mean()) / ROWS.std(ddof=0)


def told(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [one for one in caught if issubclass(one.category, ewp.ScaleWarning)]


@pytest.mark.parametrize(("factor", "count"), [(0.999, 0), (1.001, 1)])
def test_a_factor_of_a_hundred_between_variances_is_told_once(factor, count):
    data = ROWS.assign(b=np.sqrt(factor * UNEQUAL) * ROWS["b"])
    found = told(lambda: ewp.fit(data, 2, lam=10.0, random_state=0))
    assert len(found) == count
    if count:
        text = str(found[0].message)
        assert "'b'" in text
        assert "results.refit(lam=...)" in text
        assert 'scale="standard"' in text


def test_a_scaling_that_is_stated_or_chosen_is_not_commented():
    data = ROWS.assign(b=1e4 * ROWS["b"], d=7.0)
    assert not told(lambda: ewp.fit(data, 2, lam=10.0, scale=None, random_state=0))
    assert not told(lambda: ewp.fit(data, 2, lam=10.0, scale="standard", random_state=0))
    results = ewp.fit(data, 2, random_state=0)
    assert not told(lambda: results.refit(lam=10.0))
    assert not told(lambda: ewp.fit(ROWS.assign(d=7.0), 2, lam=10.0, random_state=0))
    # a feature without weight has no unit to decide by
    prior = [1.0, 0.0, 1.0, 0.0]
    assert not told(lambda: ewp.fit(data, 2, lam=10.0, prior=prior, random_state=0))


def test_a_comparison_tells_it_too():
    data = ROWS.assign(b=1e4 * ROWS["b"])
    short = {"methods": ("kmeans", "ewp"), "n_trials": 1, "random_state": 0}
    assert len(told(lambda: ewp.compare(data, 2, lam=10.0, **short))) == 1
    assert not told(lambda: ewp.compare(data, 2, lam=10.0, scale=None, **short))


def test_the_command_line_names_its_own_options(tmp_path):
    path = tmp_path / "rows.csv"
    ROWS.assign(b=1e4 * ROWS["b"]).to_csv(path, index=False)
    arguments = ["fit", str(path), "-k", "2", "--lam", "10"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert done.stderr.count("--scale standard") == 1
    assert "refit" not in done.stderr
    for scale in ("none", "standard"):
        assert CliRunner().invoke(app, [*arguments, "--scale", scale]).stderr == ""
