"""A start for largest eigenvalues: the semidefinite program behind them, solved for a factor of few columns."""

from collections.abc import Callable
from math import fsum, isfinite

import numpy as np

from oracle_opt import Domain, Eigenpairs, Minorant, ObjectiveCut
from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.generators.masters.factor_rows import FactorRows

SHARE = 4e-6  # the first accuracy: of the gradient, relative to a row of C
FINER = 0.1  # accuracies fall by this factor
FINEST = 1e-11
PROGRESS = 0.5  # a call that leaves more than this share of the gap made none
SPURIOUS = 2.5e3  # so many times that accuracy, of the objective, is more than a solution would leave open
PATIENCE = 1  # so many such calls end the start
SHORT = 1e-6  # columns with a smaller share are what the accuracy leaves open
NUDGE = 0.1  # size of new columns, relative to the others
MEMORY = 10  # pairs of L-BFGS
MOST_STEPS = 5000
PENALTY = 10.0  # the first, in units of the size of a row of C
STIFFER = 4.0  # it grows by this factor where the zeros
LESS = 0.3  # are missed by more than this share of what they were before
COARSE = 1e-2  # accuracy before the first multipliers
CLOSE = 2.0  # share of an accuracy that multipliers without a finite value may cost


class LowRankStart:
    """Maximize ``<C, R R'>`` over factors R of few columns, and take the dual point from its stationarity.

    `tell` gives the point to ask next and a minorant that holds for any factor, see docs/theory_cones.md, "A start from
    a factor of few columns". Burer & Monteiro (2003); Boumal, Voroninski & Bandeira (2016), for factors that grow.
    """

    def __init__(self, told: Eigenpairs, rows: FactorRows, domain: Domain, factor: Matrix | None = None) -> None:
        self._told, self._rows, self._domain = told, rows, domain
        order, m = told.matrix.order, len(told.b)
        columns = min(order, int(np.sqrt(2.0 * m)) + 2, 10 + int(np.ceil(np.cbrt(m))))
        if factor is None:
            factor = np.random.default_rng(0).normal(size=(order, columns))
        self.factor: Matrix = rows.scaled(factor)
        self._share = SHARE
        self._upper, self._gap = np.inf, np.inf
        self._idle = 0
        self._multipliers: Matrix | None = None
        self._penalty = 0.0
        self.minorant: Minorant | None = None
        self.bound = -np.inf

    def tell(self, cut: ObjectiveCut, vectors: Matrix) -> Vector | None:
        """Take an answer, and return the next point to ask, or None where the start is over."""
        self._upper = min(self._upper, cut.upper)
        if self.minorant is not None:
            gap = self._upper - self.bound
            spurious = gap > SPURIOUS * self._share * self._told.trace * self._rows.size
            if gap > PROGRESS * self._gap:
                self._idle += 1
            if spurious or gap > PROGRESS * self._gap:
                self._widen(vectors)
            else:
                self._share *= FINER
            self._gap = min(gap, self._gap)
            if self._idle > PATIENCE or self._share < FINEST:
                return None
        self._climb()
        self._prove()
        y = self._rows.dual(self.factor, self._domain, self._multipliers, CLOSE * self._share)
        return y if isfinite(float(y @ y)) and not np.array_equal(y, cut.point) else None

    def primal(self, least: float = 1e-8) -> Matrix:
        """X of shape (N, k), ``X X'`` near R R' over its trace but for columns below `least` of the largest share."""
        sizes, axes = np.linalg.eigh(self.factor.T @ self.factor)
        kept = sizes > least * sizes[-1]
        turned: Matrix = self.factor @ axes[:, kept][:, ::-1] / np.sqrt(sizes.sum())
        return turned

    def shortened(self) -> Matrix:
        """R with the columns that count, and rows of the norms that the A_i fix."""
        return self._rows.scaled(self.primal(SHORT))

    def _widen(self, vectors: Matrix) -> None:
        """Turn the columns of the factor, leave out those that are next to zero, and add eigenvectors."""
        R = self.primal()
        size = NUDGE * float(np.linalg.norm(R)) / np.sqrt(R.shape[1])
        self._multipliers = None
        self.factor = self._rows.scaled(np.hstack([R, size * vectors[:, : max(1, R.shape[1] // 2)]]))

    def _climb(self) -> None:
        """L-BFGS until the gradient is below the accuracy of this call; an augmented Lagrangian of the zeros."""
        zeros, columns = self._rows.zeros, self.factor.shape[1]
        if zeros is None:
            self._ascend(self._rows.function(columns), self._share)
            return
        share, steps, missed, trace = self._share, 0, np.inf, self._told.trace
        if self._multipliers is None:
            self._multipliers, self._penalty = np.zeros_like(zeros.excess(self.factor)), PENALTY * self._rows.size
            share = max(share, COARSE)
        while steps < MOST_STEPS:
            function = self._rows.function(columns, self._multipliers, self._penalty)
            steps += 1 + self._ascend(function, share)
            excess = zeros.excess(self.factor)
            self._multipliers = self._multipliers + self._penalty * excess
            before, missed = missed, float(np.linalg.norm(excess)) / np.sqrt(trace)
            if missed <= self._share and share <= self._share:
                break
            if missed > max(LESS * before, self._share):
                self._penalty *= STIFFER
            share = max(self._share, LESS * share)
        self.factor = self._rows.met(self.factor)

    def _ascend(self, function: Callable[[Vector], tuple[float, Vector]], share: float) -> int:
        """L-BFGS until the gradient is below the accuracy: the number of steps."""
        from scipy.optimize import minimize

        def timed(v: Vector) -> tuple[float, Vector]:
            seconds_left()
            return function(v)

        start = self._rows.unscaled(self.factor)
        options = {"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "gtol": share, "ftol": 0.0, "maxcor": MEMORY}
        found = minimize(timed, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        self.factor = self._rows.scaled(found.x.reshape(self.factor.shape))
        return int(found.nit)

    def _prove(self) -> None:
        """The minorant ``trace * <C, W> + sum_i y_i (b_i - trace * <A_i, W>)``, less rounding; kept if better."""
        told, R = self._told, self.factor
        matrix, b = told.matrix, told.b
        norms = np.sqrt(np.einsum("ij,ij->i", R, R))
        total = fsum((norms**2).tolist())
        if not 0.0 < total < np.inf:
            return
        scale = told.trace / total
        constant = scale * fsum(np.einsum("ij,ij->i", R, matrix.C @ R).tolist())
        forms, sizes = matrix.gram(R), matrix.most(norms)
        terms = R.shape[1] + 12.0
        wrong = (terms + matrix.counts) * EPS * sizes
        if self._rows.zeros is not None:
            zeros = self._rows.zeros
            forms[zeros.chosen], wrong[zeros.chosen] = zeros.gram(R, norms)
            wrong += terms * EPS * np.abs(forms)
        slope = b - scale * forms
        largest = scale * float(norms @ (abs(matrix.C) @ norms))
        # sums over the rows of a matrix, in any order: at most so many terms
        lost = EPS * (terms + matrix.order) * largest
        wrong = scale * wrong + EPS * np.abs(b)
        minorant = Minorant(constant, slope, lost + self._domain.extent(wrong), extras={"factor": R})
        bound = minorant.minimum(self._domain) - minorant.error
        if bound > self.bound or self.minorant is None:
            self.minorant, self.bound = minorant, bound
