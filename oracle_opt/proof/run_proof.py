"""Where a run's lower bound comes from: the claims behind it, gathered for a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from oracle_opt.proof.claim import CutClaim, ValueClaim
from oracle_opt.proof.parts import MOST, Combination, Parts, Weighted

if TYPE_CHECKING:
    from oracle_opt.certificates.certificate import Certificate
    from oracle_opt.cuts import ObjectiveCut
    from oracle_opt.oracle import Oracle


C = TypeVar("C", CutClaim, ValueClaim)
BARE = "it came without a witness"  # cuts told by the user or by a program that knew of none, and those too large


class RunProof:
    """The data of a certificate: the oracle, in pickles its identity, and the parts of the best lower bound.

    Parts that are not large are gathered at once, so that the generator's pool is let go.
    """

    def __init__(self, oracle: Oracle, parts: tuple[Parts, ...], source: str) -> None:
        self._oracle: Oracle | None = oracle
        self._problem = ""
        self._domain, self._convex, self._witness = oracle.domain, oracle.convex, oracle.witness
        self._source, self.relaxation = source, oracle.relaxation
        self._parts = parts
        if sum(part.n_copied for part in parts) <= MOST:
            self._gather()

    def __repr__(self) -> str:
        return f"RunProof(by {self._source}, on {self._domain!r})"

    @property
    def oracle(self) -> Oracle | None:
        """The oracle of the run; none of a proof that was pickled."""
        return self._oracle

    def __getstate__(self) -> dict[str, Any]:
        self._gather()
        return {**vars(self), "_oracle": None, "_problem": self.problem}

    @property
    def problem(self) -> str:
        """Identity of the problem."""
        return self._problem if self._oracle is None else self._oracle.problem_identity()

    def _gather(self) -> None:
        self._parts = (Combination.of(member for part in self._parts for member in part.members()),)

    def certificate(
        self, cut: ObjectiveCut | None, lower: float, upper: float, facts: Mapping[str, object]
    ) -> Certificate:
        """Make the certificate of the run, from its best cut, its bounds and what else is said of it."""
        from oracle_opt.certificates.certificate import Certificate  # only here: few runs need it
        from oracle_opt.certificates.claim_weights import fewest_claims, level_weights

        terms = level_weights(self._domain, fewest_claims(self._domain, self.terms))
        return Certificate.of(
            self._domain,
            [claim for _, claim in terms],
            np.array([weight for weight, _ in terms]),
            None if cut is None else self._noted(ValueClaim(cut.point, upper, cut.extras)),
            lower,
            upper,
            {"problem": self.problem, "convex": self._convex, **facts, "proof": self._source},
        )

    @property
    def terms(self) -> Sequence[Weighted]:
        """The claims, with their weights."""
        self._gather()
        return [(weight, self._noted(claim)) for weight, claim in self._parts[0].weighted()]

    def _noted(self, claim: C) -> C:
        """The claim with the extras that prove it alone; a note says where there are none."""
        named = {name: claim.witness[name] for name in self._witness if name in claim.witness}
        return replace(claim, witness=named, note=claim.note or (BARE if self._witness and not named else ""))
