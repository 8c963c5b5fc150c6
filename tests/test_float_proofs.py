"""Proofs of kernel weights that count in floats: never less than in fractions, and no decision differs."""

from fractions import Fraction
from math import isfinite

import numpy as np
import pytest

from oracle_opt import Query
from oracle_opt.errors import Refuted
from oracle_opt.oracles import GMKLOracle, GramBank, MixedNormOracle, MKLOracle, RBFBank, SharedWeightsOracle
from oracle_opt.oracles.mkl import kernel_weights_proof
from oracle_opt.oracles.mkl.form_proof import made_feasible
from oracle_opt.oracles.mkl.regularizers import ElasticNet, LpRegularizer
from oracle_opt.oracles.mkl.rounded_kernel import is_classification
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, Huber, Logistic, Pinball, SquaredHinge
from oracle_opt.proof.claim import OF_VALUES, ClaimKind, CutClaim, ValueClaim

TOLD = 1e-11  # of the size of a cut: a certificate asks nothing more where floats lose less
LOST = 1e-9  # of it: what a certificate may lose


def random_oracle(rng):
    """Kernels on the fly or stored, of sizes from 1e-6 to 1e6; any loss, any set of weights."""
    n, d = int(rng.integers(8, 24)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1)
    y, target = np.where(rng.random(n) < 0.5, -1.0, 1.0), X[:, 0] + 0.1 * rng.normal(size=n)
    y[:2] = -1.0, 1.0
    if rng.random() < 0.5:
        bank = RBFBank(X, [np.arange(d), *([j] for j in range(d))], [np.geomspace(0.3, 5, 2)] * (d + 1))
    else:
        roots = [
            rng.normal(size=(n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.uniform(-3, 3)
            for _ in range(rng.integers(2, 8))
        ]
        bank = GramBank(np.array([root @ root.T for root in roots]))
    C = 10.0 ** rng.uniform(-1, 3)
    losses = (
        (Hinge(C), y),
        (SquaredHinge(C), y),
        (EpsilonInsensitive(C, 0.1), target),
        (Logistic(C), y),
        (Huber(C, 0.5), target),
        (Pinball(0.3, C), target),
    )
    loss, labels = losses[int(rng.integers(len(losses)))]
    match int(rng.integers(4)):
        case 0:
            return MKLOracle(bank, labels, loss)
        case 1:
            cut = int(rng.integers(1, bank.n_kernels))
            return MixedNormOracle(bank, labels, loss, groups=[range(cut), range(cut, bank.n_kernels)])
        case 2:
            penalty = ElasticNet(1.0, 1.0) if rng.random() < 0.5 else LpRegularizer(2)
            return GMKLOracle(bank, labels, penalty, loss=loss, radius=10.0)
    return SharedWeightsOracle([MKLOracle(bank, y, Hinge(C)), MKLOracle(bank, -y, Hinge(2 * C))])


def asked(oracle, rng):
    """An answer at random weights, its witness, and the size of its terms."""
    w = oracle.domain.project(rng.dirichlet(np.full(oracle.domain.dimension, 0.5)))
    cut = oracle.query(Query(w))
    witness = {name: cut.extras[name] for name in oracle.witness if name in cut.extras}
    extent = oracle.domain.extent(cut.subgradient)
    terms = abs(cut.constant) + (extent if isfinite(extent) else 0.0)
    return cut, witness, max(terms, abs(cut.upper), oracle.size_of_terms(w), 1e-290)


def forged(b, rng):
    """Other dual variables, most of them not feasible."""
    zero, noise = b.copy(), 1e-3 * np.abs(b).max() * rng.normal(size=b.size)
    zero[int(rng.integers(b.size))] = 0.0
    return [b * (1.0 - 1e-4 * rng.random()), rng.permutation(b), zero, b + noise, 3.0 * b]


def proven_value(oracle, claim, exact=False):
    try:
        return oracle.prove_value(claim, exact)
    except Refuted:
        return None


@pytest.mark.campaign(48)
@pytest.mark.parametrize("seed", range(200))
def test_a_value_in_floats_is_at_least_the_exact_one_and_decides_alike(seed, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    oracle = random_oracle(rng)
    cut, witness, size = asked(oracle, rng)
    b = witness["signed_dual"]
    claims = [ValueClaim(cut.point, cut.upper - share * size, witness) for share in (0.0, 1e-9, 2e-8, 1e-6)]
    claims += [ValueClaim(cut.point, cut.upper, witness | {"signed_dual": other}) for other in forged(b, rng)]
    claims.append(ValueClaim(cut.point, cut.upper, witness | {"bias": np.asarray(witness["bias"]) + 0.01}))
    together = any(is_classification(one.dual) for one in oracle._proof.machines)
    least = -10 * size
    if oracle.convex:  # the answer itself, as its dual variables prove it in fractions
        line = CutClaim(ClaimKind.MINORANT, cut.constant, cut.subgradient, witness=witness)
        at = sum((Fraction(a) * Fraction(z) for a, z in zip(cut.subgradient, cut.point, strict=True)), Fraction(0))
        least = Fraction(cut.constant) + at - oracle.prove_cut(line, True)
    least_value = kernel_weights_proof.least_value
    for k, claim in enumerate(claims):
        decided, exact = proven_value(oracle, claim), proven_value(oracle, claim, True)
        with monkeypatch.context() as patch:
            patch.setattr(kernel_weights_proof, "least_value", lambda quick, *_: Fraction(float(quick().above())))
            in_floats = proven_value(oracle, claim)
            patch.setattr(kernel_weights_proof, "least_value", lambda _, slow, *rest: slow(rest[-1]))
            in_fractions = proven_value(oracle, claim)
        assert kernel_weights_proof.least_value is least_value
        assert (decided is None) == (in_fractions is None)
        if decided is None:
            continue
        assert Fraction(in_floats) >= least
        # of a hinge what rounding may cost all points together can be less than what it costs them one by one
        assert together or Fraction(in_floats) >= exact
        refused = [float(value) - claim.upper > OF_VALUES * size for value in (min(in_fractions, exact), decided)]
        assert refused[0] == refused[1]
        assert k or not refused[1]


def prove_cut(oracle, claim, exact=False):
    try:
        return oracle.prove_cut(claim, exact)
    except Refuted:
        return None


@pytest.mark.campaign(16)
@pytest.mark.parametrize("seed", range(200))
def test_cuts_in_floats_are_told_at_least_the_exact_excess_and_decide_alike(seed) -> None:
    rng = np.random.default_rng(seed)
    oracle = random_oracle(rng)
    cut, witness, size = asked(oracle, rng)
    if not oracle.convex:
        pytest.skip("not convex: nothing is proven by its cuts")
    machine = oracle._proof.machines[0]
    feasible = made_feasible(machine.dual, witness["signed_dual"][: machine.bank.n_points])
    assert feasible is not None or len(oracle._proof.machines) > 1
    if len(oracle._proof.machines) == 1:
        witness = witness | {"signed_dual": feasible}
    steep = cut.subgradient.copy()
    steep[int(rng.integers(steep.size))] += 1e-7 * np.abs(steep).max()
    more = (0.0, 1e-12, 1e-10, 0.99e-9, 1.01e-9, 1e-8, 1e-6)
    stated = [(cut.constant + share * size, cut.subgradient, witness) for share in more]
    stated += [
        (cut.constant, cut.subgradient, witness | {"signed_dual": b}) for b in forged(witness["signed_dual"], rng)
    ]
    stated.append((cut.constant, steep, witness))
    claims = [CutClaim(ClaimKind.MINORANT, constant, slope, witness=words) for constant, slope, words in stated]
    if isfinite(cut.lower_bound):
        claims += [
            CutClaim(ClaimKind.BOUND, cut.lower_bound + share * size, 0.0 * steep, witness=witness)
            for share in (0, 1e-8)
        ]
    told = oracle.prove_cuts(claims)
    assert len(told) == len(claims)
    for k, (claim, quick) in enumerate(zip(claims, told, strict=True)):
        excess, exact = prove_cut(oracle, claim), prove_cut(oracle, claim, True)
        if excess is None:
            assert quick is None
        elif quick is not None and exact is not None:
            # dual variables that are not feasible are moved, in floats not to the same point up to rounding
            assert Fraction(quick) >= exact - (0 if k < len(more) else Fraction(1e-13 * size))
            assert quick > TOLD * size or float(excess) <= LOST * size


def small(C=10.0, **changes):
    """An oracle on 12 points with two kernels, its answer, and the witness."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.resize([1.0, -1.0], 12)
    oracle = MKLOracle(GramBank([X @ X.T, (1.0 + X @ X.T) ** 2], **changes), y, C)
    return oracle, *asked(oracle, rng)


def test_a_bank_whose_entries_are_wrong_in_one_is_refused_by_values_and_cuts(monkeypatch) -> None:
    oracle, cut, witness, size = small()
    claim = CutClaim(ClaimKind.MINORANT, cut.constant, cut.subgradient, witness=witness)
    i, j = np.argsort(-np.abs(witness["signed_dual"]))[:2]
    right = GramBank.entries

    def wrong(self, rows, columns):
        E = np.array(right(self, rows, columns))
        E[np.ix_(np.isin(rows, (i, j)), np.isin(columns, (i, j)))] += 0.01 * size
        return E

    assert oracle.prove_cuts([claim])[0] <= TOLD * size
    assert oracle.prove_value(ValueClaim(cut.point, cut.upper, witness)) <= cut.upper + OF_VALUES * size
    monkeypatch.setattr(GramBank, "entries", wrong)
    assert oracle.prove_cuts([claim])[0] > LOST * size
    assert oracle.prove_value(ValueClaim(cut.point, cut.upper, witness)) > cut.upper + OF_VALUES * size


@pytest.mark.parametrize("seed", range(20))
def test_cuts_hold_of_kernels_that_are_not_semidefinite(seed) -> None:
    rng = np.random.default_rng(seed)
    indefinite = rng.normal(size=(12, 12)) * 10.0 ** rng.uniform(-3, 3)
    indefinite += indefinite.T
    np.fill_diagonal(indefinite, 0.0)
    oracle = MKLOracle(GramBank([indefinite, np.eye(12)], check=False), np.resize([1.0, -1.0], 12), 10.0)
    dual = np.empty(12)
    dual[::2] = rng.uniform(0, 10, size=6)
    dual[1::2] = -rng.permutation(dual[::2])
    claim = CutClaim(ClaimKind.MINORANT, rng.normal(), rng.normal(size=2), witness={"signed_dual": dual})
    assert Fraction(oracle.prove_cuts([claim])[0]) >= oracle.prove_cut(claim, True)


@pytest.mark.parametrize("size", [1e200, 1e305])
def test_sums_that_overflow_are_no_numbers(size) -> None:
    oracle, cut, witness, _ = small(check=False)
    huge = witness | {"signed_dual": size * np.resize([1.0, -1.0], 12)}
    oracle._proof.machines[0].dual.upper[:] = np.inf  # so that nothing is cut off
    oracle._proof.machines[0].dual.lower[:] = -np.inf
    claim = CutClaim(ClaimKind.MINORANT, cut.constant, cut.subgradient, witness=huge)
    (told,) = oracle.prove_cuts([claim])
    assert told is None or isfinite(told)
    value = proven_value(oracle, ValueClaim(cut.point, cut.upper, huge))
    assert value is None or value > cut.upper


@pytest.mark.parametrize(
    "witness", [{}, {"signed_dual": np.zeros(5)}, {"signed_dual": np.full(12, np.nan)}, {"signed_dual": "words"}]
)
def test_a_witness_that_is_none_is_left_to_the_proof_of_one_cut(witness) -> None:
    oracle, cut, honest, _ = small()
    claims = [CutClaim(ClaimKind.MINORANT, cut.constant, cut.subgradient, witness=one) for one in (witness, honest)]
    told = oracle.prove_cuts(claims)
    assert told[0] is None
    assert told[1] is not None
