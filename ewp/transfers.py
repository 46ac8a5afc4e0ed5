"""The two transfer stages of Hartigan and Wong's k-means.

AS 136 visits one row after the other, and a transfer changes two centres before the next row is
looked at. Most rows stay, though, and that many rows in succession stay can be shown at once, from
the distances of a whole block (`ewp.assignment`): rows that clearly stay are passed over, the first
that clearly moves is moved, and rows too close to call are judged by the published arithmetic.
After a transfer two centres' distances are renewed for the rest of the block. Where every second
row moves, as at the beginning, rows are taken one by one. `ewp.hartigan_wong` is what to call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ewp.assignment import FEW_ROWS, MANY_ROWS, Assignment, Ints, take_smallest
from ewp.kernel import Array

__all__ = ["Transfers"]

Bools = NDArray[np.bool_]

#: Published AS 136 can cycle through rounding alone; R's kmeans gives up after as many passes.
QUICK_PASSES = 50


class Transfers(Assignment):
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
