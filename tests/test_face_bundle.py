"""FaceBundle: few calls, honest counts, proofs that no local model can falsify."""

from __future__ import annotations

import copy

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import (
    CapabilityMismatch,
    FunctionOracle,
    LocalFunction,
    LocalMinimum,
    LocalModel,
    ObjectiveCut,
    Query,
    Simplex,
    Status,
    minimize,
)
from oracle_opt.generators import FaceBundle, LevelSet, NewtonBundle
from oracle_opt.oracles import GramBank, MKLOracle, uci_bank
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge

N = 6


def classes(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def rank_one(n: int, p: int, seed: int) -> MKLOracle:
    """A linear kernel of unit trace for each feature, ten of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, :10] @ rng.normal(size=10) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return MKLOracle(GramBank([np.outer(x, x) / n for x in X.T]), y, C=100.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["hinge", "squared hinge", "regression", "one class"])
def test_it_needs_fewer_calls_and_finds_the_same(loss, seed) -> None:
    X, y = classes(60, 5, seed)
    values = X[:, 0] + np.sin(3 * X[:, 1])
    oracle = {
        "hinge": lambda bank: MKLOracle(bank, y, C=100.0),
        "squared hinge": lambda bank: MKLOracle(bank, y, SquaredHinge(10.0)),
        "regression": lambda bank: MKLOracle(bank, values, EpsilonInsensitive(100.0, 0.1)),
        "one class": lambda bank: MKLOracle(bank, loss=OneClass(0.3)),
    }[loss](uci_bank(X))
    face, newton = (minimize(oracle, make(), rtol=1e-7) for make in (FaceBundle, NewtonBundle))
    assert face.status is newton.status is Status.CONVERGED
    assert face.n_calls <= min(6, newton.n_calls - 3)
    assert face.lower_bound <= newton.upper_bound
    assert newton.lower_bound <= face.upper_bound
    assert newton.history.inner_steps.tolist() == [0] * newton.n_calls
    assert face.history.inner_steps.min() >= 0
    assert face.history.inner_steps[0] > 0
    assert f"inner steps:   {face.history.inner_steps.sum()}, on problems" in str(face)
    assert "inner steps" not in str(newton)


@pytest.mark.parametrize(("n", "p"), [(60, 200), (100, 60)])
@pytest.mark.parametrize("seed", range(2))
def test_kernels_of_rank_one_take_no_more_calls(n, p, seed) -> None:
    """Where curvature says little, as the number of free support vectors changes with every step."""
    result = minimize(rank_one(n, p, seed), FaceBundle(), rtol=1e-6)
    assert result.status is Status.CONVERGED
    assert result.n_calls <= 8


@pytest.mark.parametrize("seed", range(4))
def test_nor_do_kernels_of_very_different_size(seed) -> None:
    """Traces over twelve decades."""
    X, y = classes(50, 4, seed)
    rng = np.random.default_rng(seed)
    bank = uci_bank(X)
    scales = 10.0 ** rng.uniform(-6, 6, bank.n_kernels)
    oracle = MKLOracle(GramBank([s * bank.combine(row) for s, row in zip(scales, np.eye(len(scales)), strict=True)]), y)
    result = minimize(oracle, FaceBundle(), rtol=1e-6)
    assert result.status is Status.CONVERGED
    assert result.n_calls <= 8


class Pieces:
    """``max_i 1/2 |A_i (z - t_i)|^2 + c_i``, whose local model is the piece that is largest at the point."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.roots, self.targets = rng.normal(size=(4, N, N)), rng.dirichlet(np.full(N, 0.3), size=4)
        self.constants = 0.1 * rng.normal(size=4)

    def values(self, z):
        return [
            c + 0.5 * float(np.sum((A @ (z - t)) ** 2))
            for A, t, c in zip(self.roots, self.targets, self.constants, strict=True)
        ]

    def oracle(self, local=None) -> FunctionOracle:
        def function(z):
            values = self.values(z)
            i = int(np.argmax(values))
            slope = self.roots[i].T @ (self.roots[i] @ (z - self.targets[i]))
            return ObjectiveCut(z, values[i], slope, answers=(LocalModel((local or Piece)(self, frozenset({i}))),))

        return FunctionOracle(function, Simplex(N), gives={LocalModel})

    def optimum(self) -> float:
        z, t = cp.Variable(N, nonneg=True), cp.Variable()
        below = [
            c + 0.5 * cp.sum_squares(A @ (z - target)) <= t
            for A, target, c in zip(self.roots, self.targets, self.constants, strict=True)
        ]
        return float(cp.Problem(cp.Minimize(t), [cp.sum(z) == 1, *below]).solve(solver=cp.CLARABEL))


class Piece(LocalFunction):
    """The largest of some pieces: a local model of a user's own."""

    def __init__(self, whole: Pieces, pieces: frozenset[int]) -> None:
        self.whole, self.pieces = whole, pieces

    def on(self, coordinates):
        def function(w):
            z = np.zeros(N)
            z[coordinates] = w
            values = self.whole.values(z)
            i = max(self.pieces, key=values.__getitem__)
            A = self.whole.roots[i]
            return values[i], (A.T @ (A @ (z - self.whole.targets[i])))[coordinates]

        return FunctionOracle(function, Simplex(len(coordinates)))

    def minimize(self, coordinates, point, accuracy):
        run = minimize(self.on(coordinates), LevelSet(), atol=accuracy, rtol=0.0, max_calls=100)
        z = np.zeros(N)
        z[coordinates] = run.point
        # a combination of the model's cuts would be better; the one at the minimizer will do
        value, slope = self.on(np.arange(N)).function(z)
        cut = ObjectiveCut(z, value, slope, error=np.inf)
        return LocalMinimum(z, cut, run.n_calls)

    def predict(self, minimum):
        values = self.whole.values(minimum.point)
        largest = frozenset({int(np.argmax(values))})
        wider = None if largest <= self.pieces else type(self)(self.whole, self.pieces | largest)
        return max(values), wider

    def joined(self, other):
        return type(self)(self.whole, self.pieces | other.pieces)


@pytest.mark.parametrize("seed", range(3))
def test_a_local_model_of_ones_own_serves(seed) -> None:
    """It knows nothing of kernels, and its oracle no curvature."""
    pieces = Pieces(seed)
    face, level = (minimize(pieces.oracle(), make(), rtol=1e-6) for make in (FaceBundle, LevelSet))
    assert face.status is Status.CONVERGED
    assert face.upper_bound == pytest.approx(pieces.optimum(), rel=1e-5, abs=1e-7)
    assert 2 * face.n_calls < level.n_calls


class Boasting(Piece):
    """It promises everything."""

    def predict(self, minimum):
        return -1e9, None


class Failing(Piece):
    def minimize(self, coordinates, point, accuracy):
        return None


class Lazy(Piece):
    """Its minimizer is where it was asked to begin, and its cut is worth nothing."""

    def minimize(self, coordinates, point, accuracy):
        return LocalMinimum(point, ObjectiveCut(point, -1e3, np.zeros(N), error=np.inf), 1)


@pytest.mark.parametrize("local", [Boasting, Failing, Lazy])
def test_a_local_model_that_is_worth_nothing_delays_the_method_and_cannot_stop_it(local) -> None:
    pieces = Pieces(1)
    result = minimize(pieces.oracle(local), FaceBundle(), rtol=1e-5, max_calls=400)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= pieces.optimum() + 1e-7


def test_without_the_function_of_the_answer_it_is_newton_bundle() -> None:
    """As of cuts that were pickled."""
    X, y = classes(40, 3, 0)
    oracle = MKLOracle(uci_bank(X), y, C=10.0)
    told = minimize(oracle, NewtonBundle(), rtol=1e-6, keep_cuts=True)
    dormant = FunctionOracle(
        lambda z: (
            lambda cut: ObjectiveCut(z, cut.value, cut.subgradient, cut.error, answers=(*cut.answers, LocalModel()))
        )(oracle.query(Query(z, wishes=NewtonBundle.takes))),
        oracle.domain,
        gives=oracle.gives,
    )
    oracle.reset()
    run = minimize(dormant, FaceBundle(), rtol=1e-6, keep_cuts=True)
    oracle.reset()
    plain = minimize(dormant, NewtonBundle(), rtol=1e-6, keep_cuts=True)
    assert told.success
    for one, other in zip(run.history.cuts, plain.history.cuts, strict=True):
        np.testing.assert_array_equal(one.point, other.point)


def test_an_oracle_without_local_models_is_refused() -> None:
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(3))
    with pytest.raises(CapabilityMismatch, match="it needs local models, and this oracle gives none"):
        minimize(oracle, FaceBundle())


