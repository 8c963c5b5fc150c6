"""The face model: l1 multiple kernel learning in which most dual variables of the support vector machine stay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import fsum, inf

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.local_model import LocalFunction, LocalMinimum
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains import Simplex
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.mkl.face_minimum import FaceProblem, minimize_face
from oracle_opt.oracles.mkl.float_formula import forms_near
from oracle_opt.oracles.mkl.formula import proven, value_at
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.floats import Floats

# Bytes that the chosen kernels on the free points may take; a larger face is left alone.
MOST_BYTES = 1 << 28
LEAST_VIOLATORS = 10
NO_VIOLATOR = 1e-9  # an excess so small, as a share of the mean, is none
NEGLECTED = 0.1  # weights of the minimizer that matter less than this times the accuracy are 0
ACCURACY = 1e-10  # relative gap of the machines on T alone
HALVINGS = 60  # bisections of the bias
FEW_POINTS, ROWS = 4000, 1000  # up to so many the combined kernel may be made; of more so many rows at a time


@dataclass(frozen=True, eq=False)
class FaceData:
    """What the face models of one machine share: the kernels, the dual, and the point of the cut they belong to."""

    bank: KernelBank
    dual: Separable
    b: Vector
    forms: Vector
    forms_error: tuple[float, float]

    def decision_values(self, w: Vector, b: Vector) -> Vector:
        """``sum_k w_k K_k @ b``, ndarray of shape (n,)."""
        if b.size <= FEW_POINTS and 2 * np.count_nonzero(b) >= b.size:
            combined: Vector = self.bank.combine(w) @ b
            return combined
        used, starts = np.flatnonzero(w), range(0, b.size, ROWS)
        chosen, points = self.bank.subset(used), np.arange(b.size)
        return np.concatenate([chosen.row_products(points[i : i + ROWS], b) @ w[used] for i in starts])


@dataclass(frozen=True, eq=False)
class _FaceMinimum(LocalMinimum):
    """A local minimum that remembers its dual variables."""

    b: Vector


class FaceModel(LocalFunction):
    """``f_T(w) = max over b of L(b) - 1/2 sum_k w_k S_k(b)``, b fixed outside T: below f, whose maximum is over all b.

    T holds the free support vectors of the cut, so f_T is f where the others stay at their bounds. With
    ``b = b' + d``, b' those of the cut, ``S_k(b) = S_k(b') + 2 U_k @ d + d @ K_k @ d`` with ``U = (K_k @ b')_k`` on T:
    all of it is of the size of T. Where the loss has a kink at 0, a variable stays on its side of it.
    """

    def __init__(self, data: FaceData, points: Indices, signs: Vector, smaller: FaceModel | None = None) -> None:
        self.data, self.points, self.signs, self._smaller = data, points, signs, smaller
        self._kept: Indices = np.zeros(0, dtype=np.intp)
        self._tensor: Matrix = np.zeros((0, points.size, points.size))

    @classmethod
    def of_free_points(cls, data: FaceData) -> FaceModel:
        """The model that lets the free support vectors of the cut move."""
        points = data.dual.free(data.b)
        return cls(data, points, _signs(data, points, data.b[points]))

    def __repr__(self) -> str:
        return f"FaceModel({self.points.size} of {self.data.b.size} points)"

    def joined(self, other: LocalFunction) -> FaceModel:
        """Return the model that lets the points of both move, about the cut of this one."""
        assert isinstance(other, FaceModel)  # of the same oracle
        new = np.setdiff1d(other.points, self.points)
        return self._with(new, _signs(self.data, new, other.data.b[new]))

    def on(self, coordinates: NDArray[np.intp]) -> FunctionOracle:
        """Return f_T as an oracle in the weights of some kernels: a support vector machine on T."""
        return FunctionOracle(partial(self._machine_cut, coordinates), Simplex(coordinates.size), name="face model")

    def _machine_cut(self, coordinates: Indices, w: Vector) -> ObjectiveCut:
        """Solve the machine on T: value and slope of f_T in the weights of some kernels."""
        data, old = self.data, self.data.b[self.points]
        kernels, U = self.kernels(coordinates), self.products[:, coordinates]
        K = np.tensordot(w, kernels, 1)
        # about b = 0 on T, the rest as it is: linear - (K b)_T without T's own part
        linear = self.linear - U @ w + K @ old
        dual = Separable(linear, *self.box, total=fsum([data.dual.total, *(-data.b).tolist(), *old.tolist()]))
        solved = dual.solve(K + np.diag(self.ridge), start=old, accuracy=ACCURACY)
        b = self.whole(solved.signed_dual)
        d = b[self.points] - old
        S = data.forms[coordinates] + d @ (2.0 * U + (kernels @ d).T)
        return ObjectiveCut(w, data.dual.value(b) - 0.5 * float(w @ S), -0.5 * S, error=max(solved.gap, 0.0))

    def minimize(self, coordinates: NDArray[np.intp], point: Vector, accuracy: float) -> _FaceMinimum | None:
        """Minimize f_T in the weights of some kernels; see `LocalFunction.minimize`."""
        if self.points.size < 2 or not coordinates.size or not self._fits(coordinates):
            return None
        ridge, linear = self.ridge, self.linear
        old, kernels = self.data.b[self.points], self.kernels(coordinates)
        lower, upper = self.box
        problem = FaceProblem(
            linear - ridge * old,
            ridge,
            lower - old,
            upper - old,
            kernels,
            np.ascontiguousarray(self.products[:, coordinates]),
            self.data.forms[coordinates],
        )
        solved = minimize_face(problem, point[coordinates], accuracy)
        if solved is None:
            return None
        d, weights, steps = solved
        w, order = np.zeros(self.data.bank.n_kernels), np.argsort(weights)
        # an interior point has no zeros: those that make less than this of the value go
        largest = float((problem.forms + d @ (2.0 * problem.products + (kernels @ d).T)).max())
        small = np.cumsum(weights[order]) * 0.5 * largest <= NEGLECTED * accuracy
        weights[order[small[:-1].nonzero()]] = 0.0
        w[coordinates] = weights / weights.sum()
        b = self.whole(old + d)
        return _FaceMinimum(w, self.cut(w, b), steps, b)

    def predict(self, minimum: LocalMinimum) -> tuple[float, FaceModel | None]:
        """Primal value at the weights and dual variables of a minimum, and the model with the worst violators.

        Its excess over the dual value is a sum over the points; those outside T of the largest parts, as many as T has,
        join it.
        """
        assert isinstance(minimum, _FaceMinimum)  # of this model
        b = minimum.b
        value, excess, ends = _primal_value(self.data.dual, b, self.data.decision_values(minimum.point, b))
        excess[self.points] = 0.0
        worst = np.argsort(-excess)[: max(LEAST_VIOLATORS, self.points.size)]
        worst = np.sort(worst[excess[worst] > NO_VIOLATOR * abs(value) / b.size])
        return value, self._with(worst, _signs(self.data, worst, ends[worst])) if worst.size else None

    def cut(self, w: Vector, b: Vector) -> ObjectiveCut:
        """The cut of f by dual variables that differ from those of the model's cut on T alone; proven as theirs is."""
        data, bank = self.data, self.data.bank
        d = b - data.b
        S = data.forms + 2.0 * (d[self.points] @ self.products) + bank.quadratic_forms(d)
        # the error of the forms before, of the two terms, and of adding the three
        errors = np.array([data.forms_error, bank.form_error(d, data.b), bank.form_error(d, d)])
        added = np.array([bank.form_error(data.b, data.b), *errors[1:]]) / 64
        of_largest, of_trace = errors.T @ [1.0, 2.0, 1.0] + added.T @ [1.0, 2.0, 1.0]
        imbalance = (1.0 + 2.0 * EPS) * abs(fsum([*b.tolist(), -data.dual.total]))
        forms = forms_near(bank, b, imbalance, S, (float(of_largest), float(of_trace)))
        proof = proven(data.dual, b, imbalance, forms, lambda: 1.0, Floats)
        F = proof.forms
        return ObjectiveCut(
            point=w,
            value=float(value_at(proof, w).below()),
            subgradient=-0.5 * F,
            error=inf,
            lower_bound=float((proof.constant - 0.5 * float(F.max())).below()),
            extras={"signed_dual": b},
        )

    def whole(self, at: Vector) -> Vector:
        """All dual variables, exactly in the box and of the right sum up to rounding, with about these values on T."""
        b = self.data.b.copy()
        lower, upper = self.box
        at = np.clip(at, lower, upper)
        for _ in range(3):
            b[self.points] = at
            excess = fsum([*b.tolist(), -self.data.dual.total])
            room = at - lower if excess > 0 else upper - at
            if excess == 0.0 or not room.sum() > abs(excess):
                break
            at = np.clip(at - excess * (room / room.sum()), lower, upper)
        return b

    def kernels(self, coordinates: Indices) -> Matrix:
        """Some kernels on T, ndarray of shape (k, t, t); those asked for last are kept."""
        new = np.setdiff1d(coordinates, self._kept)
        if new.size:
            entries = self.data.bank.subset(new).entries(self.points, self.points)
            self._tensor = np.concatenate([self._tensor, np.moveaxis(entries, 2, 0)])
            self._kept = np.r_[self._kept, new]
        order = np.argsort(self._kept)
        places = order[np.searchsorted(self._kept, coordinates, sorter=order)]
        if np.array_equal(places, np.arange(self._kept.size)):
            return self._tensor
        chosen: Matrix = self._tensor[places]
        return chosen

    @cached_property
    def products(self) -> Matrix:
        """U: entry (i, k) is that of ``K_k @ b'`` in the i-th point of T; ndarray of shape (t, p)."""
        smaller, bank = self._smaller, self.data.bank
        if smaller is None:
            return bank.row_products(self.points, self.data.b)
        U = np.empty((self.points.size, bank.n_kernels))
        known = np.isin(self.points, smaller.points)
        U[known] = smaller.products
        if not known.all():
            U[~known] = bank.row_products(self.points[~known], self.data.b)
        return U

    @cached_property
    def box(self) -> tuple[Vector, Vector]:
        """Bounds of the variables of T, cut at the kink."""
        T = self.points
        lower, upper = (side[T] for side in self.data.dual.box)
        return np.where(self.signs > 0, np.maximum(lower, 0.0), lower), np.where(
            self.signs < 0, np.minimum(upper, 0.0), upper
        )

    @property
    def linear(self) -> Vector:
        """Slope of L without the ridge on T, on these sides of the kink."""
        dual, T = self.data.dual, self.points
        slope: Vector = dual.linear[T] if dual.kink is None else dual.linear[T] - dual.kink[T] * self.signs
        return slope

    @property
    def ridge(self) -> Vector:
        """The ridge of the loss on T, 0 if it has none."""
        ridge = self.data.dual.ridge
        return np.zeros(self.points.size) if ridge is None else ridge[self.points]

    def _fits(self, coordinates: Indices) -> bool:
        t = self.points.size
        return 8 * t * max(t * coordinates.size, self.data.bank.n_kernels) <= MOST_BYTES

    def _with(self, new: Indices, signs: Vector) -> FaceModel:
        """The model in which more points move."""
        points, signs = np.r_[self.points, new], np.r_[self.signs, signs]
        order = np.argsort(points)
        return FaceModel(self.data, points[order], signs[order], self)


