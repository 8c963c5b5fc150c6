"""The largest of random affine functions on a box, made around its minimizer."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains import Box, Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.problems.function_proof import FunctionProof, ProvenTangent, halved, largest, oracle_of
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, between, unit_weights
from oracle_opt.proof.claim import CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import place


@dataclass(frozen=True, eq=False)
class LargestPiece:
    """``1 + max_i a_i @ y + y @ diag(c_i) @ y / 2 - d_i`` with y the way from the center; without c, affine."""

    a: Matrix
    d: Vector
    center: Vector
    c: Matrix | None = None

    def __call__(self, x: Vector) -> ObjectiveCut:
        """Value and subgradient; the `extras` tell which piece it is."""
        y = x - self.center
        values = self.a @ y - self.d
        if self.c is not None:
            values += 0.5 * (self.c @ y**2)
        i = int(values.argmax())
        slope = self.a[i].copy() if self.c is None else self.a[i] + self.c[i] * y
        return ObjectiveCut(x, 1.0 + float(values[i]), slope, extras={"piece": i})

    def name(self, family: str) -> str:
        """Words that tell these pieces from others."""
        return f"{family} #{digest(self.a, self.d, self.center, self.c)}"


class PieceProof(FunctionProof):
    """``1 + max_i a_i @ y + y @ diag(c_i) @ y / 2 - d_i`` with y the way from the center; the number i is the witness.

    A slope s is that of the piece at ``c_i y = s - a_i``; there ``1 - d_i - y @ diag(c_i) @ y / 2`` is its constant.
    """

    witness = ("piece",)

    def __init__(self, domain: Domain, function: LargestPiece) -> None:
        super().__init__(domain)
        self.function = function

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangent of the piece."""
        it = self.function
        i = place("number of the piece", claim.witness["piece"], len(it.d))
        slope, value = Enclosure.of(it.a[i], exact), 1 - Enclosure.of(it.d[i], exact)
        if it.c is not None:
            y = Enclosure.of(np.divide(claim.slope - it.a[i], it.c[i]), exact)
            bent = y * it.c[i]
            slope, value = slope + bent, value - halved((bent * y).sum())
        return [ProvenTangent(value, slope, it.center)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest piece."""
        it = self.function
        y = Enclosure.of(point, exact) - it.center
        values = []
        for i in range(len(it.d)):
            slope = Enclosure.of(it.a[i], exact) if it.c is None else halved(y * it.c[i]) + it.a[i]
            values.append((slope * y).sum() + 1 - Enclosure.of(it.d[i], exact))
        return largest(values)


def draw(n: int = 30, pieces: int = 60, active: float = 0.5, seed: int = 0) -> Instance:
    """Draw ``1 + max_i a_i @ (x - x0) - d_i`` on [-1, 1]^n, with minimum 1.

    The d_i are 0, with slopes that combine to 0 so that x0 is a minimizer, or uniform on [0, 1].
    """
    return instance("max-affine", np.random.default_rng(seed), n, pieces, active, 0.0)


def instance(family: str, rng: np.random.Generator, n: int, pieces: int, active: float, condition: float) -> Instance:
    """Draw pieces, curved ones if the condition is not 0: diagonal Hessians with entries between its inverse and 1."""
    if pieces < 2:
        raise InvalidArgument(f"`pieces` must be at least 2, got {pieces}")
    many = 1 + ceil(real("active", active, above=0.0, most=1.0) * min(n, pieces - 1))
    a, center, weights = rng.normal(size=(pieces, n)), rng.uniform(-0.5, 0.5, n), unit_weights(rng, many)
    a[many - 1] = -(weights[:-1] @ a[: many - 1]) / weights[-1]
    d = np.r_[np.zeros(many), rng.uniform(0.0, 1.0, pieces - many)]
    c = condition ** -rng.uniform(0.0, 1.0, (pieces, n)) if condition else None
    made = LargestPiece(a, d, center, c)
    # sum of the weights times the pieces: 1 + slope @ (x - x0), and more where they are curved
    slope = weights @ a[:many]
    lower = 1.0 - float(np.abs(slope) @ (1.0 + np.abs(center)))
    # between 1, the value at x0, and this; the pieces at x0 are exact, and products of weights and slopes are rounded
    optimum, error = between(1.0, lower, 1.0 + 1e-2 * float(weights @ np.abs(a[:many]).sum(axis=1)))
    oracle = oracle_of(made, PieceProof(Box(-np.ones(n), np.ones(n)), made), made.name(family))
    return Instance(oracle, None, optimum, error)


FAMILY = Generated(
    "max-affine",
    "largest of random affine functions on a box, with a known minimizer",
    draw,
    (
        {"n": 2, "pieces": 8, "seed": 0},
        {"n": 10, "pieces": 30, "seed": 0},
        {"n": 30, "seed": 0},
        {"n": 30, "active": 1.0, "seed": 0},
        {"n": 100, "pieces": 150, "seed": 0},
        {"n": 300, "pieces": 400, "active": 0.3, "seed": 0},
        {"n": 1000, "pieces": 100, "seed": 0},
        {"n": 10000, "pieces": 40, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-10,
    source="constructed around its minimizer",
)
