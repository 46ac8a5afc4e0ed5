"""What results say of how they were made gives them again, to the last bit."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import ewp
from ewp.data.scales import ScaleWarning
from ewp.datasets import make_simulation2
from ewp.results.results import EWPResults
from tests.support.results import assert_identical, make_results, uneven_weights

X = make_simulation2(3, n=60, p=5, n_relevant=2, random_state=0).X
FRAME = pd.DataFrame(X, columns=list("abcde"), index=[f"row {i}" for i in range(60)])
INIT = X[[0, 20, 40]].round(3)
WEIGHT = uneven_weights()


def again(results, **named):
    """Run the call of results."""
    return eval(results.call, {"ewp": ewp, "X": results.data, **named})


@pytest.mark.parametrize("data", [X, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize(
    "options",
    [
        {"random_state": 0},
        {"random_state": None},
        {"random_state": np.random.RandomState(3), "lam": 4.0, "scale": None},
        {"random_state": np.random.default_rng(3), "lam": 4.0, "n_init": 3, "init": "random"},
        {"random_state": 2**40, "lam": np.float32(4), "scale": "standard", "s0": -np.inf},
        {"random_state": 1, "dispersion": "between", "n_init": 4, "eta": 1.1, "tol": 1e-6},
        {"random_state": 1, "lam": 5, "polish": False, "max_iter": 200, "s0": -1.0},
        {"random_state": 1, "lam": 5, "prior": [1, 2, 0, 1, 1]},
        {"random_state": 1, "lam": 5, "init": INIT},
    ],
)
def test_the_call_gives_the_fit_again(data, options):
    results = ewp.fit(data, 3, **options)
    assert "#" not in results.call
    assert_identical(again(results), results)
    assert ("lam=" in results.call) == ("lam" in options)


def test_an_automatic_penalty_stays_automatic():
    """The partitions of the folds, which are tried too, belong to the fit."""
    results = ewp.fit(X, 3, random_state=4)
    assert results.call == "ewp.fit(X, 3, random_state=4)"


def test_a_seed_that_was_left_to_chance_is_drawn_and_kept():
    one, two = (ewp.fit(X, 3, 5.0) for _ in range(2))
    seeds = [fit.fit_options.random_state for fit in (one, two)]
    assert seeds[0] != seeds[1]
    assert one.call == f"ewp.fit(X, 3, lam=5.0, random_state={seeds[0]})"
    rng = np.random.default_rng(0)
    first, second = (ewp.fit(X, 3, 5.0, random_state=rng) for _ in range(2))
    assert first.call != second.call
    assert ewp.fit(X, 3, 5.0, random_state=np.random.default_rng(0)).call == first.call
    assert f"Seed: {seeds[0]}" in " ".join(str(one.summary()).split())


def test_series_and_frames_are_stated_in_the_order_of_the_columns():
    prior = pd.Series({"e": 1.0, "b": 2.0, "a": 1.0, "c": 0.5, "d": 0.25})
    init = pd.DataFrame(INIT, columns=list("abcde"))[list("ecdab")]
    results = ewp.fit(FRAME, 3, 5.0, prior=prior, init=init, random_state=0)
    assert "prior=[1.0, 2.0, 0.5, 0.25, 1.0]" in results.call
    assert_identical(again(results), results)


def test_what_is_long_goes_by_its_name_with_its_hash():
    wide = np.tile(X, (1, 9))
    init = wide[[0, 20, 40]]
    results = ewp.fit(wide, 3, 5.0, init=init, sample_weight=WEIGHT, random_state=0)
    sha256 = hashlib.sha256(init.tobytes()).hexdigest()[:12]
    call, _, told = results.call.partition("  # ")
    assert call == (
        "ewp.fit(X, 3, lam=5.0, init=init, sample_weight=sample_weight, random_state=0)"
    )
    assert f"init: 3 x 45 array, sha256 {sha256}" in told
    assert "sample_weight: 60 values, sha256" in told
    assert_identical(again(results, init=init, sample_weight=WEIGHT), results)


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "1se", "n_lams": 4},
        {"criterion": "stability", "cv": 3, "n_lams": 3},
        {"criterion": "gap", "n_lams": 3, "rule": "max"},
        {"lams": [3.0, 30.0], "cv": 4, "scale": "standard"},
        {"cv": KFold(4), "n_lams": 3},
    ],
)
def test_the_choice_of_the_penalty_is_stated_with_its_options(options):
    found = ewp.select_lambda(FRAME, 3, n_init=3, random_state=2, **options)
    named = {"ewp": ewp, "X": FRAME, **options}
    repeated = eval(found.call, named)
    assert repeated.table.equals(found.table)
    assert_identical(repeated.results, found.results)
    assert found.results.call.startswith("ewp.select_lambda(X, 3, ")
    assert_identical(eval(found.results.call, named), found.results)
    at = found.fit_at(7.0)
    assert (at.lam, at.scaling, at.dispersion) == (7.0, found.scaling, found.dispersion)
    assert_identical(eval(at.call, named), at)


def test_the_choice_of_k_is_stated():
    found = ewp.select_k(FRAME, range(2, 4), n_lams=3, n_init=3, random_state=None)
    repeated = eval(found.call, {"ewp": ewp, "X": FRAME})
    assert repeated.table.equals(found.table)
    for k, fit in found.fits.items():
        assert_identical(again(fit), fit)
        assert f".fits[{k}]" in fit.call


def test_a_comparison_states_its_penalty_and_seed():
    y = np.arange(60) % 3
    found = ewp.compare(FRAME, 3, y, ("kmeans", "ewp"), n_trials=2, lam=4.0, beta=6.0)
    assert found.call == (
        'ewp.compare(X, 3, y=y, methods=("kmeans", "ewp"), n_trials=2, lam=4.0, beta=6.0, '
        f"random_state={found.seed})  # y: 60 values, sha256 {found.call[-12:]}"
    )
    repeated = eval(found.call, {"ewp": ewp, "X": FRAME, "y": y})
    left, right = (one.scores.drop(columns="seconds") for one in (found, repeated))
    assert left.equals(right)
    assert repeated.weights.equals(found.weights)


def asked():
    """A fit after which everything was asked, some of it twice."""
    results = ewp.fit(FRAME, 3, random_state=0)
    results.stability(6, random_state=None)
    results.bootstrap(5, n_jackknife=0)
    results.consistency([20, 40], n_rep=2, random_state=np.random.default_rng(1))
    results.bootstrap(8, n_jackknife=0, random_state=5)
    results.compare_to(results.labels.to_numpy()[::-1].copy(), names=("fit", "other"))
    return results


def test_the_recipe_has_all_that_was_asked_in_its_order(tmp_path):
    results = asked()
    lines = results.recipe.splitlines()
    begun = [line.partition("(")[0] for line in lines if line.startswith("results.")]
    methods = ("stability", "consistency", "bootstrap", "compare_to")
    assert begun == [f"results.{name}" for name in methods]
    assert results.bootstrap_.call in lines
    named = {"X": FRAME, "other": results.labels.to_numpy()[::-1].copy()}
    exec(results.recipe, named)
    repeated = named["results"]
    assert_identical(repeated, results)
    np.testing.assert_array_equal(repeated.bootstrap_.weight_draws, results.bootstrap_.weight_draws)
    assert repeated.stability_.clusters.equals(results.stability_.clusters)
    assert repeated.consistency_.table.equals(results.consistency_.table)
    assert repeated.agreement_.overlap.equals(results.agreement_.overlap)
    results.save(tmp_path / "fit.npz")
    loaded = EWPResults.load(tmp_path / "fit.npz")
    assert loaded.recipe == results.recipe
    assert loaded.bootstrap_.call == results.bootstrap_.call


def test_the_recipe_runs_in_a_process_of_its_own(tmp_path):
    results = asked()
    np.savez(tmp_path / "data.npz", X=X, other=results.labels.to_numpy()[::-1])
    script = (
        "import numpy as np, pandas as pd\n"
        f"data = np.load({str(tmp_path / 'data.npz')!r})\n"
        "X, other = pd.DataFrame(data['X'], columns=list('abcde')), data['other']\n"
        f"{results.recipe}\n"
        "print(*(float(v).hex() for v in results.weights), *results.labels)\n"
        "print(*(float(v).hex() for v in np.ravel(results.bootstrap_.weight_draws)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    fit, draws = done.stdout.splitlines()
    words = [*(float(v).hex() for v in results.weights), *map(str, results.labels)]
    assert fit.split() == words
    own = np.ravel(results.bootstrap_.weight_draws)
    assert draws.split() == [float(v).hex() for v in own]


def test_versions_seed_and_hash_stand_beside_the_call():
    results = ewp.fit(FRAME, 3, 5.0, random_state=7)
    assert results.data_sha256 == hashlib.sha256(X.astype("<f8").tobytes()).hexdigest()
    for text in (
        f"ewp {ewp.__version__}",
        f"numpy {np.__version__}",
        "Python 3",
        "seed 7",
        "60 rows, 5 columns",
        results.data_sha256[:16],
    ):
        assert text in results.recipe
    assert ewp.fit(FRAME.astype("float32"), 3, 5.0).data_sha256 != results.data_sha256


def test_files_are_not_hashed_and_say_so(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    results = ewp.fit(tmp_path / "rows.npy", 3, 5.0, random_state=0)
    assert results.data_sha256 is None
    assert "hash not computed" in results.recipe
    whole = eval(results.call, {"ewp": ewp, "X": tmp_path / "rows.npy"})
    assert_identical(whole, results)


def test_a_call_that_is_not_known_is_not_made_up():
    results = make_results()
    assert results.call == ""
    assert "not recorded" in results.recipe
    assert results.refit(lam=5.0).call == ""


def test_refit_keeps_the_scaling_and_the_partition():
    scaled = FRAME * [1.0, 50.0, 1.0, 2.0, 900.0]
    results = ewp.fit(scaled, 3, scale="standard", random_state=0)
    with pytest.warns(ScaleWarning):
        raw = ewp.fit(scaled, 3, lam=results.lam, random_state=0)
    assert raw.scaling == "none"
    same = results.refit(lam=results.lam)
    assert same.scaling == "standard"
    assert same.objective <= results.objective + 1e-12 * abs(results.objective)
    np.testing.assert_array_equal(same.labels, results.labels)
    more = results.refit(n_clusters=4, lam=20.0, random_state=None)
    assert (more.n_clusters, more.lam, more.scaling) == (4, 20.0, "standard")
    for fit in (same, more, more.refit(lam=10)):
        assert_identical(again(fit), fit)
    with pytest.raises(TypeError, match="unexpected keyword argument 'lambda_'"):
        results.refit(lambda_=3)


def test_refit_needs_the_data_and_the_weights_of_the_fit(tmp_path):
    results = ewp.fit(FRAME, 3, 5.0, sample_weight=WEIGHT, random_state=0)
    assert_identical(again(results.refit(lam=6.0), sample_weight=WEIGHT), results.refit(lam=6.0))
    results.save(tmp_path / "fit.npz")
    loaded = EWPResults.load(tmp_path / "fit.npz")
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.refit(lam=6.0)
    with pytest.raises(ValueError, match="pass X and sample_weight"):
        loaded.refit(lam=6.0, X=FRAME)
    with pytest.raises(ValueError, match="belongs to X"):
        results.refit(lam=6.0, sample_weight=WEIGHT)
    assert_identical(loaded.refit(lam=6.0, X=FRAME, sample_weight=WEIGHT), results.refit(lam=6.0))