def _signs(data: FaceData, points: Indices, at: Vector) -> Vector:
    """Sides of the kink, if there is one: where the variables are, or, for those at 0, where others are."""
    if data.dual.kink is None:
        return np.zeros(points.size)
    own = data.b[points]
    return np.where(data.dual.kink[points] > 0, np.sign(np.where(own != 0, own, at)), 0.0)


def _primal_value(dual: Separable, b: Vector, values: Vector) -> tuple[float, Vector, Vector]:
    """What ``K @ b`` tells of the optimum on K from above, as computed: no bound in exact arithmetic.

    As ``-1/2 x @ K @ x <= 1/2 b @ K @ b - x @ K @ b``, for any bias

        max over x of L(x) - 1/2 x @ K @ x  <=  1/2 b @ K @ b + bias * total + sum_i max over x_i of
                                                (linear_i - (K b)_i - bias) x_i - kink_i |x_i| - 1/2 ridge_i x_i**2,

    x in the box and of the right sum on the left, in the box alone on the right; the best bias is taken.
    """
    slope = dual.linear - values
    bias = _best_bias(dual, slope)
    ends = dual.response(slope - bias)
    best, own = dual.charged(slope - bias, ends), dual.charged(slope - bias, b)
    return 0.5 * float(b @ values) + bias * dual.total + float(best.sum()), best - own, ends


def _best_bias(dual: Separable, slope: Vector) -> float:
    """The bias for which the value is least: where the maximizers add up to `total`."""
    wide = 0.0 if dual.kink is None else float(dual.kink.max())
    wide += 0.0 if dual.ridge is None else float(dual.ridge.max()) * abs(dual.total)
    low, high = float(slope.min()) - wide, float(slope.max()) + wide
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if float(dual.response(slope - middle).sum()) > dual.total:
            low = middle
        else:
            high = middle
    return high
