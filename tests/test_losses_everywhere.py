"""Every loss with every formulation of multiple kernel learning, against primal problems solved by Clarabel.

The truth knows nothing of duals: hyperplanes, a bias and the loss by its definition. A loss or a formulation is one
entry of a table.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import oracle_opt.oracles.svm as S
from oracle_opt import InvalidArgument, QueryPointGenerator, minimize
from oracle_opt import Query as Q
from oracle_opt.generators import SPG, FixedPoint, LevelSet, NewtonBundle
from oracle_opt.oracles import EntropyRegularizer, GramBank, MixedNormOracle, ProductBank
from oracle_opt.oracles.mkl import SMOMKL, ElasticNet, GMKLOracle, LpRegularizer, MKLOracle, NewtonMKL, Regularizer
from oracle_opt.testing import check_oracle

N = 11
GROUPS = ((0, 2), (1, 3))
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2))
TARGETS = X[:, 0] + 0.5 * RNG.normal(size=N) + 3.0
LABELS = np.where(TARGETS > 3.0, 1.0, -1.0)
EXCEEDED = np.arange(N) % 3 == 0
DISTANCES = ((X[:, None] - X[None]) ** 2).transpose(2, 0, 1)
KERNELS = [factor * np.exp(-width * DISTANCES.sum(axis=0)) for factor, width in ((1, 0.3), (0.5, 3.0), (2, 10.0))]
KERNELS.append(X @ X.T / 3)
WEIGHTS_OF_POINTS = np.linspace(0.1, 0.8, N)


class OwnQuantile(S.Loss):
    """One of a user's own: quantile regression, a box that is not symmetric."""

    def __init__(self, C=1.0, share=0.7):
        self.C, self.share = C, share

    def dual(self, y, n_points):
        ones = np.ones(n_points)
        return S.Separable(np.array(y, dtype=float), (self.share - 1) * self.C * ones, self.share * self.C * ones)

    def predict(self, values):
        return values


class Censored(S.Loss):
    """Another: absolute loss, but of some targets only that they are exceeded is known. y has two columns."""

    def dual(self, y, n_points):
        targets, exceeded = np.array(y, dtype=float).T
        middle = targets.mean()
        lower = np.where(exceeded > 0, 0.0, -WEIGHTS_OF_POINTS)
        return S.Separable(targets - middle, lower, WEIGHTS_OF_POINTS.copy(), unit=0.5, offset=middle)

    def predict(self, values):
        return values


class ByPoint(S.Loss):
    """Another: kinks, ridges and sides all of their own at each point, some of them 0, infinite or on one side."""

    KINK = np.where(np.arange(N) % 4 == 1, 0.0, np.linspace(0.3, 0.0, N))
    RIDGE = np.where(np.arange(N) % 3 == 0, 0.0, np.linspace(0.5, 4.0, N))
    LOWER = np.where(np.arange(N) == 5, 0.0, np.where(RIDGE * (np.arange(N) % 2) > 0, -np.inf, -0.3))
    UPPER = np.where(RIDGE * (np.arange(N) % 5 == 1) > 0, np.inf, WEIGHTS_OF_POINTS)

    def dual(self, y, n_points):
        targets = np.array(y, dtype=float)
        middle = float(np.median(targets))
        box = self.LOWER.copy(), self.UPPER.copy()
        return S.Separable(targets - middle, *box, self.KINK.copy(), self.RIDGE.copy(), offset=middle)

    def predict(self, values):
        return values


class FromThere(Regularizer):
    """One of a user's own: half the squared distance to given weights. Its conjugate is not known to the library."""

    convex = True

    def value(self, d):
        return 0.5 * float((d - 0.3) @ (d - 0.3))

    def gradient(self, d):
        return d - 0.3


@dataclass
class Charged:
    """A loss, its labels or targets, and what it charges for decision values f at a bias, in cvxpy."""

    loss: S.Loss
    y: np.ndarray | None
    charge: Callable


