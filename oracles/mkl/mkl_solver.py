"""Methods made for MKL with a smooth regularizer: generators that know the problem."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from typing import Any

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import Exhausted, InvalidArgument
from oracle_opt.generator import QueryPointGenerator, Step
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights, MKLProblem


class MKLSolver(QueryPointGenerator):
    """A generator for `GMKLOracle`, whose problem it learns from the oracle's domain: a coroutine, `solve`.

    It serves sums of kernels under a regularizer of a smooth dual.

    What it computes between two queries is its own work, done when the next query is asked for: after the last answer
    of a run nothing is computed.

    Attributes
    ----------
    rtol : float
        Relative gap that the run is to end at. It decides no more than how exact a method has to be on the way.
    """

    rtol: float = 1e-6

    @abstractmethod
    def solve(self, problem: MKLProblem, point: Vector) -> Generator[Query | Step, Any, str]:
        """Yield queries of the problem, receive their cuts; yield in turn what kind of step each cut was.

        ::

            cut = yield Query(weights)
            yield Step.SERIOUS

        Parameters
        ----------
        problem : MKLProblem
            What to solve.
        point : ndarray of shape (p,)
            Weights to start from.

        Returns
        -------
        str
            Why there are no more queries, in a few words.
        """

    def refusal(self, domain: Domain) -> str | None:
        """Nothing but the weights of a `GMKLOracle` that have an `MKLProblem`."""
        if not isinstance(domain, KernelWeights):
            return "it knows the kernels from the domain of a GMKLOracle alone"
        if domain.problem is None:
            return f"it needs a sum of kernels and a smooth dual of the regularizer, {domain.regularizer!r}"
        return self.refusal_of(domain.problem)

    def refusal_of(self, problem: MKLProblem) -> str | None:
        """Say in a few words why this method cannot serve the problem; None, the default, if it can."""
        return None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Make the coroutine; its work begins when the first query is asked for."""
        if not isinstance(domain, KernelWeights) or domain.problem is None:
            raise InvalidArgument(f"`domain` must be that of a GMKLOracle with a smooth dual, got {domain!r}")
        self._coroutine = self.solve(domain.problem, point)
        self._pending: Query | None = None
        self._reason = ""

    def ask(self) -> Query:
        """Go on to the next query, or return the one that waits for its answer."""
        if self._pending is None:
            try:
                query = next(self._coroutine)
            except StopIteration as end:
                self._reason = self._reason or str(end.value)
                raise Exhausted(self._reason) from None
            if not isinstance(query, Query):
                raise InvalidArgument(f"`solve` of {type(self).__name__} must yield a Query now, got {query!r}")
            self._pending = query
        return self._pending

    def tell(self, cut: Cut) -> Step:
        """Send the cut to the coroutine, which yields what kind of step it was."""
        if self._pending is None or not (cut.point == self._pending.point).all():
            raise InvalidArgument(
                f"`cut` must answer the pending query of {type(self).__name__}: a coroutine cannot take up old cuts"
            )
        self._pending = None
        step = self._coroutine.send(cut)
        if not isinstance(step, Step):
            raise InvalidArgument(f"`solve` of {type(self).__name__} must yield a Step now, got {step!r}")
        return step
