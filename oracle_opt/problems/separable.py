"""Separable functions of many variables, whose minimizer has a closed form."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.arrays import Vector, digest
from oracle_opt.domains import Box, Domain
from oracle_opt.problems.function_proof import FunctionProof, ProvenTangent, halved, oracle_of
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, between
from oracle_opt.proof.claim import CutClaim
from oracle_opt.proof.enclosure import Enclosure


@dataclass(frozen=True, eq=False)
class SeparableSum:
    """``mean_j h_j (x_j - c_j)^2 / 2 + u_j |x_j|``."""

    h: Vector
    c: Vector
    u: Vector

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        """Value and subgradient."""
        away, n = x - self.c, len(x)
        value = float(0.5 * (self.h @ away**2) + self.u @ np.abs(x)) / n
        return value, (self.h * away + self.u * np.sign(x)) / n


class SeparableProof(FunctionProof):
    """``mean_j h_j (x_j - c_j)^2 / 2 + u_j |x_j|``: the slope of a cut tells the point where it was taken."""

    def __init__(self, domain: Domain, function: SeparableSum) -> None:
        super().__init__(domain)
        self.function = function

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """With ``h (t - c) + u s`` the slope times n, for the t and for the s between -1 and 1 of each variable."""
        it, n = self.function, self.domain.dimension
        above, below = (it.c + (n * claim.slope + sign * it.u) / it.h for sign in (-1.0, 1.0))
        t = np.where(above > 0, above, np.where(below < 0, below, 0.0))
        rest = np.divide(n * claim.slope + it.h * it.c, it.u, out=np.zeros(n), where=it.u > 0)
        s = np.where(t == 0, np.clip(rest, -1.0, 1.0), np.sign(t))
        at, pull = Enclosure.of(t, exact), Enclosure.of(s, exact) * it.u
        bent = (at - it.c) * it.h
        return [ProvenTangent((halved(bent * (at - it.c)) + pull * at).sum() / n, (bent + pull) / n, t)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The mean."""
        it, x = self.function, Enclosure.of(point, exact)
        away = x - it.c
        return (halved(away * away * it.h) + Enclosure.of(np.abs(point), exact) * it.u).sum() / len(point)


def draw(n: int = 1000, condition: float = 10.0, seed: int = 0) -> Instance:
    """Draw ``mean_j h_j (x_j - c_j)^2 / 2 + u_j |x_j|`` on [-1, 1]^n: some x_j are 0 at the minimizer, some at a bound.

    Logarithms of h_j are uniform between those of `condition` and its inverse, c_j normal, u_j / h_j uniform on [0, 1].
    """
    condition = real("condition", condition, least=1.0)
    rng = np.random.default_rng(seed)
    h = condition ** -rng.uniform(0.0, 1.0, n)
    made = SeparableSum(h, rng.normal(size=n), h * rng.uniform(0.0, 1.0, n))
    x = np.clip(np.sign(made.c) * np.maximum(np.abs(made.c) - made.u / h, 0.0), -1.0, 1.0)
    # the subgradient at x nearest to 0; where x is at a bound it points outward
    upper, slope = made(x)
    slope = np.where(x == 0, 0.0, slope)
    outward = (np.abs(x) == 1) & (slope * x < 0)
    lower = upper - float(np.abs(slope[~outward]) @ (1.0 + np.abs(x[~outward])))
    optimum, error = between(upper, lower, 1.0 + float(made.h @ made.c**2) / n)
    domain = Box(-np.ones(n), np.ones(n))
    oracle = oracle_of(made, SeparableProof(domain, made), f"separable #{digest(made.h, made.c, made.u)}")
    return Instance(oracle, None, optimum, error)


FAMILY = Generated(
    "separable",
    "separable quadratic functions with absolute values on a box",
    draw,
    (
        {"n": 10, "seed": 0},
        {"n": 100, "seed": 0},
        {"n": 1000, "seed": 0},
        {"n": 10000, "condition": 1.0, "seed": 0},
    ),
    source="minimizer in closed form",
)