def hinge(f, bias, C=0.4):
    return cp.pos(1 - cp.multiply(LABELS, f + bias)) * C


CLASSES = {1: 3.0, -1: 0.5}
LOSSES = {
    "hinge": Charged(S.Hinge(0.4), LABELS, lambda f, bias: cp.sum(hinge(f, bias))),
    "weighted hinge": Charged(
        S.Hinge(WEIGHTS_OF_POINTS, CLASSES),
        LABELS,
        lambda f, bias: WEIGHTS_OF_POINTS * np.where(LABELS > 0, 3.0, 0.5) @ hinge(f, bias, 1.0),
    ),
    "squared hinge": Charged(S.SquaredHinge(0.4), LABELS, lambda f, bias: 0.4 * cp.sum_squares(hinge(f, bias, 1.0))),
    "weighted squared hinge": Charged(
        S.SquaredHinge(WEIGHTS_OF_POINTS, CLASSES),
        LABELS,
        lambda f, bias: WEIGHTS_OF_POINTS * np.where(LABELS > 0, 3.0, 0.5) @ cp.square(hinge(f, bias, 1.0)),
    ),
    "regression": Charged(
        S.EpsilonInsensitive(0.5, 0.1), TARGETS, lambda f, bias: 0.5 * cp.sum(cp.pos(cp.abs(TARGETS - f - bias) - 0.1))
    ),
    "absolute loss": Charged(
        S.EpsilonInsensitive(WEIGHTS_OF_POINTS, 0.0),
        TARGETS,
        lambda f, bias: WEIGHTS_OF_POINTS @ cp.abs(TARGETS - f - bias),
    ),
    "one class": Charged(S.OneClass(0.4), None, lambda f, bias: cp.sum(cp.pos(-(f + bias))) + 0.4 * N * bias),
    "own quantile": Charged(
        OwnQuantile(),
        TARGETS,
        lambda f, bias: cp.sum(cp.maximum(0.7 * (TARGETS - f - bias), 0.3 * (f + bias - TARGETS))),
    ),
    "censored": Charged(
        Censored(),
        np.c_[TARGETS, EXCEEDED],
        lambda f, bias: (
            WEIGHTS_OF_POINTS
            @ cp.maximum(TARGETS - f - bias, cp.multiply(np.where(EXCEEDED, 0.0, -1.0), TARGETS - f - bias))
        ),
    ),
}


def past(error, start):
    """What of errors lies beyond a start, in cvxpy."""
    return cp.pos(error - start)


def by_point(f, bias):
    """The largest over b of ``e b - kink |b| - ridge b**2 / 2``, whose conjugate cvxpy knows as that of a sum."""
    charges = []
    for i, (k, r, low, high) in enumerate(zip(ByPoint.KINK, ByPoint.RIDGE, ByPoint.LOWER, ByPoint.UPPER, strict=True)):
        for side, end in ((TARGETS[i] - f[i] - bias, high), (f[i] + bias - TARGETS[i], -low)):
            u = cp.pos(side - k)
            if r == 0 or end == 0:
                charges.append(end * u)
            elif end == np.inf:
                charges.append(cp.square(u) / (2 * r))
            else:
                charges.append(cp.huber(u, r * end) / (2 * r))
    return sum(charges)


def errors(f, bias):
    return TARGETS - f - bias


