"""The spectral bundle method with second-order information, for largest eigenvalues."""

from __future__ import annotations

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
from oracle_opt.generators.masters.first_step import first_step
from oracle_opt.generators.masters.low_rank import LowRankStart
from oracle_opt.generators.masters.spectral import SpectralModel, SpectralPoint, flattened, minimize_spectral
from oracle_opt.words import shown

NEW = 10  # eigenvectors that a call adds to the active ones
ACTIVE = 1e-3  # share of the largest multiplier above which an eigenvector is active
NEAR = 0.1  # a vector nearer than this to the span of others adds nothing to them


class SpectralBundle(QueryPointGenerator):
    """Minimize a model of the largest eigenvalue on a subspace, plus a quadratic that holds its curvature.

    The function is ``f(y) = trace * lambda_max(M(y)) + b @ y`` with ``M(y) = C - sum_i y_i A_i``. The model knows M on
    the span of some orthonormal vectors P, and keeps what it dropped as one affine minorant l:

        max(trace * lambda_max(P' M(y) P) + b @ y, l(y)) + 1/2 (y - center)' (H + weight I) (y - center).

    Where the A_i fix entries of the diagonal of the primal matrix X, as those of max-cut do, the run begins with a
    factor of X of few columns, whose stationarity gives the points that are asked (Burer & Monteiro 2003); the bundle
    takes over where that no longer closes the gap.

    Blocks of M of order one, which linear inequalities make, are affine functions, and the model keeps them whole; P
    then belongs to the other rows.

    Its minimizer is the next query point. It becomes the center, a serious step, if the value falls by at least
    `descent` times what the model predicts. Then P is made of the eigenvectors there, as many as were active and ten
    more, or `min_order`, and of the active part of the old span; after a null step of that part, the ten leading
    eigenvectors at the rejected point and those at the center.

    Parameters
    ----------
    descent : float
        Share of the predicted decrease that makes a step serious, between 0 and 1/2.
    proximal : float, optional
        The first weight; default is the norm of the first subgradient over a tenth of the way to its minimizer on the
        domain, or over 1 where that is infinite.
    min_order : int
        Fewest leading eigenvectors in P after a serious step, where there are so many. The master is a semidefinite
        program of this order: more of them make fewer and longer calls. Matrices of at most this order are the model
        whole, and the method is then an interior point method with a few outer steps.
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

    *Weight.* It falls after a step that gained half the predicted decrease, doubles after one that lost as much, and
    falls where the predicted decrease is rounding: then the slope of the proof is left to shrink, and a step that
    loses no more than rounding is serious.

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
        self._ball = domain.enclosing_ball()  # the ball around the set in which a minimizer is promised
        self._point = point
        self._center = self._low_rank = None
        self._pairs = np.zeros(0), np.zeros((0, 0))  # eigenvalues and vectors at the center, but of blocks of order one
        self._group = NEW  # leading eigenvectors at the center that P holds
        self._basis = np.zeros((0, 0))  # P
        self._primal = np.zeros((0, 0))  # X with W = X X', the active part of the last master
        self._weight = 0.0
        self._share = 1.0  # share of the multipliers that belongs to matrices and not to blocks of order one
        self._decrease = 0.0  # predicted at the pending point
        self._aggregate: Minorant | None = None
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
        pairs = _coupled_pairs(told, cut.point)
        vectors = pairs[1]
        step = self._begin(cut, told, pairs)
        if step is not None:
            return step
        serious = self._judge(cut)
        active = self._primal if self._primal.size else np.zeros((len(vectors), 0))
        if serious:
            self._center, self._pairs = cut, pairs
            self._group = min(max(active.shape[1] + NEW, self.min_order), self.max_order, vectors.shape[1])
            first, further = vectors[:, : self._group], active
        else:
            leading = self._pairs[1][:, : self._group]
            first, further = vectors[:, : min(NEW, self.max_order)], np.hstack([active, leading])
        self._basis = _extended(first, further, self.max_order)
        self._solve()
        return Step.SERIOUS if serious else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the best minorant that the masters' multipliers gave."""
        return self._minorant

    def primal_factor(self) -> Matrix | None:
        """Return a factor of the primal matrix, ``X = R @ R.T``, as far as the run has come.

        It is None before the first answer. Rows of blocks of order one are zero once the bundle has taken over.

        Returns
        -------
        ndarray of shape (N, k) or None
            R: where the A_i fix the diagonal of X, as max-cut's do, its rows are vectors to round.
        """
        if self._low_rank is not None:
            return self._low_rank.factor
        if self._center is None or not self._primal.size:
            return None
        root: Matrix = np.sqrt(self._told().trace) * self._primal
        return root

    def _begin(self, cut: ObjectiveCut, told: Eigenpairs, pairs: tuple[Vector, Matrix]) -> Step | None:
        """The step of the low-rank start; None where there is no start, or it is over and the bundle goes on."""
        center, low_rank = self._center, self._low_rank
        if center is None and self.low_rank and told.matrix.order > self.min_order:
            rows = FactorRows.of(told)
            if self.factor is not None and len(self.factor) != told.matrix.order:
                raise InvalidArgument(f"`factor` must have {told.matrix.order} rows, got {len(self.factor)}")
            if rows is not None:
                self._judge(cut)  # the first weight
                low_rank = self._low_rank = LowRankStart(told, rows, self._domain, self.factor)
        if low_rank is None:
            return None
        serious = center is None or _computed(cut) < _computed(center)
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
        """What the oracle told at the center."""
        assert self._center is not None
        return _eigenpairs(self._center)

    def _judge(self, cut: ObjectiveCut) -> bool:
        """Descent test, and the new weight."""
        if self._center is None:
            norm = float(np.linalg.norm(cut.subgradient)) or 1.0
            self._weight = self.proximal or norm / first_step(self._domain, cut, 0.1)
            return True
        # values as computed: the rounding that the cuts state holds on all of the domain, and differences have less
        gain, predicted = _computed(self._center) - _computed(cut), self._decrease
        if not np.array_equal(cut.point, self._point):  # this is a cut of an earlier run: no decrease was predicted
            return gain > 0
        told = self._told()
        rounding = 1e-12 * abs(_computed(cut)) + (cut.error if len(told.values) < told.matrix.order else 0.0)
        if predicted <= rounding:  # the slope of the model may still fall
            self._weight *= 0.1
            return gain >= -rounding
        if gain > 0.5 * predicted:
            self._weight *= 0.3
        elif gain < -0.5 * predicted:
            self._weight *= 2.0
        return gain > 0 and gain >= self.descent * predicted

    def _solve(self) -> None:
        """Solve the master: the next query point, the minorant, what is active."""
        told, center, P = self._told(), self._center, self._basis
        assert center is not None
        y, value = center.point, _computed(center)
        identity = np.eye(P.shape[1])
        at_center = told.trace * (P.T @ (told.matrix.at(y) @ P)) + (float(told.b @ y) - value) * identity
        matrices = told.b[:, None, None] * identity - told.trace * told.matrix.restrict(P)
        entries, turns = told.matrix.diagonal(told.matrix.single)  # the blocks of order one, whole
        slopes = told.b - told.trace * turns
        constants = told.trace * entries + slopes @ y - value
        if self._aggregate is not None:
            slopes = np.vstack([self._aggregate.slope, slopes])
            known = self._aggregate.constant - self._aggregate.error
            constants = np.r_[known + slopes[0] @ y - value, constants]
        model = SpectralModel(0.5 * (at_center + at_center.T), matrices, constants, slopes)
        hessian = self._curvature(told, y)
        # H is singular where f is constant, as max-cut is along (1, ..., 1)
        hessian[np.diag_indices(len(y))] += max(self._weight, 1e-12 * float(hessian.diagonal().max()))
        done = minimize_spectral(model, hessian, floor=1e-20 * abs(value))
        self._aggregate = self._prove(model, done.V, done.eta, center)
        self._prove(model, *flattened(model, done.V, done.eta), center)
        self._point, self._decrease = y, 0.0
        if done.decrease > 0:
            self._point, self._decrease = self._within(y, done, model, hessian)
        multipliers, axes = np.linalg.eigh(done.V)
        active = multipliers > ACTIVE * multipliers.max(initial=0.0)
        self._primal = P @ (axes[:, active] * np.sqrt(multipliers[active]))
        self._share = 1.0 - float(done.eta[len(done.eta) - len(entries) :].sum())

    def _within(self, y: Vector, done: SpectralPoint, model: SpectralModel, hessian: Matrix) -> tuple[Vector, float]:
        """The master's step where it stays in the ball that holds a minimizer, and the decrease it predicts.

        Bounds are those of the ball, and values outside it may be lower. A step that leaves it ends at the nearest
        point of the ball or, if that predicts no decrease, at the surface.
        """
        center, radius = self._ball
        away = y + done.s - center
        far = float(np.linalg.norm(away))
        if far <= radius or not np.linalg.norm(y - center) <= radius:
            return y + done.s, done.decrease
        point = center + (radius * (1.0 - 1e-12) / far) * away
        s = point - y
        F, affine = model.at(s)
        decrease = -float(np.r_[np.linalg.eigvalsh(F), affine].max() + 0.5 * (s @ hessian @ s))
        if decrease > 0:
            return point, decrease
        start, step = y - center, float(done.s @ done.s)
        half, rest = float(start @ done.s), float(start @ start) - (radius * (1.0 - 1e-12)) ** 2
        share = max(0.0, (-half + np.sqrt(max(half**2 - step * rest, 0.0))) / step)
        return y + share * done.s, share * done.decrease

    def _prove(self, model: SpectralModel, V: Matrix, eta: Vector, center: ObjectiveCut) -> Minorant:
        """The minorant of some multipliers; kept if it proves more than those before."""
        slope = model.slope(V, eta)
        value = _computed(center)
        constant = model.constant(V, eta) + value - float(slope @ center.point)
        sizes = np.abs(V).ravel(), eta
        entries = np.abs(model.matrices).reshape(len(slope), -1) @ sizes[0] + sizes[1] @ np.abs(model.slopes)
        size = float(sizes[0] @ np.abs(model.center).ravel() + sizes[1] @ np.abs(model.constants)) + abs(value)
        size += float(entries @ np.abs(center.point)) + self._domain.extent(entries)
        # products with an orthonormal basis, of V, and of the point, each a sum of so many terms
        error = EPS * (len(self._basis) + V.size + len(eta) + len(slope)) * size
        minorant = Minorant(constant, slope, error)
        bound = minorant.minimum(self._domain) - error
        if bound > self._lower or self._minorant is None:
            self._minorant, self._lower = minorant, bound
        return minorant

    def _curvature(self, told: Eigenpairs, y: Vector) -> Matrix:
        """H at the center, of the active part of the last master as far as it lies in the leading eigenspace."""
        m, group = len(told.b), self._group
        total = float(np.sum(self._primal**2))
        values, vectors = self._pairs
        if not total > 0 or not values.any():
            return np.zeros((m, m))
        leading, others = vectors[:, :group], vectors[:, group:]
        # second derivatives say nothing of eigenvalues that the step brings together
        top = told.values[0]
        least = max(self._decrease / told.trace, 1e-10 * float(np.abs(values).max()))
        K = (others / np.maximum(top - values[group:], least)) @ others.T
        single = told.matrix.single
        unknown = told.matrix.order - len(single) - len(values)
        if unknown > 0:
            trace = float(np.delete(told.matrix.at(y).diagonal(), single).sum())
            mean = (trace - float(values.sum())) / unknown
            K += (np.eye(told.matrix.order) - vectors @ vectors.T) / max(top - mean, least)
        X = leading @ (leading.T @ self._primal) * np.sqrt(self._share / total)
        H: Matrix = 2.0 * told.trace * told.matrix.coupling(X, K)
        return 0.5 * (H + H.T)


