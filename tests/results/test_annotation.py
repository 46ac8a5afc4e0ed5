"""AnnData objects: their matrix is fitted, clusters and weights are written into them."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ewp
from ewp.data.frames import as_table
from tests.support.designs import sixty_rows

X = sixty_rows()
CELLS, GENES = [f"cell{i}" for i in range(60)], ["CD3E", "MS4A1", "NKG7", "LYZ"]
OPTIONS = {"k": 2, "lam": 100.0, "random_state": 0}


def names(which):
    # files of today's anndata do not know the text type of pandas 3
    return pd.DataFrame(index=pd.Index(which, dtype=object))


@pytest.fixture
def adata():
    return anndata.AnnData(X.copy(), obs=names(CELLS), var=names(GENES), layers={"double": 2 * X})


@pytest.fixture
def frame():
    rows, columns = names(CELLS).index, names(GENES).index
    return pd.DataFrame(X.copy(), index=rows, columns=columns, copy=False)


def test_the_matrix_is_fitted_under_its_names(adata, frame):
    found, there = ewp.fit(adata, **OPTIONS), ewp.fit(frame, **OPTIONS)
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)
    pd.testing.assert_series_equal(found.labels, there.labels)
    assert found.data_sha256 == there.data_sha256
    shuffled = adata[::-1, ["LYZ", "CD3E", "NKG7", "MS4A1"]]
    pd.testing.assert_series_equal(found.predict(shuffled), there.labels[::-1])
    assert found.augment(adata).index.tolist() == CELLS
    model = ewp.EWP(2, lam=100.0, random_state=0).fit(adata)
    assert model.feature_names_in_.tolist() == GENES
    np.testing.assert_array_equal(model.predict(adata), there.labels)
    with pytest.raises(ValueError, match="missing 'LYZ', unknown none"):
        found.predict(adata[:, :3])


def test_layers_are_fitted_through_their_table(adata, frame):
    found = ewp.fit(adata.to_df("double"), **OPTIONS)
    there = ewp.fit(2 * frame, **OPTIONS)
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)


def test_columns_of_obs_are_weights_and_labels_of_rows(adata, frame):
    weight = np.arange(1.0, 61.0)
    adata.obs["weight"], adata.obs["kind"] = weight, pd.Categorical(["T", "B"] * 30)
    found = ewp.fit(adata, **OPTIONS, sample_weight=adata.obs["weight"][::-1])
    there = ewp.fit(frame, **OPTIONS, sample_weight=weight)
    pd.testing.assert_series_equal(found.weights, there.weights, check_exact=True)
    assert found.compare_to(adata.obs["kind"]).overlap.shape == (2, 2)


def test_a_file_that_is_read_when_asked(adata, tmp_path):
    there = ewp.fit(adata, **OPTIONS)
    there.annotate(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert ewp.fit(again, **OPTIONS).weights.to_dict() == there.weights.to_dict()
    assert again.obs["ewp_cluster"].tolist() == [str(label) for label in there.labels]
    assert again.uns["ewp"]["versions"] == there.versions
    again.file.close()


def test_clusters_weights_and_a_record_are_written(adata):
    results = ewp.fit(adata, **OPTIONS)
    assert results.annotate(adata) is None
    clusters = adata.obs["ewp_cluster"]
    assert clusters.cat.categories.tolist() == ["0", "1"]
    assert clusters.astype(int).tolist() == results.labels.tolist()
    np.testing.assert_array_equal(adata.var["ewp_weight"], results.weights)
    record = adata.uns["ewp"]
    assert record["call"] == "ewp.fit(X, 2, lam=100.0, random_state=0)"
    assert record["lam"] == 100.0
    assert record["objective"] == results.objective
    assert record["data_sha256"] == results.data_sha256
    ewp.fit(adata, 3, lam=100.0, random_state=0).annotate(adata, key="three")
    assert {"ewp_cluster", "three_cluster"} <= set(adata.obs)


def test_categories_are_in_the_order_of_numbers(adata):
    ewp.fit(adata, 12, lam=100.0, random_state=0).annotate(adata)
    assert adata.obs["ewp_cluster"].cat.categories.tolist() == [str(i) for i in range(12)]


def test_what_was_not_fitted_is_missing(adata):
    part = ewp.fit(adata[10:, ["LYZ", "CD3E"]], **OPTIONS)
    part.annotate(adata)
    assert adata.obs["ewp_cluster"].isna().tolist() == [True] * 10 + [False] * 50
    np.testing.assert_array_equal(
        adata.var["ewp_weight"], [part.weights["CD3E"], np.nan, np.nan, part.weights["LYZ"]]
    )
    left = adata[5:20].copy()
    part.annotate(left, key="left")
    assert left.obs["left_cluster"].isna().sum() == 5


def test_components_have_clusters_and_no_weights(adata):
    ewp.fit(np.c_[X, X], **OPTIONS).annotate(adata)
    components = pd.DataFrame(X[:, :2], index=CELLS, columns=["PC1", "PC2"])
    ewp.fit(components, **OPTIONS).annotate(adata, key="pc")
    assert {"ewp_cluster", "pc_cluster"} <= set(adata.obs)
    assert adata.var.empty
    ewp.fit(X, **OPTIONS).annotate(adata)  # an array: by position
    assert adata.var["ewp_weight"].sum() == pytest.approx(1)


def test_other_objects_and_other_rows_are_refused(adata):
    results = ewp.fit(adata, **OPTIONS)
    with pytest.raises(TypeError, match=r"type DataFrame, not AnnData; results.augment"):
        results.annotate(adata.to_df())
    with pytest.raises(ValueError, match="key='' must be a text"):
        results.annotate(adata, key="")
    with pytest.raises(ValueError, match="59 rows without names, adata has 60"):
        ewp.fit(X[:59], **OPTIONS).annotate(adata)
    other = adata.copy()
    other.obs_names = [f"c{i}" for i in range(60)]
    with pytest.raises(ValueError, match=r"none of the 60 rows.*'c0'.*'cell0'"):
        results.annotate(other)
    other.obs_names = ["c"] * 60
    twice = ewp.fit(other, **OPTIONS)
    twice.annotate(other)  # the same names in the same order
    with pytest.raises(ValueError, match="obs_names_make_unique"):
        twice.annotate(adata)
    assert adata.obs.empty


def test_objects_that_cannot_be_fitted_name_the_cure(adata):
    layers = anndata.AnnData(obs=adata.obs, var=adata.var, layers={"raw": X})
    with pytest.raises(ValueError, match=r"has no X; name a layer, adata.to_df\(layer\), .*'raw'"):
        ewp.fit(layers, **OPTIONS)
    adata.var_names = ["a", "b", "a", "c"]
    with pytest.raises(ValueError, match=r"not unique: 'a'; adata.var_names_make_unique\(\)"):
        ewp.fit(adata, **OPTIONS)


def test_a_sparse_matrix_is_handed_on_as_it_is(adata):
    adata.X = sparse.csr_matrix(X)
    assert as_table(adata) is adata.X