LOSSES |= {
    "huber": Charged(S.Huber(0.5, 0.3), TARGETS, lambda f, bias: 0.25 * cp.sum(cp.huber(errors(f, bias), 0.3))),
    "weighted huber": Charged(
        S.Huber(WEIGHTS_OF_POINTS, 0.2),
        TARGETS,
        lambda f, bias: 0.5 * WEIGHTS_OF_POINTS @ cp.huber(errors(f, bias), 0.2),
    ),
    "points of weights": Charged(
        S.WeightedLoss(S.Huber(0.5, 0.2), 2.0 * WEIGHTS_OF_POINTS),
        TARGETS,
        lambda f, bias: 0.5 * WEIGHTS_OF_POINTS @ cp.huber(errors(f, bias), 0.2),
    ),
    "least squares": Charged(
        S.LeastSquares(WEIGHTS_OF_POINTS), TARGETS, lambda f, bias: 0.5 * WEIGHTS_OF_POINTS @ cp.square(errors(f, bias))
    ),
    "squared tube": Charged(
        S.SquaredEpsilonInsensitive(WEIGHTS_OF_POINTS, 0.1),
        TARGETS,
        lambda f, bias: WEIGHTS_OF_POINTS @ cp.square(past(cp.abs(errors(f, bias)), 0.1)),
    ),
    "asymmetric tube": Charged(
        S.AsymmetricEpsilonInsensitive(WEIGHTS_OF_POINTS, 0.05, 0.3, 0.8),
        TARGETS,
        lambda f, bias: 2 * WEIGHTS_OF_POINTS @ (0.8 * past(errors(f, bias), 0.3) + 0.2 * past(-errors(f, bias), 0.05)),
    ),
    "pinball": Charged(
        S.Pinball(0.9, WEIGHTS_OF_POINTS),
        TARGETS,
        lambda f, bias: WEIGHTS_OF_POINTS @ cp.maximum(0.9 * errors(f, bias), -0.1 * errors(f, bias)),
    ),
    "smoothed hinge": Charged(
        S.SmoothedHinge(WEIGHTS_OF_POINTS, 0.6, CLASSES),
        LABELS,
        lambda f, bias: (
            WEIGHTS_OF_POINTS * np.where(LABELS > 0, 3.0, 0.5) @ cp.huber(hinge(f, bias, 1.0), 0.6) / (2 * 0.6)
        ),
    ),
    "by point": Charged(ByPoint(), TARGETS, by_point),
    "logistic": Charged(
        S.Logistic(WEIGHTS_OF_POINTS, CLASSES),
        LABELS,
        lambda f, bias: (
            WEIGHTS_OF_POINTS * np.where(LABELS > 0, 3.0, 0.5) @ cp.logistic(-cp.multiply(LABELS, f + bias))
        ),
    ),
}


@dataclass
class Formulation:
    """An oracle, what its primal says of the norms of the hyperplanes, a generator that solves it, and a point.

    `fixed` gets the squared norms of the hyperplanes over the weights, and the weights; `free` the hyperplanes, and the
    weights as a variable.
    """

    make: Callable
    fixed: Callable
    free: Callable
    generator: Callable[[], QueryPointGenerator]
    point: np.ndarray


def gmkl(regularizer, penalty, generator=SPG, **options):
    return Formulation(
        lambda loss, y: GMKLOracle(GramBank(KERNELS), y, regularizer, loss=loss, **options),
        lambda norms, d: 0.5 * sum(norms) + regularizer.value(d),
        lambda w, d: 0.5 * sum(cp.quad_over_lin(v, d[k]) for k, v in enumerate(w)) + penalty(d),
        generator,
        np.array([0.7, 0.2, 1.4, 0.0]),
    )


