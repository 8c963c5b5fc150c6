"""The set of the weights of kernels: simplices of groups, or an orthant with a regularizer."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.analytic_update import AnalyticUpdate
from oracle_opt.arguments import instance, real, whole
from oracle_opt.arrays import EPS, Vector, digest, fingerprint
from oracle_opt.cuts import Kind
from oracle_opt.domains import Domain, ProductOfSimplices, Simplex
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.oracles.mkl.formula import Proven
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights
from oracle_opt.oracles.mkl.regularizer import Regularizer, regularize
from oracle_opt.oracles.mkl.regularizers import ElasticNet, EntropyRegularizer, LpRegularizer, lp_norm
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.words import by_attributes, shown

# The least weight c_j, which a group keeps whose kernels vanish on the support vectors: it costs less than 1e-7 of the
# value, and less still would cost more, as the machine's kernel rounds as the group's over c_j does.
FLOOR = 1e-7
OF_SLOPE = 16 * EPS  # of an entry of a slope, what rounding may make of it
# Weights of kernels up to which machines are solved: beyond them squares overflow.
LARGEST = 1e140


class WeightSet(ABC):
    """A set of weights w: its domain, and the regularizer's cost. Oracles of kernel learning differ in it."""

    __repr__ = by_attributes

    domain: Domain  # where w is
    n_kernels: int  # p
    convex: bool = True  # whether r is, so that minorants are proven
    gives: frozenset[Kind] = frozenset()  # those that depend on the weights alone
    several: bool = False  # whether there is more than one group, with weights c to be found besides
    order: NDArray[np.intp]  # the kernel of each weight, shape (p,)

    def clean(self, w: Vector) -> Vector:
        """Weights of the domain, without what rounding put below 0 where that matters."""
        return w

    def regularized(self, w: Any, numbers: type[Numbers]) -> Numbers | None:
        """``r(w)``; None where r is 0."""
        return None

    def slope(self, w: Vector) -> Vector | None:
        """The gradient of r; None where r is 0."""
        return None

    def equal(self) -> Vector:
        """Equal weights c of the groups."""
        return np.ones(1)

    def lifted(self, w: Vector, c: Vector) -> Vector:
        """Weights of the kernels in the machines, in their order, for weights c of the groups."""
        return w

    def divided(self, F: Numbers, c: Vector) -> Numbers:
        """``F / c`` of its group for each kernel, c divided by its sum."""
        return F

    @abstractmethod
    def support(self, g: Numbers) -> Numbers:
        """``sup of g @ w`` over the domain."""

    @abstractmethod
    def overshoot(self, g: Numbers) -> Numbers | None:
        """``sup of g @ w - r(w)`` over the domain, from above; None if not known, `Refuted` if known to be infinite."""

    @abstractmethod
    def cost_of_multiples(self, F: Numbers) -> Callable[[float | Fraction], Numbers | None]:
        """From t to ``min over c, sup over w of t**2 / 2 w @ (F / c) - r(w)``, from above; None if it is not known."""

    @abstractmethod
    def best_multiple(self, proof: Proven, cost: Callable[[float], Numbers | None]) -> float | Fraction:
        """About the t of which the bound is best, at least 0, with the cost of multiples; found in floats."""

    @abstractmethod
    def update(self, w: Vector, S: Vector) -> Vector | None:
        """The weights that minimize the primal objective at a hyperplane of squared norms ``w**2 * S``."""

    @abstractmethod
    def identity(self) -> str:
        """Words on them that an oracle adds to its own."""


