"""Linear programs of other packages as conic oracles, which take the duals of rows as their solvers state them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt._highs_model import silent_highs
from oracle_opt.arguments import finite, floats, one_of
from oracle_opt.arrays import Vector
from oracle_opt.domains import Box
from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.oracles.benders.linopy_program import linopy_program
from oracle_opt.oracles.benders.mps import LinearProgram
from oracle_opt.oracles.benders.pyomo_program import pyomo_program
from oracle_opt.oracles.conic.cones import Nonnegative, Zero
from oracle_opt.oracles.conic.conic_oracle import ConicOracle
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.given_multipliers import SLOPPY, bounds_of_rows
from oracle_opt.oracles.conic.linear_tree import Leaf, TreeBound, proven_tree
from oracle_opt.words import shown

if TYPE_CHECKING:
    import highspy

SIGNS = {"highs": 1.0, "gurobi": 1.0, "negated": -1.0}
WRONG = 1e-2  # share of duals, or of reduced costs, that may have the wrong sign where a solver was not exact
Own = Callable[[], Any]  # the duals that a model has


class LinearModel(ConicOracle):
    """``min cost @ x`` with ``lower <= A @ x <= upper`` on a box, for duals by the names of its rows.

    The box is that of the columns, and of what rows imply where these have no end: nothing is promised. `program` has
    the data as the model states them, `signs` are those of duals if they were said.
    """

    program: LinearProgram
    signs: str | None
    _own: Own

    @classmethod
    def of(cls, model: Any, signs: str | None = None) -> LinearModel:
        """Read a model, as `ConicOracle.from_model` says."""
        oracle = cls.__new__(cls)
        oracle.signs = None if signs is None else one_of("signs", signs, SIGNS)
        oracle.program, oracle._own = it, _ = program_of(model)
        equal, high, low = sides = oracle._rows()
        A = sparse.csr_array(sparse.vstack([it.matrix[equal], it.matrix[high], -it.matrix[low]]))
        b = np.concatenate([it.row_upper[equal], it.row_upper[high], -it.row_lower[low]])
        counts = int(sides[0].sum()), int(sides[1].sum() + sides[2].sum())
        cones = [kind(count) for kind, count in zip((Zero, Nonnegative), counts, strict=True) if count]
        sense = -1.0 if it.maximize else 1.0
        problem = ConicProblem(sense * it.cost, A, b, cones, offset=sense * it.offset)
        bounds = it.column_lower, it.column_upper
        if np.isinf(bounds).any():
            bounds = bounds_of_rows(problem, bounds)
        oracle._set(problem, Box(*bounds), True, False, 1e-9, 50, None)
        oracle.maximizes = it.maximize
        if it.n_whole:
            side = "above" if it.maximize else "below"
            oracle.relaxation = (
                f"RELAXATION: {it.n_whole} whole variables count as any numbers here, and the proven bound lies {side} "
                "the optimum in whole numbers."
            )
        return oracle

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.program.columns)

    def _rows(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows are equations, and which others have an upper and a lower side."""
        lower, upper = self.program.row_lower, self.program.row_upper
        equal = lower == upper
        return equal, np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal

    def _given(self, multipliers: Any = None) -> Vector:
        """The vector of the dual cone that duals of the rows are, by name or in their order, or the model's own."""
        own = multipliers is None
        d = _vector("multipliers", self._own() if own else multipliers, self.program.rows, "row")
        d = -d if self.maximizes else d
        ways = [self._ways(sign * d) for sign in (1.0, -1.0)]
        if self.signs is None and d.any() and not own and max(wrong for _, wrong in ways) <= WRONG:
            raise InvalidArgument(
                "`multipliers` prove a bound whichever way their signs are meant: say signs='highs' (what a unit more "
                "of a side adds to the objective, so also Gurobi) or signs='negated' (minus that)"
            )
        if self.signs is not None:
            return ways[SIGNS[self.signs] < 0.0][0]
        return ways[ways[1][1] < ways[0][1]][0]

    def both_ways(self, multipliers: Any) -> list[Vector]:
        """Multipliers of the rows with either sign, each of which proves what it proves: rays may have another."""
        d = _vector("multipliers", multipliers, self.program.rows, "row")
        return [self._lifted(d), self._lifted(-d)]

    def flat(self) -> ConicProblem:
        """The problem without its costs."""
        return ConicProblem(0.0 * self.problem.c, self.problem.A, self.problem.b, self.problem.cones)

    def ends(self, lower: Any, upper: Any) -> tuple[Vector, Vector]:
        """Bounds of the columns of a leaf; a mapping names those that differ from the model's."""
        return (
            _vector("lower", lower, self.program.columns, "column", self.program.column_lower),
            _vector("upper", upper, self.program.columns, "column", self.program.column_upper),
        )

    def notarize_tree(self, leaves: Iterable[Leaf]) -> TreeBound:
        """The bound that the leaves of a branch and bound prove of the program in whole numbers.

        Parameters
        ----------
        leaves : iterable of (lower, upper, multipliers)
            Bounds of the columns, or mappings of those that differ from the model's, and the duals of the leaf's
            program, of any accuracy, or the ray that proves that it has no feasible point. Of both signs the better
            one counts.

        Returns
        -------
        TreeBound
            The worst bound of a leaf, by exact multiplication of what is given; `str` says it in a sentence.

        Raises
        ------
        InvalidCertificate
            Some points are in no leaf: their box is named.
        """
        return proven_tree(self, leaves)

    def _placed(self, point: Any) -> Vector:
        """A point in the order of the columns, or by their names."""
        return _vector("point", point, self.program.columns, "column")

    def _lifted(self, d: Vector) -> Vector:
        """The vector of the dual cone of what an increase of sides adds to the minimum."""
        equal, high, low = self._rows()
        return np.concatenate([-d[equal], np.maximum(-d[high], 0.0), np.maximum(d[low], 0.0)])

    def _ways(self, d: Vector) -> tuple[Vector, float]:
        """What an increase of sides adds to the minimum, as multipliers; and the share of what has the wrong sign."""
        (_, high, low), y = self._rows(), self._lifted(d)
        clipped = (np.abs(d)[high & ~low & (d > 0)]).sum() + (np.abs(d)[low & ~high & (d < 0)]).sum()
        r, A, (lower, upper) = (
            self.problem.c + self.problem.A.T @ y,
            self._proof.lagrangian.A,
            self.domain.bounding_box(),
        )
        terms = abs(A).T @ np.abs(y) + np.abs(self.problem.c)
        falling = np.abs(r)[(((r > 0) & np.isinf(lower)) | ((r < 0) & np.isinf(upper))) & (np.abs(r) > SLOPPY * terms)]
        wrong = clipped / max(float(np.abs(d).sum()), 1e-300), falling.sum() / max(float(terms.sum()), 1e-300)
        return y, float(max(wrong))


