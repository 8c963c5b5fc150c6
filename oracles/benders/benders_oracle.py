"""Benders' decomposition of two-stage stochastic linear programs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import finite, instance, instances, real, whole
from oracle_opt.arrays import Vector, digest
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.executors import Workers, successive
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.benders.benders_proposal import minorant, proposed
from oracle_opt.oracles.benders.dual_simplex import LARGEST, small_enough
from oracle_opt.oracles.benders.first_stage import first_stage, first_stage_bounds, first_stage_point
from oracle_opt.oracles.benders.infeasible_scenarios import depends_on_x
from oracle_opt.oracles.benders.prices import price_frame, prices
from oracle_opt.oracles.benders.risk import CVaR
from oracle_opt.oracles.benders.scenario_data import ScenarioData
from oracle_opt.oracles.benders.scenario_duals import RAY, RAY_OF, SECTION, VERTEX_OF, VERTICES
from oracle_opt.oracles.benders.scenario_proof import cut_excess
from oracle_opt.oracles.benders.scenario_servers import Packed, server_of, share_of
from oracle_opt.oracles.benders.scenario_solvers import MOST_CUTS, Bunched
from oracle_opt.oracles.benders.scenario_values import value_bound
from oracle_opt.oracles.benders.second_stage import Drawing, SecondStage, with_implied_bounds
from oracle_opt.oracles.benders.second_stage_solutions import SecondStageSolutions, solved_scenarios
from oracle_opt.oracles.benders.smps import read_smps
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.oracles.benders.warm_start import known_bases
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim, missing
from oracle_opt.proposal import Proposal
from oracle_opt.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

_PARTS = 8  # tasks of a query by an executor


@dataclass(frozen=True)
class Estimate:
    """A mean over sampled scenarios, and half the width of its confidence interval.

    Attributes
    ----------
    mean : float
        The mean.
    half_width : float
        The interval reaches from ``mean - half_width`` to ``mean + half_width``.
    """

    mean: float
    half_width: float


class BendersOracle(Oracle):
    """``f(x) = c @ x + sum_s p_s Q_s(x)``, Q_s the value of the second stage in scenario s.

    The multipliers of each scenario's program give a minorant of Q_s, whatever their quality, and its rays a half-space
    of the x for which it is feasible. Where only right-hand sides and the technology matrix vary, scenarios share
    dual vertices ("bunching"). One product gives the value of every known vertex in every scenario, and the best one is
    optimal if the basis it came from is feasible there. Where costs or the recourse matrix vary, each scenario keeps
    its own. Scenarios for which it is not optimal any more take dual simplex steps from it, many at a time; HiGHS
    solves the first one, those that this fails for, and all where the second stage has more than 300 rows. What is kept
    takes 128 MiB at most; of shared vertices those go first that were best for no scenario for longest. Cuts hold to
    the last bit: multipliers are moved inside the feasible ones by what they miss, and what the points found miss costs
    at most what multipliers can be (docs/theory_benders.md). Two tolerances remain. Where a variable of the second
    stage is free, or all costs of a direction without end are 0, reduced costs below 1e-9 of the largest count as zero.
    Where multipliers have no bound, as without complete recourse, what is missed is priced at ten times those found:
    the upper bound rests on that. It is at most 1e-6 of 1 and the terms of a row; a scenario that is infeasible by more
    gives a half-space. Rows and variables of the second stage are counted in units of their own, powers of 2, so that
    this holds whatever units the problem has.

    With an `executor` each of its processes makes the scenarios once, from the problem and the seed. A task gets x and
    the numbers of its scenarios, and brings back their sums, and the dual vectors that prove them. It begins with a
    program that has solved nothing and knows no vertices, so its answer is the same whoever does it, and a worker that
    dies costs its task alone. Without, and without `parts`, vertices and programs are kept from query to query, which
    is faster.

    Parameters
    ----------
    problem : TwoStageProblem
        The data; `from_smps` reads them.
    n_samples : int, optional
        Draw so many scenarios instead of taking all: f is then the sampled average.
    seed : int
        Seed of the random numbers that draw the scenarios.
    n_summands : int, optional
        Give the sum as so many `summands` (multicut), groups of scenarios of about one size; 1 is a single cut.
        Default: one for each scenario, and at most 20.
    radius : float
        Stands in for infinite bounds of x that the first stage's rows do not imply, default 1e6: a promise that some
        minimizer is within, on which the lower bounds rest. Finite bounds stay as they are; where the other bound lies
        on that side of 0, the radius is counted from twice that. Runs that end at it say so.
    executor : concurrent.futures.Executor, optional
        Does the scenarios: threads, processes, or ``client.get_executor(pure=False)`` of a Dask client. It is the
        user's to shut down.
    parts : int, optional
        Tasks that the scenarios of a query are cut into, whatever the number of workers; default is 8 with an executor.
        Which of several optimal multipliers a scenario gets, and hence the last digits of a cut, depends on it; who
        does the tasks moves no bit.
    warm : BendersOracle, optional
        An oracle that has answered, on a problem with the same second stage but for right-hand sides, technology matrix
        and probabilities. The dual vertices that it knows are known from the start, and `shifted` makes cuts of them.
        Where costs or W differ, those of its bases are that are still dual feasible.
    risk : CVaR, optional
        What the scenarios' costs count as in place of their mean; `problem` is then the program that it makes, in which
        the first stage has one variable more.

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
    witness = VERTICES, VERTEX_OF, RAY, RAY_OF, SECTION

    def __init__(
        self,
        problem: TwoStageProblem,
        *,
        n_samples: int | None = None,
        seed: int = 0,
        n_summands: int | None = None,
        radius: float = 1e6,
        executor: Executor | None = None,
        parts: int | None = None,
        warm: BendersOracle | None = None,
        risk: CVaR | None = None,
    ) -> None:
        instance("problem", problem, TwoStageProblem, "a TwoStageProblem; BendersOracle.from_smps reads files")
        if risk is not None:
            problem = instance("risk", risk, CVaR, "a measure of risk such as CVaR(0.9)").of(problem)
        self.maximizes = problem.maximize
        if problem.n_whole:
            side = "above" if problem.maximize else "below"
            self.relaxation = (
                f"RELAXATION: {problem.n_whole} whole variables count as any numbers here, and the proven bound lies "
                f"{side} the optimum in whole numbers."
            )
        n_samples = None if n_samples is None else whole("n_samples", n_samples)
        n_summands = None if n_summands is None else whole("n_summands", n_summands)
        seed, radius = whole("seed", seed, 0), real("radius", radius, above=0.0, infinite=True)
        self.parts = _PARTS if parts is None and executor is not None else parts
        self.parts = None if self.parts is None else whole("parts", self.parts)
        if n_samples is None and problem.n_scenarios > 10_000_000:
            raise InvalidArgument(f"`problem` has {problem.n_scenarios} scenarios; give `n_samples` to draw some")
        self.problem = problem
        self.n_samples, self.seed = n_samples, seed
        self.domain: Domain = (domain := first_stage(problem, radius))
        bounds = first_stage_bounds(problem, domain)
        self._bounded = with_implied_bounds(problem, bounds)
        drawing = Drawing(self._bounded, n_samples, seed, n_summands, bounds)
        self._stage = drawing()
        if warm is not None:
            instance("warm", warm, BendersOracle, "a BendersOracle that has answered, on a problem like this one")
            drawing = replace(drawing, known=known_bases(warm._server, self._stage))
            self._stage = drawing()
        self._drawing = drawing
        self.n_summands = self._stage.n_summands
        self.costly = not small_enough(problem.W.shape)
        instead = "Pass a ThreadPoolExecutor"
        self._workers = Workers(drawing, executor, "problem", instead, self._stage)
        self.reset()

    @classmethod
    def from_smps(
        cls,
        core: str | os.PathLike[str],
        *,
        maximize: bool = False,
        rescale: bool | None = None,
        relax: bool = False,
        n_samples: int | None = None,
        seed: int = 0,
        n_summands: int | None = None,
        radius: float = 1e6,
        executor: Executor | None = None,
        parts: int | None = None,
    ) -> BendersOracle:
        """Read the SMPS files beside a core file.

        Parameters
        ----------
        core, maximize, rescale, relax
            As for `read_smps`.
        n_samples, seed, n_summands, radius, executor, parts
            As above.

        Returns
        -------
        BendersOracle
            On the problem of these files.
        """
        problem = read_smps(core, maximize=maximize, rescale=rescale, relax=relax)
        return cls(
            problem,
            n_samples=n_samples,
            seed=seed,
            n_summands=n_summands,
            radius=radius,
            executor=executor,
            parts=parts,
        )

    @cached_property
    def _data(self) -> ScenarioData:
        return self._scenarios(self._bounded)

    @cached_property
    def _counted(self) -> ScenarioData:
        """The same in units of the second stage."""
        return self._scenarios(self._stage.problem)

    def _scenarios(self, problem: TwoStageProblem) -> ScenarioData:
        return ScenarioData(problem, self._stage.outcomes, self._stage.probability, self.n_summands)

    def reset(self) -> None:
        """Forget the vertices found."""
        self._server = server_of(self._stage, range(len(self._stage.probability)))
        self._bases: list[list[Packed]] = []  # of each task

    def propose(self) -> Proposal | None:
        """Propose HiGHS' x of all scenarios in one program, and the cut that its multipliers make.

        `None` where scenarios are so many that cuts are sooner (docs/peers.md), or random blocks vary the same entry.
        """
        return None if self._data.ambiguous else proposed(self._stage, self.domain)

    def proposed_by(self, multipliers: ArrayLike, point: ArrayLike | None = None) -> Proposal:
        """The cut of one multiplier a row of the second stage, a line a scenario, as `second_stage` gives them.

        They are duals of the scenarios' programs at any x: what a unit more of a right-hand side adds to the cost, the
        signs of HiGHS. Those of progressive hedging are the duals of its scenario programs.
        """
        if self._data.ambiguous:
            raise InvalidArgument("`model` has random blocks that vary the same entry, of which nothing is proven")
        shape, n = (len(self._stage.probability), len(self.problem.row_lower)), self.domain.dimension
        pi = finite("multipliers", multipliers, shape, "a line a scenario, one a row of the second stage")
        x = None if point is None else self.domain.project(finite("point", point, (n,), "one a first-stage variable"))
        at = self.domain.interior_point() if x is None else x
        found = minorant(self._stage, at, pi / self._stage.frame.units.rows)
        if found is None:
            raise InvalidArgument(
                "`multipliers` leave a reduced cost at a free variable of the second stage: they prove nothing. Bound "
                "these variables, or solve more exactly"
            )
        return Proposal(x, found, "given multipliers")

    def query(self, query: Query) -> Cut:
        """Solve all scenarios at x.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            Half-spaces of up to 50 infeasible scenarios, or the cut of the expectation, with `summands` for multicut.
            The `extras` prove them. Those of a cut are dual vectors of the second stage, "vertices" of shape (number of
            these, m), and "vertex_of", which of them each scenario of the cut or summand has. Those of a half-space are
            its "ray", of shape (m,), and "ray_of", the number of the scenario that it shows to be infeasible. Cuts have
            none where they would hold more than 2^24 numbers.

        Raises
        ------
        EmptyLocalizationSet
            A scenario, which is named, has no second stage whatever x is, but for rounding: proven in fractions.
        OracleOptError
            A scenario, named with its block and a row, is not solved, and nothing proves that it is infeasible.
        """
        x = np.asarray(query.point)
        sums, n_scenarios = self._stage.empty_sums(x), len(self._stage.probability)
        if self.parts is None:
            self._server.serve(self._stage, x, range(n_scenarios), sums)
        else:
            sections = self._stage.sections
            parts = successive(len(sections) or n_scenarios, self.parts)
            tasks = [(*part, bases) for part, bases in zip(parts, self._bases or [[]] * len(parts), strict=True)]
            answers = self._workers.run(share_of, x, tasks)
            self._bases = [bases for _, bases in answers]
            shares = [share for part, _ in answers for share in part]
            each = [section.empty_sums(x) for section in sections]
            for own, share in zip(each or [sums] * len(shares), shares, strict=True):
                own.add_share(share)
            if sections:
                sums.join(each)
        sums.feasibility = [cut for cut in sums.feasibility[:MOST_CUTS] if self._depends_on_x(cut)]
        return sums.cut()

    def _depends_on_x(self, cut: FeasibilityCut) -> bool:
        data, stage, section = self._data, self._stage, cut.extras.get(SECTION)
        if section is not None:
            data, stage = data.sections[section], stage.sections[section]
        return depends_on_x(cut, data, stage.frame, stage.where)

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """Dual vectors and their numbers, or those of a half-space; a value needs none."""
        if isinstance(claim, ValueClaim):
            return ()
        return missing(claim, *((RAY, RAY_OF) if claim.kind is ClaimKind.HALF_SPACE else (VERTICES, VERTEX_OF)))

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """By the dual vectors of its scenarios: each is feasible, or moved to where it is, and its product counts.

        `None` also where a dual vector misses a constraint by rounding and cannot be mended, and where random blocks
        vary the same entry.
        """
        return cut_excess(self._data, self.domain, claim, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """By a point of each scenario's second stage, solved for anew and proven to be one; it needs no witness.

        Where x is infeasible by rounding alone, the bound is that of a feasible point next to it: the minimum is no
        larger. `None` where there is none, as where scenarios imply an equation of x; where random blocks vary the same
        entry; and for more than 20,000 scenarios whose costs or recourse matrices differ.
        """
        return value_bound(self._counted, self.domain, claim, exact)

    def shifted(self, cuts: Sequence[Cut]) -> list[Cut]:
        """Cuts of this problem at the points where another one was asked, mostly from known dual vertices alone.

        In each scenario the best of the vertices that `warm` knew, or that were found since, gives a cut, which holds
        whatever has changed; its `error` is infinite unless they are all optimal. One point, that where the old cuts
        are least, is answered in full, and its cut comes first.

        Parameters
        ----------
        cuts : sequence of cuts
            For example ``result.history.cuts`` of the run of `warm` with ``keep_cuts=True``. Feasibility cuts, and
            points outside the first stage of this problem, are left out.

        Returns
        -------
        list of cuts
            To be passed on as ``minimize(oracle, cuts=...)``.

        Raises
        ------
        InvalidArgument
            Costs or recourse matrix vary between scenarios, no vertex is known, or these are no cuts.
        """
        both = "an ObjectiveCut or a FeasibilityCut"
        objective = [cut for cut in instances("cuts", cuts, object, both) if not isinstance(cut, FeasibilityCut)]
        given = instances("cuts", objective, ObjectiveCut, both)
        if not isinstance(self._server, Bunched) or not len(self._server.pool):
            raise InvalidArgument(
                "`cuts` can be shifted by an oracle with `warm`, or one that has answered, alone, and with a second "
                f"stage of at most {LARGEST} rows"
            )
        size = self.domain.dimension
        known = sorted(
            (cut for cut in given if cut.point.shape == (size,)),
            key=lambda cut: cut.upper,
        )
        points = [cut.point for cut in known if self.domain.contains(cut.point)]
        made: list[Cut] = []
        while points and not (made and isinstance(made[-1], ObjectiveCut)):
            made.append(self.query(Query(points.pop(0))))
        for x in points:
            sums = self._stage.empty_sums(x)
            self._server.recall(self._stage, x, range(len(self._stage.probability)), sums)
            made.append(sums.cut())
        return made

    def second_stage(
        self, at: Result | ObjectiveCut | ArrayLike, scenarios: ArrayLike | None = None
    ) -> SecondStageSolutions:
        """Second-stage decisions, costs and multipliers of the scenarios at a point, a linear program for each.

        Parameters
        ----------
        at : Result, ObjectiveCut or array_like of shape (n,)
            The result of a run, one of its cuts, or a first-stage decision.
        scenarios : array_like of int, optional
            Numbers of scenarios, or a range; default all of the oracle's, if their numbers take less than 2 GB.

        Returns
        -------
        SecondStageSolutions
            Arrays with a line a scenario; its `frame()` is a pandas DataFrame with the names of rows and columns.

        Examples
        --------
        >>> from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
        >>> demand = RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
        >>> shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -float("inf"), [0, 2], [demand], x_upper=10)
        >>> BendersOracle(shop).second_stage([5.0]).y.ravel().tolist()
        [2.0, 5.0]
        """
        x = first_stage_point(at, self.domain.dimension)
        as_given = self._stage if self._bounded is self.problem else replace(self._drawing, problem=self.problem)()
        return solved_scenarios(self.problem, as_given, x, scenarios)

    def prices(self, result: Result) -> DataFrame:
        """Prices of rows: what a unit more of a right-hand side adds to the expected cost, by the proof of the bound.

        They are a dual solution, as good as the lower bound is near the optimum. A maximization keeps its sense: the
        price is what a unit more adds to its value. So the signs are those of linopy's and Pyomo's duals.

        Parameters
        ----------
        result : Result
            Of a run on this oracle.

        Returns
        -------
        DataFrame
            A row for each row of the model, by its own name also where `from_linopy` cut it into blocks; those of the
            first stage come last. The column ``"price"`` is of a unit more in all scenarios; beside it each scenario
            has a column, if they are several: its price counts with its probability.

        Raises
        ------
        InvalidArgument
            The run has proven nothing by multipliers, or these were too large to be kept.
        """
        if result.proof is None or not np.isfinite(result.lower_bound):
            raise InvalidArgument("`prices` needs a run with a lower bound")
        data, blocks = self._data, self.problem.blocks
        labels: list[Hashable] = list(range(data.n_scenarios))
        if len(blocks) == 1 and blocks[0].labels and self.n_samples is None:
            labels = list(blocks[0].labels)
        return price_frame(self.problem, *prices(data, result.proof.terms), labels)

    def estimate(self, x: Vector, count: int, seed: int, level: float = 0.95) -> Estimate:
        """Mean of ``c @ x + Q_s(x)`` over freshly drawn scenarios, with its normal confidence interval.

        The expectation of a sampled problem's optimal value lies below the true one; so bounds from several seeds
        against this estimate at their best x bound the optimality gap (Mak, Morton & Wood 1999).

        Parameters
        ----------
        x : ndarray of shape (n,)
            First-stage decision.
        count : int
            Number of scenarios.
        seed : int
            Seed of the random numbers; another one than that of the oracle's own sample.
        level : float
            Probability that the interval covers the expectation.

        Returns
        -------
        Estimate
            The mean, and half the width of the interval.
        """
        drawn = self.problem.sample(count, seed)
        stage = SecondStage(self._stage.problem, *drawn, self._stage.frame, count)
        point = np.asarray(x, dtype=float)
        sums = stage.empty_sums(point)
        server = self._server if self.problem.only_rows_vary else server_of(stage, range(count))
        server.serve(stage, point, range(count), sums)
        if sums.feasibility:
            raise InvalidArgument("`x` must be feasible in every scenario drawn, and one has no second stage there")
        values = np.asarray(sums.value * count, dtype=float)
        base = float(self.problem.c @ x) + self.problem.offset
        half = NormalDist().inv_cdf(0.5 + 0.5 * level) * float(values.std(ddof=1)) / float(np.sqrt(count))
        return Estimate(base + float(values.mean()), half)

    def identity(self) -> str:
        """Data, draw, number of summands, and the vertices that are known from the start."""
        basic, at = self._stage.known
        warm = f", {len(at)} known vertices #{digest(basic, at)}" if len(at) else ""
        return f"{self.problem_identity()}{warm}"

    def problem_identity(self) -> str:
        """Data, draw and number of summands: a certificate of a run with `warm` is one without it, too."""
        stage = self._stage
        scenarios = f"{len(stage.probability)} scenarios #{digest(stage.outcomes, stage.probability)}"
        return f"{super().identity()}, program #{self.problem.digest()}, {scenarios}, {self.n_summands} summands"
