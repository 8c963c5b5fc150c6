"""Linear programs in rational arithmetic: the optimum of a sum of maxima of affine functions, enclosed exactly."""

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


class Program:
    """``min sum_s max_i (slope_si @ z + constant_si)`` over ``rows @ z <= rhs`` and ``equations @ z == values``.

    All data are floats and taken as exact.

    Parameters
    ----------
    summands : list of pairs
        Slopes, shape (m, n), and constants, shape (m,), of each.
    rows, rhs, equations, values : ndarray
        Constraints, those of the domain included.
    """

    def __init__(self, summands, rows, rhs, equations, values):
        self.summands, self.n = summands, rows.shape[1]
        self.rows, self.rhs, self.equations, self.values = rows, rhs, equations, values

    def enclosure(self):
        """Two rational numbers that enclose the optimum, mostly equal; (None, None) if HiGHS finds no optimum."""
        k = len(self.summands)
        epigraph = [
            np.c_[slopes, -np.tile(np.arange(k) == s, (len(slopes), 1)).astype(float)]
            for s, (slopes, _) in enumerate(self.summands)
        ]
        A = np.vstack([*epigraph, np.c_[self.rows, np.zeros((len(self.rows), k))]])
        b = np.concatenate([*(-constants for _, constants in self.summands), self.rhs])
        E, cost = np.c_[self.equations, np.zeros((len(self.equations), k))], np.r_[np.zeros(self.n), np.ones(k)]
        free = [(None, None)] * (self.n + k)
        found = linprog(cost, A, b, E if len(E) else None, self.values if len(E) else None, free, method="highs-ds")
        if found.status != 0:
            return None, None
        # the rows of the basis: equations, then inequalities by multiplier, then by slack
        order = np.lexsort((found.slack, found.ineqlin.marginals))
        everything = [*(list(map(Fraction, (*row, side))) for row, side in zip(E, self.values, strict=True))]
        everything += [list(map(Fraction, (*A[i], b[i]))) for i in order]
        basis = _independent(everything, self.n + k)
        if len(basis) < self.n + k:
            return None, None
        matrix = [everything[i][:-1] for i in basis]
        point = solve(matrix, [everything[i][-1] for i in basis])
        multipliers = solve([list(column) for column in zip(*matrix, strict=True)], list(map(Fraction, cost)))
        low = None
        if all(y <= 0 for i, y in zip(basis, multipliers, strict=True) if i >= len(E)):
            low = sum((y * everything[i][-1] for i, y in zip(basis, multipliers, strict=True)), Fraction(0))
        high = None
        if all(_dot(row[:-1], point) <= row[-1] for row in everything[len(E) :]):
            high = sum(point[self.n :], Fraction(0))
        return low, high

    def value(self, point):
        """The function at a point of floats or fractions, exactly."""
        z = list(map(Fraction, point))
        return sum(
            (
                max(_dot(map(Fraction, slope), z) + Fraction(constant) for slope, constant in zip(*one, strict=True))
                for one in self.summands
            ),
            Fraction(0),
        )


def _dot(row, point):
    return sum((a * x for a, x in zip(row, point, strict=True)), Fraction(0))


def _independent(rows, most):
    """Indices of the first linearly independent rows, by elimination."""
    echelon, chosen = [], []
    for i, row in enumerate(rows):
        rest = row[:-1]
        for pivot, other in echelon:
            if rest[pivot]:
                factor = rest[pivot] / other[pivot]
                rest = [a - factor * c if c else a for a, c in zip(rest, other, strict=True)]
        pivot = next((j for j, a in enumerate(rest) if a), None)
        if pivot is not None:
            echelon.append((pivot, rest))
            chosen.append(i)
            if len(chosen) == most:
                break
    return chosen


def solve(matrix, rhs):
    """Gauss and Jordan."""
    table = [[*row, side] for row, side in zip(matrix, rhs, strict=True)]
    n = len(table)
    for j in range(n):
        i = next(i for i in range(j, n) if table[i][j])
        table[j], table[i] = table[i], table[j]
        head = table[j]
        inverse = 1 / head[j]
        head = table[j] = [a * inverse if a else a for a in head]
        for i in range(n):
            factor = table[i][j]
            if i != j and factor:
                table[i] = [a - factor * c if c else a for a, c in zip(table[i], head, strict=True)]
    return [row[-1] for row in table]


def semidefinite(matrix):
    """Whether elimination in fractions finds no negative pivot, and only zeros beside a pivot that is zero."""
    left = [list(map(Fraction, row)) for row in matrix]
    while left:
        pivot, *row = left[0]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        left = [
            [b - x * y / pivot for b, y in zip(one[1:], row, strict=True)] if pivot else one[1:]
            for one, x in zip(left[1:], row, strict=True)
        ]
    return True
