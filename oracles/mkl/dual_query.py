"""A query that tells an oracle dual variables, and asks what they prove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Query


@dataclass(frozen=True, eq=False, kw_only=True)
class DualQuery(Query):
    """Weights of kernels, and dual variables of the machine there: what these prove is asked for.

    `GMKLOracle` answers it without a machine solved, so without a combined kernel. Other oracles take it as a query
    like others.

    Parameters
    ----------
    signed_dual : ndarray of shape (n,)
        Signed dual variables b, feasible up to rounding.
    quadratic_forms : ndarray of shape (p,)
        ``b @ K_k @ b``.
    decision : ndarray of shape (n,)
        ``sum_k d_k K_k @ b`` at the weights d asked about.
    slack : float
        Products ``K_k @ b``, of which the two above were made, may be wrong by so much times the largest diagonal entry
        of K_k.
    n_steps : int
        Two-variable steps that led to b.
    polish : bool
        Whether the machine is to be solved, from b, for an upper bound of second order.
    """

    signed_dual: Vector
    quadratic_forms: Vector
    decision: Vector
    slack: float
    n_steps: int
    polish: bool

    def repeats(self, previous: Query) -> bool:
        """Other dual variables are another question, at the same weights, too."""
        return (
            super().repeats(previous)
            and isinstance(previous, DualQuery)
            and self.slack == previous.slack
            and np.array_equal(self.signed_dual, previous.signed_dual)
        )
