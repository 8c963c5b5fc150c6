"""Benders' decomposition of two-stage stochastic linear programs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import instance, real, whole
from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.cuts import Cut, FeasibilityCut, Query
from oracle_opt.domains import Domain
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.benders.gathered import Frame, Gathered
from oracle_opt.oracles.benders.recourse import Basis, DualVertex, Recourse
from oracle_opt.oracles.benders.smps import read_smps
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

_CHUNK = 1 << 16  # scenarios whose sides are in memory at a time
_MOST_CUTS = 50  # feasibility cuts of one answer


@dataclass(frozen=True)
class Estimate:
    """A mean over sampled scenarios, and half the width of its confidence interval."""

    mean: float
    half_width: float


class BendersOracle(Oracle):
    """``f(x) = c @ x + sum_s p_s Q_s(x)``, Q_s the value of the second stage in scenario s.

    The multipliers of each scenario's program give a minorant of Q_s, whatever their quality, and its rays a half-space
    of the x for which it is feasible. Where only right-hand sides and the technology matrix vary, all scenarios are
    served a basis at a time: a basis optimal for one is so for every scenario whose basic variables stay within their
    bounds, which one matrix product tells ("bunching"); else each scenario is a warm-started program of its own.
    Cuts hold to the last bit: multipliers are moved inside the feasible ones by what they miss, and what the points
    found miss costs at most what multipliers can be (docs/theory.md). Two tolerances remain. Where a variable of the
    second stage is free, or all costs of a direction without end are 0, reduced costs below 1e-9 count as zero. Where
    multipliers have no bound, as without complete recourse, what is missed, at most 1e-7, is priced at ten times those
    found: the upper bound rests on that.

    Parameters
    ----------
    problem : TwoStageProblem
        The data; `from_smps` reads them.
    n_samples : int, optional
        Draw so many scenarios instead of taking all: f is then the sampled average.
    seed : int
        Seed of the random numbers that draw the scenarios.
    n_summands : int
        Give the sum as so many `summands` (multicut), groups of scenarios; default 1: a single cut.
    radius : float
        Stands in for infinite bounds of x, default 1e6: a promise that some minimizer is within; the lower bounds rest
        on it.
    n_threads : int
        Threads for scenarios whose costs or recourse vary, default 1; the answer does not depend on it.

    Attributes
    ----------
    domain : Polyhedron
        The first stage.

    Raises
    ------
    InvalidArgument
        Arguments out of range, a first stage without a point, more than 10 million scenarios and no `n_samples`.

    References
    ----------
    .. [1] Van Slyke, Wets (1969), "L-shaped linear programs", SIAM J. Appl. Math. 17:638-663.
    .. [2] Birge, Louveaux (1988), "A multicut algorithm for two-stage stochastic linear programs".
    .. [3] Wets (1988), "Large scale linear programming techniques in stochastic programming", for bunching.

    Examples
    --------
    Buy x at 1, sell at most the demand, 2 or 6, at 3:

    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
    >>> demand = RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
    >>> shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -float("inf"), [0, 2], [demand], x_upper=10)
    >>> round(float(minimize(BendersOracle(shop), Kelley()).point[0]), 9)
    6.0
    """

    gives = frozenset({FeasibilityCut})

    def __init__(
        self,
        problem: TwoStageProblem,
        *,
        n_samples: int | None = None,
        seed: int = 0,
        n_summands: int = 1,
        radius: float = 1e6,
        n_threads: int = 1,
    ) -> None:
        instance("problem", problem, TwoStageProblem, "a TwoStageProblem; BendersOracle.from_smps reads files")
        n_samples = None if n_samples is None else whole("n_samples", n_samples)
        n_summands, n_threads = whole("n_summands", n_summands), whole("n_threads", n_threads)
        seed, radius = whole("seed", seed, 0), real("radius", radius, above=0.0, infinite=True)
        if n_samples is None and problem.n_scenarios > 10_000_000:
            raise InvalidArgument(f"`problem` has {problem.n_scenarios} scenarios; give `n_samples` to draw some")
        self.problem = problem
        self.n_samples, self.seed, self.n_threads = n_samples, seed, n_threads
        drawn = problem.all_scenarios() if n_samples is None else problem.sample(n_samples, seed)
        self._outcomes, self._probability = drawn
        self.n_summands = min(n_summands, len(self._probability))
        self.domain: Domain = _first_stage(problem, radius)
        self._boxes = problem.multiplier_boxes()
        self._frame = Frame.of(problem, self._probability, self.n_summands, radius)
        self.reset()

    @classmethod
    def from_smps(
        cls,
        core: str | os.PathLike[str],
        *,
        maximize: bool = False,
        rescale: bool = False,
        n_samples: int | None = None,
        seed: int = 0,
        n_summands: int = 1,
        radius: float = 1e6,
        n_threads: int = 1,
    ) -> BendersOracle:
        """Read the SMPS files beside a core file; see `read_smps` and the class."""
        problem = read_smps(core, maximize=maximize, rescale=rescale)
        return cls(problem, n_samples=n_samples, seed=seed, n_summands=n_summands, radius=radius, n_threads=n_threads)

    def reset(self) -> None:
        """Forget the bases found."""
        p = self.problem
        self._bases: list[Basis] = []
        signs, bounds = self._boxes
        self._programs = [Recourse(p.q, p.W, p.y_lower, p.y_upper, signs, bounds) for _ in range(self.n_threads)]

    def query(self, query: Query) -> Cut:
        """Solve all scenarios at x.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            Half-spaces of up to 50 infeasible scenarios, or the cut of the expectation, with `summands` for multicut.
        """
        x = np.asarray(query.point)
        gathered = Gathered(self._frame, x, self.n_summands, len(self._probability))
        serve = self._serve_bunched if self.problem.only_rows_vary else self._serve_singly
        serve(x, self._outcomes, self._probability, gathered)
        return gathered.cut()

    def estimate(self, x: Vector, count: int, seed: int, level: float = 0.95) -> Estimate:
        """Mean of ``c @ x + Q_s(x)`` over freshly drawn scenarios, with its normal confidence interval.

        The expectation of a sampled problem's optimal value lies below the true one; so bounds from several seeds
        against this estimate at their best x bound the optimality gap (Mak, Morton & Wood 1999).
        """
        outcomes, probability = self.problem.sample(count, seed)
        gathered = Gathered(self._frame, np.asarray(x, dtype=float), count, count)
        serve = self._serve_bunched if self.problem.only_rows_vary else self._serve_singly
        serve(np.asarray(x, dtype=float), outcomes, probability, gathered)
        if gathered.feasibility:
            raise InvalidArgument("`x` must be feasible in every scenario drawn, and one has no second stage there")
        values = np.asarray(gathered.value * count, dtype=float)
        base = float(self.problem.c @ x) + self.problem.offset
        half = NormalDist().inv_cdf(0.5 + 0.5 * level) * float(values.std(ddof=1)) / float(np.sqrt(count))
        return Estimate(base + float(values.mean()), half)

    def identity(self) -> str:
        """Data, draw and number of summands."""
        scenarios = f"{len(self._probability)} scenarios #{digest(self._outcomes, self._probability)}"
        return f"{super().identity()}, program #{self.problem.digest()}, {scenarios}, {self.n_summands} summands"

    def _serve_bunched(self, x: Vector, outcomes: NDArray[np.intp], p: Vector, gathered: Gathered) -> None:
        """Bases known first, a new one from the first scenario that is left, until none is."""
        for start in range(0, len(p), _CHUNK):
            part = slice(start, start + _CHUNK)
            lower, upper = self._frame.row_sides(x, outcomes[part])
            left = np.arange(len(lower))
            for basis in self._bases:
                left = self._settle(basis, left, start, lower, upper, outcomes, p, gathered)
                if not len(left):
                    break
            while len(left):
                feasible, dual, value = self._programs[0].solve(lower[left[0]], upper[left[0]], gathered.rounding)
                if not feasible:
                    cuts = dual.values(lower[left], upper[left])
                    if not cuts[0] > 0:
                        raise RuntimeError("HiGHS calls a scenario infeasible and its ray does not prove it")
                    gathered.add_ray(dual, start + left[0], float(cuts[0]), outcomes)
                    left = left[cuts <= 0]
                    if len(gathered.feasibility) >= _MOST_CUTS:
                        return
                    continue
                one = left[:1]
                found = self._programs[0].basis(dual)
                if found is not None:
                    self._bases.append(found)
                    left = self._settle(found, left, start, lower, upper, outcomes, p, gathered)
                # a basis may miss its own scenario by more than the tolerance and still fit others
                if len(left) and left[0] == one[0]:
                    gathered.add(dual, start + one, dual.values(lower[one], upper[one]), np.array([value]), outcomes, p)
                    left = left[1:]
        self._bases = self._bases[-500:]

    def _settle(
        self,
        basis: Basis,
        left: NDArray[np.intp],
        start: int,
        lower: Matrix,
        upper: Matrix,
        outcomes: NDArray[np.intp],
        p: Vector,
        gathered: Gathered,
    ) -> NDArray[np.intp]:
        """Serve those for which the basis is optimal; give the others."""
        fits, bounds = basis.serve(lower[left], upper[left], gathered.sides, gathered.rate)
        served = left[fits]
        if len(served):
            values = basis.values(lower[served], upper[served])
            gathered.add(basis, start + served, values, bounds, outcomes, p)
        return left[~fits]

    def _serve_singly(self, x: Vector, outcomes: NDArray[np.intp], p: Vector, gathered: Gathered) -> None:
        """A program a scenario, threads over equal shares; gathered in order."""
        lower, upper = self._frame.row_sides(x, outcomes)

        def share(program: Recourse, members: NDArray[np.intp]) -> list[tuple[bool, DualVertex, float]]:
            answers = []
            for s in members:
                for block, outcome in zip(self.problem.blocks, outcomes[s], strict=True):
                    assert block.cost is not None
                    assert block.recourse is not None
                    if len(block.cost_columns):
                        program.change_cost(block.cost_columns, block.cost[outcome])
                    if len(block.recourse_entries):
                        program.change_matrix(block.recourse_entries, block.recourse[outcome])
                answers.append(program.solve(lower[s], upper[s], gathered.rounding))
            return answers

        shares = np.array_split(np.arange(len(p)), self.n_threads)
        with ThreadPoolExecutor(self.n_threads) as pool:
            answers = [answer for part in pool.map(share, self._programs, shares) for answer in part]
        for s, (feasible, dual, _) in enumerate(answers):
            if not feasible and len(gathered.feasibility) < _MOST_CUTS:
                violation = float(dual.values(lower[[s]], upper[[s]])[0])
                if not violation > 0:
                    raise RuntimeError("HiGHS calls a scenario infeasible and its ray does not prove it")
                gathered.add_ray(dual, s, violation, outcomes)
        if not gathered.feasibility:
            pi = np.array([dual.multipliers for _, dual, _ in answers])
            constants, bounds = np.array([(dual.constant, bound) for _, dual, bound in answers]).T
            gathered.add_each(pi, constants, np.arange(len(p)), lower, upper, bounds, outcomes, p)


def _first_stage(problem: TwoStageProblem, radius: float) -> Polyhedron:
    lower, upper = np.maximum(problem.x_lower, -radius), np.minimum(problem.x_upper, radius)
    equal = problem.first_lower == problem.first_upper
    above = np.isfinite(problem.first_upper) & ~equal
    below = np.isfinite(problem.first_lower) & ~equal
    A = problem.A.toarray()
    rows, sides = np.vstack([A[above], -A[below]]), np.r_[problem.first_upper[above], -problem.first_lower[below]]
    used = np.abs(rows).max(axis=1, initial=0.0) > 0
    return Polyhedron(
        rows[used],
        sides[used],
        equality_matrix=A[equal],
        equality_rhs=problem.first_upper[equal],
        lower=lower,
        upper=upper,
    )
