"""The largest eigenvalue of an affine matrix function: the dual of semidefinite programs of constant trace."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse

from oracle_opt.answers.eigenpairs import AffineMatrix, Eigenpairs
from oracle_opt.arguments import floats, real, sparse_matrix, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.domains import Domain, FreeSpace
from oracle_opt.domains.domain import checked_domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.eigenvalue_proofs import WITNESS, MaxEigenvalueProgram, cut_excess, value_bound
from oracle_opt.oracles.leading_eigenpairs import absolute_norm, euclidean_norm, leading
from oracle_opt.proof.claim import Bound, CutClaim, ValueClaim
from oracle_opt.words import shown


class MaxEigenvalueOracle(Oracle):
    """``f(y) = trace * lambda_max(C - sum_i y_i A_i) + b @ y``, convex.

    The dual of ``max <C, X> : <A_i, X> = b_i, tr X = trace, X positive semidefinite``: max-cut, the theta function and
    most relaxations of graph problems have a constant trace. For any unit vector v, ``trace * v' M v + b @ y`` with
    ``M = C - sum y_i A_i`` lies below f; the eigenvectors of the largest eigenvalues give one cut each: the first is
    the answer, the others are its `further` cuts. A query that wishes for `Eigenpairs` gets these, too: all of them
    from LAPACK; from Lanczos `n_vectors`, or more where these are of one cluster. `SpectralBundle` lives on these.

    Small or dense matrices go to LAPACK, large sparse ones to Lanczos, whose largest eigenvalue is then confirmed by a
    Cholesky factorization, so that the stated `error` is a proof. Values are lowered, and the error raised, by the
    rounding of eigenvalues, values and slopes, these over the whole domain: with a trace of 1e6 and a radius of 1e4
    that is no longer small.

    A certificate holds the eigenvectors of its cuts, or a factor of the primal matrix X that `SpectralBundle` found;
    they prove the lower bound, and a Cholesky factorization the upper one.

    Parameters
    ----------
    C : array_like or sparse matrix of shape (N, N)
        Symmetric.
    A : sequence of array_like or sparse matrices of shape (N, N)
        Symmetric, m of them.
    b : array_like of shape (m,)
        Right-hand sides.
    trace : float
        Trace of every feasible X, default 1.
    domain : Domain, optional
        Domain of y. Default: `FreeSpace` of radius 1e4, a promise that some minimizer lies there; the lower bounds rest
        on it.
    n_vectors : int
        Most cuts of one answer, default 10, and fewest eigenpairs from Lanczos.
    within : float
        Only eigenvalues within this share of the spectral width of the largest one give cuts, default 0.1.
    lanczos_from : int
        Order from which sparse matrices go to Lanczos, default 1000.

    Raises
    ------
    InvalidArgument
        Matrices that are not symmetric, not finite or of different order; arguments out of range.

    References
    ----------
    .. [1] Helmberg, Rendl (2000), "A spectral bundle method for semidefinite programming", SIAM J. Optim. 10:673-696.

    Examples
    --------
    The max-cut relaxation of a triangle, whose value is 9/4:

    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import LevelSet
    >>> from oracle_opt.oracles import MaxEigenvalueOracle
    >>> laplacian = 3 * np.eye(3) - np.ones((3, 3))
    >>> diagonals = [np.diag(row) for row in np.eye(3)]
    >>> oracle = MaxEigenvalueOracle(laplacian / 4, diagonals, np.ones(3), trace=3)
    >>> round(float(minimize(oracle, LevelSet(), rtol=1e-6).upper_bound), 5)
    2.25
    """

    gives = frozenset({Eigenpairs})
    witness = WITNESS

    def __init__(
        self,
        C: Any,
        A: Sequence[Any],
        b: ArrayLike,
        *,
        trace: float = 1.0,
        domain: Domain | None = None,
        n_vectors: int = 10,
        within: float = 0.1,
        lanczos_from: int = 1000,
    ) -> None:
        self.b = floats("b", b)
        if not isinstance(A, Sequence | np.ndarray) or isinstance(A, str):
            raise InvalidArgument(f"`A` must be a sequence of matrices, got {shown(A)}")
        if self.b.ndim != 1 or len(A) != self.b.size or not self.b.size:
            raise InvalidArgument(f"`b` must have shape ({len(A)},), one entry per matrix of `A`, got {self.b.shape}")
        self.C = _symmetric("C", C, None)
        self.order = self.C.shape[0]
        matrices = [_symmetric(f"A[{i}]", one, self.order) for i, one in enumerate(A)]
        self.matrix = AffineMatrix.of(self.C, matrices)
        # size and rounding of ``v' C v`` and ``v' A_i v``, v of norm one: sums of so many terms
        self._sizes = np.array([absolute_norm(one) for one in (self.C, *matrices)])
        terms = np.array([float(self.order + _widest(self.C)), *(one.nnz for one in matrices)])
        roundings = EPS * (3.0 + 0.5 * terms) * self._sizes
        self._depth = EPS * (2.0 + 0.5 * _widest(self.matrix.entries.tocsr()))  # rounding of an entry of M(y)
        n_vectors, lanczos_from = whole("n_vectors", n_vectors), whole("lanczos_from", lanczos_from)
        trace, within = real("trace", trace, above=0.0), real("within", within, least=0.0, most=1.0)
        if not np.isfinite(self.b).all():
            raise InvalidArgument(f"`b` must be finite, got {self.b}")
        # errors of the slopes, and of the values at y that they make
        terms = np.abs(self.b) + trace * self._sizes[1:]
        self._slope_errors = trace * roundings[1:] + EPS * terms
        self._lost, self._wrong = (
            float(trace * roundings[0]),
            EPS * (1.0 + 0.5 * len(terms)) * terms + self._slope_errors,
        )
        self.trace, self.n_vectors, self.within = trace, min(n_vectors, self.order), within
        self.lanczos_from = lanczos_from
        if domain is None:
            domain = FreeSpace(self.b.size, 1e4)
        self.domain = checked_domain(domain, self.b.size, "that of `b`")
        self.reset()

    def reset(self) -> None:
        """Forget the last eigenvector, from which Lanczos starts, and how many there were in a cluster."""
        self._last: Vector | None = None
        self._count = self.n_vectors

    def resume(self, cut: Any) -> None:
        """Take the eigenvector of a cut as the next start."""
        self._last = np.array(cut.extras["eigenvector"], dtype=float)

    def query(self, query: Query) -> ObjectiveCut:
        """Eigenvectors of the largest eigenvalues.

        Returns
        -------
        ObjectiveCut
            Its `extras`, and those of its `further` cuts: `eigenvector`, shape (N,), which proves the cut. The mean of
            ``v v'`` over the cuts with the multipliers of a run's proof recovers X.
        """
        y, wished = np.asarray(query.point), Eigenpairs in query.wishes
        M = self.matrix.at(y)
        depth = self._depth * float(self._sizes[0] + self._sizes[1:] @ np.abs(y))
        found = None
        if self.order >= self.lanczos_from and self.n_vectors < self.order - 1:
            found = leading(M, self._count if wished else self.n_vectors, self._last, wished)
        if found is not None:
            self._count = max(self._count, len(found[0]))
        values, vectors, error = found or _dense(M.toarray(), self.order if wished else self.n_vectors)
        width = values[0] - values[min(self.n_vectors, len(values)) - 1]
        near = np.flatnonzero(values[0] - values <= self.within * width + 1e-14 * abs(values[0]))[: self.n_vectors]
        first, *further = self._cuts(y, np.ascontiguousarray(vectors[:, near].T).T, values[0] + error + depth)
        self._last = first.extras["eigenvector"]
        return ObjectiveCut(
            first.point,
            first.value,
            first.subgradient,
            first.error,
            extras=first.extras,
            further=tuple(further),
            answers=(Eigenpairs(self.matrix, self.trace, self.b, values, np.ascontiguousarray(vectors)),)
            if wished
            else (),
        )

    def _cuts(self, y: Vector, vectors: Matrix, most: float) -> list[ObjectiveCut]:
        """One cut an eigenvector, lowered by rounding on the domain, given a bound; the error is the first cut's."""
        given, vectors = vectors, vectors / np.linalg.norm(vectors, axis=0)
        slopes = self.b[:, None] - self.trace * self.matrix.forms(vectors)
        values = self.trace * np.sum(vectors * (self.C @ vectors), axis=0) + y @ slopes
        away = np.abs(y)
        values = values - (self._lost + float(self._wrong @ away) + self.domain.extent(self._slope_errors))
        linear = float(self.b @ y) + EPS * (1.0 + 0.5 * len(y)) * float(away @ np.abs(self.b))
        upper = self.trace * most + linear + 4.0 * EPS * (abs(self.trace * most) + abs(linear))
        return [
            ObjectiveCut(
                y,
                float(value),
                slope.copy(),
                0.0 if i else max(0.0, upper - float(value)),
                extras={"eigenvector": vector},
            )
            for i, (value, slope, vector) in enumerate(zip(values, slopes.T, given.T, strict=True))
        ]

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """Prove a cut by the positive semidefinite matrix ``v v' + R R' + diag(d)`` of its witness.

        The `witness` of the `claim` holds v as `eigenvector`, R as `factor`, of shape (N, r), or d as `diagonal`, not
        negative. With `exact` it is counted in fractions. See `Oracle.prove_cut`.
        """
        return cut_excess(self._program(), claim, exact)

    def size_of_terms(self, point: Vector) -> float:
        """``trace * norm(abs(C) + sum abs(y_i) abs(A_i)) + abs(b) @ abs(y)``: M(y) is rounded, then factored."""
        y = np.abs(point)
        return float(self.trace * absolute_norm(self.matrix.sizes_at(y)) + np.abs(self.b) @ y)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """Prove an upper bound by a Cholesky factorization of a dense matrix; None for orders above 8000.

        With `exact` it eliminates in fractions, for orders up to 100. The point is that of the `claim`.
        """
        return value_bound(self._program(), claim.point, exact)

    def _program(self) -> MaxEigenvalueProgram:
        """The data alone."""
        return MaxEigenvalueProgram(self.matrix, self.trace, self.b, self.domain)

    def identity(self) -> str:
        """Matrices, right-hand sides and trace, and how eigenvectors are found and chosen."""
        words = f"{self.n_vectors} vectors within {self.within!r}, Lanczos from {self.lanczos_from}"
        return f"{self.problem_identity()}, {words}"

    def problem_identity(self) -> str:
        """Matrices, right-hand sides and trace."""
        matrix = self.matrix
        data = digest(self.C, matrix.rows, matrix.columns, matrix.entries, self.b, self.trace)
        return f"{super().identity()}, order {self.order} #{data}"


