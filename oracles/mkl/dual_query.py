"""A query that tells an oracle dual variables, and asks what they prove."""

from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Query


@dataclass(frozen=True, eq=False, kw_only=True)
class DualQuery(Query):
    """Weights of kernels, and dual variables of the machine there: what these prove is asked for.

    `GMKLOracle` answers it without a machine solved, so without a combined kernel. Other oracles take it as a query
    like others.
    """

    signed_dual: Vector  # signed dual variables b, feasible up to rounding, shape (n,)
    quadratic_forms: Vector  # ``b @ K_k @ b``, shape (p,)
    decision: Vector  # ``sum_k d_k K_k @ b`` at the weights d asked about, shape (n,)
    # Products ``K_k @ b``, of which the two above were made, may be wrong by so much times the largest diagonal entry
    # of K_k.
    slack: float
    n_steps: int  # two-variable steps that led to b
    polish: bool  # whether the machine is to be solved, from b, for an upper bound of second order

    def repeats(self, previous: Query) -> bool:
        """Other dual variables are another question, at the same weights, too."""
        return (
            super().repeats(previous)
            and isinstance(previous, DualQuery)
            and self.slack == previous.slack
            and np.array_equal(self.signed_dual, previous.signed_dual)
        )