FORMULATIONS = {
    "l1": Formulation(
        lambda loss, y: MKLOracle(GramBank(KERNELS), y, loss),
        lambda norms, d: 0.5 * sum(norms),
        lambda w, d: 0.5 * cp.square(sum(cp.norm(v) for v in w)),
        NewtonBundle,
        np.array([0.4, 0.1, 0.5, 0.0]),
    ),
    "groups": Formulation(
        lambda loss, y: MixedNormOracle(GramBank(KERNELS), y, loss, groups=GROUPS),
        lambda norms, d: 0.5 * cp.maximum(norms[0] + norms[1], norms[2] + norms[3]),
        lambda w, d: 0.5 * cp.square(cp.maximum(cp.norm(w[0]) + cp.norm(w[1]), cp.norm(w[2]) + cp.norm(w[3]))),
        LevelSet,
        np.array([0.3, 0.7, 1.0, 0.0]),
    ),
    "l1 norm": gmkl(LpRegularizer(1, power=1), cp.sum),
    "lp norm": gmkl(LpRegularizer(1.5, 0.7, power=1), lambda d: 0.7 * cp.pnorm(d, 1.5)),
    "squared lp norm": gmkl(LpRegularizer(1.25, 2.0), lambda d: cp.square(cp.pnorm(d, 1.25))),
    "squared norm": gmkl(LpRegularizer(2), lambda d: 0.5 * cp.sum_squares(d)),
    "power 3 of a norm": gmkl(LpRegularizer(2, power=3), lambda d: cp.power(cp.norm(d), 3) / 3),
    "elastic net": gmkl(ElasticNet(0.3, 0.5), lambda d: 0.3 * cp.sum(d) + 0.25 * cp.sum_squares(d)),
    "entropy": gmkl(EntropyRegularizer(0.8, 0.5), lambda d: 0.8 * cp.sum(cp.kl_div(d, 0.5))),
    "own": gmkl(FromThere(), lambda d: 0.5 * cp.sum_squares(d - 0.3), LevelSet, radius=40.0),
}
HOMOGENEOUS = ("l1 norm", "lp norm")
SMOOTH = ("squared lp norm", "squared norm", "elastic net", "entropy")  # the conjugates: see `solve_mkl`
PAIRS = [(loss, name) for loss in LOSSES for name in FORMULATIONS if not (loss == "one class" and name in HOMOGENEOUS)]


def root(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def least(objective):
    """The minimum, to a tolerance that the solver reaches."""
    problem = cp.Problem(cp.Minimize(objective))
    for tolerance in (1e-8, 1e-7, 1e-6):
        with suppress(cp.SolverError), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", UserWarning)  # that it was not reached
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance)
        if problem.status == cp.OPTIMAL:
            break
    assert problem.status == cp.OPTIMAL
    return float(problem.solution.opt_val)


def ordered(name):
    """Kernels in the order of the weights."""
    return [KERNELS[k] for group in GROUPS for k in group] if name == "groups" else KERNELS


def value_at(charged, name, d):
    """Minimum over hyperplanes and bias at given weights."""
    used = np.flatnonzero(d)
    w = {k: cp.Variable(N) for k in used}
    f = sum(root(ordered(name)[k]) @ w[k] for k in used)
    norms = [cp.sum_squares(w[k]) / d[k] if k in w else 0.0 for k in range(len(d))]
    return least(FORMULATIONS[name].fixed(norms, d) + charged.charge(f, cp.Variable()))


def optimum(charged, name):
    """Minimum over weights, too."""
    d = cp.Variable(len(KERNELS), nonneg=True)
    w = [cp.Variable(N) for _ in KERNELS]
    f = sum(root(K) @ v for K, v in zip(ordered(name), w, strict=True))
    return least(FORMULATIONS[name].free(w, d) + charged.charge(f, cp.Variable()))


@pytest.mark.campaign(9)
@pytest.mark.parametrize(("loss", "name"), PAIRS)
def test_value_and_certified_optimum(loss, name):
    charged, formulation = LOSSES[loss], FORMULATIONS[name]
    oracle = formulation.make(charged.loss, charged.y)
    cut = oracle.query(Q(formulation.point, accuracy=1e-10))
    known = value_at(charged, name, formulation.point)
    slack = 1e-6 * abs(known)
    assert known - slack <= cut.upper
    assert cut.value <= known + slack
    assert cut.upper - cut.value <= slack
    best = optimum(charged, name)
    slack = 1e-6 * abs(best)
    assert cut.lower_bound <= best + slack
    for generator in (
        formulation.generator(),
        *(solver() for solver in (SMOMKL, NewtonMKL) if name in SMOOTH and loss != "logistic"),
    ):
        result = minimize(oracle, generator, rtol=1e-6, max_calls=2000)
        assert result.success, result
        assert result.lower_bound - slack <= best <= result.upper_bound + slack
    again = formulation.make(charged.loss, charged.y)
    again.resume(result.cut)
    assert again.query(Q(result.point)).upper == pytest.approx(result.upper_bound, rel=1e-7)