def _vector(name: str, values: Any, names: Mapping[str, int], what: str, others: Vector | float = 0.0) -> Vector:
    """Numbers of all rows or columns, in their order or by name; those that are not named are `others`."""
    n = len(names)
    if values is None:
        raise InvalidArgument(f"`{name}` must be given: the model has none of its own")
    if type(values).__module__.startswith("pandas"):
        values = dict(values)
    if isinstance(values, Mapping):
        unknown = [key for key in values if key not in names]
        if unknown:
            raise InvalidArgument(f"`{name}` must name {what}s of the model, and {unknown[0]} is none")
        found = np.full(n, others)
        found[[names[key] for key in values]] = list(values.values())
        values = found
    given = floats(name, values)
    if given.shape != (n,) or np.isnan(given).any() or (np.ndim(others) == 0 and np.isinf(given).any()):
        return finite(name, given, (n,), f"one a {what}")  # that says what is wrong
    return given


def program_of(model: Any) -> tuple[LinearProgram, Own]:
    """The data of a model that is a file or an object of another package, and what gives its duals, if it has some."""
    if isinstance(model, str | PathLike):
        return _of_file(Path(model)), lambda: None
    package = type(model).__module__.split(".")[0]
    if package == "linopy":
        return linopy_program(model, "", relax=True)[0], partial(_linopy_duals, model)
    if package == "pyomo":
        return pyomo_program(model, relax=True)[0], partial(_pyomo_duals, model)
    import highspy

    if isinstance(model, highspy.Highs):
        return _of_highs(model), partial(_highs_duals, model)
    raise InvalidArgument(
        "`model` must be the path of an MPS or LP file, a highspy.Highs, a linopy.Model, a pyomo ConcreteModel or a "
        f"cvxpy.Problem, got {shown(model)}"
    )


