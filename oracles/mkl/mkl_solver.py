"""Methods made for MKL with a smooth regularizer: generators that know the problem."""

from abc import abstractmethod
from collections.abc import Generator

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import SequentialGenerator, Step
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights, MKLProblem

Steps = Generator[Query | Step, ObjectiveCut, str]


class MKLSolver(SequentialGenerator):
    """A generator for `GMKLOracle`, whose problem it learns from the oracle's domain: a coroutine, `solve`.

    It serves sums of kernels under a regularizer of a smooth dual. What it computes between two queries, before the
    first one, too, is done when the next one is asked for: after the last answer of a run nothing is computed.

    Attributes
    ----------
    rtol : float
        Relative gap that the run is to end at. It decides no more than how exact a method has to be on the way.
    """

    rtol: float = 1e-6

    @abstractmethod
    def solve(self, problem: MKLProblem, point: Vector) -> Steps:
        """Yield queries of the problem, receive their cuts; yield in turn what kind of step each cut was.

        ::

            cut = yield Query(weights)
            yield Step.SERIOUS

        The `problem` is to be solved from the weights `point`, shape (p,). Returned is why there are no more queries,
        in a few words.
        """

    def refusal(self, domain: Domain) -> str | None:
        """Nothing but the weights of a `GMKLOracle` that have an `MKLProblem`."""
        if not isinstance(domain, KernelWeights):
            return "it knows the kernels from the domain of a GMKLOracle alone"
        if domain.problem is None:
            return f"it needs a piecewise quadratic loss and a smooth dual of the regularizer, {domain.regularizer!r}"
        return self.refusal_of(domain.problem)

    def refusal_of(self, problem: MKLProblem) -> str | None:
        """Say in a few words why this method cannot serve the problem; None, the default, if it can."""
        return None

    def queries(self, domain: Domain, point: Vector) -> Steps:
        """Return the coroutine of the domain's problem."""
        if not isinstance(domain, KernelWeights) or domain.problem is None:
            raise InvalidArgument(f"`domain` must be that of a GMKLOracle with a smooth dual, got {domain!r}")
        return self.solve(domain.problem, point)

    def _start(self) -> None:
        """Its work begins when the first query is asked for."""
