"""Tours of cities: joined from promising edges, then improved by reversals and moves of short pieces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix

_NEAR = 10  # neighbors of a city that moves look at
_LONGEST = 3  # cities of a piece that is moved
_KICK = 50  # cities that an exchange of pieces spans at most

Tour = NDArray[np.intp]


def short_tour(distances: Matrix, promise: Matrix, kicks: int, seed: int) -> Tour:
    """Order of the cities along a short tour.

    Edges are joined in the order of their promise, unless a city would have three or a cycle would close early (the
    greedy edge heuristic). The tour is improved by 2-opt and Or-opt until no move gains; then neighboring pieces are
    exchanged at random places, it is improved again, and kept if it is no longer (Martin, Otto, Felten 1991).
    """
    n = len(distances)
    away = promise + np.diag(np.full(n, np.inf))
    near = np.argsort(away, axis=1, kind="stable")[:, : min(_NEAR, n - 1)]
    tour = _improved(distances, near, _joined(away, near))
    best, rng = _length(distances, tour), np.random.default_rng(seed)
    for _ in range(kicks if n >= 8 else 0):
        trial = _improved(distances, near, _kicked(tour, rng))
        length = _length(distances, trial)
        if length <= best:
            tour, best = trial, length
    return tour


def _length(d: Matrix, tour: Tour) -> float:
    return float(d[tour, np.roll(tour, -1)].sum())


def _joined(away: Matrix, near: Tour) -> Tour:
    """The greedy edge tour: from edges to near cities, then from edges between ends of what they joined."""
    n = len(away)
    neighbors: list[list[int]] = [[] for _ in range(n)]
    root = list(range(n))

    def of(city: int) -> int:
        while root[city] != city:
            root[city] = root[root[city]]
            city = root[city]
        return city

    ends, joined = np.arange(n), 0
    tails, heads = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    while True:
        order = np.lexsort((heads, tails, away[tails, heads]))
        for i, j in zip(tails[order].tolist(), heads[order].tolist(), strict=True):
            a, b = of(i), of(j)
            if a != b and len(neighbors[i]) < 2 and len(neighbors[j]) < 2:
                neighbors[i].append(j)
                neighbors[j].append(i)
                root[a] = b
                joined += 1
        if joined == n - 1:
            break
        ends = np.array([city for city in range(n) if len(neighbors[city]) < 2])
        tails, heads = (ends[k] for k in np.triu_indices(len(ends), 1))
    tour = [next(city for city in range(n) if len(neighbors[city]) == 1)]
    before = -1
    while len(tour) < n:
        before, city = tour[-1], next(c for c in neighbors[tour[-1]] if c != before)
        tour.append(city)
    return np.array(tour, dtype=np.intp)


def _kicked(tour: Tour, rng: np.random.Generator) -> Tour:
    """Exchange two neighboring pieces: ``A B C D`` becomes ``A C B D``."""
    n = len(tour)
    span = min(n - 1, _KICK)
    i, j, k = np.sort(rng.choice(np.arange(1, span + 1), 3, replace=False))
    turned = np.roll(tour, -int(rng.integers(n)))
    return np.concatenate([turned[:i], turned[j:k], turned[i:j], turned[k:]])


def _improved(d: Matrix, near: Tour, tour: Tour) -> Tour:
    """The best reversal or the best move of a piece, as long as one gains."""
    n = len(d)
    if n < 5:
        return tour
    tolerance = 1e-12 * max(float(np.abs(d[tour, np.roll(tour, -1)]).sum()), 1e-300)
    while True:
        gain, trial = _reversed_piece(d, near, tour)
        other, moved = _moved_piece(d, near, tour)
        if other > gain:
            gain, trial = other, moved
        if not gain > tolerance:
            return tour
        tour = trial()


def _reversed_piece(d: Matrix, near: Tour, tour: Tour) -> tuple[float, Callable[[], Tour]]:
    """2-opt: edges (a, next a), (c, next c) are replaced by (a, c), (next a, next c)."""
    n = len(tour)
    place = np.empty(n, dtype=np.intp)
    place[tour] = np.arange(n)
    after, before = np.roll(tour, -1), np.roll(tour, 1)
    c = near[tour]
    gains = []
    for side in (after, before):
        ahead = side[:, None]
        beyond = side[place[c]]
        gains.append(d[tour, side][:, None] + d[c, beyond] - d[tour[:, None], c] - d[ahead, beyond])
    both = np.array(gains)
    which, i, k = np.unravel_index(both.argmax(), both.shape)

    def done() -> Tour:
        first, last = sorted((int(i), int(place[c[i, k]])))
        low, high = (first + 1, last + 1) if which == 0 else (first, last)
        changed = tour.copy()
        changed[low:high] = tour[low:high][::-1]
        return changed

    return float(both[which, i, k]), done


def _moved_piece(d: Matrix, near: Tour, tour: Tour) -> tuple[float, Callable[[], Tour]]:
    """Or-opt: a piece of up to three cities goes between two others, one of them near the piece's first city."""
    n = len(tour)
    place = np.empty(n, dtype=np.intp)
    place[tour] = np.arange(n)
    c = near[tour]
    at = place[c]
    best, found = -np.inf, (0, 0, 0, 0, False)
    for length in range(1, min(_LONGEST, n - 3) + 1):
        for ahead in (1, -1):
            # the piece starts at its first city and goes on ahead; its first city will stand beside c
            last = np.roll(tour, -ahead * (length - 1))
            outside, behind = np.roll(tour, -ahead * length), np.roll(tour, ahead)
            freed = d[behind, tour] + d[last, outside] - d[behind, outside]
            inside = (ahead * (at - np.arange(n)[:, None])) % n < length
            for side in (1, -1):
                beyond = tour[(at + side) % n]
                blocked = inside | ((ahead * (((at + side) % n) - np.arange(n)[:, None])) % n < length)
                gain = freed[:, None] + d[c, beyond] - d[tour[:, None], c] - d[last[:, None], beyond]
                gain[blocked] = -np.inf
                i, k = np.unravel_index(gain.argmax(), gain.shape)
                if gain[i, k] > best:
                    best, found = float(gain[i, k]), (int(i), int(k), length, side, ahead == 1)

    def done() -> Tour:
        i, k, length, side, forward = found
        step = 1 if forward else -1
        piece = tour[(i + step * np.arange(length)) % n]
        rest = tour[~np.isin(tour, piece)]
        here = int(np.flatnonzero(rest == c[i, k])[0])
        if side == 1:  # c, then the piece from its first city
            return np.concatenate([rest[: here + 1], piece, rest[here + 1 :]])
        return np.concatenate([rest[:here], piece[::-1], rest[here:]])

    return best, done
