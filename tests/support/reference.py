"""Algorithm 1 of the paper, transcribed loop by loop, and other slow, obvious definitions.

Nothing here is shared with the package: the tests compare the solver with this file.
"""

import math


def squared_distance(x, theta, w):
    return math.fsum(wl * (a - b) ** 2 for wl, a, b in zip(w, x, theta, strict=True))


def power_mean(values, s):
    """((1/k) sum y^s)^(1/s), scaled by the smallest value so that nothing overflows."""
    low = min(values)
    mean = math.fsum((v / low) ** s for v in values) / len(values)
    return low * mean ** (1 / s)


def objective(X, theta, w, s, lam):
    fit = math.fsum(
        power_mean([squared_distance(x, t, w) for t in theta], s)
        if math.isfinite(s)
        else min(squared_distance(x, t, w) for t in theta)
        for x in X
    )
    return fit + lam * math.fsum(wl * math.log(wl) for wl in w if wl > 0)


def memberships(d, s):
    """phi_ij of one row from its squared distances, as published; hard ones go to the first."""
    # (1/k) d^(s-1) ((1/k) sum d^s)^(1/s-1), with d in units of the smallest
    k, low = len(d), min(d)
    if math.isinf(s):
        return [float(j == d.index(low)) for j in range(k)]
    mean = math.fsum((v / low) ** s for v in d) / k
    return [(v / low) ** (s - 1) * mean ** (1 / s - 1) / k for v in d]


def statistics(X, a, theta, w, s):
    """Sums of an MM step: memberships with rows, memberships, with squares, both objectives."""
    p, k = len(X[0]), len(theta)
    d = [[squared_distance(x, t, w) for t in theta] for x in X]
    phi = [[weight * v for v in memberships(row, s)] for row, weight in zip(d, a, strict=True)]
    pairs = list(zip(X, phi, strict=True))
    return {
        "sums": [[math.fsum(f[j] * x[m] for x, f in pairs) for m in range(p)] for j in range(k)],
        "mass": [math.fsum(f[j] for f in phi) for j in range(k)],
        "scatter": [math.fsum(sum(f) * x[m] ** 2 for x, f in pairs) for m in range(p)],
        "power": math.fsum(
            weight * (min(row) if math.isinf(s) else power_mean(row, s))
            for row, weight in zip(d, a, strict=True)
        ),
        "nearest": math.fsum(weight * min(row) for row, weight in zip(d, a, strict=True)),
    }


def algorithm_1(X, theta, lam, s0, eta, steps):
    """Yield (theta, w, s) before every step and after the last one."""
    n, p, k = len(X), len(X[0]), len(theta)
    X = [[float(v) for v in row] for row in X]
    theta = [[float(v) for v in row] for row in theta]
    w = [1.0 / p] * p
    s = s0
    for _ in range(steps):
        yield theta, w, s
        phi = []
        for x in X:
            phi.append(memberships([squared_distance(x, t, w) for t in theta], s))
        theta = [
            [
                math.fsum(phi[i][j] * X[i][m] for i in range(n))
                / math.fsum(phi[i][j] for i in range(n))
                for m in range(p)
            ]
            for j in range(k)
        ]
        spread = [
            math.fsum(phi[i][j] * (X[i][m] - theta[j][m]) ** 2 for i in range(n) for j in range(k))
            for m in range(p)
        ]
        low = min(spread)
        raw = [math.exp(-(v - low) / lam) for v in spread]
        w = [v / math.fsum(raw) for v in raw]
        s = eta * s
    yield theta, w, s
