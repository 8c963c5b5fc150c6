"""Losses that a user writes, by their duals alone: solved, certified and verified in every formulation.

The truth is the primal problem by Clarabel: hyperplanes, biases and what each loss charges for its errors.
"""

import cvxpy as cp
import numpy as np
import pytest
from test_losses_everywhere import least, root

from oracle_opt import minimize
from oracle_opt.oracles import GramBank, KernelWeightsOracle, SharedWeightsOracle
from oracle_opt.oracles.mkl import GMKLOracle, KernelMachine, LpRegularizer, MixedNormOracle, MKLOracle
from oracle_opt.oracles.mkl.weights import Groups
from oracle_opt.oracles.svm import Loss, Separable

N, C = 13, 0.7
WIDTHS = np.linspace(0.0, 0.3, N)
GROUPS = ((0, 2), (1, 3))


class Written(Loss):
    """A loss as one writes it who knows its dual: a box, kinks and ridges by point."""

    def __init__(self, lower, upper, kink=None, ridge=None):
        self.parts = [None if one is None else np.broadcast_to(one, N).astype(float) for one in (kink, ridge)]
        self.lower, self.upper = (np.broadcast_to(one, N).astype(float) for one in (lower, upper))

    def dual(self, y, n_points):
        kink, ridge = (None if one is None else one.copy() for one in self.parts)
        middle = float(np.median(y))
        return Separable(np.array(y, dtype=float) - middle, self.lower, self.upper, kink, ridge, offset=middle)

    def predict(self, values):
        return values


class WrittenHinge(Loss):
    """The hinge with its corner rounded over a width: of labels, so without an offset."""

    def __init__(self, width):
        self.width = width

    def dual(self, y, n_points):
        y = np.array(y, dtype=float)
        return Separable(y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0), ridge=np.full(n_points, self.width / C))

    def predict(self, values):
        return np.sign(values)


# A loss, whether it is of labels, and what it charges for ``y - f``, or for ``1 - y f``, in cvxpy.
LOSSES = {
    "huber": (Written(-C, C, ridge=0.5 / C), False, lambda e: C * cp.sum(cp.huber(e, 0.5)) / (2 * 0.5)),
    "least squares": (Written(-np.inf, np.inf, ridge=1 / (2 * C)), False, lambda e: C * cp.sum_squares(e)),
    "squared epsilon": (
        Written(-np.inf, np.inf, 0.2, 1 / (2 * C)),
        False,
        lambda e: C * cp.sum_squares(cp.pos(cp.abs(e) - 0.2)),
    ),
    "asymmetric tube": (
        Written(-0.3 * C, C, 0.1),
        False,
        lambda e: cp.sum(C * cp.pos(e - 0.1) + 0.3 * C * cp.pos(-e - 0.1)),
    ),
    "pinball": (Written(-0.1 * C, 0.9 * C), False, lambda e: C * cp.sum(cp.maximum(0.9 * e, -0.1 * e))),
    "smoothed hinge": (WrittenHinge(0.5), True, lambda m: C * cp.sum(cp.huber(cp.pos(m), 0.5)) / (2 * 0.5)),
    "widths by point": (Written(-C, C, WIDTHS), False, lambda e: C * cp.sum(cp.pos(cp.abs(e) - WIDTHS))),
}


def problem(seed, labels):
    """Kernels, and targets of two machines."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernels = [np.exp(-width * distances) for width in (0.3, 3.0, 10.0)] + [X @ X.T / 3]
    targets = [X[:, j] + 0.5 * rng.normal(size=N) + 2.0 * j for j in (0, 1)]
    return kernels, [np.where(y > np.median(y), 1.0, -1.0) if labels else y for y in targets]


def oracle_of(formulation, loss, kernels, targets):
    bank = GramBank(kernels)
    if formulation == "l1":
        return MKLOracle(bank, targets[0], loss), targets[:1]
    if formulation == "lp":
        return GMKLOracle(bank, targets[0], LpRegularizer(2), loss=loss), targets[:1]
    if formulation == "groups":
        return MixedNormOracle(bank, targets[0], loss, groups=GROUPS), targets[:1]
    if formulation == "several machines":
        return SharedWeightsOracle([MKLOracle(bank, y, loss) for y in targets]), targets
    machines = [KernelMachine(bank, y, loss) for y in targets]
    return KernelWeightsOracle(machines, Groups(len(kernels), GROUPS)), targets


def optimum(formulation, charge, labels, kernels, targets):
    """Of the primal problem: hyperplanes of all machines side by side, a bias each."""
    w = [cp.Variable((N, len(targets))) for _ in kernels]
    losses = 0
    for m, y in enumerate(targets):
        f = sum(root(K) @ v[:, m] for K, v in zip(kernels, w, strict=True)) + cp.Variable()
        losses += charge(1 - cp.multiply(y, f) if labels else y - f)
    norms = [cp.norm(v, "fro") for v in w]
    if formulation == "lp":
        d = cp.Variable(len(kernels), nonneg=True)
        pulls = sum(cp.quad_over_lin(v, d[k]) for k, v in enumerate(w))
        return least(0.5 * pulls + 0.5 * cp.sum_squares(d) + losses)
    if "groups" in formulation:
        return least(0.5 * cp.square(cp.maximum(*(sum(norms[k] for k in group) for group in GROUPS))) + losses)
    return least(0.5 * cp.square(sum(norms)) + losses)


@pytest.mark.campaign(3)
@pytest.mark.parametrize("formulation", ["l1", "lp", "groups", "several machines", "groups of several machines"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_ones_own_is_certified(name, formulation):
    loss, labels, charge = LOSSES[name]
    kernels, targets = problem(len(name) + 7 * len(formulation), labels)
    oracle, used = oracle_of(formulation, loss, kernels, targets)
    result = minimize(oracle, rtol=1e-6, max_calls=1000)
    assert result.success, result
    known = optimum(formulation, charge, labels, kernels, used)
    assert result.lower_bound - 1e-6 * abs(known) <= known <= result.upper_bound + 1e-6 * abs(known)
    for exact in (False, True):
        verdict = result.certificate().verify(oracle, exact=exact)
        assert verdict.proven, verdict
        assert verdict.lower <= known * (1 + 1e-6)
        assert known * (1 - 1e-6) <= verdict.upper