def test_cuts_of_an_earlier_run_are_taken_up_and_a_copy_goes_on_alike() -> None:
    X, y = classes(60, 5, 1)
    oracle = MKLOracle(uci_bank(X), y, C=100.0)
    first = minimize(oracle, FaceBundle(), rtol=1e-7, max_calls=2, keep_cuts=True)
    second = minimize(oracle, FaceBundle(), rtol=1e-7, cuts=first.history.cuts)
    assert second.status is Status.CONVERGED
    assert second.n_calls <= minimize(oracle, FaceBundle(), rtol=1e-7).n_calls
    generator = FaceBundle()
    generator.reset(oracle.domain, oracle.domain.interior_point())
    generator.tell(oracle.query(generator.ask()))
    other = copy.deepcopy(generator)
    cut = oracle.query(generator.ask())
    generator.tell(cut)
    other.tell(cut)
    np.testing.assert_array_equal(generator.ask().point, other.ask().point)


def test_no_rounds_means_the_free_variables_alone() -> None:
    X, y = classes(60, 5, 2)
    oracle = MKLOracle(uci_bank(X), y, C=100.0)
    none, more = (minimize(oracle, FaceBundle(rounds=rounds), rtol=1e-7) for rounds in (0, 4))
    assert none.status is more.status is Status.CONVERGED
    assert more.n_calls <= none.n_calls