def _eigenpairs(cut: ObjectiveCut) -> Eigenpairs:
    told = cut.answer(Eigenpairs)
    assert told is not None  # `tell` takes no cuts without eigenpairs
    return told


def _computed(cut: ObjectiveCut) -> float:
    """The function at the point of a cut, as its eigenvalue says."""
    told = _eigenpairs(cut)
    return told.trace * float(told.values[0]) + float(told.b @ cut.point)


def _coupled_pairs(told: Eigenpairs, point: Vector) -> tuple[Vector, Matrix]:
    """Eigenpairs of the matrix without its blocks of order one, largest first.

    An eigenvector's rows outside these blocks are one of the rest, or zero; where an eigenvalue is of both, they are no
    longer orthonormal, and a basis of their span is.
    """
    single = told.matrix.single
    if not len(single):
        return told.values, told.vectors
    vectors = told.vectors.copy()
    vectors[single] = 0.0
    pure = np.linalg.norm(told.vectors[single], axis=0) < 1e-12
    basis, sizes, _ = np.linalg.svd(vectors[:, ~pure], full_matrices=False)
    basis = basis[:, sizes > NEAR]
    small = basis.T @ (told.matrix.at(point) @ basis)
    values, axes = np.linalg.eigh(0.5 * (small + small.T))
    values, vectors = np.r_[told.values[pure], values], np.hstack([vectors[:, pure], basis @ axes])
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _extended(first: Matrix, further: Matrix, most: int) -> Matrix:
    """Orthonormal columns `first` and what the further ones add to their span, until there are `most`."""
    P = first
    for v in further.T:
        if P.shape[1] >= most:
            break
        rest = v - P @ (P.T @ v)
        rest -= P @ (P.T @ rest)
        norm = float(np.linalg.norm(rest))
        if norm > NEAR * float(np.linalg.norm(v)):
            P = np.column_stack([P, rest / norm])
    return P
