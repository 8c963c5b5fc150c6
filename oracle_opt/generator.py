"""The query-point generator contract, and the adapter for methods written as coroutines."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from oracle_opt.answers.answer import Answer
from oracle_opt.arguments import NamedArguments
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import Exhausted, InvalidArgument
from oracle_opt.guarantee import Guarantee, Regularity
from oracle_opt.known import KnownTerm
from oracle_opt.proof.claim import ClaimKind, CutClaim, below
from oracle_opt.proof.parts import Parts, alone
from oracle_opt.words import literal, one_line


class Step(Enum):
    """What a generator did with a cut."""

    SERIOUS = "serious"
    NULL = "null"
    FEASIBILITY = "feasibility"


@dataclass(frozen=True, eq=False)
class Minorant:
    """The affine function ``constant + slope @ z - error``, proven to lie below f on the feasible set.

    Parameters
    ----------
    constant : float
        Its value at 0, before the error is taken off.
    slope : ndarray of shape (n,)
        Its gradient.
    error : float
        How far ``constant + slope @ z`` may exceed f on the domain because its numbers are rounded.
    tolerance : float
        How far it may exceed f, besides, at points that an oracle calls feasible within its tolerance: feasibility
        cuts times their errors.
    parts : tuple of Parts
        Which claims of an oracle it is made of, with weights: what a certificate is written from. Without them it is
        a claim of its own.
    extras : mapping
        Then its witness, under names that the oracle knows: see `Oracle.witness`.
    """

    __repr__ = one_line

    constant: float
    slope: Vector
    error: float = 0.0
    tolerance: float = 0.0
    parts: tuple[Parts, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)

    def minimum(self, domain: Domain) -> float:
        """Least value of ``constant + slope @ z`` on a domain, as computed: `error` is not taken off, nor rounding."""
        return self.constant + domain.minimize_linear(self.slope)[0]

    def proof(self) -> tuple[Parts, ...]:
        """What it is made of; itself, where that is not known."""
        if self.parts:
            return self.parts
        note = "" if self.extras else "a minorant that the generator's model gave"
        constant = below(self.constant, self.error)
        return alone(
            CutClaim(ClaimKind.MINORANT, constant, self.slope, tolerance=self.tolerance, witness=self.extras, note=note)
        )


class QueryPointGenerator(NamedArguments, ABC):
    """Proposes query points and learns from cuts.

    The constructor checks its parameters and stores them under their own names; `reset` builds all state. A subclass
    defines `reset`, `ask` and `tell`, and overrides the rest where it has more to say.

    Attributes
    ----------
    needs_convexity : bool
        Whether the method is meaningless on an oracle that is not convex (cutting planes are).
    takes : frozenset of kinds of answers
        What `tell` understands besides value and subgradient: `FeasibilityCut`, or kinds of `Answer`, which queries may
        wish for. A subclass sets it, ``takes = frozenset({FeasibilityCut})``, or defines it as a property where it
        depends on parameters; `needs` likewise.
    needs : frozenset of kinds of Answer
        What the method cannot do without; it takes these, too.
    reads_extras : bool
        Whether `tell` gets the extras of each cut as the oracle answered them, which is the default. A method that
        keeps many cuts and reads none sets it to `False`: it then gets those alone that prove the cut, see
        `Oracle.witness`.
    understands_infinity : bool
        Whether `tell` understands an answer of +inf, as a line search does that shortens its step. By default `tell`
        gets the cut of a point half way back, or nearer, to the best one in its place.
    takes_known : bool
        Whether the method takes a term of the function that is known, `known`, as it is. By default its cuts are of the
        sum, and linearize the term.
    known : KnownTerm or None
        That term, where the method takes it and there is one: see `know`.
    """

    needs_convexity: bool = False
    reads_extras: bool = True
    understands_infinity: bool = False
    known: KnownTerm | None = None

    @property
    def takes_known(self) -> bool:
        """Not by default."""
        return False

    def know(self, term: KnownTerm | None) -> None:
        """Take up which term of the function is known: the driver calls it before `reset`. Cuts stay those of the sum.

        Parameters
        ----------
        term : KnownTerm or None
            `Oracle.known` of the oracle that is to be minimized.
        """
        self.known = term if self.takes_known else None

    @property
    def takes(self) -> frozenset[Kind]:
        """No kind of answer."""
        return frozenset()

    @property
    def needs(self) -> frozenset[type[Answer]]:
        """No kind of answer."""
        return frozenset()

    @abstractmethod
    def reset(self, domain: Domain, point: Vector) -> None:
        """Build all state for a new run.

        Parameters
        ----------
        domain : Domain
            The set over which the run minimizes.
        point : ndarray of shape (n,)
            Where it starts, in the domain.
        """

    @abstractmethod
    def ask(self) -> Vector | Query:
        """Return the next query point; asking twice gives the same point.

        Returns
        -------
        ndarray of shape (n,) or Query
            The point, in the domain, or a query that also says which accuracy and which answers are wished for.

        Raises
        ------
        Exhausted
            The method has nothing left to ask.
        """

    @abstractmethod
    def tell(self, cut: Cut) -> Step:
        """Take up the answer.

        Parameters
        ----------
        cut : Cut
            What the oracle answered at the point that was asked about, or a cut of an earlier run.

        Returns
        -------
        Step
            What the method did with it. The first objective cut is a serious step.
        """

    def learn(self, cut: Cut) -> None:
        """Take up an answer that was given to another question, after `reset` and before a `tell` that uses it.

        Parameters
        ----------
        cut : Cut
            The answer. By default it is told, with all the work for the next question; a method that keeps cuts adds
            it to them.
        """
        self.tell(cut)

    def minorant(self) -> Minorant | None:
        """Return an affine function that the method's model proves below f on the feasible set, if it has one.

        Returns
        -------
        Minorant or None
            From it the driver proves a lower bound; `None`, the default, proves nothing.
        """
        return None

    def weight(self) -> float:
        """Return the weight of the last cut in the averaged certificate.

        Returns
        -------
        float
            Not negative; 0, the default, leaves the cut out.
        """
        return 0.0

    def inner_steps(self) -> int:
        """Return how many steps on inner problems the method has taken since `reset`, beside its own masters.

        This is for methods that spare calls by work on a model of the oracle's making. The size of that model grows
        with the data as that of a call does, so a count of calls alone would not tell what a run costs.

        Returns
        -------
        int
            By default 0.
        """
        return 0

    def refusal(self, domain: Domain) -> str | None:
        """Say why this method cannot serve a domain.

        Parameters
        ----------
        domain : Domain
            That of the oracle; asked before the first call.

        Returns
        -------
        str or None
            A few words, such as "it needs linear constraints"; `None` if it can serve the domain.
        """
        return None

    def guarantee(self, domain: Domain, start: Vector, calls: int, known: Regularity) -> Guarantee | None:
        """Say how near theory brings the best value to the minimum, on any convex function of some constants.

        Parameters
        ----------
        domain : Domain
            That of the oracle.
        start : ndarray of shape (n,)
            Where a run begins.
        calls : int
            Number of its calls, N.
        known : Regularity
            The constants, NaN where they are not known.

        Returns
        -------
        Guarantee or None
            `None`, the default, where no bound with constants is published.
        """
        return None

    def finish(self) -> None:
        """Let go of what a run holds, threads say: the driver calls it when a run is over, however it ended."""

    def parameters(self) -> dict[str, object]:
        """Return the constructor's arguments.

        Returns
        -------
        dict
            Names to values: with these a run can be repeated.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        """Class and parameters: with these a run can be repeated."""
        words = ", ".join(f"{name}={literal(value)}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({words})"


class SequentialGenerator(QueryPointGenerator):
    """A method written as a coroutine: `queries` yields points and receives cuts.

    For line-search methods, which read like their papers this way. A step is serious if the coroutine replaced
    `center` since the last answer. A coroutine may also yield the `Step` itself after each cut: its work for the next
    query is then done when that is asked for, and none after the last answer of a run. State is in the coroutine, so
    such a method can be neither copied nor pickled during a run.

    Attributes
    ----------
    center : ObjectiveCut or None
        The current accepted answer, set by `queries`.
    """

    understands_infinity = True
    center: ObjectiveCut | None = None
    _coroutine: Generator[Vector | Query | Step, Any, str | None] | None = None

    @abstractmethod
    def queries(self, domain: Domain, point: Vector) -> Generator[Vector | Query | Step, ObjectiveCut, str | None]:
        """Yield query points, receive their cuts: ``cut = yield point``; return when there is nothing left to ask.

        What it returns, if anything, says why in a few words.

        Parameters
        ----------
        domain : Domain
            The set over which the run minimizes.
        point : ndarray of shape (n,)
            Where it starts, in the domain.

        Yields
        ------
        ndarray of shape (n,), Query or Step
            The next point to ask about, or what was done with the last cut.
        """

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start the coroutine."""
        self.center = None
        self._coroutine = self.queries(domain, point)
        self._reason = f"{type(self).__name__} has finished"
        self._pending: Vector | Query | None = None
        self._start()

    def finish(self) -> None:
        """End the coroutine: what its variables hold, a cache of kernels say, is given back at once."""
        if self._coroutine is not None:
            self._coroutine.close()

    def _start(self) -> None:
        """Go on to the first query."""
        self._take(partial(next, self._coroutine))

    def ask(self) -> Vector | Query:
        """Return the point the coroutine waits at, which it goes on to if it has yielded a step last."""
        if self._pending is None and self._take(partial(next, self._coroutine)) is not None:
            raise InvalidArgument(f"`queries` of {type(self).__name__} must yield a query before the next step")
        if self._pending is None:
            raise Exhausted(self._reason)
        return self._pending

    def tell(self, cut: Cut) -> Step:
        """Send the cut to the coroutine."""
        if isinstance(cut, FeasibilityCut) and FeasibilityCut not in self.takes:
            raise InvalidArgument(f"`cut` must be an objective cut: {type(self).__name__} takes no feasibility cuts")
        pending = self._pending.point if isinstance(self._pending, Query) else self._pending
        if pending is None or not (cut.point == pending).all():
            raise InvalidArgument(
                f"`cut` must answer the pending query of {type(self).__name__}: a coroutine cannot take up old cuts"
            )
        assert self._coroutine is not None  # it has yielded a query
        before = self.center
        step = self._take(partial(self._coroutine.send, cut))
        return step or (Step.NULL if self.center is before else Step.SERIOUS)

    def _take(self, going_on: Callable[[], Vector | Query | Step]) -> Step | None:
        """Let the coroutine go on to its next query, to the end, or to a step, which is returned."""
        self._pending = None
        try:
            yielded = going_on()
        except StopIteration as end:
            self._reason = end.value or self._reason
            return None
        if isinstance(yielded, Step):
            return yielded
        self._pending = yielded
        return None