@pytest.mark.campaign(10)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["l1", "groups", "squared lp norm", "entropy"])
def test_conforms(loss, name):
    formulation = FORMULATIONS[name]
    oracle = formulation.make(LOSSES[loss].loss, LOSSES[loss].y)
    points = [oracle.domain.interior_point(), formulation.point, oracle.domain.project(formulation.point[::-1].copy())]
    check_oracle(oracle, points, tolerance=1e-8, accuracies=(1e-2, 1e-10))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["squared lp norm", "groups"])
def test_analytic_updates_descend_to_the_minimum(loss, name):
    charged = LOSSES[loss]
    oracle = FORMULATIONS[name].make(charged.loss, charged.y)
    result = minimize(oracle, FixedPoint(updates=True), rtol=1e-3, max_calls=500)
    assert result.success
    best = optimum(charged, name)
    assert result.lower_bound - 1e-6 * abs(best) <= best <= result.upper_bound + 1e-6 * abs(best)


@pytest.mark.parametrize("loss", LOSSES)
def test_product(loss):
    """Not convex: value and gradient, no bound."""
    charged, d, r = LOSSES[loss], np.array([0.6, 1.3]), LpRegularizer(2)
    oracle = GMKLOracle(ProductBank(DISTANCES), charged.y, r, loss=charged.loss, accuracy=1e-13)
    cut, w = oracle.query(Q(d)), cp.Variable(N)
    K = np.exp(-np.tensordot(d, DISTANCES, axes=1))
    known = least(0.5 * cp.sum_squares(w) + charged.charge(root(K) @ w, cp.Variable())) + r.value(d)
    assert (cut.value, cut.upper) == (pytest.approx(known, rel=1e-7), pytest.approx(known, rel=1e-7))
    assert (cut.lower_bound, oracle.convex) == (-np.inf, False)
    steps = 1e-5 * np.eye(2)
    slopes = [(oracle.query(Q(d + step)).value - oracle.query(Q(d - step)).value) / 2e-5 for step in steps]
    np.testing.assert_allclose(cut.subgradient, slopes, rtol=1e-4, atol=1e-5)
    result = minimize(oracle, SPG(), d, rtol=0.0, gtol=1e-3, max_calls=300)
    assert result.success
    assert result.upper_bound <= cut.upper


@pytest.mark.parametrize("loss", LOSSES)
def test_decision_values_are_those_of_the_machine_on_the_combined_kernel(loss):
    charged, weights = LOSSES[loss], np.array([0.4, 0.1, 0.5, 0.0])
    K = np.tensordot(weights, KERNELS, axes=1)
    solution = S.solve_svm(K, charged.y, charged.loss, accuracy=1e-12)
    known = cp.Variable(N)
    assert solution.primal_objective == pytest.approx(
        least(0.5 * cp.sum_squares(known) + charged.charge(root(K) @ known, cp.Variable())), rel=1e-7
    )
    oracle = MKLOracle(GramBank(KERNELS), charged.y, charged.loss, accuracy=1e-12)
    cut = oracle.query(Q(weights))
    values = oracle.decision_function(cut, KERNELS)
    np.testing.assert_allclose(values, solution.decision_function(K), atol=1e-5)
    np.testing.assert_array_equal(oracle.predict(cut, KERNELS), charged.loss.predict(values))
    np.testing.assert_array_equal(cut.extras["alpha"], np.abs(cut.extras["signed_dual"]))


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_a_homogeneous_regularizer_leaves_one_class_no_minimum(name):
    with pytest.raises(InvalidArgument, match=r"T\(c d\) = c T\(d\) is least at d = 0 or not bounded below"):
        FORMULATIONS[name].make(S.OneClass(0.4), None)


def test_every_loss_of_the_library_is_in_the_table():
    public = [getattr(S, name) for name in S.__all__]
    losses = {
        thing for thing in public if isinstance(thing, type) and issubclass(thing, S.Loss) and thing is not S.Loss
    }
    assert losses == {type(charged.loss) for charged in LOSSES.values()} - {OwnQuantile, Censored, ByPoint}


