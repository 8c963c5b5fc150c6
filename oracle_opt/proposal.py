"""What a solver of an oracle's own proposes before a run: a point to ask first, and a minorant that is proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, Kind, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.generator import Minorant, QueryPointGenerator, SequentialGenerator, Step
from oracle_opt.known import KnownTerm
from oracle_opt.words import one_line

if TYPE_CHECKING:
    from oracle_opt.oracle import Oracle


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point that is asked first, a call like any other. Nothing of the solver is believed.

    Parameters
    ----------
    point : ndarray of shape (n,) or None
        A point of the domain; `None` if the solver found none.
    minorant : Minorant or None
        An affine function below f, with a witness in its `extras` that `Oracle.prove_cut` takes.
    words : str
        What the solver was and how it ended, such as "Clarabel: Solved".
    unbounded : str
        The direction, in words, in which f is proven to fall without end from every feasible point; default none.
    empty : str
        What proves that no point of the domain is feasible; default nothing. A run that finds none ends by it.
    oracle : Oracle, optional
        The same problem on a domain of which nothing is promised, where `Oracle.proposed_by` proves it there.
    """

    __repr__ = one_line

    point: Vector | None
    minorant: Minorant | None
    words: str
    unbounded: str = ""
    empty: str = ""
    oracle: Oracle | None = None


class SolverFirst(QueryPointGenerator):
    """Asks the point of a proposal; where that leaves a gap another generator goes on from there, built only then."""

    def __init__(self, proposal: Proposal, inner: QueryPointGenerator) -> None:
        self.proposal, self.inner = proposal, inner
        self.needs_convexity, self.reads_extras = inner.needs_convexity, inner.reads_extras
        self.understands_infinity = inner.understands_infinity

    def __repr__(self) -> str:
        return f"SolverFirst({self.proposal.words!r}, {self.inner!r})"

    @property
    def takes(self) -> frozenset[Kind]:
        """As the other one."""
        return self.inner.takes

    def know(self, term: KnownTerm | None) -> None:
        """Tell the other one."""
        self.inner.know(term)
        self.known = self.inner.known

    def reset(self, domain: Domain, point: Vector) -> None:
        """Keep the domain; the other generator begins when it is needed."""
        self._domain, self._first = domain, True
        self._kept: Cut | None = None

    def ask(self) -> Vector | Query:
        """The proposed point first."""
        assert self.proposal.point is not None  # else nothing is proposed
        if self._first:
            return self.proposal.point
        if self._kept is not None:
            kept, self._kept = self._kept, None
            self.inner.reset(self._domain, self.proposal.point.copy())
            if isinstance(self.inner, SequentialGenerator):  # takes answers to its own questions alone
                return self.inner.ask()
            self.inner.tell(kept)
        return self.inner.ask()

    def tell(self, cut: Cut) -> Step:
        """Keep the first answer until the other generator is needed."""
        if not self._first:
            return self.inner.tell(cut)
        self._first, self._kept = False, cut
        return Step.SERIOUS if isinstance(cut, ObjectiveCut) else Step.FEASIBILITY

    def minorant(self) -> Minorant | None:
        """The proposal's minorant first."""
        return self.inner.minorant() if self._kept is None else self.proposal.minorant

    def weight(self) -> float:
        """As the other one, where it was told."""
        return self.inner.weight() if self._kept is None else 0.0

    def inner_steps(self) -> int:
        """As the other one, where it was told."""
        return self.inner.inner_steps() if self._kept is None else 0