class Groups(WeightSet):
    """Weights in a simplex for each group of kernels, and r is 0. One group is l1, several are the mixed norm.

    Parameters
    ----------
    n_kernels : int
        p.
    groups : sequence of sequences of int, optional
        Indices of the kernels of each group; together they are 0 .. p - 1, each once. Weights are in this order, group
        after group. Default: one group of all.

    Raises
    ------
    InvalidArgument
        The groups do not partition the kernels.
    """

    def __init__(self, n_kernels: int, groups: Sequence[Sequence[int]] | None = None) -> None:
        self.n_kernels = whole("n_kernels", n_kernels, 1)
        self.groups = (tuple(range(n_kernels)),) if groups is None else checked_groups(groups, n_kernels)
        self.order = np.concatenate([np.asarray(group, dtype=np.intp) for group in self.groups])
        self.several = groups is not None
        sizes = [len(group) for group in self.groups]
        self.starts = np.cumsum((0, *sizes[:-1]))
        self.group_of = np.repeat(np.arange(len(sizes)), sizes)
        self.domain = ProductOfSimplices(sizes) if self.several else Simplex(n_kernels)
        if self.several:
            self.gives = frozenset({AnalyticUpdate})

    def equal(self) -> Vector:
        """Equal weights of the groups."""
        return np.full(len(self.groups), 1.0 / len(self.groups))

    def lifted(self, w: Vector, c: Vector) -> Vector:
        """``w / c`` of its group for each kernel."""
        if not self.several:
            return w
        d = np.empty(w.size)
        d[self.order] = w / c[self.group_of]
        return d

    def shares(self, W: Vector) -> Vector:
        """The best weights of the groups, as the roots of `W`, sums of ``w_k S_k`` over each group; kept positive."""
        roots = np.sqrt(np.maximum(W, 0.0))
        total = float(roots.sum())
        c = np.maximum(roots / total, FLOOR) if total > 0 else np.ones_like(W)
        normalized: Vector = c / c.sum()
        return normalized

    def divided(self, F: Numbers, c: Vector) -> Numbers:
        """``F sum(c) / c``: any positive c, divided by its sum, gives a minorant."""
        self.check_positive(c)
        share = type(F).of(c)
        return F * (share.sum() / share)[self.group_of]

    def check_positive(self, c: Vector) -> None:
        """Raise `Refuted` unless all weights `c` of the groups are positive."""
        if not (c > 0).all():
            raise Refuted(f"the weights of the groups must be positive, the least is {c.min()}")

    def support(self, g: Numbers) -> Numbers:
        """The largest entry of each group, added up."""
        return g.group_max(self.starts).sum() if self.several else g.max()

    def overshoot(self, g: Numbers) -> Numbers:
        """As `support`."""
        return self.support(g)

    def cost_of_multiples(self, F: Numbers) -> Callable[[float | Fraction], Numbers]:
        """``t**2 / 2`` times the largest of F; over groups times ``(sum_j sqrt(max_k))**2``, with the best c."""
        if self.several:
            roots = F.group_max(self.starts).sqrt().sum()
            half = roots * roots * 0.5
        else:
            half = F.max() * 0.5
        return lambda t: half if t == 1.0 else half * t * t

    def best_multiple(self, proof: Proven, cost: Callable[[float], Numbers | None]) -> float | Fraction:
        """``linear / (2 quadratic + 2 cost(1))``."""
        at_one = cost(1.0)
        assert at_one is not None  # groups know theirs
        linear, curved = proof.linear.x, 2 * (proof.quadratic.x + at_one.x)
        return max(linear / curved, 0.0) if curved > 0 else proof.longest() if linear > 0 else 0.0

    def update(self, w: Vector, S: Vector) -> Vector:
        """In each group proportional to ``w_k sqrt(S_k)``; the old ones where all of these are 0."""
        roots = np.sqrt(np.maximum(S, 0.0)) * w
        sums = np.add.reduceat(roots, self.starts)[self.group_of]
        updated: Vector = np.where(sums > 0, roots, w) / np.where(sums > 0, sums, 1.0)
        return updated

    def identity(self) -> str:
        """The groups, if there are several."""
        return f", groups #{digest(self.groups)}" if self.several else ""


def checked_groups(groups: Sequence[Sequence[int]], n_kernels: int) -> tuple[tuple[int, ...], ...]:
    """Return the groups, or raise `InvalidArgument` unless they partition the kernels."""
    try:
        checked = tuple(tuple(operator.index(k) for k in group) for group in groups)
    except TypeError as problem:
        raise InvalidArgument(f"`groups` must hold sequences of indices, got {shown(groups)}: {problem}") from problem
    if not checked or not all(checked):
        raise InvalidArgument(f"`groups` must hold groups of at least one kernel, got {shown(groups)}")
    counts = np.bincount([k for group in checked for k in group if 0 <= k < n_kernels], minlength=n_kernels)
    outside = sorted({k for group in checked for k in group if not 0 <= k < n_kernels})
    missing, twice = np.flatnonzero(counts == 0).tolist(), np.flatnonzero(counts > 1).tolist()
    if outside or missing or twice:
        wrong = [
            f"{words} {kernels[:5]}"
            for words, kernels in (("not kernels:", outside), ("missing:", missing), ("more than once:", twice))
            if kernels
        ]
        raise InvalidArgument(f"`groups` must partition the kernels 0 to {n_kernels - 1}, got {', '.join(wrong)}")
    return checked


