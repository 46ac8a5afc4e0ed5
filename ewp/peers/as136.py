"""The state and the two transfer stages of Hartigan and Wong's k-means (Algorithm AS 136).

AS 136 visits one row after the other, and a transfer changes two centres before the next row is
looked at. Most rows stay, though, and that many rows in succession stay can be shown at once, from
the distances of a whole block: rows that clearly stay are passed over, the first that clearly moves
is moved, and rows too close to call are judged by the published arithmetic. Distances come in two
kinds: a matrix product gives those of many rows at once, with a bound on its rounding error; where
that cannot tell, sums are formed feature by feature and compared as published, so that every
decision is the one the sequential algorithm takes, down to ties. `ewp.peers.hartigan_wong` is what
to call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ewp.common.types import Array, Ints
from ewp.metrics import group_means

__all__ = ["TransferSearch"]

#: OpenBLAS wakes its threads for larger products. For thousands of small ones that costs more
#: than it gains, above all when other processes use the cores.
SERIAL_GEMM, SERIAL_GEMV = 2**18, 9000
#: Rows that are worth a matrix product of their own, and rows whose distances may be held at once.
FEW_ROWS, MANY_ROWS = 32, 4096
#: Published AS 136 can cycle through rounding alone; R's kmeans gives up after as many passes.
QUICK_PASSES = 50


class Assignment:
    """Which cluster each row belongs to, which is its second choice, and the clusters' state.

    In the names of the paper, ``first`` and ``second`` are IC1 and IC2, ``loss`` and ``gain`` AN1
    and AN2, ``changed`` NCP, ``live`` LIVE and ``quick`` ITRAN; rows and steps count from 0. Its
    array D is not kept: it always holds what the current centres give. ``loss`` is 0 for a cluster
    of one row, which never leaves.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    centers : ndarray of shape (k, p)
        Starting centres, two or more. Rows join the nearest.
    """

    def __init__(self, X: Array, centers: Array) -> None:
        (n, p), k = X.shape, len(centers)
        self.X, self.n, self.p, self.k = X, n, p, k
        # Rows (-2x, |x|^2, 1) and (c, 1, |c|^2): one product of the two gives squared distances.
        self.origin = X.mean(axis=0)
        self.rows = np.ones((n, p + 2))
        points = self.rows[:, :p]
        np.subtract(X, self.origin, out=points)
        self.rows[:, p] = np.einsum("ij,ij->i", points, points)
        points *= -2.0
        self.columns = np.ones((k, p + 2))
        self.centers = centers
        self._renew(range(k))
        self._bound_errors()
        self.first, self.second = self._two_nearest()

    def fill_empty(self) -> None:
        """Give each empty cluster the worst-fitted row of a cluster of two rows or more."""
        sizes = np.bincount(self.first, minlength=self.k)
        vacant = np.flatnonzero(sizes == 0).tolist()
        misfit = np.sum((self.X - self.centers[self.first]) ** 2, axis=1)
        for i in np.argsort(-misfit, kind="stable"):
            if not vacant:
                break
            own = self.first[i]
            if sizes[own] > 1:
                sizes[own] -= 1
                self.first[i], self.second[i] = vacant.pop(0), own

    def take_means(self) -> None:
        """Replace the starting centres by the means of the clusters."""
        self.centers, self.sizes = group_means(self.X, self.first, self.k)
        self._renew(range(self.k))
        self._bound_errors()
        self.gain = self.sizes / (self.sizes + 1.0)
        self.loss = np.where(self.sizes > 1, self.sizes / np.maximum(self.sizes - 1.0, 1.0), 0.0)
        self.live = np.full(self.k, self.n)
        self.quick = np.ones(self.k, dtype=bool)
        self.changed = np.full(self.k, -1)

    def move(self, i: int, a: int, b: int) -> None:
        """Move row i from cluster a to cluster b."""
        m, r = float(self.sizes[a]), float(self.sizes[b])
        x, ca, cb = self.X[i], self.centers[a], self.centers[b]
        ca *= m
        ca -= x
        ca /= m - 1.0
        cb *= r
        cb += x
        cb /= r + 1.0
        self.sizes[a] -= 1
        self.sizes[b] += 1
        self.gain[a], self.gain[b] = (m - 1.0) / m, (r + 1.0) / (r + 2.0)
        self.loss[a], self.loss[b] = (m - 1.0) / (m - 2.0) if m > 2.0 else 0.0, (r + 1.0) / r
        self.first[i], self.second[i] = b, a
        self._renew((a, b))

    def exact_optimal(self, i: int) -> tuple[int, bool]:
        """The published rule for one row: its best other cluster, and whether to go there."""
        d = squared_distances(self.X[i], self.centers).tolist()
        own, start = int(self.first[i]), int(self.second[i])
        best, cost = start, d[start] * self.gain[start]
        for j in range(self.k):
            dead = i >= self.live[own] and i >= self.live[j]
            if not (dead or j in (own, start)) and d[j] < cost / self.gain[j]:
                best, cost = j, d[j] * self.gain[j]
        return best, bool(cost < d[own] * self.loss[own])

    def exact_quick(self, i: int) -> bool:
        """The published rule for one row: whether it goes to its second choice."""
        own, other = self.first[i], self.second[i]
        d = squared_distances(self.X[i], self.centers[[own, other]])
        return bool(d[1] < d[0] * self.loss[own] / self.gain[other])

    def distances(self, lo: int, hi: int) -> Array:
        """Squared distances of all centres to rows lo..hi, shape (k, hi - lo)."""
        D = np.empty((self.k, hi - lo))
        piece = max(SERIAL_GEMM // (self.k * (self.p + 2)), FEW_ROWS)
        for start in range(lo, hi, piece):
            stop = min(start + piece, hi)
            np.matmul(self.columns, self.rows[start:stop].T, out=D[:, start - lo : stop - lo])
        return D

    def update(self, D: Array, lo: int, row: int, hi: int, pair: tuple[int, int]) -> None:
        """Renew two centres' distances to rows row..hi in D, which begins with row `lo`."""
        piece = SERIAL_GEMV // (self.p + 2) + 1
        for start in range(row, hi, piece):
            stop = min(start + piece, hi)
            for j in pair:
                D[j, start - lo : stop - lo] = self.rows[start:stop] @ self.columns[j]

    def _renew(self, clusters: range | tuple[int, int]) -> None:
        """Follow a change of these centres in the matrix that gives the distances."""
        for j in clusters:
            column = self.columns[j]
            point = column[: self.p]
            np.subtract(self.centers[j], self.origin, out=point)
            column[self.p + 1] = point @ point

    def _bound_errors(self) -> None:
        """Set the difference beyond which a comparison of distances is certain.

        It covers the rounding errors of the matrix product and of sequential sums. Means of rows
        are no longer than the longest row, so it still holds when the centres move.
        """
        norms, p = self.rows[:, self.p], self.p
        longest = max(norms.max(), self.columns[:, p + 1].max())
        self.slack = 8.0 * (p + 8) * np.finfo(np.float64).eps * (norms + longest)

    def _two_nearest(self) -> tuple[Ints, Ints]:
        """Nearest and second nearest centre of each row; the first of equals wins."""
        two = np.empty((2, self.n), dtype=np.intp)
        for lo in range(0, self.n, MANY_ROWS):
            hi = min(lo + MANY_ROWS, self.n)
            D, slack = self.distances(lo, hi), self.slack[lo:hi]
            two[0, lo:hi], d0 = take_smallest(D)
            two[1, lo:hi], d1 = take_smallest(D)
            unclear = (d1 <= d0 + slack) | (D.min(axis=0) <= d1 + slack)
            for i in lo + unclear.nonzero()[0]:
                d = squared_distances(self.X[i], self.centers)
                two[:, i] = np.argsort(d, kind="stable")[:2]
        return two[0], two[1]


