"""Optima near 0: honest certificates are verified, and forged ones of the same size are refused.

What rounding makes of such a run goes with the sizes of its targets and slopes, and a tolerance goes with its bounds:
so what an oracle claims has to be true to the last digit, and what proves it must add nothing where a function is 0.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from oracle_opt import Certificate, Refuted, minimize
from oracle_opt.oracles import GramBank, SharedWeightsOracle
from oracle_opt.oracles.mkl import ElasticNet, EntropyRegularizer, GMKLOracle, LpRegularizer, MixedNormOracle, MKLOracle
from oracle_opt.oracles.mkl.formula import Proven, least
from oracle_opt.oracles.mkl.weights import Regularized
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions

PENALTIES = {
    "entropy": EntropyRegularizer(1e-12),
    "lp": LpRegularizer(1.5, weight=1e-12),
    "net": ElasticNet(1e-12, 1e-12),
    "large net": ElasticNet(7.6, 3.8),
}


def problem(seed):
    """A regression that needs no machine, or hardly one: targets far from 0 in a tube as wide as they spread."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    X = rng.integers(0, 2, size=(n, 2)).astype(float)
    y = rng.normal(size=n) * 10 ** rng.uniform(-2, 3) + 10 ** rng.uniform(-2, 4)
    kernels = [np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / s) for s in (0.5, 2.0)] + [np.ones((n, n))]
    epsilon = np.ptp(y) * 0.5 * rng.choice([1.0, 1.0 + 1e-15, 1.0 - 1e-13, 0.999999])
    return GramBank(kernels, check=False), y, EpsilonInsensitive(10 ** rng.uniform(-2, 2), epsilon)


def oracles(seed):
    """Every oracle on such a problem, with some of the regularizers."""
    bank, y, loss = problem(seed)
    machines = [MKLOracle(bank, y, loss), MKLOracle(bank, -y, loss)]
    names = list(PENALTIES)
    yield machines[0]
    yield MixedNormOracle(bank, y, loss, groups=[[0, 1], [2]])
    yield SharedWeightsOracle(machines, PENALTIES[names[seed % 4]])
    yield GMKLOracle(bank, y, PENALTIES[names[(seed + 1) % 4]], loss=loss)
    yield GMKLOracle(bank, None, PENALTIES[names[(seed + 2) % 4]], loss=OneClass(0.5))


@pytest.mark.campaign(5)
@pytest.mark.parametrize("part", range(5))
def test_honest_certificates_of_tiny_optima(part) -> None:
    for seed in range(10 * part, 10 * part + 10):
        for oracle in oracles(seed):
            result = minimize(oracle, rtol=1e-6, max_calls=20)
            if np.isfinite(result.lower_bound):
                result.certificate().verify(oracle)


def test_forged_certificates_of_tiny_optima() -> None:
    """A constant, a bound or a value that is moved by 1e-5 of what is there."""
    tried = 0
    for seed in range(30):
        for oracle in oracles(seed):
            result = minimize(oracle, rtol=1e-6, max_calls=20)
            size = max(abs(result.lower_bound), abs(result.upper_bound))
            if not (np.isfinite(size) and size > 0 and result.gap <= 1e-6 * size):
                continue
            proof = result.certificate()
            above = [replace(cut, constant=cut.constant + 1e-5 * size) for cut in proof.cuts]
            high, low = proof.upper + 1e-4 * size, proof.upper - 1e-5 * size
            for cuts, lower, upper in ((above, proof.lower + 1e-5 * size, high), (proof.cuts, low - 1e-4 * size, low)):
                value, facts = replace(proof.value, upper=upper), {"problem": proof.problem}
                forged = Certificate.of(oracle.domain, cuts, proof.multipliers, value, lower, upper, facts)
                with pytest.raises(Refuted):
                    forged.verify(oracle)
            tried += 1
    assert tried >= 12


