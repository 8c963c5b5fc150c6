"""Sparse regression by least absolute deviations, made around its minimizer."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains import Box, Domain
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.problems.function_proof import FunctionProof, ProvenTangent, oracle_of
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, between
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.enclosed_products import transposed_times
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers


@dataclass(frozen=True, eq=False)
class AbsoluteDeviations:
    """``mean |B x - d| + weight * norm_1(x)``, answered as a sum over groups of rows where there are several."""

    B: Matrix
    d: Vector
    weight: float
    groups: int

    def __call__(self, x: Vector) -> ObjectiveCut:
        """The sum; the absolute values of x belong to the first group. The `extras` tell the signs of both."""
        residuals = (self.B @ x - self.d) / len(self.d)
        signs = np.sign(residuals) / len(self.d)
        own = self.weight * float(np.abs(x).sum()), self.weight * np.sign(x)
        told, own_told = (np.sign(numbers).astype(np.int8) for numbers in (residuals, x))
        parts: list[ObjectiveCut] = []
        for rows in np.array_split(np.arange(len(self.d)), self.groups):
            value, slope = float(np.abs(residuals[rows]).sum()), signs[rows] @ self.B[rows]
            extras = {"signs": told[rows[0] : rows[-1] + 1], "own_signs": own_told[: 0 if parts else None]}
            value, slope = (value, slope) if parts else (value + own[0], slope + own[1])
            parts.append(ObjectiveCut(x, value, slope, extras=extras))
        if len(parts) == 1:
            return parts[0]
        value, slope = sum(part.value for part in parts), np.sum([part.subgradient for part in parts], axis=0)
        whole = {"signs": told, "own_signs": own_told}
        return ObjectiveCut(x, value, slope, summands=tuple(parts), extras=whole)


class DeviationsProof(FunctionProof):
    """``mean |B x - d| + weight * norm_1(x)``, in groups of rows; signs between -1 and 1 are the witness.

    ``s @ (B x - d) / m + weight * t @ x`` is below it for such s and t; a group has its rows, the first one t.
    """

    witness = ("signs", "own_signs")

    def __init__(self, domain: Domain, function: AbsoluteDeviations) -> None:
        super().__init__(domain)
        self.function = function
        self.n_summands = function.groups if function.groups > 1 else 0

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangent of the residuals with these signs."""
        it = self.function
        rows, own = np.arange(len(it.d)), self.domain.dimension
        if claim.kind is ClaimKind.SUMMAND:
            rows = np.array_split(rows, it.groups)[claim.summand]
            own = own if claim.summand == 0 else 0
        s = numbers("signs of the residuals", claim.witness["signs"], len(rows))
        t = numbers("signs of the variables", claim.witness["own_signs"], own)
        if max(np.abs(s).max(initial=0.0), np.abs(t).max(initial=0.0)) > 1:
            raise Refuted("the signs must be between -1 and 1")
        signs = Enclosure.of(s, exact)
        slope = transposed_times(it.B[rows], signs) / len(it.d)
        if own:
            slope = slope + Enclosure.of(t, exact) * it.weight
        return [ProvenTangent(-(signs * it.d[rows]).sum() / len(it.d), slope)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The mean, and the norm."""
        it, x = self.function, Enclosure.of(point, exact)
        residuals = transposed_times(it.B.T, x) - it.d
        size = Enclosure.of(np.abs(point), exact).sum() * it.weight
        most = residuals.size()
        return Enclosure(most, most).sum() / len(it.d) + size


def draw(n: int = 50, m: int = 100, weight: float = 0.1, groups: int = 1, seed: int = 0) -> Instance:
    """Draw data for ``mean |B x - d| + weight * norm_1(x)`` on a box, with minimum 1: see docs/theory_methods.md."""
    if groups > m:
        raise InvalidArgument(f"`groups` must be at most `m`, {m}, got {groups}")
    rng = np.random.default_rng(seed)
    kept = min(max(1, n // 5), max(1, m // 2))
    entries, exact = rng.permutation(n)[:kept], rng.permutation(m)[:kept]
    t, s = rng.uniform(-0.9, 0.9, n), rng.choice([-1.0, 1.0], m)
    t[entries] = rng.choice([-1.0, 1.0], kept)
    s[exact] = rng.uniform(-0.9, 0.9, kept)
    x, residuals = np.zeros(n), s * rng.exponential(size=m)
    x[entries] = t[entries] * rng.uniform(0.5, 1.5, kept)
    residuals[exact] = 0.0
    x *= 0.5 / (weight * np.abs(x).sum())
    if np.abs(residuals).sum() > 0:
        residuals *= 0.5 * m / np.abs(residuals).sum()
    B = rng.normal(size=(m, n))
    B += np.outer(s, -m * weight * t - s @ B) / float(s @ s)
    made = AbsoluteDeviations(B, B @ x - residuals, weight, groups)
    reach = 2.0 * float(np.abs(x).max())
    # f(x) >= s @ (B x - d) / m + weight * t @ x
    slope = s @ B / m + weight * t
    lower = -float(s @ made.d) / m - reach * float(np.abs(slope).sum())
    terms = float(np.abs(s) @ (np.abs(B) @ np.abs(x) + np.abs(made.d))) / m
    optimum, error = between(made(x).value, lower, terms)
    name = f"least-absolute #{digest(made.B, made.d, weight, groups)}"
    oracle = oracle_of(made, DeviationsProof(Box(np.full(n, -reach), np.full(n, reach)), made), name)
    return Instance(oracle, None, optimum, error)


FAMILY = Generated(
    "least-absolute",
    "sparse least absolute deviations on a box, also as a sum, with a known minimizer",
    draw,
    (
        {"n": 5, "m": 20, "seed": 0},
        {"n": 20, "seed": 0},
        {"n": 20, "groups": 10, "seed": 0},
        {"n": 50, "seed": 0},
        {"n": 100, "m": 200, "groups": 20, "seed": 0},
        {"n": 500, "m": 200, "seed": 0},
        {"n": 2000, "m": 100, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-9,
    source="constructed around its minimizer",
)
