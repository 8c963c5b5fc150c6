"""The one formula of kernel learning against what it is said to be, counted in fractions that know nothing of it."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import minimize_scalar

from oracle_opt.oracles import Groups, LpRegularizer, Regularized
from oracle_opt.oracles.mkl.formula import Proven, excess, least, proven, upper_at, value_at
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions

KINDS = (Floats, Fractions)
CLOSE = 1e-11  # a ridge and a shifted target are charged their rounding


def fractions(values):
    return [Fraction(float(one)) for one in np.atleast_1d(values)]


@dataclass
class Machine:
    """A loss, dual variables in its box of sum 0, and their forms: what L is, written out."""

    loss: Separable
    b: np.ndarray
    forms: np.ndarray

    def dual(self, t=1):
        terms = zip(*map(fractions, (self.loss.linear, self._or_0("kink"), self._or_0("ridge"), self.b)), strict=True)
        return sum(linear * t * b - kink * abs(t * b) - ridge * (t * b) ** 2 / 2 for linear, kink, ridge, b in terms)

    def minorant(self, w, c=None, t=1):
        scale = fractions(np.ones(len(w)) if c is None else c)
        each = zip(fractions(w), fractions(self.forms), scale, strict=True)
        return self.dual(t) - Fraction(t) ** 2 * sum(w * S / c for w, S, c in each) / 2

    def _or_0(self, name):
        values = getattr(self.loss, name)
        return np.zeros(self.b.size) if values is None else values


def machine(rng, n_kernels=3, offset=0.0):
    n = int(rng.integers(2, 7))
    linear, lower, upper = rng.normal(size=n), -rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    kink = rng.uniform(0.0, 0.4, n) if rng.random() < 0.5 else None
    ridge = rng.uniform(0.1, 2.0, n) if rng.random() < 0.5 else None
    b = rng.uniform(-0.4, 0.4, n) * (rng.random(n) < 0.8)
    b -= b.mean()
    roots = rng.normal(size=(n_kernels, n, 2))
    S = np.array([np.square(root.T @ b).sum() for root in roots])
    return Machine(Separable(linear, lower, upper, kink, ridge, 0.0, offset), b, S)


def of(one: Machine, kind, moved=0.0, longest=lambda: Fraction(1)) -> Proven:
    return proven(one.loss, one.b, moved, kind.of(one.forms), longest, kind)


def holds(found, known, size=1.0):
    """What is found is below what is known, by rounding alone."""
    assert Fraction(found) <= known
    assert float(found) >= float(known) - CLOSE * max(size, abs(float(known)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(16))
def test_minorants_and_their_sums(seed, kind) -> None:
    rng = np.random.default_rng(seed)
    one, two = machine(rng), machine(rng)
    w, c = rng.dirichlet(np.ones(3)), rng.uniform(0.1, 0.9, 3)
    first, second = (of(each, kind, 0.0, lambda t=t: t) for each, t in ((one, Fraction(3)), (two, Fraction(2))))
    holds(value_at(first, w).below(), one.minorant(w))
    holds(value_at(first, w, 1.0 / kind.of(c)).below(), one.minorant(w, c), 1.0 / c.min())
    both = first + second
    holds(value_at(both, w).below(), one.minorant(w) + two.minorant(w))
    holds(both.constant.below(), one.dual() + two.dual())
    assert both.longest() == 2
    assert (second + first).longest() == 2
    assert both.scalable
    limited = Proven(second.linear, second.quadratic, second.forms, second.longest, False)
    assert not (first + limited).scalable
    assert not (limited + first).scalable
    order = [2, 0, 1]
    turned = both.with_forms(both.forms[order])
    holds(value_at(turned, w[order]).below(), one.minorant(w) + two.minorant(w))
    assert (turned.longest(), turned.scalable, turned.linear) == (2, True, both.linear)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_points_that_are_moved_prove_less(seed, kind) -> None:
    """By the steepest slope of L at most, and by no less than the way costs in the worst case of a plain loss."""
    rng = np.random.default_rng(seed)
    one = machine(rng)
    moved = 0.125
    near, far = of(one, kind).constant.below(), of(one, kind, moved).constant.below()
    linear, kink, ridge = (np.abs(x) for x in (one.loss.linear, one._or_0("kink"), one._or_0("ridge")))
    steep = linear.max() + kink.max() + (ridge * (np.abs(one.b) + moved)).max()
    assert float(near - far) == pytest.approx(moved * steep, rel=1e-9)
    assert of(one, kind).scalable
    limited = Separable(one.loss.linear, one.loss.lower, one.loss.upper, total=0.25)
    assert not proven(limited, one.b, 0.0, kind.of(one.forms), lambda: 1.0, kind).scalable


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_an_affine_claim_exceeds_by_its_largest_excess(seed, kind) -> None:
    """Over simplices at a vertex; with a regularizer where a search ends."""
    rng = np.random.default_rng(seed)
    one = machine(rng, 4)
    proof, constant, slope = of(one, kind), float(rng.normal()), rng.normal(size=4)
    weights = Groups(4)
    exact = max(Fraction(constant) + Fraction(slope[k]) - one.minorant(np.eye(4)[k]) for k in range(4))
    assert Fraction(excess(constant, slope, proof, weights).above()) >= exact
    assert float(excess(constant, slope, proof, weights).x) == pytest.approx(float(exact), rel=1e-11, abs=1e-11)
    several, c = Groups(4, [[0, 1], [2, 3]]), np.array([0.25, 0.75])
    exact = max(
        Fraction(constant)
        + sum(map(Fraction, slope[list(pair)]))
        - one.minorant(np.eye(4)[list(pair)].sum(0), c[[0, 0, 1, 1]])
        for pair in product((0, 1), (2, 3))
    )
    found = excess(constant, slope, proof, several, c)
    assert Fraction(found.above()) >= exact
    assert float(found.x) == pytest.approx(float(exact), rel=1e-11, abs=1e-11)
    r = LpRegularizer(2.0, weight=0.7)
    regular = Regularized(4, r)
    found = float(excess(constant, slope, proof, regular).x)

    def lack(w):
        return -(constant + slope @ w - float(one.dual()) + 0.5 * w @ one.forms - r.value(w))

    best = min(scipy_minimize(lack, rng.uniform(0.1, 3, 4), bounds=[(0, None)] * 4).fun for _ in range(4))
    assert found == pytest.approx(-best, rel=1e-6, abs=1e-6)
    assert found >= -best - 1e-9


def search(bound, top):
    """The largest value of a concave function of the multiple."""
    tried = minimize_scalar(lambda t: -bound(t), bounds=(0.0, top), method="bounded", options={"xatol": 1e-12})
    return max(-tried.fun, bound(0.0), bound(top))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(16))
def test_the_least_value_is_that_of_the_best_multiple(seed, kind) -> None:
    """Less than 1, up to the longest, or none at all where L(b) is below 0; of one simplex, groups and regularizers."""
    rng = np.random.default_rng(seed)
    one, top = machine(rng, 4), float(rng.choice([1.0, 1.5, 20.0]))
    one.forms = one.forms * 10.0 ** rng.uniform(-2, 2)
    if rng.random() < 0.7:  # so that multiples above 1 pay
        one.b = np.where(one.loss.linear * one.b < 0, -one.b, one.b)
    proof = of(one, kind, 0.0, lambda: Fraction(top))
    linear, quadratic, F = float(proof.linear.x), float(proof.quadratic.x), np.asarray(one.forms)
    r = LpRegularizer(2.0, weight=3.0)
    roots = np.sqrt(F[:2].max()) + np.sqrt(F[2:].max())
    cases = (
        (Groups(4), lambda t: 0.5 * t * t * F.max()),
        (Groups(4, [[0, 1], [2, 3]]), lambda t: 0.5 * t * t * roots**2),
        (Regularized(4, r), lambda t: r.conjugate(0.5 * t * t * F)),
    )
    for weights, cost in cases:

        def bound(t, cost=cost):
            return linear * t - quadratic * t * t - cost(t)

        known, found = search(bound, top), least(proof, weights)
        assert float(found) <= known + 1e-9 * max(abs(known), 1e-3)
        assert float(found) >= known - 1e-6 * max(abs(known), 1e-3)
        fixed = Proven(proof.linear, proof.quadratic, proof.forms, proof.longest, False)
        assert float(least(fixed, weights)) == pytest.approx(bound(1.0), rel=1e-9, abs=1e-12)


def test_bounds_of_multiples_in_figures() -> None:
    """A line less a parabola: at the end, inside, not at all."""
    for kind in KINDS:
        for linear, quadratic, largest, longest, scalable, known in (
            (2.0, 0.25, 0.5, 9, True, 2.0),  # t = 2
            (2.0, 0.25, 0.5, 1.5, True, 1.875),
            (2.0, 0.25, 0.5, 9, False, 1.5),
            (1.0, 1.0, 2.0, 9, True, 0.125),  # t = 1 / 4
            (1.0, 1.0, 2.0, 9, False, -1.0),
            (-1.0, 0.0, 2.0, 9, True, 0.0),
            (-1.0, 0.0, 2.0, 9, False, -2.0),
        ):
            forms = kind.of([0.5 * largest, largest]).above()
            proof = Proven(kind.of(linear), kind.of(quadratic), forms, lambda x=longest: Fraction(x), scalable)
            assert float(least(proof, Groups(2))) == pytest.approx(known, rel=1e-12, abs=1e-12)


class Rough(Groups):
    """One simplex with a search that says 4, and costs that are known from 0 to some multiple alone."""

    def __init__(self, known: float) -> None:
        super().__init__(1)
        self.known = known

    def best_multiple(self, proof, cost):
        return 4.0

    def cost_of_multiples(self, F):
        cost = super().cost_of_multiples(F)
        return lambda t: cost(t) if t <= self.known else None


@pytest.mark.parametrize("kind", KINDS)
def test_a_rough_search_costs_nothing_but_its_gain(kind) -> None:
    """Beside the multiple that it says 0 is tried where that proves nothing, and 1."""

    def found(linear, known, longest=9):
        forms = kind.of([1.0]).above()
        proof = Proven(kind.of(linear), kind.of(0.0), forms, lambda: Fraction(longest), True)
        bound = least(proof, Rough(known))
        return None if bound is None else float(bound)

    assert found(8.0, 9.0) == pytest.approx(32.0 - 8.0)
    assert found(8.0, 9.0, 2) == pytest.approx(16.0 - 2.0)
    assert found(8.0, 1.0) == pytest.approx(7.5)
    assert found(0.25, 9.0) == 0.0
    assert found(8.0, 0.5) == 0.0
    assert found(8.0, -1.0) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(24))
def test_a_hyperplane_costs_its_norms_and_its_losses(seed, kind) -> None:
    """Any bias, multiples of the norms or others, decision values that are wrong: the largest of what they may be."""
    rng = np.random.default_rng(seed)
    one = machine(rng)
    one.loss.total = float(rng.choice([0.0, 0.5]))
    n, loss = one.b.size, one.loss
    v, bias, factor = rng.normal(size=n), float(rng.normal()), float(rng.choice([1.0, 1.25]))
    wrong, forgiven, norms = rng.choice([0.0, 0.1]) * rng.uniform(size=n), float(rng.choice([0.0, 0.05])), 0.75
    extra = {"forgiven": forgiven} if forgiven else {}

    def half(values):
        each = zip(fractions(one.b), values, strict=True)
        return Fraction(factor) / 2 * sum((b * value for b, value in each), Fraction(0))

    vertices = [
        [Fraction(a) + s * Fraction(e) for a, e, s in zip(v, wrong, signs, strict=True)]
        for signs in product((-1, 1), repeat=n)
    ]
    exact = max(cost_of_fractions(one, point, bias, forgiven, half(point)) for point in vertices)
    found = upper_at(loss, one.b, bias, v, wrong, kind, factor=factor, **extra)
    assert Fraction(found.above()) >= exact
    assert float(found.x) == pytest.approx(float(exact), rel=1e-10, abs=1e-10)
    exact = max(cost_of_fractions(one, point, bias, forgiven, Fraction(norms)) for point in vertices)
    found = upper_at(loss, one.b, bias, v, wrong, kind, norms=kind.of(norms), **extra)
    assert Fraction(found.above()) >= exact
    assert float(found.x) == pytest.approx(float(exact), rel=1e-10, abs=1e-10)
    if factor == 1.0:
        plain = upper_at(loss, one.b, bias, v, wrong, kind, **extra)
        assert plain.x == upper_at(loss, one.b, bias, v, wrong, kind, factor=1.0, **extra).x


def cost_of_fractions(one, values, bias, forgiven, norms):
    """Norms, the bias times the total, and the losses at decision values that are fractions."""
    loss, total = one.loss, norms + Fraction(bias) * Fraction(one.loss.total)
    sides = (loss.linear, one._or_0("kink"), one._or_0("ridge"), loss.lower, loss.upper)
    for linear, kink, ridge, lower, upper, v in zip(*map(fractions, sides), values, strict=True):
        slope, less, steps = linear - v - Fraction(bias), kink + Fraction(forgiven), [lower, upper, Fraction(0)]
        if ridge:
            steps += [min(max(x, lower), upper) for x in ((slope - less) / ridge, (slope + less) / ridge)]
        total += max(slope * x - less * abs(x) - ridge * x * x / 2 for x in steps)
    return total


def test_the_bias_of_shifted_targets_is_less() -> None:
    """Targets y - offset at the bias less the offset cost what y costs at the bias."""
    rng = np.random.default_rng(5)
    one = machine(rng, offset=0.5)
    v, none = rng.normal(size=one.b.size), np.zeros(one.b.size)
    meant = Machine(
        Separable(one.loss.linear + 0.5, one.loss.lower, one.loss.upper, one.loss.kink, one.loss.ridge),
        one.b,
        one.forms,
    )
    for kind in KINDS:
        found = upper_at(one.loss, one.b, 1.25, v, none, kind)
        exact = cost_of_fractions(
            meant, fractions(v), 1.25, 0, sum(a * b for a, b in zip(fractions(one.b), fractions(v), strict=True)) / 2
        )
        assert float(found.x) == pytest.approx(float(exact), rel=1e-12)