@pytest.mark.parametrize("name", PENALTIES)
def test_nothing_is_added_where_a_regularizer_or_its_conjugate_is_0(name) -> None:
    regularizer = PENALTIES[name]
    assert regularizer.conjugate_of(Fractions.of(np.zeros(3))).x == 0
    if name == "entropy":
        assert regularizer.value_of(Fractions.of(np.ones(3))).x == 0
        for x in (1e-20, 1e-13, 1e-11, 1e-3, 1.0, -1e-14, -1e-9, -30.0):  # against numbers of the library
            found = EntropyRegularizer(1.0).conjugate_of(Fractions.of([x]))
            assert found is not None
            assert float(found.x) == pytest.approx(float(np.expm1(np.longdouble(x))), rel=1e-15)
    else:
        assert regularizer.value_of(Fractions.of(np.zeros(3))).x == 0


def test_a_conjugate_beyond_all_numbers_is_refused_at_once() -> None:
    """Its exact value took for ever, and a slope without a finite one was taken as given."""
    regularizer = EntropyRegularizer(1e-12)
    assert regularizer.conjugate_of(Fractions.of([5.0])) is None
    assert LpRegularizer(2.0, power=1.0 + 1e-9).conjugate_of(Fractions.of([9.0])) is None
    with pytest.raises(Refuted, match="its slope is steeper than"):
        Regularized(1, regularizer).overshoot(Fractions.of([5.0]))
    bank, y, loss = problem(0)
    oracle = GMKLOracle(bank, y, regularizer, loss=loss)
    claim = CutClaim(ClaimKind.MINORANT, 0.0, np.full(3, 5.0), witness={"signed_dual": np.zeros(y.size)})
    with pytest.raises(Refuted, match="its slope is steeper than"):
        oracle.prove_cut(claim)


def test_forms_below_0_prove_what_0_proves() -> None:
    """A kernel that was rounded may have some; a conjugate is made for slopes that are not negative."""
    for regularizer in (LpRegularizer(1.1, weight=51.0), LpRegularizer(2.0), ElasticNet(), EntropyRegularizer()):
        weights = Regularized(3, regularizer)
        for numbers in (Floats, Fractions):
            for scalable in (False, True):
                forms = (numbers.of([3.0, 2.0, last]).above() for last in (-5e4, 0.0))
                linear, quadratic = numbers.of(2.0), numbers.of(0.5)
                one, other = (
                    least(Proven(linear, quadratic, F, lambda: Fraction(6), scalable), weights) for F in forms
                )
                assert one is not None
                assert one == other


def test_a_machine_that_nobody_needs_limits_no_multiple() -> None:
    """Dual variables that are 0 have all multiples; their machine must not make the bound of the others less."""
    rng = np.random.default_rng(0)
    X, far = rng.normal(size=(9, 2)), rng.normal(size=9)
    bank = GramBank([np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)), X @ X.T, np.eye(9)])
    y = np.where(np.arange(9) % 2, 1.0, -1.0)
    for C in (0.3, 30.0, 3e3):
        machines = [MKLOracle(bank, y, SquaredHinge(C)), MKLOracle(bank, far, EpsilonInsensitive(1.0, 9.0))]
        for penalty in (LpRegularizer(1.1, weight=20.0), ElasticNet(36.0, 18.0), EntropyRegularizer(0.1), None):
            oracle = SharedWeightsOracle(machines, penalty)
            result = minimize(oracle, rtol=1e-6, max_calls=2)  # an early bound is that of a multiple
            result.certificate().verify(oracle)


def test_the_entropy_near_its_reference_is_exact_in_all_digits() -> None:
    """It is 0 there, and terms of the size of the reference cancel."""
    for reference in (1.0, 0.3, 1e5):
        for u in (0.0, 1e-15, -1e-12, 3e-9, -1e-5, 0.05, 0.0999, -0.0999, 0.1001, -0.1001, 0.7, -0.9, -1.0, 40.0):
            d = np.array([reference * (1.0 + u)])
            found = EntropyRegularizer(2.0, reference=reference).value(d)
            exact = EntropyRegularizer(2.0, reference=reference).value_of(Fractions.of(d)).x
            assert abs(Fraction(found) - exact) <= Fraction(2.0**-45) * exact