BOX = {"linear": np.zeros(3), "lower": -np.ones(3), "upper": np.ones(3)}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"linear": np.zeros(2)}, "`linear` of a Separable must be a float64 array of shape"),
        ({"linear": [0.0, 0.0, 0.0]}, "`linear` of a Separable must be a float64 array"),
        ({"upper": np.array([1, 1, 1])}, "`upper` of a Separable must be a float64 array"),
        ({"lower": np.full(3, -np.inf)}, "`lower` of a Separable must be finite where `ridge` is 0"),
        ({"upper": np.full(3, np.inf)}, "`upper` of a Separable must be finite where `ridge` is 0"),
        ({"upper": np.full(3, np.nan)}, "`upper` of a Separable must be finite"),
        ({"linear": np.full(3, np.nan)}, "`linear` of a Separable must be finite"),
        ({"linear": np.array([0.0, np.inf, 0.0])}, "`linear` of a Separable must be finite"),
        ({"kink": np.full(3, np.nan)}, "`kink` of a Separable must be finite"),
        ({"ridge": np.array([1.0, np.inf, 1.0])}, "`ridge` of a Separable must be finite"),
        ({"offset": np.inf}, "`offset` of a Separable must be finite"),
        ({"unit": np.nan}, "`unit` of a Separable must be finite"),
        ({"lower": np.full(3, -2.0), "upper": np.array([1.0, -0.5, 1.0])}, "`lower` and `upper`.* must leave room"),
        ({"lower": np.array([-1.0, 0.5, 0.0])}, "must leave room around 0"),
        ({"lower": np.zeros(3), "upper": np.array([1.0, 0.0, 1.0])}, "must leave room around 0"),
        ({"total": 4.0}, "`total` of a Separable must be a sum that its box allows"),
        ({"total": 1.0, "offset": 1.0}, "`offset` of a Separable must be 0"),
        ({"total": np.inf}, "`total` of a Separable must be finite"),
        ({"unit": -1.0}, "`unit` of a Separable must not be negative"),
        ({"kink": np.array([0.1, -0.1, 0.0])}, "`kink` of a Separable must not be negative"),
        ({"kink": np.full(3, np.inf)}, "`kink` of a Separable must be finite"),
        ({"ridge": -np.ones(3), "lower": np.zeros(3)}, "`ridge` of a Separable must not be negative"),
        ({"ridge": np.full(3, np.nan)}, "`ridge` of a Separable must be finite"),
        ({"ridge": np.ones(3), "reach": np.zeros(3)}, "`reach` of a Separable must be positive"),
        (
            {"ridge": np.ones(3), "lower": np.full(3, -np.inf), "upper": np.full(3, np.inf), "total": 1.0},
            "`total` of a Separable must be 0 where `lower` and `upper` are both infinite",
        ),
    ],
)
def test_a_dual_that_cannot_be_solved_is_refused(changed, words):
    class Wrong(S.Loss):
        def dual(self, y, n_points):
            return S.Separable(**(BOX | changed))

        def predict(self, values):
            return values

    with pytest.raises(InvalidArgument, match=words):
        S.solve_svm(np.eye(3), None, Wrong())
    with pytest.raises(InvalidArgument, match=words):
        MKLOracle(GramBank([np.eye(3)]), loss=Wrong())


def test_the_longest_multiple_is_the_last_in_the_box():
    dual = S.Hinge(np.array([1.0, 2.0, 3.0])).dual([1, -1, 1], 3)
    assert dual.longest_multiple(np.array([0.25, -0.75, 0.5])) == pytest.approx(8 / 3)
    assert dual.longest_multiple(np.array([1.0, -1.5, 0.5])) == 1.0
    assert dual.longest_multiple(np.zeros(3)) == np.inf
    assert S.OneClass(0.5).dual(None, 2).longest_multiple(np.array([0.25, 0.75])) == 1.0
