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
JUMP = 10.0  # at most so many times more, or less, a weight becomes by it
OF_FORMS = 0.25  # the share of the error of a round from which on its forms are summed sharper
# Over a small c_j a kernel rounds so much that the machine's gap is this share of the error: then c_j becomes larger.
OF_MACHINES, HIGHER = 0.5, 3.0
SMALL = 1e-3  # a weight below which the next query begins where a machine was solved
FALLS, PATIENCE = 0.9, 8  # a factor by which the error of a query has to fall once in so many rounds
GROWS = 1.1  # a weight that the next round would make so many times larger has not come back yet
SETTLED = 1e-12  # relative change of the weights below which the next round is this one


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

    def best(
        self, at: Callable[[Vector], Round], sharper: Callable[[Round], Round], wanted: float
    ) -> tuple[Round, Round]:
        """Return the round of the least error, and the last one.

        A group that tells nothing has forms of which ``sqrt(W_j)`` is little more than their error, and divided by c_j
        that error counts as its root does. Where it is a good part of what is missing, forms are summed sharper.

        Parameters
        ----------
        at : callable
            From weights of the groups to a round of machines.
        sharper : callable
            From a round to the same with forms of less error.
        wanted : float
            The relative error asked.
        """
        tried: list[Vector] = []
        found: list[Vector] = []
        best: Round | None = None
        since, restarted = 0, False  # rounds since the error last fell, and whether they began once more
        sharp, least = False, FLOOR
        c, self.n_solves, self.n_steps = self.c, 0, 0
        while True:
            last = at(c)
            error = last.upper - last.value
            sharp = sharp or (error > wanted * abs(last.upper) and last.unsure > OF_FORMS * error)
            if sharp:
                last = sharper(last)
            assert last.c is not None
            self.n_solves += 1
            self.n_steps += sum(one.svm.n_steps for one in last.parts)
            since += 1
            if best is None or last.upper - last.value < best.upper - best.value:
                since = 0 if best is None or last.upper - last.value < FALLS * (best.upper - best.value) else since
                best = last
            assert best.c is not None
            assert best.solved is not None
            if best.upper - best.value <= wanted * abs(best.upper) or self.n_solves == self._limit:
                break
            if since >= PATIENCE and (restarted or (best.c / best.solved).max() < GROWS):
                break
            if since >= PATIENCE:
                # A weight of a group that had become very small grows slowly: from equal ones it does not have to.
                since, restarted, tried, found = 0, True, [], []
                c = self._weights.equal()
                continue
            if sharp and sum(one.svm.gap for one in last.parts) > OF_MACHINES * (last.upper - last.value):
                least = max(least, HIGHER * float(c.min()))
            tried.append(np.log(c))
            found.append(np.log(last.c))
            before, c = c, extrapolated(tried[-MEMORY:], found[-MEMORY:], least)
            if np.abs(c / before - 1.0).max() <= SETTLED:
                break
        self.c = started(best.c, best.solved)
        return best, last


def started(c: Vector, solved: Vector) -> Vector:
    """Weights to begin the next query from: those of a cut, but small ones only as machines were solved at them."""
    begun = np.where(c < SMALL, np.maximum(c, solved), c)
    normalized: Vector = begun / begun.sum()
    return normalized


def extrapolated(tried: list[Vector], found: list[Vector], least: float) -> Vector:
    """Anderson's extrapolation of a fixed point of positive weights, in their logarithms; none less than the least.

    The affine combination of the rounds for which ``found - tried`` is least in norm, Walker & Ni (2011). Nothing rests
    on it: any c gives a cut, and the next round proves how good this one is.
    """
    logs = found[-1]
    if len(tried) > 1:
        moves = np.array(found) - np.array(tried)
        shares = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-10)[0]
        logs = logs - shares @ np.diff(found, axis=0)
    logs = np.clip(logs, found[-1] - np.log(JUMP), found[-1] + np.log(JUMP))
    c = np.exp(np.maximum(logs - logs.max(), np.log(least)))
    normalized: Vector = c / c.sum()
    return normalized
