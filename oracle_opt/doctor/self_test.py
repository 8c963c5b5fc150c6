"""Four small problems whose minimum is known from elsewhere: each must be proven, and lie between its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.doctor.findings import Finding, found
from oracle_opt.domains import FreeSpace, Simplex
from oracle_opt.driver import minimize
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.oracle import Oracle

if TYPE_CHECKING:
    from oracle_opt.generator import QueryPointGenerator

RTOL = 1e-6
ROUNDING = 1e-9  # of the minimum as it is written here, relative
# An interior point method on the dual, a program with quadratic constraints, agrees: tests/test_doctor.py.
MKL_MINIMUM = 249.178264115


@dataclass(frozen=True, eq=False)
class SelfTestProblem:
    """An oracle, the generator that is tried on it, and the minimum that is known without them."""

    oracle: Oracle
    generator: QueryPointGenerator
    minimum: float


def self_test() -> Iterator[Finding]:
    """Solve each problem; an exception of one does not end the others."""
    for make in (kernel_weights, matrix_game, pentagon, projection):
        name = make.__name__.replace("_", " ")
        yield from found(lambda make=make, name=name: _solved(name, make()), name)  # type: ignore[misc]


def kernel_weights() -> SelfTestProblem:
    """Weights of 52 kernels for a support vector machine on 40 points: compiled loops of oracles and generators."""
    from oracle_opt.generators import NewtonBundle
    from oracle_opt.oracles import MKLOracle, uci_bank

    points = np.sin(np.outer(np.arange(1.0, 41.0), [1.0, 2.0, 3.0]) ** 1.5)  # no random numbers: the same everywhere
    labels = np.where(points[:, 0] * points[:, 1] + 0.3 * points[:, 2] > 0, 1.0, -1.0)
    return SelfTestProblem(MKLOracle(uci_bank(points), labels, C=10.0), NewtonBundle(), MKL_MINIMUM)


def matrix_game() -> SelfTestProblem:
    """A linear program for HiGHS: the value of a skew-symmetric game is 0, here with 1 added to every entry."""
    from oracle_opt.generators import Kelley

    upper = np.triu(np.arange(400.0).reshape(20, 20) % 17 - 8, 1)
    game = upper - upper.T + 1.0
    oracle = FunctionOracle(lambda z: ((game @ z).max(), game[(game @ z).argmax()]), Simplex(20), name="matrix game")
    return SelfTestProblem(oracle, Kelley(), 1.0)


def pentagon() -> SelfTestProblem:
    """A semidefinite program for LAPACK: Lovász's theta number of the pentagon is the square root of 5."""
    from oracle_opt.generators import AnalyticCenter

    ends = np.array([(i, (i + 1) % 5) for i in range(5)]).T

    def largest_eigenvalue(z: np.ndarray) -> tuple[float, np.ndarray]:
        matrix = np.ones((5, 5))
        matrix[ends[0], ends[1]] = matrix[ends[1], ends[0]] = 1.0 + z
        values, vectors = np.linalg.eigh(matrix)
        return values[-1], 2.0 * vectors[ends[0], -1] * vectors[ends[1], -1]

    oracle = FunctionOracle(largest_eigenvalue, FreeSpace(5, radius=10.0), name="pentagon")
    return SelfTestProblem(oracle, AnalyticCenter(), float(np.sqrt(5.0)))


def projection() -> SelfTestProblem:
    """A quadratic program from cvxpy, for OSQP: the squared distance of (1, 2, 3) from the plane where x sums to 3."""
    import cvxpy as cp

    from oracle_opt.generators import LevelSet
    from oracle_opt.oracles import ConicOracle

    x = cp.Variable(3)
    program = cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1.0, 2.0, 3.0]))), [cp.sum(x) <= 3.0, x >= -10.0])
    return SelfTestProblem(ConicOracle.from_cvxpy(program), LevelSet(), 3.0)


def _solved(name: str, problem: SelfTestProblem) -> Iterator[Finding]:
    clock = perf_counter()
    result = minimize(problem.oracle, problem.generator, rtol=RTOL)
    seconds = perf_counter() - clock
    room = ROUNDING * max(1.0, abs(problem.minimum))
    lies_within = result.lower_bound - room <= problem.minimum <= result.upper_bound + room
    bounds = f"{result.lower_bound:.10g} <= {problem.minimum:.10g} <= {result.upper_bound:.10g}"
    effort = f"gap {result.relative_gap:.1e}, {result.n_calls} calls, {seconds:.2f} s"
    words = f"{bounds} by {type(problem.generator).__name__}, {effort}"
    if not lies_within:
        words += "; the known minimum, which stands in the middle, is not between the bounds"
    elif not result.success:
        words += f"; {result.message}"
    yield Finding(name, words, not (lies_within and result.success))
