"""Cuts of a function of which a term is known: the pool keeps the cuts of the rest, and minorants are of the sum."""

from collections.abc import Sequence

import numpy as np

from oracle_opt import Domain, FeasibilityCut, Minorant, ObjectiveCut
from oracle_opt.arrays import EPS, Vector
from oracle_opt.bounds import cut_rounding
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.known_form import KnownForm
from oracle_opt.known import KnownTerm, Tangent
from oracle_opt.proof.claim import ClaimKind, CutClaim, below
from oracle_opt.proof.parts import Parts, Weighted


class WithTangent(Parts):
    """Claims of a function, each with the same tangent of a known term added: claims of the sum."""

    def __init__(self, parts: Sequence[Parts], tangent: Tangent) -> None:
        self._parts, self._tangent = parts, tangent

    def weighted(self) -> Sequence[Weighted]:
        """Return the weights with the claims of the sum; half-spaces stay as they are."""
        return [(weight, self._raised(claim)) for part in self._parts for weight, claim in part.weighted()]

    def _raised(self, claim: CutClaim) -> CutClaim:
        """The claim with the tangent."""
        if claim.kind is not ClaimKind.MINORANT:
            return claim
        tangent = self._tangent
        error = tangent.error + EPS * (abs(claim.constant) + abs(tangent.constant))
        constant, slope = below(claim.constant + tangent.constant, error), claim.slope + tangent.slope
        witness = {**claim.witness, **tangent.witness}
        return CutClaim(claim.kind, constant, slope, tolerance=claim.tolerance, witness=witness, note=claim.note)

    @property
    def size(self) -> int:
        """Of the claims."""
        return sum(part.size for part in self._parts)


class KnownPool(CutPool):
    """Cuts of f, where f plus a known term is minimized; `upper`, `best`, `value` and `minorant` are of the sum.

    Parameters
    ----------
    domain : Domain
        Where the cuts hold.
    term : KnownTerm
        What is known.

    Attributes
    ----------
    form : KnownForm
        The term as masters take it.
    """

    form: KnownForm

    def __init__(self, domain: Domain, term: KnownTerm) -> None:
        super().__init__(domain)
        self.term, self.form = term, KnownForm(term, domain)

    def add(self, cut: ObjectiveCut | FeasibilityCut) -> None:
        """Take the term off a cut and its further ones, and keep them."""
        if isinstance(cut, FeasibilityCut):
            super().add(cut)
            return
        tangent, value = self.term.touching(cut.point, self._domain), self.term.value(cut.point)
        extent = self._domain.extent
        for one in (cut, *cut.further):
            height, slope = one.value - value, one.subgradient - tangent.slope
            error, size = cut_rounding(one.point, height, slope)
            size += abs(one.value) + value + extent(slope) + extent(np.abs(one.subgradient) + np.abs(tangent.slope))
            constant, stated = height - float(slope.dot(one.point)), cut.upper - value
            self.objective.add(slope, constant, stated, size, error + 4.0 * EPS * size, origin=one.extras)
        if cut.upper < self.upper:
            self.upper, self.best = cut.upper, cut

    def flatten(self, best: ObjectiveCut) -> bool:
        """None: the best cut is one of the sum."""
        return False

    def value(self, point: Vector) -> float:
        """Value of the model of f plus the term."""
        return super().value(point) + self.term.value(point)

    def minorant(self, objective: Vector, feasibility: Vector, summands: Vector | None = None) -> Minorant | None:
        """The combination of the cuts of f plus a tangent of the term."""
        of_cuts = self._combined(objective, feasibility, summands)
        if of_cuts is None:
            return None
        tangent = self.term.tangent(of_cuts.slope, self._domain, self.form.last)
        error = of_cuts.error + tangent.error + EPS * (abs(of_cuts.constant) + abs(tangent.constant))
        return Minorant(
            of_cuts.constant + tangent.constant,
            of_cuts.slope + tangent.slope,
            error,
            of_cuts.tolerance,
            (WithTangent(of_cuts.parts, tangent),),
        )
