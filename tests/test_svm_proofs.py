"""Witnesses of kernel learning: honest claims lose rounding alone, and what forged ones prove is true."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from test_losses_everywhere import FORMULATIONS, KERNELS, LABELS, LOSSES, PAIRS, N, value_at

from oracle_opt import Query, Refuted
from oracle_opt.bounds import cut_rounding
from oracle_opt.cuts import PartialQuery
from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer, MixedNormOracle, MKLOracle, SharedWeightsOracle
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim

PROVEN = [(loss, name) for loss, name in PAIRS if name != "own"]  # whose conjugate nobody knows
REGULARIZED = [name for name in FORMULATIONS if name not in ("l1", "groups")]


def witness_of(oracle, cut):
    return {name: cut.extras[name] for name in oracle.witness if name in cut.extras}


def claims_of(oracle, cut, whole=None):
    """What a run would claim of a cut, of its bound and of its value."""
    witness = witness_of(oracle, cut)
    constant = cut.constant - cut_rounding(cut.point, cut.value, cut.subgradient)[0]
    bound = CutClaim(ClaimKind.BOUND, cut.lower_bound, np.zeros(cut.point.size), witness=witness)
    minorant = CutClaim(ClaimKind.MINORANT, constant, cut.subgradient, witness=witness)
    return minorant, bound, ValueClaim(cut.point, cut.upper, witness)


def queried(loss, name, accuracy=1e-9, point=None):
    charged, formulation = LOSSES[loss], FORMULATIONS[name]
    oracle = formulation.make(charged.loss, charged.y)
    return oracle, oracle.query(Query(formulation.point if point is None else point, accuracy=accuracy))


def at(claim, z, less=0):
    """The claimed function at a point, in fractions, less an excess."""
    slope = sum((Fraction(a) * Fraction(b) for a, b in zip(claim.slope.tolist(), z.tolist(), strict=True)), Fraction(0))
    return Fraction(claim.constant) + slope - Fraction(less)


def points_of(oracle, rng):
    dimension = oracle.domain.dimension
    return [oracle.domain.project(z) for z in (rng.dirichlet(np.ones(dimension)), *np.eye(dimension)[:2])]


def assert_no_stronger(oracle, claim, exact=False):
    """Refused, or what is proven lies below the function at some points, as the oracle itself knows it from above."""
    try:
        excess = oracle.prove_cut(claim, exact)
    except Refuted:
        return
    for z in points_of(oracle, np.random.default_rng(1)):
        upper = oracle.query(Query(z, accuracy=1e-12)).upper
        assert at(claim, z, excess) <= Fraction(upper) * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize(("loss", "name"), PROVEN)
def test_honest_claims_lose_rounding_alone(loss, name):
    oracle, cut = queried(loss, name)
    cut_claim, bound, value = claims_of(oracle, cut)
    size = abs(cut.upper)
    for claim in (cut_claim, bound):
        in_floats, exactly = oracle.prove_cut(claim), oracle.prove_cut(claim, exact=True)
        assert type(in_floats) is float
        assert isinstance(exactly, Fraction)
        assert 0 <= exactly <= 1e-12 * size
        assert exactly <= in_floats <= 1e-12 * size
    in_floats, exactly = oracle.prove_value(value), oracle.prove_value(value, exact=True)
    assert isinstance(exactly, Fraction)
    assert exactly <= in_floats <= cut.upper + 1e-12 * size
    assert exactly >= Fraction(cut.value)


@pytest.mark.parametrize(("loss", "name"), PROVEN[::3])
def test_values_are_above_those_of_a_conic_solver(loss, name):
    oracle, cut = queried(loss, name, accuracy=1e-3)
    known = value_at(LOSSES[loss], name, cut.point)
    for exact in (False, True):
        proven = oracle.prove_value(claims_of(oracle, cut)[2], exact)
        assert known - 1e-7 * abs(known) <= proven <= cut.upper + 1e-12 * abs(cut.upper)


@pytest.mark.campaign(9)
@pytest.mark.parametrize(("loss", "name"), PROVEN)
def test_a_forged_witness_proves_no_more_than_is_true(loss, name):
    oracle, cut = queried(loss, name)
    rng = np.random.default_rng(0)
    claim, bound, value = claims_of(oracle, cut)
    b = claim.witness["signed_dual"]
    truth = oracle.query(Query(cut.point, accuracy=1e-12)).value
    for forged in (3.0 * b, -b, b + rng.normal(size=N), 1e6 * rng.normal(size=N), np.zeros(N)):
        witness = {**claim.witness, "signed_dual": forged}
        for one in (claim, replace(claim, constant=claim.constant + 1.0)):
            assert_no_stronger(oracle, replace(one, witness=witness))
        assert oracle.prove_cut(replace(bound, witness=witness)) >= 0.0
        assert oracle.prove_value(replace(value, witness=witness)) >= truth
    for bias in (1.0, -1e3, cut.extras["bias"] * 1.01 + 0.01):
        assert oracle.prove_value(replace(value, witness={**value.witness, "bias": bias})) >= truth


@pytest.mark.campaign(2)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("loss", "name"), PROVEN)
def test_a_stronger_claim_is_charged(loss, name, exact):
    oracle, cut = queried(loss, name)
    claim, bound, _ = claims_of(oracle, cut)
    more = 1e-6 * max(abs(claim.constant), abs(cut.upper))
    assert oracle.prove_cut(replace(claim, constant=claim.constant + more), exact) >= 0.999 * more
    assert oracle.prove_cut(replace(bound, constant=cut.upper + more), exact) >= more
    slope = claim.slope.copy()
    slope[np.argmax(slope)] += 1e-6 * (1.0 + np.abs(slope).max())
    steeper = replace(claim, slope=slope)
    assert_no_stronger(oracle, steeper, exact)
    if name in ("l1", "groups"):
        assert oracle.prove_cut(steeper, exact) > 0.5e-6


@pytest.mark.parametrize("name", FORMULATIONS)
def test_other_data_are_not_proven_by_the_witness(name):
    """One label, one kernel entry: what is proven then is true of the other problem."""
    formulation, charged = FORMULATIONS[name], LOSSES["hinge"]
    _, cut = queried("hinge", name)
    oracle = formulation.make(charged.loss, charged.y)
    claim, _, value = claims_of(oracle, cut)
    for i in range(0, N, 3):
        y = LABELS.copy()
        y[i] = -y[i]
        other = formulation.make(charged.loss, y)
        if name != "own":
            assert_no_stronger(other, claim)
        assert other.prove_value(value) >= other.query(Query(cut.point, accuracy=1e-12)).value
    changed = [K.copy() for K in KERNELS]
    changed[2][1, 4] = changed[2][4, 1] = changed[2][1, 4] + 1e-3
    if name == "l1":
        banks = [GramBank(some, check=False) for some in (KERNELS, changed)]
        first, second = (MKLOracle(bank, LABELS, charged.loss) for bank in banks)
        cut = first.query(Query(formulation.point, accuracy=1e-12))
        claim, _, _ = claims_of(first, cut)
        assert first.prove_cut(claim) == 0.0
        assert_no_stronger(second, claim)


def test_shapes_and_numbers_that_are_none_are_refuted():
    oracle, cut = queried("hinge", "groups")
    claim, bound, value = claims_of(oracle, cut)
    for wrong in (np.zeros(N + 1), np.full(N, np.nan), "words", [[1.0], [2.0, 3.0]], None, np.full(N, 1e308)):
        witness = {**claim.witness, "signed_dual": wrong}
        if isinstance(wrong, np.ndarray) and np.isfinite(wrong).all() and wrong.size == N:
            assert oracle.prove_cut(replace(claim, witness=witness)) >= 0.0  # cut off at the box
        else:
            with pytest.raises(Refuted, match="witness"):
                oracle.prove_cut(replace(claim, witness=witness))
        with pytest.raises(Refuted):
            oracle.prove_value(replace(value, witness=witness))
    for c in (np.array([1.0, 0.0]), np.array([2.0, -1.0]), np.ones(3)):
        with pytest.raises(Refuted, match="group"):
            oracle.prove_cut(replace(claim, witness={**claim.witness, "group_weights": c}))
    with pytest.raises(Refuted, match="finite slopes"):
        oracle.prove_cut(replace(claim, slope=np.ones(3)))
    with pytest.raises(Refuted, match="slope"):
        oracle.prove_cut(replace(bound, slope=np.ones(4)))
    with pytest.raises(Refuted, match="feasibility"):
        oracle.prove_cut(replace(claim, kind=ClaimKind.HALF_SPACE))
    for name in ("l1", "groups", "squared norm"):
        other, of_other = queried("hinge", name)
        part = replace(claims_of(other, of_other)[0], kind=ClaimKind.SUMMAND, n_summands=2)
        with pytest.raises(Refuted, match="not a sum of 2"):  # the two together would claim twice the function
            other.prove_cut(part)
    with pytest.raises(Refuted, match="weights"):
        oracle.prove_value(replace(value, point=np.full(4, np.inf)))
    with pytest.raises(Refuted, match="bias"):
        oracle.prove_value(replace(value, witness={**value.witness, "bias": np.nan}))
    assert oracle.prove_cut(replace(claim, witness={})) is None
    assert oracle.prove_value(replace(value, witness={})) is None


def test_a_regularizer_whose_conjugate_is_not_known_leaves_cuts_given():
    oracle, cut = queried("hinge", "own")
    claim, _, value = claims_of(oracle, cut)
    assert oracle.prove_cut(claim) is None
    assert cut.value <= oracle.prove_value(value) <= cut.upper * (1 + 1e-10)


def machines(rng, loss=None):
    X = rng.normal(size=(N, 2))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    bank = GramBank([np.exp(-g * squared) for g in (0.1, 1.0, 10.0, 30.0)])
    labels = [np.where(X[:, 0] > 0, 1.0, -1.0), np.where(X[:, 1] > 0, 1.0, -1.0)]
    last = MKLOracle(bank, loss=OneClass(0.4)) if loss else MKLOracle(bank, X[:, 0] + 3.0, EpsilonInsensitive(2.0, 0.1))
    return [*(MKLOracle(bank, y, 3.0) for y in labels), last]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("one_class", [False, True])
@pytest.mark.parametrize("regularizer", [None, LpRegularizer(1.5), LpRegularizer(1, power=1)])
def test_machines_that_share_weights(regularizer, one_class, exact):
    if one_class and regularizer is not None and regularizer.homogeneous:
        return
    oracle = SharedWeightsOracle(machines(np.random.default_rng(3), one_class), regularizer, radius=50.0)
    cut = oracle.query(Query(np.array([0.3, 0.2, 0.5, 0.0]), accuracy=1e-9))
    claim, bound, value = claims_of(oracle, cut)
    size = abs(cut.upper) + sum(abs(one.value) for one in cut.summands)
    for one in (claim, bound):
        assert 0 <= oracle.prove_cut(one, exact) <= 1e-12 * size
    assert cut.value - 1e-12 * size <= oracle.prove_value(value, exact) <= cut.upper + 1e-12 * size
    n = len(cut.summands)
    for j, part in enumerate(cut.summands):
        constant = part.constant - cut_rounding(part.point, part.value, part.subgradient)[0]
        summand = CutClaim(ClaimKind.SUMMAND, constant, part.subgradient, j, n, witness=witness_of(oracle, part))
        assert 0 <= oracle.prove_cut(summand, exact) <= 1e-12 * size
        stronger = replace(summand, constant=constant + 1e-3)
        assert oracle.prove_cut(stronger, exact) == pytest.approx(1e-3, rel=1e-6)
        with pytest.raises(Refuted, match="sum of"):
            oracle.prove_cut(replace(summand, n_summands=n + 1), exact)
    assert_no_stronger(oracle, replace(claim, constant=claim.constant + 1.0), exact)


@pytest.mark.parametrize("exact", [False, True])
def test_slopes_that_a_partial_query_left_low_are_proven(exact):
    rng = np.random.default_rng(7)
    oracle = machines(rng)[0]
    oracle.query(Query(np.full(4, 0.25)))
    cut = oracle.query(PartialQuery(np.array([0.4, 0.6, 0.0, 0.0]), coordinates=np.array([0, 1])))
    claim, bound, value = claims_of(oracle, cut)
    assert oracle.prove_cut(claim, exact) == 0
    assert oracle.prove_cut(bound, exact) == 0
    assert oracle.prove_value(value, exact) <= cut.upper * (1 + 1e-12)


class Rough(GramBank):
    """Entries that are wrong by as much as the bank admits, otherwise each time it is asked."""

    exactness = 1e-7

    def entries(self, rows, columns):
        E = super().entries(rows, columns)
        roots = np.sqrt(super().diagonal())
        sizes = roots[np.asarray(rows)][:, None] * roots[np.asarray(columns)][None]
        return E + self.exactness * self.noise_of.uniform(-1, 1, size=E.shape) * sizes


@pytest.mark.parametrize("exact", [False, True])
def test_entries_that_are_known_up_to_an_error(exact):
    """What is proven of rough kernels is true of the kernels."""
    bank = Rough(KERNELS, check=False)
    bank.noise_of = np.random.default_rng(0)
    oracle, true = (MKLOracle(one, LABELS, 3.0, accuracy=1e-12) for one in (bank, GramBank(KERNELS)))
    cut = true.query(Query(np.array([0.4, 0.1, 0.5, 0.0])))
    claim, bound, value = claims_of(true, cut)
    assert 0 < oracle.prove_cut(claim, exact) <= 1e-4 * cut.upper
    assert 0 < oracle.prove_cut(bound, exact) <= 1e-4 * cut.upper
    assert cut.upper <= oracle.prove_value(value, exact) <= cut.upper * (1 + 1e-4)


def test_blocks_of_points_and_kernels_add_up(monkeypatch):
    """Entries are read a few at a time where they are many."""
    module = "oracle_opt.oracles.mkl.form_proof"
    for loss, name in (("hinge", "l1"), ("regression", "groups"), ("squared hinge", "elastic net")):
        oracle, cut = queried(loss, name)
        claim, _, value = claims_of(oracle, cut)
        known = oracle.prove_cut(claim, exact=True), oracle.prove_value(value, exact=True)
        floats = oracle.prove_value(value)
        for most in (1, 37, 90):
            monkeypatch.setattr(f"{module}.AT_ONCE", most)
            monkeypatch.setattr(f"{module}.EXACT_AT_ONCE", most)
            assert (oracle.prove_cut(claim, exact=True), oracle.prove_value(value, exact=True)) == known
            assert oracle.prove_cut(claim) <= 1e-12 * cut.upper
            assert known[1] <= oracle.prove_value(value) == pytest.approx(floats, rel=1e-13)
        monkeypatch.undo()


def test_the_proof_reads_nothing_but_entries(monkeypatch):
    """None of what the oracle solves and sums with is called."""
    oracle, cut = queried("hinge", "l1")
    claim, bound, value = claims_of(oracle, cut)

    def forbidden(*_, **__):
        raise AssertionError

    for method in ("combine", "quadratic_forms", "row_products", "block", "form_error", "noise"):
        monkeypatch.setattr(GramBank, method, forbidden)
        monkeypatch.setattr(KernelBank, method, forbidden)
    oracle._machine, oracle._solvers = None, ()
    for exact in (False, True):
        assert oracle.prove_cut(claim, exact) == 0
        assert oracle.prove_cut(bound, exact) == 0
        assert oracle.prove_value(value, exact) <= cut.upper * (1 + 1e-12)


def test_weights_that_add_up_to_more_are_taken_for_the_nearest_point():
    """f falls along a ray, so a value at weights that are too large proves nothing of the simplex as it stands."""
    oracle, cut = queried("hinge", "l1", accuracy=1e-12)
    value = claims_of(oracle, cut)[2]
    proven = oracle.prove_value(replace(value, point=cut.point * 1.5), exact=True)
    assert proven >= cut.value
    assert type(oracle) is MKLOracle
    groups, of_groups = queried("hinge", "groups", accuracy=1e-12)
    assert isinstance(groups, MixedNormOracle)
    value = claims_of(groups, of_groups)[2]
    assert groups.prove_value(replace(value, point=of_groups.point * 1.5), exact=True) >= of_groups.value


def test_a_bound_of_other_dual_variables_travels_with_the_cut():
    from oracle_opt import minimize
    from oracle_opt.oracles import SMOMKL, NewtonMKL

    for solver in (SMOMKL, NewtonMKL):
        oracle = GMKLOracle(GramBank(KERNELS), LABELS, LpRegularizer(2), C=0.4)
        result = minimize(oracle, solver(), rtol=1e-6, keep_cuts=True)
        for cut in result.history.cuts:
            claim, bound, value = claims_of(oracle, cut)
            assert oracle.prove_cut(claim, exact=True) <= 1e-12 * cut.upper
            assert oracle.prove_cut(bound, exact=True) <= 1e-12 * cut.upper
            assert oracle.prove_value(value) <= cut.upper * (1 + 1e-12)
