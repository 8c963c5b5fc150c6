"""What witnesses of kernel weights prove: dual variables of machines by the entries of their kernels, in fractions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from math import isfinite
from operator import add
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.form_proof import (
    Products,
    forms_above,
    hyperplane_above,
    products_between,
    proven_by,
    proven_together,
)
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
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions


@dataclass(frozen=True, eq=False)
class _Read:
    """The witness of a claim: which of how many summands, or the regularizer; by machines, and of groups."""

    n_parts: int
    part: int | None
    of_regularizer: bool
    witnesses: list[tuple[int, Vector]]
    c: Vector | None


@dataclass(frozen=True, eq=False)
class KernelWeightsProof:
    """The claims of a `KernelWeightsOracle`, counted anew."""

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
        found = self._read(claim)
        if found is None:
            return None

        def computed() -> Any:
            self._checked(claim, found)
            if found.of_regularizer:
                return self._excess(claim, found, None, Fractions)
            each = [proven_by(self.banks[m], self.machines[m].dual, own, exact) for m, own in found.witnesses]
            return self._excess(claim, found, self._proven(each), Fractions)

        return judged(computed, exact)

    def cuts(self, claims: Sequence[CutClaim]) -> list[float | None]:
        """`cut` of many claims in floats, with kernels read once for all; None where floats fail or refuse one."""
        read: list[_Read | None] = []
        for claim in claims:
            try:
                found = self._read(claim)
                if found is not None:
                    self._checked(claim, found)
            except Refuted:
                found = None
            read.append(found)
        proofs: dict[tuple[int, int], Proven | None] = {}
        for m, (bank, machine) in enumerate(zip(self.banks, self.machines, strict=True)):
            mine = {k: b for k, one in enumerate(read) if one is not None for j, b in one.witnesses if j == m}
            try:
                made = proven_together(bank, machine.dual, list(mine.values()))
            except (ArithmeticError, Refuted):
                made = [None] * len(mine)
            proofs |= {(k, m): one for k, one in zip(mine, made, strict=True)}
        return [
            None if one is None else self._in_floats(claim, one, [proofs[k, m] for m, _ in one.witnesses])
            for k, (claim, one) in enumerate(zip(claims, read, strict=True))
        ]

    def _in_floats(self, claim: CutClaim, found: _Read, parts: list[Proven | None]) -> float | None:
        """By how much a claim exceeds what floats prove of its machines; None if they do not tell."""
        known = [one for one in parts if one is not None]
        if len(known) < len(parts):
            return None
        try:
            with np.errstate(all="ignore"):
                value = self._excess(claim, found, None if found.of_regularizer else self._proven(known), Floats)
        except (ArithmeticError, Refuted):
            return None
        return value if value is not None and isfinite(value) else None

    def _read(self, claim: CutClaim) -> _Read | None:
        """The witness of a claim, machine by machine; None if it is not there."""
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
        places = pairwise(ends) if part is None else [(0, size)]
        own = [(m, b[start:stop]) for m, (start, stop) in zip(chosen, places, strict=bool(chosen))]
        return _Read(n_parts, part, part == len(self.machines), own, c)

    def _checked(self, claim: CutClaim, found: _Read) -> tuple[float, Vector]:
        return claimed(claim, self.weights.domain.dimension, found.n_parts)

    def _excess(self, claim: CutClaim, found: _Read, proof: Proven | None, numbers: type[Numbers]) -> Any:
        """By how much a claim exceeds what is proven."""
        weights, (constant, slope) = self.weights, self._checked(claim, found)
        least_of: Any = Fraction(0) if numbers.exact else 0.0
        if found.of_regularizer:  # r(w) >= slope @ w - r*(slope) for any slope
            cost = weights.overshoot(numbers.of(slope))
            return None if cost is None else max((cost + constant).above(), least_of)
        assert proof is not None
        if claim.kind is ClaimKind.BOUND:
            bound = least(proof, weights)
            return None if bound is None else max((numbers.of(constant) - bound).above(), least_of)
        if found.part is not None:
            half = numbers.of(proof.forms) * 0.5
            return max((weights.support(half + slope) - proof.constant + constant).above(), least_of)
        over = excess(constant, slope, proof, weights, found.c)
        return None if over is None else max(over.above(), least_of)

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
        used: list[Products | None] = [None] * len(each)

        def bound(numbers: type[Numbers], exact: bool) -> Numbers:
            one_group = isinstance(weights, Groups) and not weights.several
            factor = stretched(w, numbers) if one_group else numbers.of(1.0)
            fixed = weights.regularized(w, numbers)
            total = numbers.of(0.0) if fixed is None else fixed
            norms = self._norms(w, d, b, exact, numbers) if weights.several else None
            for m, (bank, of, (start, stop), constant) in enumerate(each):
                own, alone = b[start:stop], len(each) == 1
                products = None if exact else used[m]
                if products is None:
                    products = products_between(bank, d, own, exact)
                    used[m] = used[m] if exact else products
                total = total + hyperplane_above(
                    bank, of.dual, own, constant, d, exact, norms, factor, alone, numbers, products
                )
                norms = None if norms is None else numbers.of(0.0)  # which the first machine has counted
            return total

        def quick() -> Floats:
            found = bound(Floats, False)
            assert isinstance(found, Floats)
            return found

        def slow(exact: bool) -> Fraction:
            return Fraction(bound(Fractions, exact).x)

        n_entries = sum(n_entries_of(bank, b[start:stop], d) for bank, _, (start, stop), _ in each)
        return judged(lambda: least_value(quick, slow, claim.upper, n_entries, exact), exact)

    def _proven(self, proofs: Sequence[Proven]) -> Proven:
        """The proof of some machines' dual variables, their forms in the order of the weights."""
        proof = reduce(add, proofs)
        return proof.with_forms(proof.forms[self.weights.order])

    def _norms(self, w: Vector, d: Vector, b: Vector, exact: bool, numbers: type[Numbers]) -> Numbers:
        """``1/2 max_j sum of d_k**2 S_k(b) / w_k over k in group j``, for weights d that are 0 where w is."""
        weights, S = self.weights, numbers.of(np.zeros(d.size))
        assert isinstance(weights, Groups)
        for bank, (start, stop) in zip(self.banks, pairwise(self.ends), strict=True):
            own = b[start:stop]
            points = np.flatnonzero(own)
            S = S + numbers.of(forms_above(bank, points, Fractions.of(own[points]).x.tolist(), exact))
        m = numbers.of(d[weights.order])
        each = m * m * S[weights.order] / np.where(w > 0, w, 1.0) * (w > 0).astype(float)
        stretches = numbers.joined([stretched(own, numbers) for own in np.split(w, weights.starts[1:])])
        return (each.group_sums(weights.starts) * stretches).max() * 0.5
