"""Honest runs of kernel learning are not accused: large C, entries known to an error, stores in float32."""

import numpy as np
import pytest

import oracle_opt.oracles.svm as S
from oracle_opt import Query, Refuted, minimize
from oracle_opt.generators import SPG
from oracle_opt.oracles import Bank, GramBank, KernelWeightsOracle, Source
from oracle_opt.oracles.kernels.bank_checks import lack_of
from oracle_opt.oracles.mkl import ElasticNet, KernelMachine, MixedNormOracle, MKLOracle, Regularized
from oracle_opt.proof.claim import ValueClaim


class Coarse(Source):
    """RBF kernels, each entry moved by 0.9 of the error that is stated."""

    def __init__(self, X, widths, error) -> None:
        self.points, self.widths, self.n_kernels, self.entry_error = X, widths, len(widths), error

    def entries(self, left, right, kernels):
        D = ((left[:, None] - right[None]) ** 2).sum(axis=2)[:, :, None]
        places = left.sum(axis=1)[:, None, None] + right.sum(axis=1)[None, :, None]
        moved = np.sign(np.sin(1e3 * places + np.asarray(kernels)))
        return np.exp(-D / (2 * self.widths[kernels] ** 2)) + 0.9 * self.entry_error * moved


def losses(rng, n, C):
    y, labels = 600.0 * rng.integers(0, 2) + 10.0 ** rng.uniform(-1, 2) * rng.normal(size=n), np.ones(n)
    labels[1 : n // 2] = -1.0
    return [
        *((kind(C), labels) for kind in (S.Hinge, S.SquaredHinge)),
        *(
            (loss, y)
            for loss in (S.LeastSquares(C), S.SquaredEpsilonInsensitive(C, 0.01), S.EpsilonInsensitive(C, 0.1))
        ),
        *((loss, y) for loss in (S.Pinball(0.3, C=C), S.Huber(C))),
    ]


def given(rng, X, p):
    """Matrices of low rank but for rounding, among others."""
    n = len(X)
    kinds = (
        lambda c: c @ c.T,
        lambda c: X @ X.T + 1e-9 * np.eye(n),
        lambda c: np.ones((n, n)),
        lambda c: np.exp(-((c - c.T) ** 2) / 50),
    )
    return [kinds[rng.integers(4)](X[:, [k % 3]]) * 10.0 ** rng.uniform(-2, 2) for k in range(p)]


def check_honest(oracle, generator=None, max_calls=12):
    result = minimize(oracle, generator, rtol=1e-6, max_calls=max_calls)
    assert not result.status.disproved, result.message
    certificate = result.certificate()
    for exact in (False, True):
        certificate.verify(oracle, exact=exact)
    return result


@pytest.mark.parametrize("seed", range(30))
def test_runs_with_mixed_norms_are_neither_accused_nor_refused(seed) -> None:
    rng = np.random.default_rng(seed)
    n, n_groups, C = int(rng.integers(8, 26)), int(rng.integers(2, 12)), 10.0 ** rng.uniform(-2, 8)
    X, p = rng.normal(size=(n, 3)), n_groups + int(rng.integers(0, 3))
    if seed % 3:
        bank = GramBank(given(rng, X, p), dtype=[np.float32, np.float64][seed % 2])
    else:
        bank = Bank(Coarse(X, np.geomspace(0.3, 5.0, p), 10.0 ** rng.uniform(-10, -5)))
    groups = [part.tolist() for part in np.array_split(rng.permutation(p), n_groups)]
    loss, y = losses(rng, n, C)[rng.integers(7)]
    check_honest(MixedNormOracle(bank, y, loss, groups=groups), SPG() if seed % 2 else None)


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize(
    "loss", [S.EpsilonInsensitive(1e7, 0.0), S.Pinball(0.2, C=1e8), S.Pinball(0.36, C=3e7)], ids=repr
)
def test_a_form_that_is_negative_by_rounding_raises_no_bound(loss, seed) -> None:
    """A rank-one kernel that floats made indefinite, over a weight of its group of 1e-7."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3))
    y = 600 + 20 * np.tanh(X[:, 0]) + rng.normal(size=24)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernels = [X[:, :1] @ X[:, :1].T, X[:, 1:] @ X[:, 1:].T + 1e-9 * np.eye(24), np.ones((24, 24)), np.exp(-D / 50)]
    for groups in ([[0], [1], [3, 2]], [[0], [1], [2], [3]]):
        check_honest(MixedNormOracle(GramBank(kernels), y, loss, groups=groups), max_calls=40)


@pytest.mark.parametrize("seed", range(30))
def test_runs_with_entries_known_to_an_error_are_not_refused(seed) -> None:
    """The diagonal entries that are told are as wrong as the others; and claims below the optimum are refused."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 24)), int(rng.integers(1, 5))
    error = 10.0 ** rng.uniform(-10, -5)
    bank = Bank(Coarse(rng.normal(size=(n, 2)), np.geomspace(0.3, 5.0, p), error))
    loss, y = losses(rng, n, 10.0 ** rng.uniform(-2, 8))[rng.integers(7)]
    if seed % 2:
        oracle = MKLOracle(bank, y, loss)
    else:
        oracle = KernelWeightsOracle([KernelMachine(bank, y, loss)], Regularized(p, ElasticNet(1.0, 100.0), 1e4))
    result = check_honest(oracle)
    extras = result.cut.extras
    for moved in (0.0, 1e-3, 1.0):
        b = extras["signed_dual"] * (1.0 + moved * rng.normal(size=n))
        witness = {"signed_dual": b, "bias": extras["bias"]}
        assert oracle.prove_value(ValueClaim(result.point, -np.inf, witness), exact=True) >= result.lower_bound


@pytest.mark.parametrize("seed", range(20))
def test_a_rounded_kernel_that_is_indefinite_has_a_bound_all_the_same(seed) -> None:
    """The objective has several local maxima: each is below what is stated at any other."""
    rng = np.random.default_rng(seed)
    n, C = int(rng.integers(6, 14)), 10.0 ** rng.uniform(1, 5)
    x = rng.normal(size=n)
    bank = GramBank([np.outer(x, x)], dtype=np.float32)
    inside = rng.uniform(-0.1, 0.1, n)
    y = C * bank.combine(np.ones(1)) @ (inside - inside.mean())  # an optimum in the inside of the box
    oracle, answers = MKLOracle(bank, y, S.EpsilonInsensitive(C, 0.0)), []
    for _ in range(12):
        oracle.start_from(C * rng.choice([-1.0, 0.0, 1.0], n))
        answers.append(oracle.query(Query(np.ones(1), 1e-13)))
    assert max(cut.value for cut in answers) <= min(cut.upper for cut in answers) * (1 + 1e-12)


def test_what_a_kernel_lacks_is_nothing_for_certain_or_enough() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 40))
        X = rng.normal(size=(n, 2))
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        whole = rng.integers(0, 2, n)
        assert lack_of(np.exp(-30.0 * D) + np.eye(n)) == lack_of(np.ones((n, n))) == 0.0
        assert lack_of(np.exp(-((whole[:, None] - whole) ** 2.0))) == 0.0
        K = (X @ X.T).astype(np.float32).astype(float)
        values = np.linalg.eigvalsh(K)
        assert values[0] + lack_of(K) * np.diagonal(K).max() >= -n * 1e-15 * values[-1]


def test_a_forged_value_is_refused() -> None:
    rng = np.random.default_rng(0)
    bank = GramBank(given(rng, rng.normal(size=(12, 3)), 4))
    oracle = MixedNormOracle(bank, rng.normal(size=12), S.EpsilonInsensitive(1e6, 0.1), groups=[[0], [1], [2, 3]])
    result = minimize(oracle, rtol=1e-6, max_calls=20)
    certificate = result.certificate()
    certificate.verify(oracle)
    witness = {name: result.cut.extras[name] for name in oracle.witness}
    for moved in (1e-3, 1.0):
        witness["signed_dual"] = result.cut.extras["signed_dual"] * (1.0 + moved * rng.normal(size=12))
        try:
            assert oracle.prove_value(ValueClaim(result.point, -np.inf, witness), exact=True) >= result.lower_bound
        except Refuted:
            continue
