"""The data of a conic problem, as conic solvers take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arguments import floats, instances, real, sparse_matrix
from oracle_opt.arrays import Vector
from oracle_opt.domains import Box, Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.power import Power
from oracle_opt.oracles.conic.row_matrix import RowMatrix, entries, row_matrix
from oracle_opt.oracles.conic.second_order import SecondOrder
from oracle_opt.oracles.conic.semidefinite import PositiveSemidefinite
from oracle_opt.words import shown

Variables = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class ConicProblem:
    """``min 1/2 x @ P @ x + c @ x + offset`` subject to ``A @ x + s = b``, s in K, a product of cones.

    These are the data that Clarabel and SCS take. A row of an equation (`Zero`) says ``a @ x = b``, one of an
    inequality (`Nonnegative`) ``a @ x <= b``, and the rows of any other cone that ``b - A @ x`` is in it.

    Parameters
    ----------
    c : array_like of shape (n,)
        Linear part of the objective.
    A : array_like or sparse matrix of shape (m, n)
        Rows in the order of the cones.
    b : array_like of shape (m,)
        Right-hand side.
    cones : sequence of Cone
        Their dimensions add up to m; they may stand in any order.
    P : array_like or sparse matrix of shape (n, n), optional
        Symmetric and positive semidefinite; both triangles are given. Where they differ, by up to 1e-9 in units in
        which the diagonal is 1, it is ``(P + P.T) / 2``. Default: the objective is linear.
    offset : float
        Constant of the objective.

    Attributes
    ----------
    c, b : ndarray
    A : ndarray or csr_array of shape (m, n)
        Dense where A was, unless at most one in eight of its entries is other than zero.
    cones : tuple of Cone
    P : csr_array of shape (n, n) or None
    offset : float

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, entries that are not finite, a P that is not symmetric, or something that is no cone.

    Examples
    --------
    >>> from oracle_opt.oracles import ConicProblem, Nonnegative, Zero
    >>> ConicProblem([1, 1], [[1, 2], [-1, 0], [0, -1]], [5, 0, 0], [Zero(1), Nonnegative(2)])
    ConicProblem(2 variables, 3 rows: Zero(1), Nonnegative(2))
    """

    c: Vector
    A: RowMatrix
    b: Vector
    cones: tuple[Cone, ...]
    P: sparse.csr_array | None = None
    offset: float = 0.0

    def __init__(
        self, c: ArrayLike, A: Any, b: ArrayLike, cones: Sequence[Cone], P: Any = None, offset: float = 0.0
    ) -> None:
        if type(c).__module__.startswith("cvxpy"):
            raise InvalidArgument(
                "`c` must be an array, got a cvxpy object; ConicOracle.from_cvxpy takes a cvxpy.Problem"
            )
        vectors = {"c": floats("c", c), "b": floats("b", b)}
        matrix = row_matrix("A", A)
        kinds = instances("cones", cones, Cone, "a Cone such as Nonnegative(3)")
        n, m = vectors["c"].size, sum(cone.dimension for cone in kinds)
        if vectors["c"].ndim != 1 or not n:
            raise InvalidArgument(f"`c` must have shape (n,), got {vectors['c'].shape}")
        if matrix.shape != (m, n):
            raise InvalidArgument(f"`A` must have shape ({m}, {n}), a row per cone entry, got {matrix.shape}")
        if vectors["b"].shape != (m,):
            raise InvalidArgument(f"`b` must have shape ({m},), one entry per row of `A`, got {vectors['b'].shape}")
        for name, values in (*vectors.items(), ("A", entries(matrix))):
            if not np.isfinite(values).all():
                raise InvalidArgument(f"`{name}` must be finite, got {values[~np.isfinite(values)][0]}")
        quadratic = None if P is None else _symmetric(P, n)
        fields = vectors | {"A": matrix, "cones": kinds, "P": quadratic, "offset": real("offset", offset)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        shown = [repr(cone) for cone in self.cones]
        if len(shown) > 4:
            shown = [*shown[:3], f"and {len(shown) - 3} more cones"]
        m, n = self.A.shape
        quadratic = "" if self.P is None else ", quadratic"
        return f"ConicProblem({n} variables{quadratic}, {m} rows: {', '.join(shown) or 'no cones'})"

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, triangle: str | None = None, offset: float = 0.0) -> ConicProblem:
        """The problem of the data that cvxpy prepares for Clarabel or SCS.

        Both take the cones in the same order (equations, inequalities, second-order, semidefinite, exponential and
        power cones) and differ in how a symmetric matrix is a vector: Clarabel takes the upper triangle and SCS the
        lower one, column by column, off-diagonal entries times ``sqrt(2)``. `PositiveSemidefinite` is the former; rows
        for SCS are put in its order.

        Parameters
        ----------
        data : mapping
            ``problem.get_problem_data(cp.CLARABEL)[0]``, or the same with `cp.SCS`.
        triangle : {'upper', 'lower'}, optional
            The triangle whose entries make the rows of semidefinite cones. Default: as the data tell, which cvxpy's
            do from version 1.9 on. It is asked for if they do not and there is a cone of order three or more, below
            which both are the same.
        offset : float
            Constant of the objective, which the data leave out.

        Raises
        ------
        InvalidArgument
            These are no such data, `triangle` is needed, or there are power cones of more than three entries.

        Examples
        --------
        >>> import cvxpy as cp
        >>> from oracle_opt import minimize
        >>> from oracle_opt.generators import Kelley
        >>> from oracle_opt.oracles import ConicOracle, ConicProblem
        >>> x = cp.Variable(2)
        >>> problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1])
        >>> conic = ConicProblem.from_data(problem.get_problem_data(cp.SCS)[0])
        >>> conic
        ConicProblem(3 variables, 4 rows: Nonnegative(1), SecondOrder(3))
        >>> round(minimize(ConicOracle.from_problem(conic), Kelley()).upper_bound, 4)
        -1.4142
        """
        if not isinstance(data, Mapping) or not {"A", "b", "c", "dims"} <= data.keys():
            raise InvalidArgument(
                "`data` must be the first of what problem.get_problem_data(cp.CLARABEL) or (cp.SCS) returns, a mapping "
                f"with the entries A, b, c and dims, got {type(data).__name__}"
            )
        if triangle is not None and triangle not in ("upper", "lower"):
            raise InvalidArgument(f"`triangle` must be 'upper', 'lower' or None, got {shown(triangle)}")
        if data.get("lower_bounds") is not None or data.get("upper_bounds") is not None:
            raise InvalidArgument("`data` must have bounds as rows, got bounds of variables beside them")
        dims = data["dims"]
        if getattr(dims, "pnd", None):
            raise InvalidArgument(
                "`data` must do without power cones of more than three entries (PowConeND, geo_mean); "
                "cp.SCS in place of cp.CLARABEL avoids them where it can"
            )
        A, b, P = data["A"], np.asarray(data["b"], dtype=float), data.get("P")
        # inequalities that hold everywhere, such as x <= inf, are no rows
        idle = dims.zero + np.flatnonzero(np.isposinf(b[dims.zero : dims.zero + dims.nonneg]))
        n_inequalities = dims.nonneg - len(idle)
        if len(idle):
            kept = np.delete(np.arange(len(b)), idle)
            A, b = sparse.csr_array(A)[kept], b[kept]
        cones: list[Cone] = []
        cones += [Zero(dims.zero)] if dims.zero else []
        cones += [Nonnegative(n_inequalities)] if n_inequalities else []
        cones += [SecondOrder(size) for size in dims.soc]
        n_before = sum(cone.dimension for cone in cones)
        cones += [PositiveSemidefinite(order) for order in dims.psd]
        cones += [Exponential() for _ in range(dims.exp)]
        cones += [Power(exponent) for exponent in dims.p3d]
        if any(order > 2 for order in dims.psd):
            triangle = _triangle(data) if triangle is None else triangle
            if triangle == "lower":
                order = _upper_of_lower(dims.psd, n_before, len(b))
                A, b = sparse.csr_array(A)[order], b[order]
        return cls(data["c"], A, b, cones, P if P is not None and P.nnz else None, offset)


def _symmetric(P: Any, n: int) -> sparse.csr_array:
    """Return a symmetric matrix of order n, or refuse what is none."""
    matrix = sparse_matrix("P", P)
    matrix.eliminate_zeros()
    if matrix.shape != (n, n):
        raise InvalidArgument(f"`P` must have shape ({n}, {n}), that of `c` twice, got {matrix.shape}")
    if not np.isfinite(matrix.data).all():
        raise InvalidArgument(f"`P` must be finite, got {matrix.data[~np.isfinite(matrix.data)][0]}")
    away = (matrix - matrix.T).tocoo()
    root = np.sqrt(np.abs(matrix.diagonal()))
    wrong = np.abs(away.data) > 1e-9 * root[away.row] * root[away.col]
    if wrong.any():
        i, j = int(away.row[wrong][0]), int(away.col[wrong][0])
        raise InvalidArgument(
            f"`P` must be symmetric, got {matrix[i, j]:.6g} at ({i}, {j}) and {matrix[j, i]:.6g} at ({j}, {i}); "
            "x @ P @ x is that of (P + P.T) / 2"
        )
    return sparse.csr_array((matrix + matrix.T) / 2.0)


def _triangle(data: Mapping[str, Any]) -> str:
    """Which triangle the rows of semidefinite cones are, by the matrix with which cvxpy 1.9 picks their entries.

    Its third row picks one entry, (2, 2), from an upper triangle, the mean of (1, 3) and (3, 1) from a lower.
    """
    for constraint in getattr(data.get("param_prob"), "constraints", ()):
        if type(constraint).__name__ == "SvecPSD" and constraint._cone_size() > 2:
            picked = constraint.args[0].args
            matrix: Any = picked[0].value if picked else None
            if sparse.issparse(matrix) and matrix.shape[0] == constraint.args[0].size:
                return "upper" if sparse.csr_array(matrix)[[2]].nnz == 1 else "lower"
    raise InvalidArgument(
        "`triangle` must be said for these data: 'upper' for those of Clarabel, 'lower' for those of SCS"
    )


def _upper_of_lower(orders: Sequence[int], start: int, n_rows: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The place of each row of the upper triangles, by columns, among the rows of the lower triangles, by columns."""
    where = np.arange(n_rows)
    for order in orders:
        size = order * (order + 1) // 2
        number = np.zeros((order, order), dtype=np.intp)
        columns, rows = np.triu_indices(order)  # the lower triangle by columns
        number[rows, columns] = start + np.arange(size)
        rows, columns = np.tril_indices(order)  # the upper triangle by columns, mirrored
        where[start : start + size] = number[rows, columns]
        start += size
    return where


def recession_of(problem: ConicProblem, domain: Domain) -> tuple[ConicProblem, Box]:
    """The directions in which a problem has no end, as a problem of its own: that of `ConicOracle.recession`."""
    known = domain.linear_constraints()
    if known is None or not known.has_bounds_alone or np.isfinite([known.lower, known.upper]).all():
        raise InvalidArgument(f"`domain` must have bounds alone, and not all finite, to recede in, got {domain!r}")
    box = Box(np.where(np.isinf(known.lower), -1.0, 0.0), np.where(np.isinf(known.upper), 1.0, 0.0))
    A, cones = problem.A, problem.cones
    if problem.P is not None:
        flat = problem.P[np.diff(problem.P.indptr) > 0]  # P @ d = 0
        A = sparse.csr_array(sparse.vstack([sparse.csr_array(A), flat]))
        cones = (*cones, Zero(flat.shape[0])) if flat.shape[0] else cones
    return ConicProblem(problem.c, A, np.zeros(A.shape[0]), cones), box
