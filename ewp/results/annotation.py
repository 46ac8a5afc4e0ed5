"""A fit written where scanpy and its neighbours look: into an AnnData object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ewp.common.checks import listing, shown
from ewp.common.types import FittedResults
from ewp.data.frames import is_anndata

__all__ = ["AnnotateMixin"]


class AnnotateMixin:
    """Writing results into the data they came from."""

    def annotate(self: Any, adata: Any, key: str = "ewp") -> None:
        """Write the clusters and the weights into an AnnData object.

        ``adata.obs[key + "_cluster"]`` has the clusters, categorical and as text, as in scanpy;
        ``adata.var[key + "_weight"]`` has the weights; ``adata.uns[key]`` says how they came about:
        ``call``, ``lam``, ``objective``, ``versions`` and, where it is known, ``data_sha256``.
        What is there under these names is replaced.

        Parameters
        ----------
        adata : AnnData
            Rows and variables are found by their names, or by position where the fit has no
            names, and get missing values where they were not fitted. If no feature of the fit is
            a variable, as after a fit to principal components, there are no weights.
        key : str, default "ewp"
            What the names begin with.

        Raises
        ------
        TypeError
            If `adata` is no AnnData object.
        ValueError
            If the fit had other rows.

        Examples
        --------
        >>> import anndata, ewp
        >>> from ewp.datasets import make_simulation2
        >>> X, labels, relevant = make_simulation2(k=3, n=150, p=6, random_state=0)
        >>> adata = anndata.AnnData(X)
        >>> ewp.fit(adata, 3, scale="standard", random_state=0).annotate(adata)
        >>> adata.obs["ewp_cluster"].cat.categories.tolist()
        ['0', '1', '2']
        >>> float(adata.var["ewp_weight"].sum().round(6))
        1.0
        """
        if not is_anndata(adata):
            raise TypeError(
                f"adata is of type {type(adata).__name__}, not AnnData; results.augment(X) adds "
                "the clusters to tables"
            )
        if not isinstance(key, str) or not key:
            raise ValueError(f"key={shown(key)} must be a text that names can begin with")
        # all is found before anything is written
        clusters = _of_rows(self.labels, adata.obs_names)
        weights = _of_variables(self, adata.var_names)
        kinds = pd.Index([str(cluster) for cluster in self.centroids.index], dtype=object)
        adata.obs[f"{key}_cluster"] = pd.Categorical.from_codes(clusters, kinds)
        if weights is not None:
            adata.var[f"{key}_weight"] = weights
        record = {
            "call": self.call,
            "lam": float(self.lam),
            "objective": float(self.objective),
            "versions": dict(self.versions),
        }
        if self.data_sha256 is not None:
            record["data_sha256"] = self.data_sha256
        adata.uns[key] = record


def _of_rows(labels: pd.Series, names: pd.Index) -> np.ndarray:
    """Clusters of the rows with these names, -1 for those that were not fitted."""
    nameless = labels.index.equals(pd.RangeIndex(len(labels)))
    if labels.index.equals(names) or (nameless and len(labels) == len(names)):
        return labels.to_numpy()
    if nameless:
        raise ValueError(
            f"the fit had {len(labels)} rows without names, adata has {len(names)}: fit adata "
            "itself, or pass the rows that were fitted"
        )
    if not labels.index.is_unique:
        raise ValueError(
            "names of rows of the fit are not unique: adata.obs_names_make_unique() before the fit"
        )
    if not names.isin(labels.index).any():
        raise ValueError(
            f"none of the {len(names)} rows of adata was fitted: they are called "
            f"{listing(list(names[:3]))}, those of the fit {listing(list(labels.index[:3]))}"
        )
    found: np.ndarray = labels.reindex(names, fill_value=-1).to_numpy()
    return found


def _of_variables(results: FittedResults, names: pd.Index) -> np.ndarray | None:
    """Weights of the variables with these names, NaN for those that were not fitted."""
    weights = results.mean_weights
    if not results.named_features:
        return weights.to_numpy() if len(weights) == len(names) else None
    if not names.isin(weights.index).any():
        return None
    found: np.ndarray = weights.reindex(names).to_numpy()
    return found
