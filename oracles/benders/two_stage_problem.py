"""Two-stage stochastic linear programs: the data, and the scenarios they stand for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import flag, floats, instances, real, sparse_matrix, text
from oracle_opt.arrays import Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.linopy_program import Groups, linopy_program
from oracle_opt.oracles.benders.mps import INFINITE, LinearProgram
from oracle_opt.oracles.benders.proof import multiplier_bounds
from oracle_opt.oracles.benders.pyomo_program import pyomo_program
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.oracles.benders.scenario_frame import blocks_of
from oracle_opt.oracles.benders.scenario_models import (
    Programs,
    aligned,
    differing,
    programs_of_dimension,
    programs_of_models,
    superposed,
    with_bounds_as_rows,
)
from oracle_opt.oracles.benders.sections import Sections
from oracle_opt.oracles.benders.stages import Stages, staged, stages
from oracle_opt.oracles.benders.time_blocks import blocks_along, in_blocks
from oracle_opt.words import shown

if TYPE_CHECKING:
    from linopy import Model
    from pandas import DataFrame
    from pyomo.environ import ConcreteModel


class TwoStageProblem:
    """``min c @ x + E[min q @ y : row_lower <= T @ x + W @ y <= row_upper, y_lower <= y <= y_upper]`` over x.

    The first stage is ``first_lower <= A @ x <= first_upper``, ``x_lower <= x <= x_upper``. The right-hand side of a
    row is its upper side, or its lower side where the upper is infinite; a random one moves both sides. Sides and
    bounds from 1e20 on count as infinite. A stage without variables gets one that is fixed at 0, a second stage without
    rows one that nothing binds.

    Parameters
    ----------
    c : array_like of shape (n,)
        First-stage costs.
    q : array_like of shape (k,)
        Second-stage costs.
    T, W : array_like or sparse matrix of shape (m, n) and (m, k)
        Technology and recourse matrix.
    row_lower, row_upper : array_like of shape (m,)
        Sides of the second-stage rows; infinite where there is none.
    blocks : sequence of RandomBlock
        The entries that are random; none for a plain linear program.
    A : array_like or sparse matrix of shape (r, n), optional
        First-stage rows.
    first_lower, first_upper : array_like of shape (r,), optional
        Sides of the first-stage rows.
    x_lower, x_upper, y_lower, y_upper : float or array_like
        Bounds; default 0 and infinity.
    offset : float
        Constant of the objective.
    names, row_names, column_names, first_row_names : sequence of str, optional
        Names of the first-stage variables, of the second-stage rows and variables, which are all different, and of the
        first-stage rows; default x0, x1, ..., row0, row1, ..., y0, y1, ..., first0, first1, ...
    maximize : bool
        Whether the costs are those of a maximization, with the sign changed. Only tables of scenarios care: their costs
        are those of the maximization.
    sections : array_like of int, shape (k,), optional
        Which section of the second stage each of its variables is in, from 0 on: no row joins two. Each section is
        then a program and a summand by itself, as `from_linopy` makes them with `blocks`; variables of one without rows
        are in the first that has some. Default: all are in one.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, NaN, a lower side or bound above the upper one, names that are not as many as what they
        name.
    """

    n_whole = 0  # variables that are whole in the model, and any numbers here

    def __init__(
        self,
        c: ArrayLike,
        q: ArrayLike,
        T: Any,
        W: Any,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        blocks: Sequence[RandomBlock] = (),
        *,
        A: Any = None,
        first_lower: ArrayLike | None = None,
        first_upper: ArrayLike | None = None,
        x_lower: ArrayLike = 0.0,
        x_upper: ArrayLike = np.inf,
        y_lower: ArrayLike = 0.0,
        y_upper: ArrayLike = np.inf,
        offset: float = 0.0,
        names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        column_names: Sequence[str] | None = None,
        first_row_names: Sequence[str] | None = None,
        maximize: bool = False,
        sections: ArrayLike | None = None,
    ) -> None:
        self.c, self.q = _vector("c", c, None), _vector("q", q, None)
        n, k = self.c.size, self.q.size
        self.T, self.W = sparse_matrix("T", T), sparse_matrix("W", W)
        m = self.T.shape[0]
        self.A = sparse.csr_array((0, n)) if A is None else sparse_matrix("A", A)
        r = self.A.shape[0]
        for name, matrix, shape in (("T", self.T, (m, n)), ("W", self.W, (m, k)), ("A", self.A, (r, n))):
            if matrix.shape != shape or not np.isfinite(matrix.data).all():
                raise InvalidArgument(f"`{name}` must be finite, of shape {shape}, got shape {matrix.shape}")
        self.row_lower, self.row_upper = _side("row_lower", row_lower, m), _side("row_upper", row_upper, m)
        self.first_lower = _side("first_lower", -np.inf if first_lower is None else first_lower, r)
        self.first_upper = _side("first_upper", np.inf if first_upper is None else first_upper, r)
        self.x_lower, self.x_upper = _side("x_lower", x_lower, n), _side("x_upper", x_upper, n)
        self.y_lower, self.y_upper = _side("y_lower", y_lower, k), _side("y_upper", y_upper, k)
        for pair in ("row", "first", "x", "y"):
            _check_order(
                f"{pair}_lower", getattr(self, f"{pair}_lower"), f"{pair}_upper", getattr(self, f"{pair}_upper")
            )
        self.offset = real("offset", offset)
        self.names = _names("names", names, "x", n, "one per first-stage variable")
        self.row_names = _names("row_names", row_names, "row", m, "one per second-stage row")
        self.column_names = _names("column_names", column_names, "y", k, "one per second-stage variable")
        self.first_row_names = _names("first_row_names", first_row_names, "first", r, "one per first-stage row")
        for argument, given in (("row_names", self.row_names), ("column_names", self.column_names)):
            if len(set(given)) < len(given):
                twice = next(name for name in given if given.count(name) > 1)
                raise InvalidArgument(f"`{argument}` must all be different, and {shown(twice)} stands twice")
        self.maximize = flag("maximize", maximize)
        if not n:
            self.c, self.x_lower, self.x_upper = np.zeros((3, 1))
            self.T, self.A, self.names = sparse.csr_array((m, 1)), sparse.csr_array((r, 1)), ("x0",)
        if not k:
            self.q, self.y_lower, self.y_upper = np.zeros((3, 1))
            self.W, self.column_names = sparse.csr_array((m, 1)), ("y0",)
        if not m:
            self.T, self.W = sparse.csr_array((1, self.c.size)), sparse.csr_array((1, self.q.size))
            self.row_lower, self.row_upper, self.row_names = np.full(1, -np.inf), np.full(1, np.inf), ("row0",)
        self.blocks = instances("blocks", blocks, RandomBlock, "a RandomBlock")
        for block in self.blocks:
            for name, places, limits in (
                ("rows", block.rows[:, None], (m,)),
                ("cost_columns", block.cost_columns[:, None], (k,)),
                ("technology_entries", block.technology_entries, (m, n)),
                ("recourse_entries", block.recourse_entries, (m, k)),
            ):
                if places.size and ((places < 0).any() or (places >= np.array(limits)).any()):
                    raise InvalidArgument(f"`{name}` of {block.name} must lie below {limits}, got {places.max(axis=0)}")
            without = block.rows[np.isinf(self.rhs[block.rows])]
            if without.size:
                row = shown(self.row_names[without[0]])
                raise InvalidArgument(f"`rows` of {block.name} must have a finite side to vary, and {row} has none")
        self.sections = None if sections is None else Sections.of(self, sections)

    def __repr__(self) -> str:
        n, (m, k) = self.c.size, self.W.shape
        return (
            f"TwoStageProblem({n} + {k} variables, {self.A.shape[0]} + {m} rows, {len(self.blocks)} random blocks, "
            f"{shown(self.n_scenarios)} scenarios)"
        )

    def digest(self) -> str:
        """16 hexadecimal digits that tell this program from others, names apart."""
        first = self.c, self.A, self.first_lower, self.first_upper, self.x_lower, self.x_upper, self.offset
        second = self.q, self.T, self.W, self.row_lower, self.row_upper, self.y_lower, self.y_upper
        sections = [] if self.sections is None else [self.sections.of_columns]
        return digest(*first, *second, [block.digest() for block in self.blocks], *sections)

    @property
    def n_scenarios(self) -> int:
        """Number of joint outcomes, a Python int of any size."""
        return int(np.prod([len(block.probabilities) for block in self.blocks], dtype=object)) if self.blocks else 1

    @property
    def rhs(self) -> Vector:
        """Right-hand sides: the upper side, or the lower one where that is infinite."""
        return np.where(np.isfinite(self.row_upper), self.row_upper, self.row_lower)

    @property
    def only_rows_vary(self) -> bool:
        """Whether costs and recourse matrix are the same in all scenarios."""
        return not any(len(block.cost_columns) or len(block.recourse_entries) for block in self.blocks)

    @classmethod
    def from_linopy(
        cls,
        model: Model,
        first_stage: Sequence[str],
        scenario_dim: str | None = None,
        probabilities: Sequence[float] | Mapping[Hashable, float] | None = None,
        blocks: str | None = None,
        size: int = 1,
        relax: bool = False,
    ) -> TwoStageProblem:
        """Split a model of linopy into two stages.

        `with_scenarios` then says what varies, unless the model has a dimension of scenarios, as PyPSA's have.

        Rows of first-stage variables alone are of the first stage, the others of the second, and so are the costs.
        Rows and columns are called ``name[coordinate,...]``, such as ``demand[Bonn]``.

        Parameters
        ----------
        model : linopy.Model
            Linear and continuous.
        first_stage : sequence of str
            Names of the variables that are decided before the scenario is known: of all entries of one, "capacity", or
            of a single one, "capacity[mill]".
        scenario_dim : str, optional
            The dimension of the model whose coordinates are scenarios. Variables with it are of the second stage, all
            others are named in `first_stage`. The rows and variables of a scenario are those at its coordinate, which
            their names leave out, and may differ as in `from_scenarios`.
        probabilities : sequence or mapping, optional
            With `scenario_dim`: those of its coordinates, by which the costs in the model are multiplied already.
        blocks : str, optional
            Cut the second stage along this dimension, such as "snapshot", into blocks of so many coordinates each: the
            `sections` of the problem. Rows that join blocks, as limits of a year and the levels of stores do, are split
            by budgets, which become variables of the first stage; the least cost stays what it is. Variables without
            the dimension are in the only block that their rows touch, else in the first stage.
        size : int
            With `blocks`: how many successive coordinates are one block.

        relax : bool
            Whether to take whole variables as any numbers: the relaxation of the model, whose minimum lies below.

        Returns
        -------
        TwoStageProblem
            To be minimized: the costs of a maximization have changed their sign.

        Raises
        ------
        MissingPackage
            linopy is not installed.
        InvalidArgument
            Another model, unknown names, a stage without variables or rows; a dimension called "scenario" and no
            `scenario_dim`, a row of two scenarios; a dimension `blocks` that no variable has.
        """
        if scenario_dim is not None and blocks is not None:
            raise InvalidArgument("`blocks` must come without `scenario_dim`: one of the two cuts the second stage")
        if scenario_dim is not None:
            programs, groups, chances = programs_of_dimension(model, scenario_dim, first_stage, probabilities, relax)
            return cls._joined(programs, groups, first_stage, chances, tuple(programs), "model")
        if probabilities is not None:
            raise InvalidArgument("`probabilities` must come with `scenario_dim`, the dimension of the scenarios")
        program, groups = linopy_program(model, relax=relax)
        if blocks is None:
            return cls._of(program, stages(program, groups, first_stage))
        is_first = stages(program, groups, first_stage).first
        return cls._in_blocks(program, blocks_along(model, is_first, text("blocks", blocks), size))

    @classmethod
    def from_pyomo(cls, model: ConcreteModel, first_stage: Sequence[str], relax: bool = False) -> TwoStageProblem:
        """Split a deterministic model of Pyomo into two stages, as `from_linopy` does.

        Rows and columns have their names in Pyomo, such as ``demand[Bonn]``. A right-hand side is what a constraint's
        constants come to when all are moved to the right.

        Parameters
        ----------
        model : pyomo.environ.ConcreteModel
            Linear and continuous, with one active objective. Fixed variables count as numbers.
        first_stage : sequence of str
            Names of the variables that are decided before the scenario is known: of all entries of one, "capacity", or
            of a single one, "capacity[mill]".

        relax : bool
            Whether to take whole variables as any numbers: the relaxation of the model, whose minimum lies below.

        Returns
        -------
        TwoStageProblem
            To be minimized: the costs of a maximization have changed their sign.

        Raises
        ------
        MissingPackage
            Pyomo is not installed.
        InvalidArgument
            Another model, unknown names, a stage without variables or rows.
        """
        program, groups = pyomo_program(model, flag("relax", relax))
        return cls._of(program, stages(program, groups, first_stage))

    @classmethod
    def from_scenarios(
        cls,
        models: Sequence[Model | ConcreteModel] | Mapping[Hashable, Model | ConcreteModel],
        first_stage: Sequence[str],
        probabilities: Sequence[float] | Mapping[Hashable, float] | None = None,
        relax: bool = False,
    ) -> TwoStageProblem:
        """Join models of linopy or Pyomo, one a scenario, that differ in numbers alone.

        They may differ in right-hand sides, in costs of second-stage variables and in any entry of second-stage rows,
        also where it is 0 in some. The two sides of a row move by the same amount. A constant of the objective counts
        at its mean.

        Parameters
        ----------
        models : sequence or mapping
            The models, with the same variables and rows, or names of scenarios and their models. The order of rows and
            variables is that of the first one.
        first_stage : sequence of str
            Names of the variables that are decided before the scenario is known, as for `from_pyomo`.
        probabilities : sequence or mapping, optional
            Probabilities of the scenarios, or names of scenarios and these. Default: those that mpi-sppy has attached
            to Pyomo models, ``_mpisppy_probability``, else equal ones.

        relax : bool
            Whether to take whole variables as any numbers: the relaxation of the model, whose minimum lies below.

        Returns
        -------
        TwoStageProblem
            To be minimized: the costs of a maximization have changed their sign. It has one random block.

        Raises
        ------
        MissingPackage
            The package of a model is not installed.
        InvalidArgument
            As for `from_pyomo`. Also models that differ elsewhere: in their variables or rows, the sense, the first
            stage, or in whether a row has a side. Bounds of the second stage that differ become rows.
        """
        programs, groups, chances = programs_of_models(models, probabilities, flag("relax", relax))
        return cls._joined(programs, groups, first_stage, chances, tuple(models) if isinstance(models, Mapping) else ())

    @classmethod
    def _joined(
        cls,
        programs: Programs,
        groups: Groups,
        first_stage: Sequence[str],
        probabilities: Vector,
        labels: Sequence[Hashable],
        argument: str = "models",
    ) -> TwoStageProblem:
        decided = {column for name in first_stage for column in groups.get(name, (name,))}
        programs = with_bounds_as_rows(aligned(programs, argument), decided)
        found = stages(superposed(programs), groups, first_stage)
        problems = {scenario: cls._of(program, found) for scenario, program in programs.items()}
        made = next(iter(problems.values()))
        made.blocks = (differing(problems, probabilities, labels, argument),)
        made.offset += float(probabilities @ [one.offset - made.offset for one in problems.values()])
        return made

    @classmethod
    def from_blocks(
        cls,
        cost: ArrayLike,
        matrix: Any,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        blocks: ArrayLike,
    ) -> TwoStageProblem:
        """Cut a linear program into blocks that meet in a first stage, as `from_linopy` does with `blocks`.

        Parameters
        ----------
        cost : array_like of shape (n,)
            Costs.
        matrix : array_like or sparse matrix of shape (m, n)
            Rows.
        row_lower, row_upper : array_like of shape (m,)
            Sides of the rows; infinite where there is none.
        lower, upper : float or array_like of shape (n,)
            Bounds.
        blocks : array_like of int, shape (n,)
            The block of each variable, from 0 on; -1 for the first stage.

        Returns
        -------
        TwoStageProblem
            Its first stage are the variables of block -1, then the budgets of rows that join blocks.

        Raises
        ------
        InvalidArgument
            Shapes that do not fit, NaN, no block at all.

        Examples
        --------
        Two weeks that share 5 units of a fuel, a unit of which saves 3 in the first and 2 in the second:

        >>> from oracle_opt import minimize
        >>> from oracle_opt.oracles import BendersOracle, TwoStageProblem
        >>> weeks = TwoStageProblem.from_blocks([-3, -2], [[1, 1]], -float("inf"), 5, 0, 4, blocks=[0, 1])
        >>> weeks.names
        ('row0 of block 0', 'row0 of block 1')
        >>> round(minimize(BendersOracle(weeks)).upper_bound, 6)
        -14.0
        """
        cost, matrix = _vector("cost", cost, None), sparse_matrix("matrix", matrix)
        m, n = matrix.shape
        of = floats("blocks", blocks, "an array of whole numbers")
        if of.shape != (n,) or not (of == np.rint(of)).all() or of.min(initial=0.0) < -1 or of.max(initial=-1.0) < 0:
            raise InvalidArgument(f"`blocks` must be {n} whole numbers from -1 on, some from 0 on, got {shown(of)}")
        if cost.shape != (n,):
            raise InvalidArgument(f"`cost` must be {n} numbers, one a column of `matrix`, got shape {cost.shape}")
        names = [_names("row_names", None, letter, count, "") for letter, count in (("row", m), ("y", n))]
        rows, columns = ({name: i for i, name in enumerate(each)} for each in names)
        ends = _side("lower", lower, n), _side("upper", upper, n)
        sides = _side("row_lower", row_lower, m), _side("row_upper", row_upper, m)
        program = LinearProgram(rows, columns, "cost", "", cost, *ends, *sides, matrix, 0.0, False)
        return cls._in_blocks(program, of.astype(np.intp))

    @classmethod
    def _in_blocks(cls, program: LinearProgram, of: NDArray[np.intp]) -> TwoStageProblem:
        program, of = in_blocks(program, of)
        found = staged(program, of < 0)
        made = cls._of(program, found)
        numbers = np.unique(of[found.second], return_inverse=True)[1]
        made.sections = Sections.of(made, numbers)
        return made

    @classmethod
    def _of(cls, program: LinearProgram, found: Stages) -> TwoStageProblem:
        sign = -1.0 if program.maximize else 1.0
        cost, offset = sign * program.cost + 0.0, sign * program.offset + 0.0  # no -0.0
        x, y, before, after = found.first, found.second, found.first_rows, found.second_rows
        columns, rows = np.array(list(program.columns), dtype=object), np.array(list(program.rows), dtype=object)
        made = cls(
            cost[x],
            cost[y],
            program.matrix[after][:, x],
            program.matrix[after][:, y],
            program.row_lower[after],
            program.row_upper[after],
            A=program.matrix[before][:, x],
            first_lower=program.row_lower[before],
            first_upper=program.row_upper[before],
            x_lower=program.column_lower[x],
            x_upper=program.column_upper[x],
            y_lower=program.column_lower[y],
            y_upper=program.column_upper[y],
            offset=offset,
            names=columns[x].tolist(),
            row_names=rows[after].tolist(),
            column_names=columns[y].tolist(),
            first_row_names=rows[before].tolist(),
            maximize=program.maximize,
        )
        made.n_whole = program.n_whole
        return made

    def with_scenarios(self, scenarios: DataFrame, *further: DataFrame) -> TwoStageProblem:
        """Return this program with the scenarios of a table, or of several that are independent of each other.

        A table has a row a scenario. Its column "probability" is optional: without it all rows are equally likely. Each
        other column is an entry that varies, in place of the program's own:

        ================================  ===========================================================================
        name of the column                entry
        ================================  ===========================================================================
        a row's name or its number        its right-hand side, as ``("rhs", row)``.
        ``("cost", column)``              cost of a second-stage variable, of the maximization if it is one.
        ``("technology", row, column)``   coefficient of a first-stage variable in a row.
        ``("recourse", row, column)``     coefficient of a second-stage variable in a row.
        ================================  ===========================================================================

        Tuples may be the columns of a `MultiIndex`, which fills the shorter ones with "". The index of a table names
        its scenarios.

        Parameters
        ----------
        scenarios : pandas.DataFrame
            The table.
        *further : pandas.DataFrame
            More tables: each combination of a row of each is a scenario, its probability the product of theirs.

        Returns
        -------
        TwoStageProblem
            The same program with a random block a table, which replace those it had.

        Raises
        ------
        InvalidArgument
            No table or an empty one, unknown names, what is no number or missing, with its row and column. Also
            probabilities that are not positive or do not add up to 1 within 1e-6, an entry that varies twice.

        Examples
        --------
        >>> import pandas as pd
        >>> from oracle_opt.oracles import TwoStageProblem
        >>> names = ["sold", "demand"]
        >>> shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -float("inf"), [0, 2], row_names=names)
        >>> shop.with_scenarios(pd.DataFrame({"demand": [2.0, 6.0]})).n_scenarios
        2
        """
        made = copy(self)
        made.blocks = blocks_of(self, (scenarios, *further))
        return made

    def multiplier_boxes(self) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
        """Two boxes for the second stage's multipliers: by the sides of its rows, and of all feasible multipliers."""
        signs = (
            np.where(np.isfinite(self.row_upper), -np.inf, 0.0),
            np.where(np.isfinite(self.row_lower), np.inf, 0.0),
        )
        least, most, steady = self.q.copy(), self.q.copy(), np.ones(self.q.size)
        for block in self.blocks:
            if block.cost is not None and len(block.cost_columns):
                np.minimum.at(least, block.cost_columns, block.cost.min(axis=0))
                np.maximum.at(most, block.cost_columns, block.cost.max(axis=0))
            steady[block.recourse_entries[:, 1]] = 0.0
        W = sparse.csr_array(self.W @ sparse.diags_array(steady))
        return signs, multiplier_bounds(W, self.y_lower, self.y_upper, least, most, signs)

    def least_and_most_sides(self, bounds: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        """Least lower and largest upper sides of ``W @ y`` in any scenario, for x within these finite bounds.

        Rows whose entries of W vary have none.
        """
        least, most = self.row_lower.copy(), self.row_upper.copy()
        low, high = sparse.csr_array(self.T).maximum(0.0), sparse.csr_array(self.T).minimum(0.0)
        moved, size = (
            [low @ bounds[0] + high @ bounds[1], low @ bounds[1] + high @ bounds[0]],
            abs(self.T) @ np.maximum(*np.abs(bounds)),
        )
        for block in self.blocks:
            if block.rhs is not None and len(block.rows):
                change = block.rhs - self.rhs[block.rows]
                least[block.rows] += np.minimum(change.min(axis=0), 0.0)
                most[block.rows] += np.maximum(change.max(axis=0), 0.0)
                size[block.rows] += np.abs(block.rhs).max(axis=0)
            if block.technology is not None and len(block.technology_entries):
                rows, columns = block.technology_entries.T
                change = block.technology - np.asarray(self.T[rows, columns]).ravel()
                each = np.array([change * bounds[0][columns], change * bounds[1][columns]])
                np.add.at(moved[0], rows, np.minimum(each.min(axis=(0, 1)), 0.0))
                np.add.at(moved[1], rows, np.maximum(each.max(axis=(0, 1)), 0.0))
                np.add.at(size, rows, np.abs(each).max(axis=(0, 1)))
            varying = block.recourse_entries[:, 0]
            least[varying], most[varying] = -np.inf, np.inf
        for side in (self.row_lower, self.row_upper):
            size += np.where(np.isinf(side), 0.0, np.abs(side))
        doubt = 1e-12 * size
        return least - moved[1] - doubt, most - moved[0] + doubt

    def all_scenarios(self) -> tuple[NDArray[np.intp], Vector]:
        """Outcome of each block in each scenario, shape (n_scenarios, n_blocks), and the probabilities."""
        sizes = [len(block.probabilities) for block in self.blocks]
        outcomes = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), dtype=np.intp)
        probability = np.ones(len(outcomes))
        for block, chosen in zip(self.blocks, outcomes.T, strict=True):
            probability *= block.probabilities[chosen]
        return outcomes, probability

    def sample(self, count: int, seed: int) -> tuple[NDArray[np.intp], Vector]:
        """Draw scenarios independently, each of probability 1 / count; equal for an equal `seed`."""
        rng = np.random.default_rng(seed)
        draws = [
            rng.choice(len(block.probabilities), size=count, p=block.probabilities / block.probabilities.sum())
            for block in self.blocks
        ]
        outcomes = np.array(draws, dtype=np.intp).reshape(len(draws), count).T
        return outcomes, np.full(count, 1.0 / count)


