"""Entropic mirror descent on products of simplices."""

import numpy as np

from oracle_opt import Domain, Exhausted, InvalidArgument, ObjectiveCut, QueryPointGenerator, Step
from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut


class MirrorDescent(QueryPointGenerator):
    """Multiply the weights of simplices by ``exp(-step * subgradient)``, then scale each block back to its sum.

    At the t-th call the step is ``scale * sqrt(log m) / (radius * norm(g, inf) * sqrt(t))``, m the size of the largest
    block: (8) with (9). The averaged certificate weighs each cut with its step, for which the average's bound converges
    to the minimum.

    Parameters
    ----------
    scale : float
        Factor on the step; 1 is the paper's.

    Notes
    -----
    The paper's entropy takes x / n for n blocks in place of x, and its (8) has a factor n. They cancel, and each block
    is updated by its own multiplicative rule with one step for all. Weights are kept above 1e-16 of their block's mean,
    the paper's delta, so that none stays zero for ever. If all blocks have one variable there is nothing to ask after
    the first call.

    References
    ----------
    Nath, Dinesh, Raman, Bhattacharyya, Ben-Tal & Ramakrishnan (2009), "On the algorithmics and applications of a
    mixed-norm based kernel learning formulation", (7)-(9) and Algorithm 1; Beck & Teboulle (2003), "Mirror descent and
    nonlinear projected subgradient methods", for the rate; Nesterov (2009), "Primal-dual subgradient methods for convex
    problems", for the certificate.

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import MirrorDescent
    >>> result = minimize(problems.find("matrix-game(n=3)")[0](0).oracle, MirrorDescent(), max_calls=200)
    >>> round(result.upper_bound, 3)
    1.0
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = real("scale", scale, above=0.0)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse everything but simplices and their products."""
        return "it needs a domain made of simplices" if domain.simplices() is None else None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`."""
        blocks = domain.simplices()
        assert blocks is not None  # `refusal` refuses all other domains
        self._blocks = blocks
        self._point: Vector | None = point
        self._sizes = np.asarray(blocks.sizes)
        self._floor = 1e-16 * np.repeat(blocks.radius / self._sizes, self._sizes)
        self._steps = 0
        self._weight = 0.0

    def ask(self) -> Vector:
        """Return the current point."""
        if self._point is None:
            raise Exhausted("no step changes the point")
        return self._point

    def tell(self, cut: Cut) -> Step:
        """Take one multiplicative step."""
        if not isinstance(cut, ObjectiveCut):
            raise InvalidArgument("`cut` must be an objective cut: MirrorDescent takes no feasibility cuts")
        self._steps += 1
        blocks, slopes, sizes = self._blocks, self._blocks.slopes(cut.subgradient), self._sizes
        largest = float(np.abs(slopes).max())
        log_size = float(np.log(sizes.max()))
        if largest == 0 or log_size == 0:
            self._point, self._weight = None, 1.0
            return Step.SERIOUS
        self._weight = self.scale * np.sqrt(log_size / self._steps) / (blocks.radius * largest)
        logs = np.log(np.maximum(blocks.weights(cut.point), self._floor)) - self._weight * blocks.radius * slopes
        logs -= np.repeat(np.maximum.reduceat(logs, blocks.starts), sizes)
        raised = np.exp(logs)
        self._point = blocks.point(blocks.radius * raised / np.repeat(np.add.reduceat(raised, blocks.starts), sizes))
        return Step.SERIOUS

    def weight(self) -> float:
        """Return the step of the last cut."""
        return self._weight
