"""What witnesses of kernel weights prove: dual variables of machines by the entries of their kernels, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.form_proof import forms_above, hyperplane_above, proven_by
from oracle_opt.oracles.mkl.formula import Proven, excess, least
from oracle_opt.oracles.mkl.kernel_machine import KernelMachine
from oracle_opt.oracles.mkl.weights import Groups, Regularized, WeightSet
from oracle_opt.oracles.mkl.witness import (
    claimed,
    judged,
    least_value,
    n_entries_of,
    stretched,
    vector_of,
    weights_of,
)
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim, missing
from oracle_opt.proof.rationals import Fractions


@dataclass(frozen=True, eq=False)
class KernelWeightsProof:
    """The claims of a `KernelWeightsOracle`, counted anew.

    Parameters
    ----------
    machines : sequence of KernelMachine
    banks : sequence of KernelBank
        Their kernels, those of several groups before a store rounded them.
    weights : WeightSet
    single : bool
        Whether cuts are laid out for the one machine there is.
    """

    machines: Sequence[KernelMachine]
    banks: Sequence[KernelBank]
    weights: WeightSet
    single: bool

    @cached_property
    def ends(self) -> list[int]:
        """Where the dual variables of each machine begin, and where the last end."""
        ends: list[int] = np.cumsum([0, *(one.bank.n_points for one in self.machines)]).tolist()
        return ends

    @property
    def n_groups(self) -> int:
        """1 where there are none."""
        return len(self.weights.groups) if isinstance(self.weights, Groups) else 1

    def missing(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """The dual variables, any bias will do; with several groups their weights, of the cut or of the machines."""
        if not self.weights.several or (isinstance(claim, CutClaim) and claim.kind is ClaimKind.BOUND):
            return missing(claim, "signed_dual")
        return missing(claim, "signed_dual", "machine_weights" if isinstance(claim, ValueClaim) else "group_weights")

    def cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Count what dual variables prove, of all machines or of one, by the entries; see `Oracle.prove_cut`."""
        weights, ends = self.weights, self.ends
        n_parts = 1 if self.single or weights.several else len(self.machines) + isinstance(weights, Regularized)
        part = claim.summand if claim.kind is ClaimKind.SUMMAND and not (self.single or weights.several) else None
        chosen = range(len(self.machines)) if part is None else range(part, min(part + 1, len(self.machines)))
        bounded = claim.kind is ClaimKind.BOUND
        name = "bound_dual" if bounded and "bound_dual" in claim.witness else "signed_dual"
        size = sum(self.machines[m].bank.n_points for m in chosen)
        b = vector_of(claim.witness, name, size) if size else np.zeros(0)
        of_groups = weights.several and not bounded
        c = vector_of(claim.witness, "group_weights", self.n_groups) if of_groups else None
        if b is None or (of_groups and c is None):
            return None

        def computed() -> Fraction | None:
            constant, slope = claimed(claim, weights.domain.dimension, n_parts)
            if part is not None and part == len(self.machines):  # r(w) >= slope @ w - r*(slope) for any slope
                cost = weights.overshoot(Fractions.of(slope))
                return None if cost is None else max((cost + constant).x, Fraction(0))
            proof = self._proven(chosen, b, ends if part is None else [0, size], exact)
            if bounded:
                bound = least(proof, weights)
                return None if bound is None else max(Fraction(constant) - bound, Fraction(0))
            if part is not None:
                half = Fractions.of(proof.forms) * 0.5
                return Fraction(max((weights.support(half + slope) - proof.constant + constant).x, Fraction(0)))
            over = excess(constant, slope, proof, weights, c)
            return None if over is None else Fraction(max(over.x, Fraction(0)))

        return judged(computed, exact)

    def value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Count the primal objective of the hyperplanes of a cut at its point; see `Oracle.prove_value`."""
        weights, ends = self.weights, self.ends
        w = weights_of(claim.point, weights.domain.dimension)
        b, bias = (
            vector_of(claim.witness, "signed_dual", ends[-1]),
            vector_of(claim.witness, "bias", len(self.machines)),
        )
        c = vector_of(claim.witness, "machine_weights", self.n_groups) if weights.several else np.ones(1)
        if b is None or c is None:
            return None
        bias = np.zeros(len(self.machines)) if bias is None else bias
        if isinstance(weights, Groups):
            weights.check_positive(c)
        d = weights.lifted(w, c)
        each = list(zip(self.banks, self.machines, pairwise(ends), bias.tolist(), strict=True))
        factor = stretched(w) if isinstance(weights, Groups) and not weights.several else Fraction(1)

        def upper(exact: bool) -> Fraction:
            fixed = weights.regularized(w, Fractions)
            total = Fraction(0) if fixed is None else fixed.x
            norms = self._norms(w, d, b, exact) if weights.several else None
            for bank, of, (start, stop), constant in each:
                own, alone = b[start:stop], len(each) == 1
                total += hyperplane_above(bank, of.dual, own, constant, d, exact, norms, factor, alone)
                norms = norms and Fraction(0)  # which the first machine has counted
            return total

        n_entries = sum(n_entries_of(bank, b[start:stop], d) for bank, _, (start, stop), _ in each)
        return judged(lambda: least_value(upper, claim.upper, n_entries, exact), exact)

    def _proven(self, chosen: Sequence[int], b: Vector, ends: Sequence[int], exact: bool) -> Proven:
        """What dual variables of some machines prove, their forms in the order of the weights."""
        each = zip(chosen, pairwise(ends), strict=True)
        proofs = [proven_by(self.banks[m], self.machines[m].dual, b[start:stop], exact) for m, (start, stop) in each]
        proof = reduce(add, proofs)
        return proof.with_forms(proof.forms[self.weights.order])

    def _norms(self, w: Vector, d: Vector, b: Vector, exact: bool) -> Fraction:
        """``1/2 max_j sum of d_k**2 S_k(b) / w_k over k in group j``, for weights d that are 0 where w is."""
        weights, S = self.weights, Fractions.of(np.zeros(d.size))
        assert isinstance(weights, Groups)
        for bank, (start, stop) in zip(self.banks, pairwise(self.ends), strict=True):
            own = b[start:stop]
            points = np.flatnonzero(own)
            S = S + Fractions.of(forms_above(bank, points, Fractions.of(own[points]).x.tolist(), exact))
        m = Fractions.of(d[weights.order])
        each = m * m * S[weights.order] / np.where(w > 0, w, 1.0) * (w > 0).astype(float)
        stretches = [stretched(own) for own in np.split(w, weights.starts[1:])]
        return Fraction((each.group_sums(weights.starts) * Fractions.of(stretches)).max().x / 2)
