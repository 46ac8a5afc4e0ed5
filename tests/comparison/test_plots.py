"""Pictures of a comparison: boxplots of weights, partitions in an embedding."""

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.datasets import make_simulation2

WEIGHTING = ("wkmeans", "sparse", "sparse-annealed", "ewp", "ewp-between", "ewp-published")


@pytest.fixture(scope="module")
def data():
    X, labels, _ = make_simulation2(4, n=120, p=8, n_relevant=3, random_state=0)
    return pd.DataFrame(X, columns=[f"gene {i}" for i in range(8)]), labels


@pytest.fixture(scope="module")
def found(data):
    options = {"n_trials": 3, "scale": None, "lam": 6.0, "wbound": 1.7, "random_state": 0}
    return ewp.compare(data[0], 4, data[1], methods=("kmeans", *WEIGHTING), **options)


def test_weights_are_drawn_a_panel_a_method(found):
    axes = found.plot_weights(names={"ewp": "EWP"})
    assert [ax.get_title() for ax in axes][3] == "EWP"
    assert len(axes) == 6
    labels = [tick.get_text() for tick in axes[0].get_xticklabels()]
    assert labels == [f"gene {i}" for i in range(8)]
    few = found.plot_weights("ewp", top=3)
    assert len(few) == 1
    assert len(few[0].get_xticks()) == 3
    with pytest.raises(ValueError, match="'kmeans' is not among"):
        found.plot_weights(["kmeans"])
    with pytest.raises(ValueError, match="top=0"):
        found.plot_weights(top=0)


def test_long_names_stand_beside_lying_boxes(found):
    from ewp.comparison.plots import plot_weight_boxes

    long = found.weights.loc[["ewp"]].rename(columns=lambda name: f"{name} of the first chromosome")
    (ax,) = plot_weight_boxes({"EWP": long})
    assert ax.get_yticklabels()[0].get_text() == "gene 0 of the first chromosome"
    assert ax.get_xlabel() == "weight"


def test_partitions_are_drawn_beside_the_classes(found):
    axes = found.plot_clusters(["kmeans", "ewp"], trial=1, names={"ewp": "EWP"})
    titles = [ax.get_title() for ax in axes]
    assert titles[0] == "classes"
    assert titles[1].startswith("kmeans: NMI 0.")
    assert titles[2] == "EWP: NMI 1.00"
    points = [ax.collections[0].get_offsets() for ax in axes]
    np.testing.assert_array_equal(points[0], points[2])
    # the same partition has the same colours, however its clusters are numbered
    colours = [ax.collections[0].get_facecolors() for ax in axes]
    np.testing.assert_array_equal(colours[0], colours[2])
    with pytest.raises(ValueError, match="trial=9"):
        found.plot_clusters(trial=9)


def test_an_embedding_in_which_features_count_by_their_weights(found):
    plain = found.plot_clusters("ewp")
    weighted = found.plot_clusters("ewp", weighted_by="ewp", names={"ewp": "EWP"})
    assert plain[0].figure.get_supxlabel() == "t-SNE embedding of the features"
    assert weighted[0].figure.get_supxlabel().endswith(", weighted by EWP")
    points, others = (axes[0].collections[0].get_offsets() for axes in (plain, weighted))
    share = found.weights.loc[("ewp", 0)].to_numpy()
    classes = found.classes
    assert share.max() > 0.3
    # clusters lie closer together where only the features that make them count
    spread = [
        sum(np.var(p[classes == j], axis=0).sum() for j in range(4)) / np.var(p, axis=0).sum()
        for p in (points, others)
    ]
    assert spread[1] < spread[0]
    with pytest.raises(ValueError, match="'kmeans' is not among"):
        found.plot_clusters(weighted_by="kmeans")


def test_a_comparison_without_weights_has_none_to_draw(data):
    found = ewp.compare(data[0], 4, methods=("kmeans",), n_trials=1, scale=None)
    with pytest.raises(ValueError, match="none of the methods kmeans has weights"):
        found.plot_weights()
