"""The weights of groups that go with the best dual variables: rounds of machines and weights in turn, extrapolated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.form_proof import MOST_ENTRIES, forms_by_parts, forms_of_products, products_by_parts
from oracle_opt.oracles.mkl.formula import Proven, moved_of, value_at
from oracle_opt.oracles.mkl.kernel_machine import KernelMachine
from oracle_opt.oracles.mkl.weights import FLOOR, Groups, WeightSet
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.floats import ON, Floats

MAX_SOLVES = 50  # rounds of machines per query
MEMORY = 6  # alternations that are extrapolated
JUMP = 10.0  # at most so many times more, or less, a weight becomes by it
SHARPENED = 1e-6  # the share of the largest form of a group from which on the error of a form is made less
OF_FORMS = 0.25  # the share of the error of a round from which on its forms are summed sharper
# Over a small c_j a kernel rounds so much that the machine's gap is this share of the error: then c_j becomes larger.
OF_MACHINES, HIGHER = 0.5, 3.0
SMALL = 1e-3  # a weight below which the next query begins where a machine was solved
FALLS, PATIENCE = 0.9, 8  # a factor by which the error of a query has to fall once in so many rounds
GROWS = 1.1  # a weight that the next round would make so many times larger has not come back yet
SETTLED = 1e-12  # relative change of the weights below which the next round is this one


@dataclass(slots=True, eq=False)
class Part:
    """The solution of one machine at the weights of a query, and what it proves."""

    svm: SVMSolution
    S: Vector
    proof: Proven
    told: dict[str, Any]


@dataclass(slots=True, eq=False)
class Round:
    """All machines at the same weights: what they prove, value and upper, at the best weights c of the groups."""

    parts: list[Part]
    proof: Proven
    w: Vector
    solved: Vector | None  # the weights of the groups there; as c, None where there is one group
    c: Vector | None
    value: float
    upper: float
    unsure: float = 0.0  # about how much of ``upper - value`` is the error of the forms


class GroupRounds:
    """Alternates between the machines and the weights c of the groups, ``c_j`` proportional to ``sqrt(W_j)``."""

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
        """Return the round of the least error, and the last one, with sharper forms where these are missing."""
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
                least = max(least, HIGHER * float(c.min() / c.max()))
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
    """Anderson's extrapolation of a fixed point of positive weights, in logarithms; none less than the least.

    The affine combination for which ``found - tried`` is least in norm, Walker & Ni (2011): any c gives a cut.
    """
    # A weight that is held at the least one does not move, wherever it would go.
    at, to = (
        np.maximum(logs, logs.max(axis=1, keepdims=True) + np.log(least)) for logs in map(np.array, (tried, found))
    )
    logs = to[-1]
    if len(tried) > 1:
        moves = to - at
        shares = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-10)[0]
        logs = logs - shares @ np.diff(to, axis=0)
    logs = np.clip(logs, to[-1] - np.log(JUMP), to[-1] + np.log(JUMP))
    c = np.exp(np.maximum(logs - logs.max(), np.log(least)))
    normalized: Vector = c / c.sum()
    return normalized


def round_of_groups(weights: WeightSet, w: Vector, c: Vector | None, parts: list[Part]) -> Round:
    """What machines solved at weights c prove at the best weights of the groups for their forms, and an upper bound."""
    assert isinstance(weights, Groups)
    assert c is not None
    S = np.sum([one.S for one in parts], axis=0)[weights.order]
    proof = reduce(add, (one.proof for one in parts))
    proof = proof.with_forms(proof.forms[weights.order])
    W = (Floats.of(w) * proof.forms).group_sums(weights.starts)
    # The hyperplane has group norms W / c**2; its primal objective takes the largest, and P the sum of W / c.
    # W is known up to the error of the forms. Where a group tells nothing, all of it is that error.
    low = (Floats.of(w) * (2.0 * S - proof.forms)).group_sums(weights.starts)
    more = ((W / (Floats.of(c) * c)).max() - (low / c).sum()) * 0.5
    upper = reduce(add, (Floats(one.svm.primal_objective) for one in parts))
    upper = upper + more.maximum(0.0) * max(one.svm.stretch for one in parts)
    unsure = 0.5 * float((W.x / c**2).max() - (low.x / c**2).max() + ((W.x - low.x) / c).sum())
    best = weights.shares(W.above())
    value = value_at(proof, w, (1.0 / Floats.of(best))[weights.group_of])
    return Round(parts, proof, w, c, best, float(value.below()), float(upper.above()), unsure)


def sharper(
    weights: WeightSet, machines: Sequence[KernelMachine], banks: Sequence[KernelBank], found: Round
) -> list[Part]:
    """The solutions of a round, with forms by parts where their error is large and entries of their bank are exact."""
    assert isinstance(weights, Groups)
    largest = np.empty(weights.n_kernels)
    largest[weights.order] = np.maximum.reduceat(found.proof.forms, weights.starts)[weights.group_of]
    assert found.solved is not None
    parts, d = [], weights.lifted(found.w, found.solved)
    for of, bank, one in zip(machines, banks, found.parts, strict=True):
        if bank.entry_error > 0:
            parts.append(one)
            continue
        S, F, b, svm = one.S.copy(), one.proof.forms.copy(), one.svm.signed_dual, one.svm
        unsure, pieces, row = np.flatnonzero(SHARPENED * largest < F - S), of.dual.piecewise, np.count_nonzero(b)
        if unsure.size and unsure.size * row**2 <= MOST_ENTRIES:
            near = forms_by_parts(bank.subset(unsure), b)
            S[unsure] = near.x
            grown = (bank.lacks * bank.sizes[0])[unsure] * float(b @ b) * ON
            F[unsure] = moved_of(bank.subset(unsure), near, b, svm.imbalance).above() + grown
        if pieces is not None:
            svm = sharper_solution(bank, pieces, d, svm, Floats(S, (F - S) * ON))
        parts.append(replace(one, svm=svm, S=S, proof=one.proof.with_forms(F)))
    return parts


def sharper_solution(bank: KernelBank, pieces: Separable, d: Vector, svm: SVMSolution, S: Floats) -> SVMSolution:
    """A solution at weights d whose bounds do not know the rounding of a kernel that tells nothing, by parts."""
    b = svm.signed_dual
    if bank.n_kernels * bank.n_points * np.count_nonzero(b) <= MOST_ENTRIES:
        products = products_by_parts(bank, np.arange(bank.n_points), b)
        S, size = forms_of_products(b, products), np.abs(products.x) @ d
        error = float((products.r @ d + EPS * (d.size + 8) * size).max())
        error += float(np.abs(b).max() * (bank.lacks @ (bank.sizes[0] * d))) * ON
        gap, bias = Pieces(pieces).gap(b, products.x @ d, error)
        svm = replace(svm, gap=gap, bias=bias) if gap < svm.gap else svm
    dual = Floats(pieces.value(b), pieces.rounding(b)) - Floats.of(d).dot(S) * 0.5
    return replace(svm, primal_objective=min(svm.primal_objective, (dual + svm.gap).above()))
