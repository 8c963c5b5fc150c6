"""The oracle contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from oracle_opt.arguments import NamedArguments
from oracle_opt.arrays import Vector, class_name
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import CapabilityMismatch
from oracle_opt.proof.claim import CutClaim, ValueClaim
from oracle_opt.words import shown

if TYPE_CHECKING:
    from fractions import Fraction

    from oracle_opt.known import KnownTerm
    from oracle_opt.proposal import Proposal
    from oracle_opt.result import Result


class Oracle(NamedArguments, ABC):
    """Answers a query point with a cut.

    A subclass sets `domain` (in its constructor) and defines `query`; the rest has defaults.

    Attributes
    ----------
    domain : Domain
        The simple set every query point lies in.
    convex : bool
        `False` if f is not convex: bounds are then no proofs and the driver reports none.
    gives : frozenset of kinds of answers
        What `query` may answer besides value and subgradient: `FeasibilityCut`, or kinds of `Answer` where the query
        wishes for them. The driver refuses an answer of any other kind.
    polyhedral : bool
        Whether f and the constraints are known to be made of finitely many affine pieces, as in a linear program.
    curved : bool
        Whether some constraint is known to be curved in many directions, as second-order and semidefinite cones are.
    costly : bool
        Whether a call takes longer than a step of any generator, so that only their number counts.
    adaptive : bool
        Whether answers depend on what was asked before, as those of an adversary do: a run then asks no probes.
    stateless : bool
        Whether nothing is left behind by a query, so that several runs may use the oracle at the same time. Else
        `minimize` refuses an oracle that another run is using.
    manner : str
        How queries are answered, where the oracle had a choice: the log of a run says it. Empty by default.
    maximizes : bool
        Whether the problem that was modeled is a maximization, of which f is minus the objective: see `Result.value`.
    at_edge : str
        What else it may mean that the best point lies at the edge of a promised set, in a sentence. Empty by default.
    relaxation : str
        Of what the problem is a relaxation, in a sentence: each result and each certificate says it. Empty by default.
    known : KnownTerm or None
        A term of f that is known in closed form, `None` by default: generators that take it linearize the rest alone.
        `Composite` of `oracle_opt.oracles` has it, and proves the minorants that come of it.
    witness : tuple of str
        Names of those `extras` of a cut that prove it: a certificate keeps them, and `prove_cut` and `prove_value` take
        them up. None by default: a certificate then holds "given the cuts".
    """

    domain: Domain
    convex: bool = True
    gives: frozenset[Kind] = frozenset()
    polyhedral: bool = False
    curved: bool = False
    costly: bool = False
    adaptive: bool = False
    stateless: bool = False
    manner: str = ""
    maximizes: bool = False
    at_edge: str = ""
    relaxation: str = ""
    known: KnownTerm | None = None
    witness: tuple[str, ...] = ()

    @abstractmethod
    def query(self, query: Query) -> Cut:
        """Answer one query; called by the driver alone, so every call is counted.

        Parameters
        ----------
        query : Query
            The point, of the domain, and what is wished for beside value and subgradient; wishes may be ignored.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            A cut of ``query.point``: the first kind where f is known, the second where the point is not feasible. The
            value +inf says "not here"; the subgradient then means nothing.

        Raises
        ------
        EmptyLocalizationSet
            The oracle proves that no point is feasible; if it gives feasibility cuts, the run then ends with
            `Status.EMPTY`. Any other exception ends it as failed and is raised again.
        """

    def reset(self) -> None:
        """Forget warm starts: the next answers are those of a new oracle."""

    def resume(self, cut: Cut) -> None:
        """Take up the warm start that answering a cut left behind: a journal is being replayed.

        Parameters
        ----------
        cut : Cut
            The recorded answer.
        """

    def wider(self, result: Result | None = None) -> Oracle | None:
        """The same oracle on a wider domain, if nobody promised where a minimizer lies and this one is too small.

        Parameters
        ----------
        result : Result, optional
            Of a run that is over; without it, before a run that begins with a solver.

        Returns
        -------
        Oracle or None
            `None`, the default, where nothing is to be widened.
        """
        return None

    def ended(self, result: Result) -> None:
        """Learn how a run ended: `minimize` tells the result that it is about to return. By default nothing is done.

        Parameters
        ----------
        result : Result
            Of the run, the last one where several followed each other on wider domains.
        """

    def fixed(self) -> Oracle:
        """Return the same oracle on a domain that no run changes, as comparisons take it.

        Returns
        -------
        Oracle
            By default this one.
        """
        return self

    def as_certified(self, problem: str) -> Oracle:
        """Return the same oracle as a certificate names its problem, where a run may take another domain: see `wider`.

        Parameters
        ----------
        problem : str
            The `problem_identity` that the certificate names.

        Returns
        -------
        Oracle
            By default this one.
        """
        return self

    def propose(self) -> Proposal | None:
        """Propose a point to ask first, and a minorant: what a solver of one's own finds at once.

        It is asked before a run for which no generator was named, see `first` of `minimize`. Nothing of it is believed.
        The same oracle always proposes the same, so that a journal can be resumed.

        Returns
        -------
        Proposal or None
            `None`, the default, if there is no such solver.
        """
        return None

    def proposed_by(self, multipliers: ArrayLike, point: ArrayLike | None = None) -> Proposal:
        """Make a proposal of the multipliers that another solver found: `notarize` asks for it.

        Parameters
        ----------
        multipliers : array_like
            Of any accuracy. Their shape and signs are those of the oracle.
        point : array_like of shape (n,), optional
            The other solver's point.

        Returns
        -------
        Proposal
            A minorant of the multipliers, with its witness; without a point where none was given.

        Raises
        ------
        InvalidArgument
            They are no such multipliers, or nothing follows from them.
        CapabilityMismatch
            This oracle takes none: the default.
        """
        raise CapabilityMismatch(f"{type(self).__name__} takes no multipliers: nothing is known that follows from them")

    def separation(self, point: Vector) -> FeasibilityCut | None:
        """Half-spaces that exclude a point which counts as feasible within a tolerance.

        The driver asks at the best point what its missing constraints may be worth: see `Result.price`.

        Parameters
        ----------
        point : ndarray of shape (n,)
            A point where `query` gave a value.

        Returns
        -------
        FeasibilityCut or None
            The constraint that is missed by most, with the others in `further`; `None`, the default, if the point is
            feasible but for rounding, or if that cannot be told.
        """
        return None

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Say by how much a cut may claim more than its witness proves, from the data of the problem.

        Called by `Certificate.verify`, with nothing but data: what is returned must hold whatever the oracle answered
        before, and whoever made the certificate.

        Parameters
        ----------
        claim : CutClaim
            The cut, and in its `witness` those extras that `Oracle.witness` names.
        exact : bool
            Whether to count in fractions; else in floats, with a bound on all rounding taken into what is returned.

        Returns
        -------
        float, Fraction or None
            The claim less this number is proven for every feasible point of the domain's promised set; 0 if it is
            proven as it stands. `None`, the default, if there is no witness to judge by: see `missing_witness`.

        Raises
        ------
        Refuted
            The witness is none: dual variables outside their box, say.
        """
        return None

    def prove_cuts(self, claims: Sequence[CutClaim]) -> Sequence[float | None]:
        """Say of many cuts at once what `prove_cut` says of each, in floats and quickly.

        `Certificate.verify` asks it first, and `prove_cut` where that could change what holds.

        Parameters
        ----------
        claims : sequence of CutClaim
            The cuts, with their witnesses.

        Returns
        -------
        sequence of float or None
            One a claim, never less than the truth; None, the default, where floats do not tell or the witness is none.
        """
        return [None] * len(claims)

    def merged(self, claims: Sequence[CutClaim], weights: Vector) -> CutClaim | None:
        """Make one claim that proves at least what the average of some does.

        Asked now and then for the cuts that a method averages. Where what a witness proves is concave in the witness,
        as of the dual variables of kernel machines, the mean of the witnesses proves more than the mean of the cuts.

        Parameters
        ----------
        claims : sequence of CutClaim
            Of cuts that this oracle answered.
        weights : ndarray of shape (number of claims,)
            Positive weights of the average.

        Returns
        -------
        CutClaim or None
            It holds as it stands, with its witness. None, the default, where the average is as good.
        """
        return None

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Compute a proven upper bound of f at a point, from the data of the problem.

        Parameters
        ----------
        claim : ValueClaim
            The point, the upper bound that is claimed, and the witness.
        exact : bool
            As of `prove_cut`.

        Returns
        -------
        float, Fraction or None
            f(point) is at most this, whatever the claim is; `None`, the default, if that cannot be told.

        Raises
        ------
        Refuted
            The point is not feasible within the oracle's tolerance, or its witness is none.
        """
        return None

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """Name what a claim lacks of the witness that an answer of its kind comes with.

        Where `prove_cut` or `prove_value` is `None` for want of these, `Certificate.verify` refuses the claim: whoever
        strips a cut of its witness could claim anything. A claim whose `note` says where it comes from is none of the
        oracle's answers, and is taken as given.

        Parameters
        ----------
        claim : CutClaim or ValueClaim
            What is claimed.

        Returns
        -------
        tuple of str
            Some names of `witness`, none if nothing is missing. The default: all where the claim has none of them. An
            oracle that needs several at once names each that is missing.
        """
        return () if any(name in claim.witness for name in self.witness) else self.witness

    def size_of_terms(self, point: Vector) -> float:
        """Size of the numbers that f(point) is computed from: rounding is relative to them where f is 0 itself.

        Parameters
        ----------
        point : ndarray of shape (n,)
            A point of the domain.

        Returns
        -------
        float
            Not negative; 0, the default, where values and cuts tell it.
        """
        return 0.0

    def __repr__(self) -> str:
        """Class and domain, in one line."""
        return f"{type(self).__name__}(on {shown(getattr(self, 'domain', None))})"

    def identity(self) -> str:
        """Return words that tell this problem from others; a journal of another identity is refused.

        The default knows the class and the domain. `oracle_opt.arrays.digest` makes words of data.

        Returns
        -------
        str
            Equal for equal problems, in every process.
        """
        convexity = "" if self.convex else "not convex, "
        return f"{class_name(type(self))}, {convexity}on {self.domain.identity()}"

    def problem_identity(self) -> str:
        """Return words that tell the function, its summands and its domain from others.

        A certificate of another function is refused. The default is `identity`; an oracle whose options change which
        answers it gives, and not what they are answers of, leaves these options out here.

        Returns
        -------
        str
            Equal for equal functions, in every process.
        """
        return self.identity()