def _dense(M: Matrix, count: int) -> tuple[Vector, Matrix, float]:
    """Largest eigenpairs by LAPACK, which is exact up to rounding: that is the error."""
    order = len(M)
    values, vectors = linalg.eigh(M, subset_by_index=(order - count, order - 1), check_finite=False)
    return values[::-1], vectors[:, ::-1], 4 * order * EPS * _dense_norm(M)


def _dense_norm(M: Matrix) -> float:
    return min(euclidean_norm(M), float(np.abs(M).sum(axis=0).max()))


def _widest(M: sparse.csr_array) -> int:
    """Most entries of a row."""
    return int(np.diff(M.indptr).max(initial=0))


def _symmetric(name: str, given: Any, order: int | None) -> sparse.csr_array:
    matrix = sparse_matrix(name, given)
    if matrix.shape[0] != matrix.shape[1] or (order is not None and matrix.shape[0] != order):
        wanted = "square" if order is None else f"of shape ({order}, {order})"
        raise InvalidArgument(f"`{name}` must be {wanted}, got {matrix.shape}")
    if not np.isfinite(matrix.data).all():
        raise InvalidArgument(f"`{name}` must be finite")
    matrix.eliminate_zeros()
    away = abs(matrix - matrix.T)
    if away.nnz and away.max() > 1e-12 * abs(matrix).max():
        raise InvalidArgument(f"`{name}` must be symmetric, and differs from its transpose by {away.max():g}")
    return matrix