def _of_file(path: Path) -> LinearProgram:
    """The program of a file, as HiGHS reads it."""
    import highspy

    highs = silent_highs()()
    if not path.exists():
        raise FileNotFoundError(2, "No such file", str(path))
    if highs.readModel(str(path)) == highspy.HighsStatus.kError:
        raise InvalidData(f"{path} cannot be read as a linear program: HiGHS takes MPS and LP files")
    return _of_highs(highs)


def _of_highs(highs: highspy.Highs) -> LinearProgram:
    """The program that an object of HiGHS holds; a variable that may also be 0 reaches from or to 0."""
    import highspy

    if highs.getModel().hessian_.dim_:
        raise InvalidArgument("`model` must be linear, and has a quadratic objective: ConicOracle takes P")
    lp, kinds = highs.getLp(), highspy.HighsVarType
    by_columns = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    parts = [np.array(part) for part in (lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_)]
    shape = lp.num_row_, lp.num_col_
    matrix = (sparse.csc_array if by_columns else sparse.csr_array)(tuple(parts), shape=shape)
    lower, upper, whole = np.array(lp.col_lower_), np.array(lp.col_upper_), np.zeros(lp.num_col_, dtype=bool)
    n_whole = 0
    if lp.integrality_:
        semi = np.array([one in (kinds.kSemiContinuous, kinds.kSemiInteger) for one in lp.integrality_])
        lower, upper = np.where(semi, np.minimum(lower, 0.0), lower), np.where(semi, np.maximum(upper, 0.0), upper)
        whole = np.array([one == kinds.kInteger for one in lp.integrality_])
        n_whole = int(sum(one != kinds.kContinuous for one in lp.integrality_))
    told = np.array(lp.col_cost_), lower, upper, np.array(lp.row_lower_), np.array(lp.row_upper_)
    rows, columns = _named(lp.row_names_, "r", shape[0]), _named(lp.col_names_, "c", shape[1])
    maximize = lp.sense_ == highspy.ObjSense.kMaximize
    return LinearProgram(
        rows,
        columns,
        "objective",
        "",
        *told,
        sparse.csr_array(matrix),
        lp.offset_,
        maximize,
        n_whole=n_whole,
        whole=whole,
    )


def _named(names: list[str], letter: str, n: int) -> dict[str, int]:
    """Names to places; numbered ones where there are none, or two the same."""
    known = {name: i for i, name in enumerate(names)}
    return known if len(known) == n else {f"{letter}{i}": i for i in range(n)}


def _highs_duals(highs: highspy.Highs) -> Any:
    """The duals of the last solution, or the ray that proves that there is none; `None` if there is neither."""
    solution = highs.getSolution()
    if solution.dual_valid:
        return np.array(solution.row_dual)
    _, found, ray = highs.getDualRay()
    return np.array(ray) if found else None


def _linopy_duals(model: Any) -> Any:
    """The duals of the constraints, in the order of the program's rows; `None` before a solver was asked."""
    if not all("dual" in constraint.data for _, constraint in model.constraints.items()):
        return None
    parts = [
        constraint.dual.broadcast_like(constraint.labels)
        .transpose(*constraint.labels.dims)
        .values.ravel()[constraint.labels.values.ravel() != -1]
        for _, constraint in model.constraints.items()
    ]
    return np.concatenate([np.zeros(0), *parts])


def _pyomo_duals(model: Any) -> Any:
    """The duals in the suffix `dual`, where solvers of Pyomo leave them, by name; `None` without."""
    from pyomo.environ import Suffix

    suffix = model.component("dual")
    if not isinstance(suffix, Suffix):
        return None
    return {constraint.name: value for constraint, value in suffix.items()}
