"""What dual vectors of a second stage prove of its cost: in floats with all rounding, or in fractions.

For any pi, ``Q >= least(pi) + pi @ side`` with ``least(pi) = min (q - W' pi) @ y`` over the bounds of y, and side_i the
lower side of row i where pi_i > 0, the upper one where pi_i < 0: ``pi @ (W y) >= pi @ side`` for all y of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.benders.scenario_data import UNIT, Extended, Indices
from oracle_opt.proof.elimination import eliminated

INFEASIBLE = 1e-6  # a reduced cost on the wrong side by more than this, relative to its terms, is no rounding
_ROUNDS = 6  # of a repair
Numbers = list[Fraction]


def check_signs(pi: Matrix, row_lower: Vector, row_upper: Vector) -> None:
    """Refuse multipliers of sides that there are not."""
    wrong = ((pi > 0) & np.isinf(row_lower)) | ((pi < 0) & np.isinf(row_upper))
    if wrong.any():
        raise Refuted(f"a dual vector of its witness has the wrong sign in row {int(np.nonzero(wrong)[1][0])}")


def least_costs(
    pi: Matrix, cost: Matrix, W: sparse.csr_array, places: Indices, entries: Matrix, y_lower: Vector, y_upper: Vector
) -> tuple[Extended, Extended, Extended]:
    """``least(pi)`` for many dual vectors at a time.

    Parameters
    ----------
    pi : ndarray of shape (b, m)
    cost : ndarray of shape (1, k) or (b, k)
    W : csr_array of shape (m, k)
        0 where it varies.
    places, entries : ndarray of int, shape (e, 2), and ndarray of shape (b, e)
        Rows and columns of the entries that vary, and what they are.
    y_lower, y_upper : ndarray of shape (k,)

    Returns
    -------
    least, error : ndarray of shape (b,)
        Its value, by how much it may be wrong.
    missing : ndarray of shape (b,)
        How far a reduced cost may be on the side where y has no end, relative to the largest terms of any: where it
        is not 0, the value is that of the others.
    """
    turned = sparse.csr_array(W.T).astype(np.longdouble)
    pulled = (turned @ pi.T.astype(np.longdouble)).T
    sizes = (abs(turned) @ np.abs(pi.T).astype(np.longdouble)).T
    if len(places):
        terms = pi[:, places[:, 0]] * entries.astype(np.longdouble)
        np.add.at(pulled.T, places[:, 1], terms.T)
        np.add.at(sizes.T, places[:, 1], np.abs(terms).T)
    reduced = cost - pulled
    sizes = sizes + np.abs(cost)
    doubt = UNIT * (4 + np.diff(turned.indptr) + len(places)) * sizes
    nowhere = (y_lower == -np.inf) & (reduced + doubt > 0), (y_upper == np.inf) & (reduced - doubt < 0)
    # of a reduced cost that is 0 because all its terms are there is no doubt
    missing = np.where(nowhere[0] | nowhere[1], np.abs(reduced) + doubt, 0.0).max(axis=1, initial=0.0)
    largest = sizes.max(axis=1, initial=0.0)
    ends = np.where(np.isinf(y_lower), y_upper, y_lower), np.where(np.isinf(y_upper), y_lower, y_upper)
    low, high = (np.where(np.isinf(end), 0.0, end) for end in ends)
    terms = np.minimum(reduced * low, reduced * high)
    reach = np.maximum(np.abs(low), np.abs(high))
    error = doubt @ reach + UNIT * (len(reach) + 4) * np.abs(terms).sum(axis=1)
    return terms.sum(axis=1), 1.01 * error, missing / np.where(largest > 0, largest, 1.0)


class ExactDual:
    """One dual vector in fractions, moved by what it misses.

    Where a reduced cost is on the wrong side the equations that it be 0 are solved for entries of pi that may move,
    exactly; then it is looked at again which others are on the wrong side now.

    Parameters
    ----------
    pi : ndarray of shape (m,)
    cost : ndarray of shape (k,)
    W : csr_array of shape (m, k)
    y_lower, y_upper, row_lower, row_upper : ndarray
        As of a `TwoStageProblem`.

    Attributes
    ----------
    proven : bool
        Whether it could be made feasible.
    pi : list of Fraction
        The multipliers that are feasible.
    least : Fraction
        ``least(pi)``.
    """

    def __init__(
        self, pi: Vector, cost: Vector, W: sparse.csr_array, y_lower: Vector, y_upper: Vector, row_lower: Vector,
        row_upper: Vector,
    ) -> None:  # fmt: skip
        columns = sparse.csc_array(W)
        self._columns = [
            [(int(i), Fraction(float(v))) for i, v in zip(columns.indices[a:b], columns.data[a:b], strict=True) if v]
            for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
        ]
        self._cost = [Fraction(q) for q in cost.tolist()]
        self._falls, self._rises = np.isinf(y_lower).tolist(), np.isinf(y_upper).tolist()
        self._signs = np.isinf(row_lower).tolist(), np.isinf(row_upper).tolist()
        self.pi = [Fraction(p) for p in pi.tolist()]
        tight: list[int] = []
        reduced = self._reduced()
        wrong = self._wrong(reduced)
        for _ in range(_ROUNDS):
            if not wrong:
                break
            tight += [j for j in wrong if j not in tight]
            moved = self._moved(tight, reduced)
            if moved is None:
                break
            self.pi = moved
            reduced = self._reduced()
            wrong = self._wrong(reduced)
        self.proven = not wrong and self._signs_fit()
        self.least = Fraction(0)
        if self.proven:
            for d, low, high in zip(reduced, y_lower.tolist(), y_upper.tolist(), strict=True):
                if d:
                    self.least += d * Fraction(low if d > 0 else high)

    def _reduced(self) -> Numbers:
        pairs = zip(self._cost, self._columns, strict=True)
        return [q - sum((v * self.pi[i] for i, v in column), Fraction(0)) for q, column in pairs]

    def _wrong(self, reduced: Numbers) -> list[int]:
        """Columns whose reduced cost draws y to where it has no end."""
        each = enumerate(zip(reduced, self._falls, self._rises, strict=True))
        return [j for j, (d, falls, rises) in each if (d > 0 and falls) or (d < 0 and rises)]

    def _signs_fit(self) -> bool:
        return not any(
            (p > 0 and no_lower) or (p < 0 and no_upper)
            for p, no_lower, no_upper in zip(self.pi, *self._signs, strict=True)
        )

    def _moved(self, tight: Sequence[int], reduced: Numbers) -> Numbers | None:
        """Multipliers at which these reduced costs are 0, near to those now; None if there are none.

        The equations are ``sum_i W_ij step_i = reduced_j``, the steps of other entries being 0.
        """
        open_ = [not (no_lower and no_upper) for no_lower, no_upper in zip(*self._signs, strict=True)]
        both = [not (no_lower or no_upper) for no_lower, no_upper in zip(*self._signs, strict=True)]
        equations = (
            ({i: v for i, v in self._columns[j] if open_[i] and (both[i] or self.pi[i])}, reduced[j]) for j in tight
        )
        steps = eliminated(equations, lambda _: 1)
        if steps is None:
            return None
        return [p + steps.get(i, Fraction(0)) for i, p in enumerate(self.pi)]