def _names(argument: str, given: Sequence[str] | None, letter: str, count: int, each: str) -> tuple[str, ...]:
    names = tuple(f"{letter}{j}" for j in range(count)) if given is None else instances(argument, given, str, "a str")
    if len(names) != count:
        raise InvalidArgument(f"`{argument}` must be {count}, {each}, got {len(names)}")
    return names


def _vector(name: str, given: ArrayLike, size: int | None) -> Vector:
    array = floats(name, given)
    if np.isnan(array).any():
        raise InvalidArgument(f"`{name}` must be numbers, got NaN")
    if size is not None and array.ndim == 0:
        array = np.full(size, float(array))
    if array.ndim != 1 or (size is not None and array.size != size):
        raise InvalidArgument(f"`{name}` must have shape ({'n' if size is None else size},), got shape {array.shape}")
    return array


def _side(name: str, given: ArrayLike, size: int) -> Vector:
    array = _vector(name, given, size)
    return np.where(np.abs(array) < INFINITE, array, np.copysign(np.inf, array))


def _check_order(low_name: str, lower: Vector, high_name: str, upper: Vector) -> None:
    """Refuse pairs of sides that no number lies between."""
    wrong = np.flatnonzero(~((lower <= upper) & (lower < np.inf) & (upper > -np.inf)))
    if len(wrong):
        i = int(wrong[0])
        raise InvalidArgument(
            f"`{low_name}` must be at most `{high_name}`, with a number between them, "
            f"got {lower[i]:g} and {upper[i]:g} at {i}"
        )
