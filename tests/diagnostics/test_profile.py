"""The table of the clusters holds what pandas computes from the same rows, in every dress."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ewp
from ewp.diagnostics.profile import selective_p
from ewp.diagnostics.profile_table import Profile
from ewp.display.formatting import mean_cells
from ewp.results.results import EWPResults
from tests.support.results import make_results


def made_data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [40, 30, 20])
    return pd.DataFrame(
        {
            "height": rng.normal(10.0 * group, 1.0),
            "smoker": (rng.random(90) < 0.2 + 0.3 * group).astype(float),
            "grade": rng.integers(1, 4, 90).astype(float),
            "constant": 7.0,
        }
    )


@pytest.fixture(scope="module")
def results():
    return ewp.fit(made_data(), 3, lam=40.0, scale="standard", random_state=0)


@pytest.fixture(scope="module")
def found(results):
    return results.profile()


# --- the figures -------------------------------------------------------------------------------


def test_means_and_deviations_are_those_of_pandas(results, found):
    data = made_data()
    by_cluster = data.groupby(results.labels.to_numpy())
    for name in ("height", "grade", "constant"):
        row = found.table.loc[name]
        assert row["statistic"] == "mean"
        assert row[["mean", "sd"]].tolist() == pytest.approx([data[name].mean(), data[name].std()])
        for j in range(3):
            own = by_cluster.get_group(j)[name]
            assert row[f"mean_{j}"] == pytest.approx(own.mean())
            assert row[f"sd_{j}"] == pytest.approx(own.std())


def test_decorrelated_features_are_described_in_the_units_of_the_data():
    data = made_data()[["height", "grade"]]
    fitted = ewp.fit(data, 3, lam=40.0, scale="decorrelate", random_state=0)
    table = fitted.profile().table
    own = data[fitted.labels.to_numpy() == 0]
    assert table.loc["height", "mean"] == pytest.approx(data["height"].mean())
    assert table.loc["height", "sd_0"] == pytest.approx(own["height"].std())


def test_features_with_two_values_are_counted(results, found):
    row = found.table.loc["smoker"]
    counts = made_data()["smoker"].groupby(results.labels.to_numpy()).sum()
    assert (row["statistic"], row["value"]) == ("count", 1.0)
    assert row[["count_0", "count_1", "count_2"]].tolist() == pytest.approx(counts.tolist())
    assert row["count"] == pytest.approx(counts.sum())
    shares = (counts / results.clusters["size"]).tolist()
    assert row[["mean_0", "mean_1", "mean_2"]].tolist() == pytest.approx(shares)


def test_values_that_are_asked_for_are_counted_one_a_row(results):
    table = results.profile(counted=["grade"]).table
    grades = table.loc["grade"]
    assert grades["value"].tolist() == [1.0, 2.0, 3.0]
    crossed = pd.crosstab(made_data()["grade"], results.labels.to_numpy())
    counts = grades[["count_0", "count_1", "count_2"]].to_numpy()
    np.testing.assert_allclose(counts, crossed.to_numpy())
    assert table.loc["smoker", "statistic"] == "mean"


def test_the_difference_is_the_largest_of_the_pairs(found):
    row = found.table.loc["height"]
    pairs = {
        f"{i}, {j}": abs(row[f"mean_{i}"] - row[f"mean_{j}"])
        / np.sqrt((row[f"sd_{i}"] ** 2 + row[f"sd_{j}"] ** 2) / 2)
        for i, j in ((0, 1), (0, 2), (1, 2))
    }
    assert row["difference"] == pytest.approx(max(pairs.values()))
    assert row["between"] == max(pairs, key=pairs.get)
    assert found.table.loc["constant", "difference"] == 0.0


def test_rows_are_ordered_by_weight_and_sizes_are_the_fits(results, found):
    assert found.table["weight"].tolist() == sorted(results.weights, reverse=True)
    np.testing.assert_array_equal(found.clusters["size"], results.clusters["size"])
    assert found.clusters["share"].sum() == pytest.approx(1.0)


@settings(max_examples=15, deadline=None)
@given(copies=st.lists(st.integers(1, 4), min_size=60, max_size=60))
def test_whole_weights_are_repeated_rows(copies):
    weight = np.array(copies, dtype=float)
    weighted = make_results(sample_weight=weight)
    repeated = np.repeat(np.arange(60), copies)
    rows = weighted.data.iloc[repeated].reset_index(drop=True)
    plain = dataclasses.replace(
        weighted,
        data=rows,
        sample_weight=None,
        labels=weighted.labels.iloc[repeated].reset_index(drop=True),
    )
    one, two = weighted.profile().table, plain.profile().table
    numbers = one.select_dtypes("number").columns
    np.testing.assert_allclose(one[numbers], two[numbers], rtol=1e-9, atol=1e-12)
    assert one["between"].tolist() == two["between"].tolist()


def test_weights_that_are_proportions_give_the_figures_of_equal_rows():
    plain = make_results()
    shares = make_results(sample_weight=np.full(60, 1 / 60))
    numbers = [name for name in plain.profile().table if name.startswith(("mean", "sd", "diff"))]
    one, two = (made.profile().table[numbers] for made in (plain, shares))
    np.testing.assert_allclose(one, two)


def test_a_cluster_of_one_row_has_no_deviation_and_no_difference():
    X = np.array([[0.0, 1.0], [0.1, 2.0], [0.2, 1.5], [50.0, 1.2]])
    made = ewp.fit(X, 2, lam=1.0, scale=None, random_state=0, n_init=1)
    table = made.profile().table
    assert table["sd_1"].isna().all()
    assert table["difference"].isna().all()
    assert "(--)" in str(made.profile())


def test_clusters_without_variance_differ_without_bounds():
    X = np.repeat([[0.0, 1.0], [5.0, 1.0]], 10, axis=0) + np.tile([0.0, 0.0], (20, 1))
    X[:, 1] = np.random.default_rng(0).normal(size=20)
    made = ewp.fit(X, 2, lam=1.0, scale=None, random_state=0, n_init=1).profile()
    assert made.table["difference"].max() == np.inf
    assert "neither has any variance" in str(made)


# --- what is told of them ----------------------------------------------------------------------


def test_the_text_has_sizes_means_and_counts(found):
    text = str(found)
    assert "rows" in text
    line = next(line for line in text.splitlines() if line.startswith("height"))
    assert found.summary().tables[0].loc["height", "cluster 0"] in line
    assert "smoker = 1" in text
    assert "test nothing" in " ".join(text.split())


def test_many_features_and_clusters_are_cut_and_said():
    made = make_results(n=300, p=40, k=14)
    summary = made.profile().summary(top=5)
    assert len(summary.tables) == 3
    shown = [name for table in summary.tables for name in table.columns if "cluster" in name]
    assert len(shown) == 14
    assert len(summary.tables[0]) == 6
    assert any("35 more features" in note for note in summary.extra_txt)


@pytest.mark.parametrize("name", ["a & b", "<script>", "100%_$x^2", "$\\frac"])
def test_any_name_is_right_in_html_latex_and_great_tables(name):
    made = make_results(names=[name, *"abcd"], weights=[5, 1, 1, 1, 1]).profile()
    html, latex = made.summary().as_html(), made.summary().as_latex()
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert f">{escaped}<" in html.replace(" ", " ")
    assert name not in latex or not set(name) & set("&%_$\\")
    pytest.importorskip("great_tables")
    page = made.great_table().as_raw_html()
    assert f">{escaped}<" in page
    assert "<script>" not in page.replace("<script>" if name != "<script>" else "", "")


def test_the_great_table_has_the_cells_of_the_text(found):
    pytest.importorskip("great_tables")
    page = found.great_table(top=2).as_raw_html()
    cells = found.summary(top=2).tables[0]
    for cell in cells.to_numpy().ravel():
        assert f">{cell}<" in page
    assert "test nothing" in page


def test_without_great_tables_the_cure_is_named(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(ImportError, match=r"pip install \"ewp-kmeans\[tables\]\""):
        found.great_table()


def test_the_picture_has_the_standardised_means(results, found):
    ax = found.plot()
    own = results.plot_heatmap()
    labels = [[tick.get_text() for tick in one.get_yticklabels()] for one in (ax, own)]
    assert labels[0] == [name.replace("smoker", "smoker = 1") for name in labels[1]]


def test_two_digits_of_the_deviation_and_no_minus_before_nothing():
    assert mean_cells([1263.4, 1100.0], [315.2, 222.0]) == ["1263 (315)", "1100 (222)"]
    assert mean_cells([-0.0001], [0.96]) == ["0.00 (0.96)"]
    assert mean_cells([np.nan], [np.nan]) == ["-- (--)"]


# --- p-values ----------------------------------------------------------------------------------


def test_p_values_have_a_column_once_they_are_there(results):
    names = list(results.feature_names)
    asked = pd.DataFrame(
        {
            "feature": ["(all features)", *names] * 2,
            "i": 0,
            "j": np.repeat([1, 2], 5),
            "p_value": [0.5, 0.02, 0.5, 0.9, np.nan, 0.5, 0.0001, 0.3, 0.8, np.nan],
        }
    )
    own = dataclasses.replace(results)
    assert selective_p(own) is None
    own.differences_ = SimpleNamespace(table=asked)
    table = own.profile().table
    assert table["p_value"].reindex(results.feature_names).tolist()[:3] == [0.0002, 0.6, 1.0]
    assert np.isnan(table.loc["constant", "p_value"])
    text = str(own.profile())
    assert "0.0002" in text
    assert "selective p-value" in text
    assert "p_value" not in results.profile().table


# --- what is not there, and errors -------------------------------------------------------------


def test_a_saved_profile_reads_as_before_and_a_loaded_fit_asks_for_its_data(tmp_path, results):
    own = dataclasses.replace(results)
    own.profile(counted=["grade"])
    own.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    assert isinstance(loaded.profile_, Profile)
    assert str(loaded.profile_) == str(own.profile_)
    assert loaded.recipe.endswith('results.profile(counted=["grade"])')
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.profile()
    again = loaded.profile(X=made_data(), counted=["grade"])
    pd.testing.assert_frame_equal(again.table, own.profile_.table, check_names=False)


def test_the_page_has_the_profile(results, tmp_path):
    own = dataclasses.replace(results)
    own.profile()
    own.report(tmp_path / "page.html")
    assert "Profile of the clusters" in (tmp_path / "page.html").read_text()


def test_what_cannot_be_counted_is_named(results):
    with pytest.raises(ValueError, match="counted: 'weight' given"):
        results.profile(counted="weight")
    with pytest.raises(ValueError, match="'height' has 90 values"):
        results.profile(counted=["height"])
    with pytest.raises(ValueError, match="top=0"):
        results.profile().summary(top=0)


def test_one_cluster_has_no_differences():
    made = make_results(k=1).profile()
    assert made.table["difference"].isna().all()
    assert "difference" not in str(made)
    assert "1 clusters" not in repr(made)
