"""Three small problems whose minimum is known from elsewhere: each must be proven, and lie between its bounds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.domains import Simplex
from oracle_opt.driver import minimize
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.oracle import Oracle

if TYPE_CHECKING:
    from oracle_opt.generator import QueryPointGenerator

    Known = tuple[Oracle, QueryPointGenerator, float]  # the generator that is tried, and the minimum

RTOL = 1e-6
ROUNDING = 1e-9  # of the minimum as it is written here, relative
# An interior point method on the dual, a program with quadratic constraints, agrees: tests/test_doctor.py.
MKL_MINIMUM = 249.178264115


def problems() -> dict[str, Callable[[], Known]]:
    """What makes the problems, by name."""
    return {"kernel weights": kernel_weights, "matrix game": matrix_game, "projection": projection}


def kernel_weights() -> Known:
    """Weights of 52 kernels for a support vector machine on 40 points: compiled loops of oracles and generators."""
    from oracle_opt.generators import NewtonBundle
    from oracle_opt.oracles import MKLOracle, uci_bank

    points = np.sin(np.outer(np.arange(1.0, 41.0), [1.0, 2.0, 3.0]) ** 1.5)  # no random numbers: the same everywhere
    labels = np.where(points[:, 0] * points[:, 1] + 0.3 * points[:, 2] > 0, 1.0, -1.0)
    return MKLOracle(uci_bank(points), labels, C=10.0), NewtonBundle(), MKL_MINIMUM


def matrix_game() -> Known:
    """A linear program for HiGHS: the value of a skew-symmetric game is 0, here with 1 added to every entry."""
    from oracle_opt.generators import Kelley

    upper = np.triu(np.arange(400.0).reshape(20, 20) % 17 - 8, 1)
    game = upper - upper.T + 1.0
    oracle = FunctionOracle(lambda z: ((game @ z).max(), game[(game @ z).argmax()]), Simplex(20), name="matrix game")
    return oracle, Kelley(), 1.0


def projection() -> Known:
    """A quadratic program from cvxpy, for OSQP: the squared distance of (1, 2, 3) from the plane where x sums to 3."""
    import cvxpy as cp

    from oracle_opt.generators import LevelSet
    from oracle_opt.oracles import ConicOracle

    x = cp.Variable(3)
    program = cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1.0, 2.0, 3.0]))), [cp.sum(x) <= 3.0, x >= -10.0])
    return ConicOracle.from_cvxpy(program), LevelSet(), 3.0


def tried(oracle: Oracle, generator: QueryPointGenerator, minimum: float) -> tuple[str, bool]:
    """Solve a problem: what came of it in words, and whether that is wrong."""
    clock = perf_counter()
    result = minimize(oracle, generator, rtol=RTOL)
    effort = f"gap {result.relative_gap:.1e}, {result.n_calls} calls, {perf_counter() - clock:.2f} s"
    room = ROUNDING * max(1.0, abs(minimum))
    lies_within = result.lower_bound - room <= minimum <= result.upper_bound + room
    bounds = f"{result.lower_bound:.10g} <= {minimum:.10g} <= {result.upper_bound:.10g}"
    words = f"{bounds} by {type(generator).__name__}, {effort}"
    if not lies_within:
        words += "; the known minimum, which stands in the middle, is not between the bounds"
    elif not result.success:
        words += f"; {result.message}"
    return words, not (lies_within and result.success)
