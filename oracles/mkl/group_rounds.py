"""The weights of groups that go with the best dual variables: rounds of machines and weights in turn, extrapolated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.oracles.mkl.weights import FLOOR, Groups

if TYPE_CHECKING:
    from oracle_opt.oracles.mkl.kernel_weights_oracle import Round

MAX_SOLVES = 50  # rounds of machines per query
MEMORY = 6  # alternations that are extrapolated
FALLS, PATIENCE = 0.9, 8  # a factor by which the error of a query has to fall once in so many rounds


class GroupRounds:
    """Alternates between the machines and the weights c of the groups, ``c_j`` proportional to ``sqrt(W_j)``.

    Parameters
    ----------
    weights : Groups
        The groups.
    max_solves : int or None
        At most so many rounds; None: as many as the accuracy needs.

    Attributes
    ----------
    c : ndarray of shape (number of groups,)
        Where the next query begins.
    n_solves, n_steps : int
        Rounds of the last query, and all steps of its machines.
    """

    def __init__(self, weights: Groups, max_solves: int | None) -> None:
        self._weights, self._limit = weights, MAX_SOLVES if max_solves is None else max_solves
        self.n_solves = self.n_steps = 0
        self.reset()

    def reset(self) -> None:
        """Begin with equal weights."""
        self.c = self._weights.equal()

    def best(self, at: Callable[[Vector], Round], wanted: float) -> tuple[Round, Round]:
        """Return the round of the least error, and the last one.

        Parameters
        ----------
        at : callable
            From weights of the groups to a round of machines.
        wanted : float
            The relative error asked.
        """
        tried: list[Vector] = []
        found: list[Vector] = []
        best: Round | None = None
        since, restarted = 0, False  # rounds since the error last fell, and whether they began once more
        c, self.n_solves, self.n_steps = self.c, 0, 0
        while True:
            last = at(c)
            assert last.c is not None
            self.n_solves += 1
            self.n_steps += sum(one.svm.n_steps for one in last.parts)
            since += 1
            if best is None or last.upper - last.value < best.upper - best.value:
                since = 0 if best is None or last.upper - last.value < FALLS * (best.upper - best.value) else since
                best = last
            if best.upper - best.value <= wanted * abs(best.upper) or self.n_solves == self._limit:
                break
            if since >= PATIENCE and restarted:
                break
            if since >= PATIENCE:
                # A weight of a group that had become very small grows slowly: from equal ones it does not have to.
                since, restarted, tried, found = 0, True, [], []
                c = self._weights.equal()
                continue
            tried.append(np.log(c))
            found.append(np.log(last.c))
            c = extrapolated(tried[-MEMORY:], found[-MEMORY:])
        assert best.c is not None
        self.c = best.c
        return best, last


def extrapolated(tried: list[Vector], found: list[Vector]) -> Vector:
    """Anderson's extrapolation of a fixed point of positive weights, in their logarithms.

    The affine combination of the rounds for which ``found - tried`` is least in norm, Walker & Ni (2011). Nothing rests
    on it: any c gives a cut, and the next round proves how good this one is.
    """
    logs = found[-1]
    if len(tried) > 1:
        moves = np.array(found) - np.array(tried)
        shares = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-10)[0]
        logs = logs - shares @ np.diff(found, axis=0)
    c = np.exp(np.maximum(logs - logs.max(), np.log(FLOOR)))
    normalized: Vector = c / c.sum()
    return normalized
