"""What must hold of every fit, computed again from its results and the data alone."""

import numpy as np


def columns_of(X, found):
    """The rows and the centroids, centred and scaled as the fit did."""
    return (np.asarray(X, float) - found.center) / found.scale, (
        found.centroids.to_numpy(float) - found.center
    ) / found.scale


def exact_weights(X, found, mass=None):
    """Weights at the dispersions about the means of the clusters, from differences."""
    Z, _ = columns_of(X, found)
    mass = np.ones(len(Z)) if mass is None else mass
    labels = found.labels.to_numpy()
    cost = np.zeros(Z.shape[1])
    for j in np.unique(labels[mass > 0]):
        rows, weight = Z[labels == j], mass[labels == j]
        # about a row first, so that the mean of a far cluster keeps its digits
        away = rows - rows[0]
        away -= weight @ away / weight.sum()
        cost += weight @ away**2
    if found.dispersion == "between":
        away = Z - mass @ Z / mass.sum()
        cost -= mass @ away**2
    with np.errstate(divide="ignore"):
        exponent = np.log(found.prior) - (cost - cost[found.prior > 0].min()) / found.lam
    weights = np.exp(exponent - exponent.max())
    return weights / weights.sum()


def assert_fit(X, found, mass=None):
    """Objective, nearest centroids, fixed points of centroids and weights, sums of clusters."""
    Z, theta = columns_of(X, found)
    mass = np.ones(len(Z)) if mass is None else np.asarray(mass, float)
    w, labels = found.weights.to_numpy(float), found.labels.to_numpy()
    k = len(theta)
    assert np.isfinite(theta).all()
    assert (w >= 0).all()
    np.testing.assert_allclose(w.sum(), 1.0, atol=1e-12)
    distance = np.stack([((Z - centroid) ** 2) @ w for centroid in theta], axis=1)
    nearest = distance.min(axis=1)
    away = Z - mass @ Z / mass.sum()
    totals = mass @ away**2
    unit = float(totals @ w)
    slack = 1e-9 * (nearest.max() + (Z**2 @ w).max() + 1e-300)
    assert (distance[np.arange(len(Z)), labels] <= nearest + slack).all()
    used = w > 0
    penalty = found.lam * float(w[used] @ np.log(w[used] / found.prior[used]))
    if found.dispersion == "between":
        penalty -= unit
    objective = float(mass @ nearest) + penalty
    size = unit + abs(penalty) + found.lam * float(-w[used] @ np.log(w[used])) + 1e-300
    assert abs(objective - found.objective) <= 1e-8 * size
    assert found.objective_trace["f_inf"].iloc[-1] == found.objective
    np.testing.assert_array_equal(np.bincount(labels, minlength=k), found.clusters["size"])
    within = np.bincount(labels, mass * nearest, k)
    np.testing.assert_allclose(found.clusters["withinss"], within, rtol=1e-6, atol=1e-9 * size)
    if found.converged:
        deviation = np.sqrt(totals / mass.sum())
        deviation[deviation == 0] = 1.0
        for j in np.unique(labels[mass > 0]):
            mean = np.average(Z[labels == j], axis=0, weights=mass[labels == j])
            np.testing.assert_allclose(theta[j] / deviation, mean / deviation, atol=1e-5)
        np.testing.assert_allclose(w, exact_weights(X, found, mass), atol=1e-5)