def squared_distances(x: Array, centers: Array) -> Array:
    """Squared distances of one row to centres, added feature by feature as a loop would.

    NumPy's own sums add in another order; where two clusters are equally good, the last digit
    decides which one a row joins.
    """
    return np.add.accumulate((x - centers) ** 2, axis=1)[:, -1]


def take_smallest(D: Array) -> tuple[Ints, Array]:
    """Position and value of each column's smallest entry, which is replaced by infinity."""
    each = np.arange(D.shape[1])
    at = D.argmin(axis=0)
    value = D[at, each]
    D[at, each] = np.inf
    return at, value


Bools = NDArray[np.bool_]


class TransferSearch(Assignment):
    """An assignment of rows to clusters, and the stages that improve it."""

    def __init__(self, X: Array, centers: Array) -> None:
        super().__init__(X, centers)
        # Rows between two moves, as last seen.
        self.optimal_spacing, self.quick_spacing = 4.0, 100.0
        # Up to this number, rows one by one cost less than a block examined again and again.
        self.dense = 35.0 / (2.0 + 0.2 * self.k)

    def optimal_transfer(self, quiet: int) -> int:
        """Run an optimal-transfer stage: each row against every cluster of the live set.

        `quiet` is the number of rows in succession that stayed so far; the stage ends when it
        reaches n. Returns the new number.
        """
        self.live[self.quick] = self.n
        self.changed[:] = -1
        row, end = 0, self.n - quiet
        while row < end:
            lo = row
            if self.optimal_spacing < self.dense:
                row = min(lo + FEW_ROWS, end)
                last, moves = self._optimal_rows(lo, row)
            else:
                row = min(lo + _ahead(self.optimal_spacing), end)
                last, moves, row = self._optimal_block(lo, row)
            self.optimal_spacing = _spacing(row - lo, moves, self.optimal_spacing)
            if moves:
                end, quiet = self.n, -1 - last
        self.quick[:] = False
        self.live -= self.n
        return quiet + end

    def quick_transfer(self) -> tuple[bool, bool]:
        """Run a quick-transfer stage: each row against its second choice, round and round.

        Returns whether any row moved, and whether a whole round without a transfer was reached.
        """
        step, end, limit = 0, self.n, QUICK_PASSES * self.n - 1
        while step < min(end, limit):
            lo = step % self.n
            hi = min(lo + _ahead(self.quick_spacing), self.n, lo + min(end, limit) - step)
            last, moves, hi = self._quick_block(lo, hi, step - lo)
            self.quick_spacing = _spacing(hi - lo, moves, self.quick_spacing)
            if moves:
                end = last + self.n + 1
            step += hi - lo
        return end > self.n, step == end

    def _optimal_rows(self, lo: int, hi: int) -> tuple[int, int]:
        """Optimal transfers of rows lo..hi, one by one; returns the last moved and the number."""
        first, second = self.first[lo:hi].tolist(), self.second[lo:hi].tolist()
        slack = self.slack[lo:hi].tolist()
        gain, loss, live = self.gain.tolist(), self.loss.tolist(), self.live.tolist()
        last, moves = -1, 0
        for i, own, start, unsure in zip(range(lo, hi), first, second, slack, strict=True):
            if loss[own] == 0.0:
                continue
            d = (self.columns @ self.rows[i]).tolist()
            all_live = i < live[own]
            best, lowest, runner_up = start, np.inf, np.inf
            for j in range(self.k):
                if j != own and (all_live or i < live[j] or j == start):
                    price = d[j] * gain[j]
                    if price < lowest:
                        best, lowest, runner_up = j, price, lowest
                    elif price < runner_up:
                        runner_up = price
            saving = d[own] * loss[own] - lowest
            moving = saving > unsure
            if not (abs(saving) > unsure and runner_up - lowest > unsure):
                best, moving = self.exact_optimal(i)
            if not moving:
                self.second[i] = best
                continue
            last, moves = i, moves + 1
            self._note_optimal(i, own, best)
            self.move(i, own, best)
            for j in (own, best):
                gain[j], loss[j], live[j] = self.gain.item(j), self.loss.item(j), self.n + i
        return last, moves

    def _optimal_block(self, lo: int, hi: int) -> tuple[int, int, int]:
        """Optimal transfers of rows lo..hi at once; returns also how far it came."""
        D = self.distances(lo, hi)
        all_live = bool(self.live.min() >= hi)
        row, last, moves = lo, -1, 0
        while row < hi:
            best, doubtful, clear = self._judge(D[:, row - lo : hi - lo], row, hi, all_live)
            stop = hi
            for at in doubtful.nonzero()[0].tolist():
                moving = clear[at]
                if not moving:
                    best[at], moving = self.exact_optimal(row + at)
                if moving:
                    stop = row + at
                    break
            self.second[row:stop] = best[: stop - row]
            if stop < hi:
                a, b = self.first.item(stop), best.item(stop - row)
                last, moves = stop, moves + 1
                self._note_optimal(stop, a, b)
                self.move(stop, a, b)
                hi = min(hi, stop + 1 + _ahead((stop + 1 - lo) / moves))
                self.update(D, lo, stop + 1, hi, (a, b))
            row = stop + 1
        return last, moves, hi

    def _judge(self, D: Array, lo: int, hi: int, all_live: bool) -> tuple[Ints, Bools, Bools]:
        """Best other cluster of rows lo..hi at the distances D, who may go, who clearly goes."""
        each = np.arange(hi - lo)
        own, second, slack = self.first[lo:hi], self.second[lo:hi], self.slack[lo:hi]
        price = D * self.gain[:, None]
        price[own, each] = np.inf
        if not all_live:
            dead = (each >= self.live[own] - lo) & (each >= self.live[:, None] - lo)
            dead[second, each] = False
            price[dead] = np.inf
        best, lowest = take_smallest(price)
        rate = self.loss[own]
        saving = D[own, each] * rate
        saving -= lowest
        lowest += slack
        distinct = price.min(axis=0) > lowest
        alone = rate == 0.0
        if alone.any():
            saving[alone] = -np.inf
            distinct |= alone
            best[alone] = second[alone]
        return best, (saving >= -slack) | ~distinct, (saving > slack) & distinct

    def _note_optimal(self, i: int, a: int, b: int) -> None:
        self.live[a] = self.live[b] = self.n + i
        self.changed[a] = self.changed[b] = i

    def _quick_block(self, lo: int, hi: int, base: int) -> tuple[int, int, int]:
        """Quick transfers of rows lo..hi, row i at step base + i; returns the last step, ..."""
        D = None
        row, last, moves = lo, -1, 0
        while row < hi:
            own, other = self.first[row:hi], self.second[row:hi]
            since = np.maximum(self.changed[own], self.changed[other])
            active = since > np.arange(base + row, base + hi)
            if not active.any():
                break
            if D is None:
                D = self.distances(lo, hi)
            each = np.arange(row - lo, hi - lo)
            saving = D[own, each] * self.loss[own]
            saving -= D[other, each] * self.gain[other]
            slack = self.slack[row:hi]
            active &= saving >= -slack
            stop = hi
            for at in active.nonzero()[0].tolist():
                if saving[at] > slack[at] or self.exact_quick(row + at):
                    stop = row + at
                    break
            if stop < hi:
                a, b = self.first.item(stop), self.second.item(stop)
                last, moves = base + stop, moves + 1
                self.quick[a] = self.quick[b] = True
                self.changed[a] = self.changed[b] = last + self.n
                self.move(stop, a, b)
                hi = min(hi, stop + 1 + _ahead((stop + 1 - lo) / moves))
                self.update(D, lo, stop + 1, hi, (a, b))
            row = stop + 1
        return last, moves, hi


def _ahead(spacing: float) -> int:
    """How many rows to look at together when that many lie between two moves.

    Each move has the rest of the block examined again, and each block costs something, so the
    best length grows like the square root; the factor hardly matters.
    """
    return min(max(int(20.0 * spacing**0.5), FEW_ROWS), MANY_ROWS)


def _spacing(rows: int, moves: int, before: float) -> float:
    """Rows between two moves, after having seen so many of both."""
    return min(rows / moves if moves else 4.0 * before, float(MANY_ROWS**2))
