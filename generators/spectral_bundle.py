"""The spectral bundle method with second-order information, for largest eigenvalues."""

from enum import Enum, auto

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt import (
    Domain,
    Eigenpairs,
    FeasibilityCut,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import flag, floats, real, whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.generators.masters.factor_rows import FactorRows
from oracle_opt.generators.masters.low_rank import LowRankStart
from oracle_opt.generators.masters.primal_matrix import PrimalMatrix, PrimalParts
from oracle_opt.generators.masters.proximity_control import first_step
from oracle_opt.generators.masters.spectral_ball import PromisedBall, minimize_within, step_within
from oracle_opt.generators.masters.spectral_master import Model, SpectralPoint, flattened
from oracle_opt.generators.masters.spectral_models import ChosenRows, Span, StructuredModel
from oracle_opt.generators.masters.spectral_subspace import (
    active_part,
    computed,
    coupled_pairs,
    curvature,
    extended,
    matrix_at,
    minimized,
    told_at,
    whole_rows,
)
from oracle_opt.words import shown

NEW = 10  # eigenvectors that a call adds to the active ones
WHOLE = 1e-4  # factor of the weight after a good step where the model is the matrix whole
FLOOR = 1e-12  # accuracy of the master, relative to the value
RAISE = 30.0  # and after a bad one


class SpectralPhase(Enum):
    """Where the next point comes from."""

    FIRST = auto()  # it is where the run starts
    FACTOR = auto()  # stationarity of a factor of X
    SUBSPACE = auto()  # the model on the span of P
    WHOLE = auto()  # the model of all larger blocks


class SpectralBundle(QueryPointGenerator):
    """Minimize a model of the largest eigenvalue on a subspace, plus a quadratic that holds its curvature.

    The function is ``f(y) = trace * lambda_max(M(y)) + b @ y`` with ``M(y) = C - sum_i y_i A_i``. The model knows M on
    the span of some orthonormal vectors P, and keeps what it dropped as one affine minorant l:

        max(trace * lambda_max(P' M(y) P) + b @ y, l(y)) + 1/2 (y - center)' (H + weight I) (y - center).

    Where the A_i fix entries of the diagonal of the primal matrix X, as those of max-cut do, the run begins with a
    factor of X of few columns. The stationarity of this factor gives the points that are asked (Burer & Monteiro 2003);
    the bundle takes over where that no longer closes the gap.

    Blocks of M of order one, which linear inequalities make, are affine functions, and the model keeps them whole; P
    then belongs to the other rows.

    Its minimizer is the next query point. It becomes the center, a serious step, if the value falls by at least
    `descent` times what the model predicts. Then P is made of the eigenvectors there, as many as were active and ten
    more, or `min_order`, and of the active part of the old span. After a null step P is made of that part, the ten
    leading eigenvectors at the rejected point and those at the center.

    Parameters
    ----------
    descent : float
        Share of the predicted decrease that makes a step serious, between 0 and 1/2.
    proximal
        As for `ProximalBundle`.
    min_order : int
        Fewest leading eigenvectors in P after a serious step, where there are so many. The master is a semidefinite
        program of this order: more of them make fewer and longer calls. Matrices of at most this order, or of which
        products cost not much more, are the model whole.
    max_order : int
        Most vectors in P. Should be more than the multiplicity of the largest eigenvalue at the solution, or the end is
        slow.
    low_rank : bool
        Whether to begin with a factor of X, where the matrices allow it and M is of an order above `min_order`.
    factor : array_like of shape (N, k), optional
        That factor to begin with: `primal_factor` of an earlier run, of a program that changed little since.

    Notes
    -----
    The oracle must give `Eigenpairs`, as `MaxEigenvalueOracle` does. Each query wishes for them.

    *Curvature.* With W = P V P', V the multipliers of the last master, the eigenvalues outside the leading group bend
    the Lagrangian by ``H_ij = 2 trace tr(A_i W A_j K)``, ``K = sum_q v_q v_q' / (lambda_1 - lambda_q)`` over the
    eigenvectors q that are not in the group. That is Overton's Hessian: once P holds the whole eigenspace at the
    solution the method converges like Newton's. Eigenpairs that the oracle did not give count with the mean of their
    eigenvalues.

    *The matrix whole.* Where a master of all of M costs less than nine times one of `min_order` vectors, by counting, P
    is the identity and the model is f. The weight then falls by 1e4 a step. A step that leaves the ball in which a
    minimizer is promised is drawn back to its surface by a second quadratic around the center of the ball. Three to
    five calls are enough: an interior point method with a few outer steps, and an exact proof.

    *Master.* By what they cost, products of the sparse A_i, of the dense ``P' A_i P``, or a system in the multipliers.

    *Weight.* Elsewhere it falls after a step that gained half the predicted decrease, and doubles after one that lost
    as much. It also falls where the predicted decrease is rounding: then the slope of the proof is left to shrink, and
    a step that loses no more than rounding is serious.

    *Bound.* Any positive semidefinite V and eta >= 0 with ``tr V + eta = 1`` give an affine minorant of f, which the
    ball of the domain, a `FreeSpace`, bounds. Its slope, which the radius multiplies, vanishes at the solution; the
    master's multipliers are tried as they are, and changed a little for less slope.

    References
    ----------
    .. [1] Helmberg & Rendl (2000), "A spectral bundle method for semidefinite programming", for the model.
    .. [2] Helmberg, Overton & Rendl (2014), "The spectral bundle method with second-order information", for H.
    .. [3] Overton (1992), "Large-scale optimization of eigenvalues", for the Hessian of the Lagrangian.

    Examples
    --------
    The max-cut relaxation of a cycle of five nodes, whose value is ``5 (5 + sqrt(5)) / 8``:

    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import SpectralBundle
    >>> from oracle_opt.oracles import MaxEigenvalueOracle
    >>> cycle = np.roll(np.eye(5), 1, axis=0)
    >>> laplacian = 2 * np.eye(5) - cycle - cycle.T
    >>> oracle = MaxEigenvalueOracle(laplacian / 4, [np.diag(row) for row in np.eye(5)], np.ones(5), trace=5)
    >>> round(float(minimize(oracle, SpectralBundle()).upper_bound), 5)
    4.52254
    """

    needs_convexity = True
    reads_extras = False
    needs = frozenset({Eigenpairs})
    _center: ObjectiveCut | None = None
    _low_rank: LowRankStart | None = None  # while the run is in its start

    def __init__(
        self,
        descent: float = 0.1,
        proximal: float | None = None,
        min_order: int = 30,
        max_order: int = 100,
        low_rank: bool = True,
        factor: ArrayLike | None = None,
    ) -> None:
        self.descent = real("descent", descent, above=0.0, below=0.5)
        self.proximal = None if proximal is None else real("proximal", proximal, above=0.0)
        self.min_order = whole("min_order", min_order, least=2)
        self.max_order = whole("max_order", max_order, least=2)
        self.low_rank = flag("low_rank", low_rank)
        self.factor = None if factor is None else floats("factor", factor, "a matrix, a row for each row of X")
        if self.factor is not None and not (self.factor.ndim == 2 and np.isfinite(self.factor).all()):
            raise InvalidArgument(f"`factor` must be a finite matrix, a row for each row of X, got {shown(factor)}")

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain with constraints, which the master does not know."""
        constraints = domain.linear_constraints()
        if constraints is None or not constraints.is_everything:
            return "it needs a domain without constraints, as FreeSpace"
        return None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without vectors."""
        self._domain = domain
        self._ball = PromisedBall(*domain.enclosing_ball())  # the ball around the set in which a minimizer is promised
        self._point = point
        self._center = self._low_rank = None
        self._pairs = np.zeros(0), np.zeros((0, 0))  # eigenvalues and vectors at the center, but of blocks of order one
        self._group = NEW  # leading eigenvectors at the center that P holds
        self._basis = np.zeros((0, 0))  # P
        self._primal = np.zeros((0, 0))  # X with W = X X', the active part of the last master
        self._phase = SpectralPhase.FIRST
        self._whole: ChosenRows | None = None  # rows of the larger blocks, where the model holds all of them
        self._weight = 0.0
        self._multiplier = 0.0  # of the ball, in the model whole
        self._multipliers = np.zeros((0, 0))  # V of the last master
        self._share = 1.0  # share of the multipliers that belongs to matrices and not to blocks of order one
        self._decrease = 0.0  # predicted at the pending point
        self._aggregate: Minorant | None = None
        self._aggregated: PrimalMatrix | None = None  # its W
        self._minorant: Minorant | None = None
        self._lower = -np.inf

    def ask(self) -> Query:
        """Return the minimizer of the master, with the wish for eigenpairs."""
        return Query(self._point, wishes=self.needs)

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Decide on the step, renew the subspace, solve the master."""
        told = None if isinstance(cut, FeasibilityCut) else cut.answer(Eigenpairs)
        if isinstance(cut, FeasibilityCut) or told is None:
            raise InvalidArgument("`cuts` must carry Eigenpairs, as the answers to this method's own queries do")
        pairs = coupled_pairs(told, cut.point)
        vectors = pairs[1]
        step = self._begin(cut, told, pairs)
        if step is not None:
            return step
        serious = self._judge(cut)
        if self._phase in (SpectralPhase.FIRST, SpectralPhase.FACTOR):
            self._whole = whole_rows(told, self.min_order)
            self._phase = SpectralPhase.SUBSPACE if self._whole is None else SpectralPhase.WHOLE
        if self._phase is SpectralPhase.WHOLE:
            if serious:
                self._center = cut
            self._solve()
            return Step.SERIOUS if serious else Step.NULL
        active = self._primal if self._primal.size else np.zeros((len(vectors), 0))
        if serious:
            self._center, self._pairs = cut, pairs
            self._group = min(max(active.shape[1] + NEW, self.min_order), self.max_order, vectors.shape[1])
            first, further = vectors[:, : self._group], active
        else:
            leading = self._pairs[1][:, : self._group]
            first, further = vectors[:, : min(NEW, self.max_order)], np.hstack([active, leading])
        self._basis = extended(first, further, self.max_order)
        self._solve()
        return Step.SERIOUS if serious else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the best minorant that the masters' multipliers gave."""
        return self._minorant

    def primal_factor(self) -> Matrix | None:
        """Factor R, shape (N, k), of the primal matrix ``X = R @ R.T``; None before the first answer.

        Where the A_i fix the diagonal of X, as max-cut's do, its rows are vectors to round. Rows of blocks of order one
        are zero once the bundle has taken over.
        """
        if self._low_rank is not None:
            return self._low_rank.shortened()
        if self._center is None:
            return None
        primal = self._primal if self._whole is None else active_part(self._multipliers, self._whole.columns)
        return np.sqrt(self._told().trace) * primal if primal.size else None

    def _begin(self, cut: ObjectiveCut, told: Eigenpairs, pairs: tuple[Vector, Matrix]) -> Step | None:
        """The step of the low-rank start; None where there is no start, or it is over and the bundle goes on."""
        center, low_rank = self._center, self._low_rank
        if self._phase is SpectralPhase.FIRST and self.low_rank and told.matrix.order > self.min_order:
            rows = FactorRows.of(told)
            if self.factor is not None and len(self.factor) != told.matrix.order:
                raise InvalidArgument(f"`factor` must have {told.matrix.order} rows, got {len(self.factor)}")
            if rows is not None:
                self._judge(cut)  # the first weight
                low_rank = self._low_rank = LowRankStart(told, rows, self._domain, self.factor)
                self._phase = SpectralPhase.FACTOR
        if low_rank is None:
            return None
        serious = center is None or computed(cut) < computed(center)
        if center is None or np.array_equal(cut.point, self._point):  # else it is a cut of an earlier run
            point = low_rank.tell(cut, told.vectors)
            if low_rank.minorant is not None and low_rank.bound > self._lower:
                self._minorant, self._lower = low_rank.minorant, low_rank.bound
            if point is None:
                self._primal, self._low_rank = low_rank.primal(), None
                self._share = 1.0 - float(np.sum(self._primal[told.matrix.single] ** 2))
                self._primal[told.matrix.single] = 0.0
                return None
            self._point = point
        if serious:
            self._center, self._pairs = cut, pairs
        return Step.SERIOUS if serious else Step.NULL

    def _told(self) -> Eigenpairs:
        """The eigenpairs that the oracle told at the center."""
        assert self._center is not None
        return told_at(self._center)

    def _judge(self, cut: ObjectiveCut) -> bool:
        """Descent test, and the new weight."""
        if self._center is None:
            norm = float(np.linalg.norm(cut.subgradient)) or 1.0
            self._weight = self.proximal or norm / first_step(self._domain, cut, 0.1)
            return True
        # values as computed: the rounding that the cuts state holds on all of the domain, and differences have less
        gain, predicted = computed(self._center) - computed(cut), self._decrease
        if not np.array_equal(cut.point, self._point):  # this is a cut of an earlier run: no decrease was predicted
            return gain > 0
        told = self._told()
        rounding = 1e-12 * abs(computed(cut)) + (cut.error if len(told.values) < told.matrix.order else 0.0)
        if predicted <= rounding:  # the slope of the model may still fall
            self._weight *= 0.1
            return gain >= -rounding
        whole, enough = self._phase is SpectralPhase.WHOLE, gain > 0 and gain >= self.descent * predicted
        if gain > 0.5 * predicted:
            self._weight *= WHOLE if whole else 0.3
        elif whole and not enough:  # the model is right, and its minimizer was not
            self._weight *= RAISE
        elif gain < -0.5 * predicted:
            self._weight *= 2.0
        return enough

    def _solve(self) -> None:
        """Solve the master: the next query point, the minorant, what is active."""
        told, center = self._told(), self._center
        assert center is not None
        y, value = center.point, computed(center)
        P = Span(self._basis) if self._whole is None else self._whole
        entries, turns = told.matrix.diagonal(told.matrix.single)  # the blocks of order one, whole
        slopes = told.b - told.trace * turns
        constants = told.trace * entries + slopes @ y - value
        if self._aggregate is not None and self._whole is None:
            slopes = np.vstack([self._aggregate.slope, slopes])
            known = self._aggregate.constant - self._aggregate.error
            constants = np.r_[known + slopes[0] @ y - value, constants]
        structured = StructuredModel(told, P, matrix_at(told, P, y, value), constants, slopes)
        done, model = self._minimized(structured, y, floor=FLOOR * abs(value))
        other = flattened(model, done.V, done.eta)
        earlier = self._aggregated
        self._aggregate, self._aggregated = self._prove(structured, done.V, done.eta, center, earlier)
        self._prove(structured, *other, center, earlier)
        self._multipliers = done.V
        if self._whole is None:
            self._primal = active_part(done.V, self._basis)
        self._share = 1.0 - float(done.eta[len(done.eta) - len(entries) :].sum())

    def _minimized(self, model: StructuredModel, y: Vector, floor: float) -> tuple[SpectralPoint, Model]:
        """The solution of the master, with its point and what that predicts kept, and the form of the model it used."""
        if self._whole is not None:
            done, self._multiplier = minimize_within(self._ball, y, model, self._weight, self._multiplier, floor)
            self._point, self._decrease = (y + done.s, done.decrease) if done.decrease > 0 else (y, 0.0)
            return done, model
        hessian = self._curvature(model.told, y)
        # H is singular where f is constant, as max-cut is along (1, ..., 1)
        hessian[np.diag_indices(len(y))] += max(self._weight, 1e-12 * float(hessian.diagonal().max()))
        used, done = minimized(model, hessian, floor)
        self._point, self._decrease = y, 0.0
        if done.decrease > 0:
            self._point, self._decrease = step_within(self._ball, y, done)
        return done, used

    def _prove(
        self, model: StructuredModel, V: Matrix, eta: Vector, center: ObjectiveCut, earlier: PrimalMatrix | None
    ) -> tuple[Minorant, PrimalMatrix]:
        """The minorant of some multipliers, kept if it proves more than those before, and its W."""
        slope = model.slope(V, eta)
        value = computed(center)
        constant = model.constant(V, eta) + value - float(slope @ center.point)
        entries, constants = model.sizes(V, eta)
        size = constants + abs(value) + float(entries @ np.abs(center.point)) + self._domain.extent(entries)
        # products with an orthonormal basis, of V, and of the point, each a sum of so many terms
        error = EPS * (model.told.matrix.order + V.size + len(eta) + len(slope)) * size
        matrix = model.told.matrix
        pieces = len(eta) - len(matrix.single)  # that of the aggregate, or none
        diagonal = matrix.single, eta[pieces:]
        W = PrimalMatrix.of(model.basis, V, matrix.order, diagonal, earlier, float(eta[:pieces].sum()))
        minorant = Minorant(constant, slope, error, parts=(PrimalParts(constant, error, slope, W),))
        bound = minorant.minimum(self._domain) - error
        if bound > self._lower or self._minorant is None:
            self._minorant, self._lower = minorant, bound
        return minorant, W

    def _curvature(self, told: Eigenpairs, y: Vector) -> Matrix:
        """H at the center, of the active part of the last master as far as it lies in the leading eigenspace."""
        total = float(np.sum(self._primal**2))
        values, vectors = self._pairs
        if not total > 0 or not values.any():
            return np.zeros((len(y), len(y)))
        leading = vectors[:, : self._group]
        X = leading @ (leading.T @ self._primal) * np.sqrt(self._share / total)
        # second derivatives say nothing of eigenvalues that the step brings together
        least = max(self._decrease / told.trace, 1e-10 * float(np.abs(values).max()))
        return curvature(told, y, self._group, self._pairs, X @ X.T, least)
