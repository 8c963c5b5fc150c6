"""The ellipsoid method with deep cuts and accuracy certificates."""

from dataclasses import replace

import numpy as np

from oracle_opt import (
    Domain,
    Exhausted,
    FeasibilityCut,
    Guarantee,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Regularity,
    Step,
)
from oracle_opt._deadline import seconds_left
from oracle_opt.arguments import flag
from oracle_opt.arrays import EPS, Vector
from oracle_opt.bounds import cut_rounding
from oracle_opt.cuts import Cut
from oracle_opt.generators.masters.feasible_points import is_positive, nothing_left
from oracle_opt.generators.masters.polyhedra import ball_of, boundless_refusal
from oracle_opt.history import machine_memory
from oracle_opt.proof.claim import CutClaim, claim_of_cut, claim_of_half_space
from oracle_opt.proof.parts import Combination

FLAT = 1e-14  # relative to the longest axis
COPIES = 3  # of the matrix of the axes, which an update holds
MOST = 0.7  # share of the machine's memory that they may take
GIB = 1 << 30
UNKNOWN = 8 * GIB  # what they may take where the machine does not tell
INSIDE = 1e-12  # a center that is outside by no more than this share of the domain's size is projected, not cut off


class Ellipsoid(QueryPointGenerator):
    """Ask at the center of the smallest ellipsoid around what the last cut leaves of the last ellipsoid.

    The first ellipsoid is the smallest around the domain, in the domain's affine hull. A center outside the domain is
    cut off by the domain's most violated constraint, without an oracle call, until one lies inside.

    Parameters
    ----------
    deep : bool
        Whether an objective cut removes all that is proven to be no better than the best value seen, and others all
        that violates them; `False` for cuts through the center.

    Notes
    -----
    Proven bound: over the ellipsoid a cut is taken at, its least value bounds the minimum of f from below. Going back
    through all updates, the best multiplier of each in closed form, makes of this bound a convex combination of cuts
    that proves as much over the domain. This costs a pass over all updates, so it is done when it shrinks the gap by
    a fifth. All cuts are kept for it: the method is for up to a hundred variables, and needs about ``10 n**2`` calls.
    Its state is a matrix of order n: more variables than there is memory for are refused before the first call.

    References
    ----------
    Yudin & Nemirovskii (1976) and Shor (1977), for the method; Bland, Goldfarb & Todd (1981), "The ellipsoid method: a
    survey", for deep cuts; Nemirovski, Onn & Rothblum (2010), "Accuracy certificates for computational problems with
    convex structure", for the bound.

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import Ellipsoid
    >>> minimize(problems.find("nonsmooth/LQ")[0](0).oracle, Ellipsoid(), rtol=1e-4).success
    True
    """

    needs_convexity = True
    reads_extras = False
    takes = frozenset({FeasibilityCut})

    def __init__(self, deep: bool = True) -> None:
        self.deep = flag("deep", deep)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain that no ellipsoid holds, and one of more variables than the machine has memory for."""
        n, memory = domain.dimension, machine_memory()
        needed = COPIES * 8 * n * n
        if needed > (UNKNOWN if memory is None else MOST * memory):
            there = "how much the machine has is not known" if memory is None else f"the machine has {memory / GIB:.3g}"
            return (
                f"the axes of an ellipsoid of {n} variables need {needed / GIB:.3g} GiB, and {there}; take "
                "LevelSet() or ProximalBundle(), whose memory is that of their cuts"
            )
        return boundless_refusal(domain)

    def guarantee(self, domain: Domain, start: Vector, calls: int, known: Regularity) -> Guarantee | None:
        """The guarantee of ellipsoids whose first is the set itself, a ball (Yudin & Nemirovskii 1976)."""
        ball, n = ball_of(domain), domain.dimension
        if ball is None:
            return None
        value = 2.0 * known.steepness * ball[1] * float(np.exp(-(calls - 1) / (2.0 * n * (n + 1.0))))
        return Guarantee(value, "2 L r exp(-(N - 1) / (2 n (n + 1))), r the radius of the set")

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, in the smallest ellipsoid around the domain."""
        self._domain = domain
        self._center, self._axes = domain.enclosing_ellipsoid()
        self._size = float(np.abs(self._axes).max(initial=0.0))
        self._point = point
        self._upper = np.inf
        self._lower = -np.inf
        self._minorant: Minorant | None = None
        self._end: Exhausted | None = None
        # Each update has its unit normal, the length of the normal before scaling, its depth and, if it is one of the
        # oracle's cuts, that cut with the error of its constant and the size of its terms.
        self._normals: list[Vector] = []
        self._lengths: list[float] = []
        self._depths: list[float] = []
        self._cuts: list[Cut | None] = []
        self._sizes: list[tuple[float, float]] = []

    def ask(self) -> Vector:
        """Return the center."""
        if self._end is not None:
            raise self._end
        return self._point

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Cut the ellipsoid, then until its center lies in the domain; every objective cut moves the center."""
        if isinstance(cut, ObjectiveCut):
            self._upper = min(self._upper, cut.upper)
            if np.isinf(self._upper):  # no value is known: no level to cut at
                return Step.NULL
            for one in (cut, *cut.further):
                if self._end is None:
                    ahead = one.value + float(one.subgradient @ (self._center - one.point))
                    self._cut(one.subgradient, ahead - (self._upper if self.deep else cut.upper), one, ahead)
        else:
            for part in (cut, *cut.further):
                violation = float(part.normal @ (self._center - part.point)) + self.deep * part.violation
                rounding = INSIDE * self._size * float(np.linalg.norm(part.normal))
                if violation >= -rounding and self._end is None:
                    self._cut(part.normal, max(violation, 0.0), part)
        self._enter_domain()
        self._point = self._domain.project(self._center)
        return Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else Step.SERIOUS

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the certificate's multipliers."""
        return self._minorant

    def _cut(self, slope: Vector, violation: float, cut: Cut | None = None, ahead: float = np.nan) -> None:
        """Replace the ellipsoid by the smallest around its part with ``slope @ (z - center) + violation <= 0``."""
        d = self._axes.shape[1]
        size = (0.0, 0.0) if cut is None else self._rounding(cut)
        normal = slope @ self._axes
        length = float(np.linalg.norm(normal))
        flat = length <= FLAT * float(np.linalg.norm(slope)) * float(np.abs(self._axes).max(initial=0.0))
        depth = violation / length if length > 0 else np.inf
        if flat or depth >= 1 - 1e-12:
            proven = bool(d) and length > 0 and self._prove(normal, length, cut, size)
            if isinstance(cut, FeasibilityCut) and not proven:  # the ellipsoid is a single point, or flat
                proven = is_positive(self._domain, Minorant(cut.constant, cut.normal, size[0], cut.error))
            if np.isinf(self._upper):
                self._end = nothing_left(proven)
            else:
                self._end = Exhausted("the ellipsoid is flat, or holds no better point, up to rounding")
            return
        if depth <= -1 / d:  # the cut passes beyond the center and leaves the ellipsoid as it is
            if cut is not None and np.array_equal(self._point, self._domain.project(self._center)):
                self._end = Exhausted("the oracle's error is too large for what is left of the ellipsoid")
            return
        if self._upper - (ahead - length) <= 0.8 * (self._upper - self._lower):
            self._prove(normal, length, cut, size)
        normal /= length
        self._normals.append(normal)
        self._lengths.append(length)
        self._depths.append(depth)
        self._cuts.append(cut)
        self._sizes.append(size)
        along, across = _factors(d, depth)
        direction = self._axes @ normal
        self._center = self._center - (1 + d * depth) / (d + 1) * direction
        self._axes = across * self._axes + np.outer((along - across) * direction, normal)

    def _rounding(self, cut: Cut) -> tuple[float, float]:
        """Error of a cut's constant, size of its terms on the domain."""
        value, slope = (cut.value, cut.subgradient) if isinstance(cut, ObjectiveCut) else (cut.violation, cut.normal)
        error, size = cut_rounding(cut.point, value, slope)
        return error, size + self._domain.extent(slope)

    def _enter_domain(self) -> None:
        domain = self._domain
        enough = INSIDE * self._size
        for _ in range(1000 + 100 * domain.dimension):
            if self._end is not None:
                return
            seconds_left()
            beyond = domain.deepest_cut(self._center, self._axes, enough)
            if beyond is None:
                return
            normal, depth = beyond
            self._cut(normal, self.deep * depth)

    def _prove(self, normal: Vector, length: float, cut: Cut | None, size: tuple[float, float]) -> bool:
        """Make a minorant of the pending cut's least value; whether that leaves no point. See docs/theory.md."""
        d = len(normal)
        constant, slope, total = 0.0, np.zeros(self._domain.dimension), 0.0
        error = sizes = tolerance = 0.0
        used: list[tuple[float, Cut, float]] = []  # cuts with their shares and errors
        p, share, taken = -normal, 1.0, cut  # p: the function's slope in the ellipsoid's coordinates
        for t in range(len(self._normals), -1, -1):
            if t < len(self._normals):
                h, depth, taken, size = self._normals[t], self._depths[t], self._cuts[t], self._sizes[t]
                along, across = _factors(d, depth)
                a = float(h @ p) / along
                p = p / across
                p += (a - float(h @ p)) * h
                b = np.sqrt(max(float(p @ p) - a * a, 0.0))
                multiplier = max(0.0, a + b * depth / np.sqrt(1 - depth * depth))
                p -= multiplier * h
                share = multiplier / self._lengths[t]
            if share > 0 and taken is not None:
                error, sizes = error + share * size[0], sizes + share * size[1]
                used.append((share, taken, size[0]))
            if share > 0 and isinstance(taken, ObjectiveCut):
                total += share
                constant += share * taken.constant
                slope += share * taken.subgradient
            elif share > 0 and isinstance(taken, FeasibilityCut):
                constant += share * taken.constant
                slope += share * taken.normal
                tolerance += share * taken.error
        if not (np.isfinite(total) and np.isfinite(constant) and np.isfinite(slope).all()):
            return False
        # rounding as in a `CutPool`: of constants, of products (one per update), of multipliers that miss the sum 1
        error += EPS * (len(self._normals) + 9) * sizes
        if not total > 0:
            return is_positive(self._domain, Minorant(constant, slope, error, tolerance))
        minorant = Minorant(constant / total, slope / total, error / total, tolerance / total)
        bound = minorant.minimum(self._domain)
        if bound > self._lower:
            parts = (Combination((share / total, _claim(taken, lost)) for share, taken, lost in used),)
            self._minorant, self._lower = replace(minorant, parts=parts), bound
        return False


def _claim(cut: Cut, error: float) -> CutClaim:
    """The claim of a cut of the oracle, its constant lowered by the error."""
    return claim_of_cut(cut, error) if isinstance(cut, ObjectiveCut) else claim_of_half_space(cut, error)


def _factors(d: int, depth: float) -> tuple[float, float]:
    """How the smallest ellipsoid around the cut one's axes shrink along the cut's normal and grow across it."""
    along = d * (1 - depth) / (d + 1)
    return along, d * float(np.sqrt((1 - depth * depth) / (d * d - 1))) if d > 1 else 1.0
