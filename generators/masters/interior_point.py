"""A small dense convex quadratic program by Mehrotra's interior point method."""

from dataclasses import dataclass

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters._epigraph_steps import EpigraphProgram


@dataclass(frozen=True, eq=False)
class EpigraphSolution:
    """The result of `minimize_epigraph`.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The minimizer.
    multipliers : ndarray of shape (m,)
        Multipliers of the rows; they add up to one.
    sum_multiplier : float
        Multiplier of the equation ``sum(x) == total``.
    converged : bool
        Whether the tolerance was reached, up to a factor of 1000.
    """

    x: Vector
    multipliers: Vector
    sum_multiplier: float
    converged: bool


def minimize_epigraph(
    hessian: Matrix,
    linear: Vector,
    slopes: Matrix,
    constants: Vector,
    total: float,
    tolerance: float = 1e-9,
    max_steps: int = 50,
) -> EpigraphSolution:
    """Minimize the largest of some affine functions plus a quadratic over a simplex, by an interior point method.

    ::

        minimize 1/2 x @ hessian @ x + linear @ x + t   subject to   constants + slopes @ x <= t,   x >= 0,
        sum(x) == total

    A step costs O(n^3 + m n^2); ten to twenty are needed.

    Parameters
    ----------
    hessian : ndarray of shape (n, n)
        Positive semidefinite.
    linear : ndarray of shape (n,)
        Linear term.
    slopes, constants : ndarray of shape (m, n) and (m,)
        The rows under the epigraph, m >= 1.
    total : float
        The sum of x, positive.
    tolerance : float
        Limit on the mean complementarity, and on the residuals relative to the size of their terms.
    max_steps : int
        Limit on steps.

    Returns
    -------
    EpigraphSolution
        Minimizer and multipliers, and whether they are good.

    Notes
    -----
    Multipliers a of the rows (adding up to 1), b of x >= 0, nu of the sum. Newton's system is reduced to x and t: with
    ``W = diag(a / slack)`` it has the matrix ``[hessian + diag(b / x) + slopes' W slopes, -slopes' W 1; ., 1' W 1]``,
    from which t is eliminated, so that one Cholesky factor of order n is left. Where slacks vanish there is no such
    factor, and the last point stays.

    References
    ----------
    Mehrotra (1992), "On the implementation of a primal-dual interior point method"; Nocedal & Wright (2006), 16.6.
    """
    program = EpigraphProgram(
        np.ascontiguousarray(hessian, dtype=float),
        np.ascontiguousarray(linear, dtype=float),
        np.ascontiguousarray(slopes, dtype=float),
        np.ascontiguousarray(constants, dtype=float),
        total,
    )
    converged = program.solve(tolerance, max_steps, seconds_left)
    return EpigraphSolution(program.x, program.a, program.nu, converged)
