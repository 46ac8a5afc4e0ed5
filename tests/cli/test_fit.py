"""The commands fit, select and predict as a new user types them."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ewp
from ewp.cli import app
from ewp.cli import tables as _cli_tables
from ewp.datasets import make_simulation2


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(x) for x in arguments], **options)


@pytest.fixture
def frame():
    X, labels, _ = make_simulation2(3, n=90, p=5, n_relevant=2, random_state=0)
    found = pd.DataFrame(X, columns=list("abcde"))
    found["species"] = np.array(["one", "two", "three"])[labels]
    return found


@pytest.fixture
def table(tmp_path, frame):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def test_fit_prints_what_the_package_finds(table, frame):
    result = run("fit", table, "-k", 3, "--drop", "species", "--seed", 1)
    assert result.exit_code == 0
    own = ewp.fit(frame.drop(columns="species"), 3, random_state=1)
    assert result.stdout.strip() == str(own).strip()
    assert result.stderr == ""


def test_weights_of_every_cluster_are_written_one_column_each(table, frame, tmp_path):
    asked = ("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--weights", "cluster")
    result = run(*asked, "--out", tmp_path / "out")
    assert result.exit_code == 0
    own = ewp.fit(frame.drop(columns="species"), 3, 4.5, weights="cluster", random_state=0)
    written = pd.read_csv(tmp_path / "out" / "weights.csv", index_col="feature")
    assert list(written.columns) == ["cluster 0", "cluster 1", "cluster 2"]
    np.testing.assert_allclose(written.to_numpy(), own.weights.T, rtol=1e-6)
    record = json.loads(run(*asked, "--json").stdout)
    assert [row["a"] for row in record["weights"]] == pytest.approx(own.weights["a"].tolist())


def test_intervals_of_every_cluster_are_written_beside_the_weights(table, frame, tmp_path):
    asked = ("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--weights", "cluster")
    asked = (*asked, "--bootstrap", 40)
    result = run(*asked, "--out", tmp_path / "out", "--report", tmp_path / "page.html")
    assert result.exit_code == 0
    assert "95 % bootstrap interval of the weight (40 resamples)" in " ".join(result.stdout.split())
    own = ewp.fit(frame.drop(columns="species"), 3, 4.5, weights="cluster", random_state=0)
    intervals = own.bootstrap(40, random_state=0).weight_intervals()
    weights = pd.read_csv(tmp_path / "out" / "weights.csv", index_col="feature")
    assert list(weights.columns) == ["cluster 0", "cluster 1", "cluster 2"]
    written = pd.read_csv(tmp_path / "out" / "weight_intervals.csv", index_col=[0, 1])
    assert written.index.names == ["cluster", "feature"]
    pd.testing.assert_frame_equal(written, intervals, check_exact=False)
    record = json.loads(run(*asked, "--json").stdout)["weight_intervals"]
    named = [(row["cluster"], row["feature"]) for row in record]
    assert named == intervals.index.tolist()
    assert [row["lower"] for row in record] == pytest.approx(intervals["lower"].tolist())
    assert "Bootstrap of the weights of every cluster" in (tmp_path / "page.html").read_text()


def test_fit_gives_json(table, frame):
    result = run("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--json")
    record = json.loads(result.stdout)
    own = ewp.fit(frame.drop(columns="species"), 3, 4.5, random_state=0)
    assert record["weights"] == pytest.approx(own.weights.to_dict())
    assert record["labels"] == own.labels.tolist()
    assert record["objective"] == pytest.approx(own.objective)
    assert [row["size"] for row in record["clusters"]] == own.clusters["size"].tolist()
    assert record["centroids"][0]["a"] == pytest.approx(own.centroids.loc[0, "a"])
    assert record["data"]["rows"] == 90
    assert len(record["data"]["sha256"]) == 64
    assert record["ewp"] == ewp.__version__


@pytest.mark.parametrize(
    "options",
    [
        ("fit", "-k", 3, "--bootstrap", 5, "--stability", 4),
        ("fit", "-k", 3, "--lam", 4.5, "--scale", "standard", "--starts", 3, "--seed", 2),
        ("select", "-k", 3, "--rule", "1se", "--grid", 3, "--folds", 4),
        ("select", "-k", "2-3", "--grid", 3, "--starts", 3),
    ],
)
def test_json_has_the_call_that_gives_the_fit_again(table, frame, options):
    result = run(options[0], table, *options[1:], "--drop", "species", "--json")
    record = json.loads(result.stdout)
    named = {"ewp": ewp, "X": frame.drop(columns="species")}
    again = eval(record["call"], named)
    assert again.labels.tolist() == record["labels"]
    assert again.weights.to_dict() == record["weights"]
    assert record["seed"] == again.fit_options.random_state
    assert record["versions"]["numpy"] == np.__version__
    exec(record["recipe"], named)
    if "weight_intervals" in record:
        boot = named["results"].bootstrap_
        found = boot.weight_intervals()["lower"].tolist()
        assert found == [row["lower"] for row in record["weight_intervals"]]
        found = boot.clusters["jaccard"].tolist()
        assert found == [row["jaccard"] for row in record["bootstrap_clusters"]]


def test_json_has_the_call_of_a_comparison(table, frame):
    options = ("-k", 3, "--truth", "species", "--trials", 2, "--methods", "kmeans,ewp", "--lam", 4)
    record = json.loads(run("compare", table, *options, "--json").stdout)
    X, y = frame.drop(columns="species"), frame["species"]
    again = eval(record["call"], {"ewp": ewp, "X": X, "y": y})
    assert again.scores["nmi"].tolist() == [row["nmi"] for row in record["scores"]]


def test_json_has_null_for_what_is_no_number(table):
    # the gap has no partitions to compare, hence no stability
    options = ("--drop", "species", "--scale", "none", "--criterion", "gap", "--json")
    result = run("select", table, "-k", 2, *options)

    def refuse(text):
        raise AssertionError(f"{text} is not JSON")

    json.loads(result.stdout, parse_constant=refuse)
    assert ": null" in result.stdout


def test_a_folder_of_results_is_what_predict_reads(tmp_path, table, frame):
    out = tmp_path / "new" / "folder"
    options = ["-k", 3, "--id", "species", "--lam", 4.5, "--bootstrap", 20]
    result = run("fit", table, *options, "--out", out)
    assert result.exit_code == 0
    labels = pd.read_csv(out / "labels.csv", index_col="species")["cluster"]
    weights = pd.read_csv(out / "weights.csv", index_col="feature")
    assert weights["weight"].sum() == pytest.approx(1)
    assert (weights["lower"] <= weights["upper"]).all()
    assert pd.read_csv(out / "centroids.csv", index_col="cluster").shape == (3, 5)
    assert pd.read_csv(out / "clusters.csv")["size"].sum() == 90
    boot = ewp.EWPResults.load(out / "model.npz").bootstrap_
    assert boot.n_boot == 20
    again = pd.read_csv(out / "bootstrap_clusters.csv", index_col="cluster")
    pd.testing.assert_frame_equal(again, boot.clusters, check_index_type=False)
    assert "20 resamples are too few for 95 % intervals" in result.stderr
    for model in (out, out / "model.npz"):
        again = run("predict", model, table, "--id", "species")
        assert again.exit_code == 0
        found = pd.read_csv(pd.io.common.StringIO(again.stdout), index_col="species")
        assert found["cluster"].tolist() == labels.tolist()
        assert found.index.tolist() == frame["species"].tolist()
        assert (found["distance"] >= 0).all()


def test_what_is_asked_after_a_fit_is_given_back(tmp_path, table):
    asked = ["--bootstrap", 10, "--stability", 5, "--test", "--consistency"]
    asked += ["--refine", "--differences"]
    options = ["fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, *asked]
    result = run(*options, "--out", tmp_path / "out")
    assert result.exit_code == 0
    for title in ("Stability of the clusters, 5 resamples", "Consistency: distance from", "p (BH)"):
        assert title in result.stdout
    own = ewp.EWPResults.load(tmp_path / "out" / "model.npz")
    record = json.loads(run(*options, "--json").stdout)
    stable = pd.read_csv(tmp_path / "out" / "stability.csv", index_col="cluster")
    assert stable["jaccard"].tolist() == pytest.approx(own.stability_.clusters["jaccard"])
    assert [row["jaccard"] for row in record["stability"]] == pytest.approx(stable["jaccard"])
    tests = pd.read_csv(tmp_path / "out" / "feature_tests.csv", index_col="feature")
    assert tests.index.tolist() == [row["feature"] for row in record["feature_tests"]]
    assert tests["p_holm"].tolist() == pytest.approx(own.feature_tests_.table["p_holm"])
    slopes = pd.read_csv(tmp_path / "out" / "consistency_slopes.csv", index_col="error")
    assert slopes.loc["weights", "slope"] == pytest.approx(record["consistency_slopes"][0]["slope"])
    assert slopes["verdict"].tolist() == own.consistency_.verdicts.tolist()
    refined = pd.read_csv(tmp_path / "out" / "refinement.csv")
    assert refined["refined"].tolist() == own.refinement_.labels.tolist()
    assert [row["refined"] for row in record["refinement"]] == refined["refined"].tolist()
    assert refined["cluster 1"].tolist() == pytest.approx(own.refinement_.probabilities[1])
    assert "Refined clusters" in result.stdout
    apart = pd.read_csv(tmp_path / "out" / "differences.csv", index_col="test")
    assert apart["p_value"].tolist() == pytest.approx(own.differences_.table["p_value"])
    assert [row["p_holm"] for row in record["differences"]] == pytest.approx(apart["p_holm"])
    assert "Differences between clusters" in result.stdout
    sizes = pd.read_csv(tmp_path / "out" / "consistency.csv")["n"]
    assert sizes.tolist() == [row["n"] for row in record["consistency"]]
    assert {row["feature"] for row in record["weight_intervals"]} == set("abcde")


def test_answers_that_were_interrupted_end_with_130(table, monkeypatch):
    finish = ewp.EWPResults.stability

    def interrupted(results, *arguments, **options):
        finish(results, *arguments, **options).complete = False

    monkeypatch.setattr(ewp.EWPResults, "stability", interrupted)
    result = run("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--stability", 5)
    assert result.exit_code == 130
    assert "interrupted; what is shown rests on what was finished" in result.stderr


def test_predict_takes_columns_by_name_and_ignores_others(tmp_path, table, frame):
    run("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--out", tmp_path / "out")
    other = tmp_path / "other.csv"
    frame[["species", "e", "d", "c", "b", "a"]].to_csv(other, index=False)
    record = json.loads(run("predict", tmp_path / "out", other, "--json").stdout)
    labels = pd.read_csv(tmp_path / "out" / "labels.csv")["cluster"]
    assert record["labels"] == labels.tolist()
    assert list(record["sizes"].values()) == labels.value_counts().tolist()
    target = tmp_path / "predicted.csv"
    assert run("predict", tmp_path / "out", other, "--out", target).stdout == ""
    assert pd.read_csv(target)["cluster"].tolist() == labels.tolist()
    frame[["a", "b"]].to_csv(other, index=False)
    result = run("predict", tmp_path / "out", other)
    assert result.exit_code == 2
    assert "lacks 3 feature(s) of the model: 'c', 'd', 'e'" in result.stderr


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, ["--drop", "a"], "the model needs 'a', which --columns or --drop leaves out"),
        ({}, ["--columns", "a,b,c,d"], "the model needs 'e'"),
        ({}, ["--columns", "z"], "has no column 'z'"),
        ({"a": np.nan}, [], "with --dropna, or fill them in first"),
        ({"a": np.nan}, ["--dropna"], "every row of 'other.csv' has a missing value; fill them"),
        ({"a": np.inf}, [], "infinite values in 'a'; correct them\n"),
        ({"a": "x"}, [], "'a' ('x' in line 2); the model needs numbers there\n"),
    ],
)
def test_no_column_of_a_model_can_be_left_out(tmp_path, table, frame, change, options, message):
    run("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--out", tmp_path / "out")
    other = tmp_path / "other.csv"
    frame.assign(**change).to_csv(other, index=False)
    result = run("predict", tmp_path / "out", other, *options)
    assert result.exit_code == 2
    assert message in result.stderr.replace(str(tmp_path) + os.sep, "")
    frame.to_csv(other, index=False)
    assert run("predict", tmp_path / "out", other, "--drop", "species").exit_code == 0


def test_large_tables_give_what_small_ones_do(tmp_path, table, monkeypatch):
    options = ["-k", 3, "--id", "species", "--lam", 4.5]
    whole = run("fit", table, *options, "--out", tmp_path / "whole", "--json")
    monkeypatch.setattr(_cli_tables, "MOST_ROWS", 10)
    monkeypatch.setattr(_cli_tables, "_BLOCK_CELLS", 60)
    page = tmp_path / "page.html"
    parts = run("fit", table, *options, "--out", tmp_path / "parts", "--json", "--report", page)
    assert parts.exit_code == 0
    assert json.loads(parts.stdout)["labels"] == json.loads(whole.stdout)["labels"]
    assert (tmp_path / "parts/labels.csv").read_text() == (
        tmp_path / "whole/labels.csv"
    ).read_text()
    assert "plane" in page.read_text(encoding="utf-8")
    chosen = run("select", table, "-k", "2,3", "--id", "species", "--grid", 2, "--folds", 2)
    assert chosen.exit_code == 0


def test_select_chooses_a_penalty_or_a_number(table, frame):
    options = ["--drop", "species", "--grid", 4, "--scale", "none", "--dispersion", "within"]
    penalty = json.loads(run("select", table, "-k", 3, *options, "--json").stdout)
    own = ewp.select_lambda(
        frame.drop(columns="species"), 3, n_lams=4, scale=None, dispersion="within", random_state=0
    )
    assert penalty["lam"] == pytest.approx(own.lam)
    assert [row["lam"] for row in penalty["candidates"]] == pytest.approx(list(own.table["lam"]))
    number = run("select", table, "-k", "2-4", *options)
    assert "k = 3" in number.stdout
    assert number.exit_code == 0


def test_a_fit_that_does_not_converge_has_its_own_exit_code(table):
    result = run("fit", table, "-k", 3, "--drop", "species", "--lam", 4.5, "--max-iter", 1)
    assert result.stderr == "ewp fit: no fixed point after max_iter=1 steps; increase max_iter\n"
    assert result.exit_code == 3
    assert "NOT CONVERGED" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "91"], "k=91 exceeds the 90 distinct rows"),
        (["-k", "3", "--lam", "much"], "--lam 'much' is neither a number nor auto"),
        (["-k", "3", "--lam", "-1"], "lam=-1.0 must be finite and above 0"),
        (["-k", "3", "--jobs", "0"], "n_jobs=0"),
        (["-k", "3", "--report", "no/where.html"], "the folder no does not exist"),
        (["-k", "3", "--report", "."], "this is a folder"),
        (["-k", "3", "--out", __file__], "is a file; give the name of a folder"),
    ],
)
def test_wrong_options_are_named_before_anything_is_computed(table, arguments, message):
    result = run("fit", table, "--drop", "species", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("ewp fit: ")
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("k", ["x", "0", "5-2", "2,,3", ""])
def test_select_says_how_numbers_are_written(table, k):
    result = run("select", table, "-k", k, "--drop", "species")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"ewp select: -k {k!r}")


def test_what_is_no_model_is_refused(tmp_path, table):
    for wrong in (table, tmp_path, tmp_path / "no.npz"):
        result = run("predict", wrong, table)
        assert result.exit_code == 2
        assert result.stderr.startswith("ewp predict: ")


def test_help_lists_the_exit_codes_and_the_reading_options():
    assert "130 interrupted" in " ".join(run("--help").stdout.split())
    shown = run("fit", "--help", env={"COLUMNS": "120"}).stdout
    for option in ("--columns", "--drop", "--id", "--delimiter", "--dropna", "--report", "--json"):
        assert option in shown


def test_doctor_and_demo_speak_json(tmp_path, monkeypatch):
    record = json.loads(run("doctor", "--json").stdout)
    assert record["ready"] is not bool(record["problems"])
    from ewp.cli import demo

    small = demo.run(k=4, n_trials=1)
    monkeypatch.setattr("ewp.cli.demo.run", lambda seed: small)
    result = run("demo", "--json", "--out", tmp_path / "demo.png")
    rows = {row["method"]: row for row in json.loads(result.stdout)["table"]}
    assert rows["EWP"]["NMI, raw"] > 0.9
    assert rows["k-means"]["weight on relevant, raw"] is None
    assert (tmp_path / "demo.png").exists()


def test_ctrl_c_ends_with_a_sentence_and_130(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "data.csv"
    pd.DataFrame(rng.normal(size=(3000, 40))).to_csv(path, index=False)
    # a signal while Python is still importing would not reach the command, nor one that this
    # process was started to ignore, as jobs in the background of a shell are
    program = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import ewp.cli.commands
from ewp.cli import main
print("ready", flush=True)
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, "fit", str(path), "-k", "30", "--starts", "500"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "ewp fit: interrupted; nothing more was written\n"
    assert out == ""


def test_features_can_be_decorrelated(table, frame, tmp_path):
    options = ("--drop", "species", "--lam", 90, "--scale", "decorrelate:0.25")
    result = run("fit", table, "-k", 3, *options, "--out", tmp_path / "found", "--json")
    record = json.loads(result.stdout)
    X = frame.drop(columns="species")
    own = ewp.fit(X, 3, 90.0, scale="decorrelate:0.25", random_state=0)
    assert record["scaling"] == "decorrelate:0.25"
    assert record["weights"] == pytest.approx(own.weights.to_dict())
    assert eval(record["call"], {"ewp": ewp, "X": X}).labels.tolist() == record["labels"]
    predicted = run("predict", tmp_path / "found", table, "--drop", "species")
    assert predicted.exit_code == 0
    assert [int(line.split(",")[-2]) for line in predicted.stdout.split()[1:]] == record["labels"]


@pytest.mark.parametrize("wrong", ["decorrelated", "decorrelate:3", "robust"])
def test_a_scaling_that_is_none_is_refused(table, wrong):
    result = run("fit", table, "-k", 3, "--drop", "species", "--scale", wrong)
    assert result.exit_code == 2
    assert wrong in result.stderr