class Regularized(WeightSet):
    """Weights that are any vector that is not negative, and r their regularizer.

    Parameters
    ----------
    n_kernels : int
        p.
    regularizer : Regularizer
        r: `LpRegularizer`, `ElasticNet`, `EntropyRegularizer` or an object of a subclass of your own.
    radius : float
        States that some minimizer has all weights <= radius. Default: unbounded.

    Raises
    ------
    InvalidArgument
        The regularizer is none, or not finite on the orthant.
    """

    domain: KernelWeights

    def __init__(self, n_kernels: int, regularizer: Regularizer, radius: float = inf) -> None:
        self.n_kernels = whole("n_kernels", n_kernels, 1)
        self.regularizer = instance("regularizer", regularizer, Regularizer, "a Regularizer such as LpRegularizer(2)")
        self.radius = real("radius", radius, above=0.0, infinite=True)
        self.order = np.arange(n_kernels)
        self.domain = KernelWeights(n_kernels, radius, regularizer)
        self.convex = bool(regularizer.convex)
        regularize(regularizer, self.domain.interior_point())
        if regularizer.block_update(np.ones(n_kernels)) is not None:
            self.gives = frozenset({AnalyticUpdate})

    def clean(self, w: Vector) -> Vector:
        """Weights that are not negative."""
        return np.maximum(w, 0.0)

    def regularized(self, w: Any, numbers: type[Numbers]) -> Numbers:
        """``r(w)``: as a user has written `value`, if the class has none on numbers that belongs to it."""
        r = self.regularizer
        return (
            r.value_of(numbers.of(w)) if numbers.exact and _owns(r, "value") else Regularizer.value_of(r, numbers.of(w))
        )

    def slope(self, w: Vector) -> Vector:
        """The gradient of r."""
        return regularize(self.regularizer, w)[1]

    def support(self, g: Numbers) -> Numbers:
        """Up to the radius: ``radius * sum(max(g, 0))``."""
        steeper = g.maximum(0.0).sum()
        if steeper.above() and self.radius == inf:
            raise Refuted("its slope is steeper than what is proven, and the domain has no end there")
        return steeper * self.radius if steeper.above() else steeper

    def overshoot(self, g: Numbers) -> Numbers | None:
        """``r*(g)``, which never falls where an entry of g rises.

        Where r grows linearly alone the conjugate is infinite outside a ball of slopes. A slope that rounding has put
        there is cut off, and what that takes from the claim is at most the radius of the domain times the difference.
        """
        r, cost = self.regularizer, self._conjugate(g)
        if cost is not None or type(r) not in KNOWN:
            return cost
        if type(r) is LpRegularizer and r.power == 1:
            norm = lp_norm(g, r.conjugate_exponent)
            kept = g.minimum(r.weight) if r.p == 1 else g.minimum(g * r.weight / norm)
            if self.radius == inf:
                raise Refuted("its slope is steeper than the regularizer, and the domain has no end there")
            return (g - kept).sum() * self.radius
        raise Refuted(f"its slope is steeper than {r!r}, or so steep that its conjugate is beyond all numbers")

    def cost_of_multiples(self, F: Numbers) -> Callable[[float | Fraction], Numbers | None]:
        """``r*(t**2 F / 2)``."""
        half = F.maximum(0.0) * 0.5  # a rounded kernel may have a form below 0, where no conjugate is asked for
        return lambda t: self._conjugate(half * t * t)

    def best_multiple(self, proof: Proven, cost: Callable[[float], Numbers | None]) -> float | Fraction:
        """As the regularizer knows it, or by golden section."""
        s = np.maximum(0.5 * np.asarray(proof.forms, dtype=float), 0.0)
        linear, quadratic = float(proof.linear.x), float(proof.quadratic.x)
        t = self.regularizer.best_multiple(linear, s, float(proof.longest()), quadratic)
        return t if type(proof.linear) is Floats else Fraction(t)

    def update(self, w: Vector, S: Vector) -> Vector | None:
        """The `block_update` of r."""
        update = self.regularizer.block_update(w * w * S)
        return None if update is None else np.asarray(update, dtype=float)

    def identity(self) -> str:
        """The regularizer."""
        return f", regularizer {fingerprint(self.regularizer)}"

    def _conjugate(self, g: Numbers) -> Numbers | None:
        r = self.regularizer
        return r.conjugate_of(g) if g.exact and _owns(r, "conjugate") else Regularizer.conjugate_of(r, g)


KNOWN = (LpRegularizer, ElasticNet, EntropyRegularizer)


def _owns(regularizer: Regularizer, name: str) -> bool:
    """Whether the function on numbers belongs to the class that has the function on floats, or to one below it."""
    of = type(regularizer)
    by_floats, by_numbers = (next(one for one in of.__mro__ if each in vars(one)) for each in (name, f"{name}_of"))
    return issubclass(by_numbers, by_floats)


def lowered(d: Vector, value: float, slope: Vector, sizes: Vector) -> tuple[float, Vector]:
    """Value and slope of a cut at d, lowered by rounding of the slope, which may be too flat but not too steep."""
    wrong = OF_SLOPE * sizes
    return value - (1.0 + EPS * (d.size + 8)) * float(wrong @ d) - EPS * abs(value), slope - wrong


def checked_query_point(point: Vector, domain: Domain) -> Vector:
    """Return a copy of a query point, or raise `InvalidArgument` unless it is finite and in the domain."""
    checked, dimension = np.array(point, dtype=float), domain.dimension
    if checked.shape != (dimension,) or not (checked.min() > -inf and (largest := checked.max()) < inf):
        raise InvalidArgument(f"`query.point` must be {dimension} finite weights, got shape {checked.shape}")
    if largest > LARGEST:
        raise InvalidArgument(
            f"`query.point` must have weights up to {LARGEST:g}, got {largest:.3g}: objectives of "
            "machines overflow; a regularizer of more weight, or a radius, keeps them smaller"
        )
    if not domain.contains(checked):
        raise InvalidArgument(
            f"`query.point` must be in {domain!r}, got the sum {checked.sum():.12g} and the least entry "
            f"{checked.min():.3g}; project it first"
        )
    return checked
