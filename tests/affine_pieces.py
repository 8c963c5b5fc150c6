"""The function that most tests minimize: the largest of affine pieces; and its minimum."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

from oracle_opt import Domain

Pieces = np.ndarray | Sequence[Any]


def largest(slopes: np.ndarray, heights: np.ndarray | float = 0.0) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """``max(slopes @ z + heights)`` and the slope of the first piece that attains it."""

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        values = slopes @ z + heights
        i = int(values.argmax())
        return float(values[i]), slopes[i].copy()

    return function


def least_of_pieces(domain: Domain, slopes: Pieces, heights: Pieces, rows: Pieces = (), sides: Pieces = ()) -> float:
    """The minimum over a domain of the largest piece, or of the sum of the largest of several lists, by HiGHS.

    Over its points with ``rows @ z <= sides``, if there are such.
    """
    if np.ndim(heights[0]) == 0:
        slopes, heights = [slopes], [heights]
    described, n, k = domain.linear_constraints(), domain.dimension, len(slopes)
    rows = np.vstack([described.inequalities[0], *rows])
    above = [np.c_[pieces, -np.tile(np.eye(k)[j], (len(pieces), 1))] for j, pieces in enumerate(slopes)]
    solved = linprog(
        np.r_[np.zeros(n), np.ones(k)],
        A_ub=np.vstack([*above, np.c_[rows, np.zeros((len(rows), k))]]),
        b_ub=np.r_[-np.concatenate(list(heights)), described.inequalities[1], sides],
        A_eq=np.c_[described.equality_matrix, np.zeros((len(described.equality_rhs), k))],
        b_eq=described.equality_rhs,
        bounds=[*zip(described.lower, described.upper, strict=True), *[(None, None)] * k],
    )
    return float(solved.fun)
