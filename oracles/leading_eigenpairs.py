"""Leading eigenpairs of a sparse symmetric matrix by Lanczos, and a proof that none is larger."""

import numpy as np
from scipy import linalg, sparse

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Matrix, Vector

TOLERANCE = 1e-10  # of the eigenvalues, relative to a norm of the matrix
MARGIN = 10 * TOLERANCE  # within which Cholesky confirms the largest, relative to the same
BESIDE = 40  # vectors of Lanczos beside twice those wanted
RESTARTS = 20  # Lanczos needs more of them where eigenvalues next to those wanted are as large
GROWTH = 4  # so many times the vectors are then asked for
CLUSTER = 1e-3  # eigenvalues this near to the largest one, relative to the distance of their mean, are one cluster
MOST = 160  # vectors
FACTORS = 12  # factorizations until s is found with which the inverse separates the leading eigenvalues
POWERS = 10  # products with the inverse that raise the estimate of the largest
NEARER = 0.03  # s comes nearer to that by this factor


def leading(
    M: sparse.csr_array, count: int, start: Vector | None, whole: bool = False
) -> tuple[Vector, Matrix, float] | None:
    """Largest eigenpairs, and what a proof leaves open."""
    norm = absolute_norm(M)
    for _ in range(2):
        found = _lanczos(M, norm, count, start, whole) or _inverse_lanczos(M, norm, count)
        if found is None:
            return None
        values, vectors = found
        residual = float(np.linalg.norm(M @ vectors[:, 0] - values[0] * vectors[:, 0]))
        fine, coarse = max(2.0 * residual, M.shape[0] * EPS * norm), MARGIN * norm
        for margin in (fine, coarse) if fine < coarse else (coarse,):
            bound = Bounded(M, float(values[0]) + margin)
            if bound.holds:
                return values, vectors, margin + bound.rounding
        start = bound.direction()
    return None


def _lanczos(
    M: sparse.csr_array, norm: float, count: int, start: Vector | None, whole: bool
) -> tuple[Vector, Matrix] | None:
    """As many eigenpairs as are wanted, or more; None where Lanczos is slow.

    More of one cluster: Lanczos is fast only where a gap separates what it finds. The matrix is shifted by its norm, or
    eigenvalues near zero would be wanted with that much more accuracy.
    """
    order = M.shape[0]
    most = max(count, min(MOST, order // 4))
    shifted = M + norm * sparse.eye_array(order, format="csr")
    mean = float(M.diagonal().mean())
    while True:
        seconds_left()
        size = min(order, 2 * count + BESIDE)
        try:
            values, vectors = sparse.linalg.eigsh(
                shifted, k=count, which="LA", v0=start, ncv=size, tol=TOLERANCE, maxiter=RESTARTS
            )
        except sparse.linalg.ArpackError:  # no convergence, or a start that the matrix turns into zero
            if count >= most:
                return None
        else:
            values, vectors = _descending(values - norm, vectors)
            if not whole or count >= most or values[0] - values[-1] > CLUSTER * (values[0] - mean):
                return values, vectors
            start = vectors.sum(axis=1)
        count = min(GROWTH * count, most)


def _inverse_lanczos(M: sparse.csr_array, norm: float, count: int) -> tuple[Vector, Matrix] | None:
    """Eigenpairs by Lanczos on ``(s I - M)^-1``, s a little above all eigenvalues: fast where the gaps are small."""
    order = M.shape[0]
    direction, value, away = np.ones(order), -np.inf, CLUSTER * norm
    for _ in range(FACTORS):
        seconds_left()
        value = max(value, float(direction @ (M @ direction)) / float(direction @ direction))
        bound = Bounded(M, value + away)
        if not bound.holds:
            direction, away = bound.direction(), 3.0 * away
            continue
        inverse = sparse.linalg.LinearOperator((order, order), matvec=lambda x, by=bound: -by.solve(x), dtype=float)
        size = min(order, 2 * count + BESIDE)
        try:
            values, vectors = sparse.linalg.eigsh(
                M, k=count, sigma=bound.value, OPinv=inverse, ncv=size, tol=TOLERANCE, maxiter=RESTARTS
            )
        except sparse.linalg.ArpackError:  # so many eigenvalues are as near to s as the largest: a smaller s
            for _ in range(POWERS):
                direction = bound.solve(direction / np.linalg.norm(direction))
            away *= NEARER
        else:
            return _descending(values, vectors)
    return None


def _descending(values: Vector, vectors: Matrix) -> tuple[Vector, Matrix]:
    order = np.argsort(-values)
    return values[order], vectors[:, order]


class Bounded:
    """Whether a Cholesky factor proves that no eigenvalue of M is above a value, up to `rounding` (Rump 2006)."""

    def __init__(self, M: sparse.csr_array, value: float) -> None:
        order = M.shape[0]
        self.value = value
        self._M = M
        shifted = np.zeros((order, order), order="F")
        places = M.tocoo()
        np.subtract.at(shifted, places.coords, places.data)
        shifted[np.diag_indices(order)] += value
        self.rounding = (order + 2) * EPS * float(np.abs(shifted.diagonal()).sum())
        self._factor, self._failed = linalg.lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)

    @property
    def holds(self) -> bool:
        """Whether the factorization succeeded."""
        return not self._failed

    def solve(self, x: Vector) -> Vector:
        """``(value I - M)^-1 x``, where the bound holds."""
        solved: Vector = linalg.cho_solve((self._factor, True), x, check_finite=False)
        return solved

    def direction(self) -> Vector:
        """Where it does not hold: a vector of a larger quotient, ``(-L'^-1 L^-1 a, 1, 0)``, a the failed row."""
        first = self._failed - 1
        direction = np.zeros(self._M.shape[0])
        direction[first] = 1.0
        if first:
            a = -self._M[[first], :first].toarray().ravel()
            direction[:first] = -linalg.cho_solve((self._factor[:first, :first], True), a, check_finite=False)
        return direction


def absolute_norm(M: sparse.csr_array) -> float:
    """Bound on the largest eigenvalue of the matrix of absolute values: its Frobenius norm, or its largest row."""
    entries = abs(M)
    return min(euclidean_norm(entries.data), float(entries.sum(axis=1).max(initial=0.0)))


def euclidean_norm(entries: Vector) -> float:
    """Root of the sum of squares, in units of a power of two near the largest entry: no underflow, no overflow."""
    unit = int(np.frexp(np.abs(entries).max(initial=0.0))[1])
    return float(np.ldexp(np.linalg.norm(np.ldexp(entries, -unit)), unit))
