"""Broken domains are caught by `check_domain`, each with the message that says what is wrong."""

import numpy as np
import pytest

from oracle_opt import Ball, Box, Domain, FreeSpace, InvalidArgument, LinearConstraints, Simplex
from oracle_opt.domains import SimplexBlocks
from oracle_opt.domains.described_sets import described_bounds
from oracle_opt.testing import ConformanceError, check_domain


class Missing(Simplex):
    def project(self, point, metric=None):
        return 0.9 * super().project(point, metric) + 0.1 * self.interior_point()


class Clipped(Simplex):
    """A point of the set, and its own projection: yet not the nearest one."""

    def project(self, point, metric=None):
        point = np.maximum(point, 0.0)
        return point / point.sum() if point.sum() > 0 else self.interior_point()


class WithoutMetric(Simplex):
    def project(self, point, metric=None):
        return super().project(point)


class FailsInMetric(Simplex):
    def project(self, point, metric=None):
        if metric is not None:
            raise NotImplementedError("no metric")
        return super().project(point)


class Overwriting(Box):
    def project(self, point, metric=None):
        return np.clip(point, self.lower, self.upper, out=point)


class Outside(Box):
    def project(self, point, metric=None):
        return np.clip(point, self.lower, self.upper + 0.1)

    def contains(self, point, tolerance=1e-9):
        return bool((point >= self.lower - tolerance).all() and (point <= self.upper + tolerance).all())


class WrongShape(Box):
    def project(self, point, metric=None):
        return super().project(point, metric)[:1]


class Maximizing(Box):
    def minimize_linear(self, slope):
        value, point = super().minimize_linear(-slope)
        return -value, point


class Halved(Ball):
    """Half the radius is forgotten in the minimum."""

    def minimize_linear(self, slope):
        return Ball(self.dimension, 0.5 * self.radius, self.center).minimize_linear(slope)


class OtherValue(Simplex):
    def minimize_linear(self, slope):
        value, point = super().minimize_linear(slope)
        return value - 1.0, point


class Beyond(Simplex):
    def minimize_linear(self, slope):
        value, point = super().minimize_linear(slope)
        return 2 * value, 2 * point


class Everything(Box):
    def contains(self, point, tolerance=1e-9):
        return True


class NoInterior(Box):
    def interior_point(self):
        return self.upper + 1.0


class LongInterior(Box):
    def interior_point(self):
        return np.zeros(7)


class OtherRows(Box):
    def linear_constraints(self):
        n = self.dimension
        return LinearConstraints(np.zeros((0, n)), np.zeros(0), self.lower, 0.5 * self.upper)


class RowsOfItsBox(Ball):
    def linear_constraints(self):
        n, box = self.dimension, (self.center - self.radius, self.center + self.radius)
        return LinearConstraints(np.zeros((0, n)), np.zeros(0), *box)


class FlatRows(Box):
    def linear_constraints(self):
        return LinearConstraints(np.zeros((0, 1)), np.zeros(0), self.lower, self.upper)


class ShortExtent(Box):
    def extent(self, slope):
        return 0.5 * super().extent(slope)


class SmallerInWords(Box):
    def described(self, slope):
        return {"set": super().described(slope)["set"], "promised": described_bounds(0.9 * self.lower, self.upper)}


class SmallerSetInWords(Box):
    def described(self, slope):
        return {"set": described_bounds(self.lower, 0.9 * self.upper), "promised": super().described(slope)["set"]}


class NegativeRounding(Box):
    def minimum_rounding(self, slope):
        return -1e-16


class SingularEntropy(Simplex):
    def entropic_metric(self, point):
        with np.errstate(divide="ignore"):
            return 1.0 / np.abs(point)


class Shared(Box):
    def interior_point(self):
        return self._middle


class Remembering(Box):
    """Where the slope is flat the last answer stays."""

    _last = None

    def minimize_linear(self, slope):
        value, point = super().minimize_linear(slope)
        if self._last is not None:
            point = np.where(slope == 0, self._last, point)
        self._last = point.copy()
        return value, point


class Nameless(Box):
    def identity(self):
        return "a box"


class Changing(Box):
    asked = 0

    def identity(self):
        self.asked += 1
        return f"box {self.asked}"


class SmallBox(Ball):
    def bounding_box(self):
        return self.center - 0.5 * self.radius, self.center + 0.5 * self.radius


class SmallBall(Box):
    def enclosing_ball(self):
        return self.interior_point(), 0.1


class OtherBlocks(Simplex):
    def simplices(self):
        return SimplexBlocks((2, 2), 1.0)

    def linear_constraints(self):
        return None


class Raising(FreeSpace):
    def minimize_linear(self, slope):
        raise ZeroDivisionError("by the norm of the slope")


BOX = (np.array([-1.0, -2.0, 0.5]), np.array([1.0, 3.0, 4.0]))
MUTANTS = [
    (Missing(4), "a point of the set is its own projection|a projection is its own projection"),
    (Clipped(4), r"`project` gives the nearest point: metric"),
    (WithoutMetric(4), "`project` gives the nearest point in the metric"),
    (FailsInMetric(4), "projects in a diagonal metric|no metric"),
    (Overwriting(*BOX), "`project` leaves its argument alone"),
    (Outside(*BOX), "`project` gives a point of the set"),
    (WrongShape(*BOX), "could not be broadcast|numbers|shape|whose projection is elsewhere"),
    (Maximizing(*BOX), "`minimize_linear` gives the minimum of slope @ z over the set"),
    (Halved(3, 2.0), "`minimize_linear` gives the minimum of slope @ z over the set"),
    (OtherValue(4), "the point of `minimize_linear` attains its minimum"),
    (Beyond(4), "`contains` its points, those that `minimize_linear` gives among them"),
    (Everything(*BOX), "`contains` is False at points whose projection is elsewhere"),
    (NoInterior(*BOX), r"`interior_point\(\)` gives a point of the set"),
    (LongInterior(*BOX), r"`interior_point\(\)` gives a point of the set"),
    (OtherRows(*BOX), "every point of the set satisfies `linear_constraints`"),
    (RowsOfItsBox(3, 2.0), "a point that satisfies `linear_constraints` lies in the set"),
    (FlatRows(*BOX), "`linear_constraints` has a column a variable"),
    (ShortExtent(*BOX), r"`extent\(slope\)` is at least"),
    (SmallerInWords(*BOX), r"`described\(slope\)` gives holds that in which a minimizer is promised"),
    (SmallerSetInWords(*BOX), r'"set" that `described\(slope\)` gives holds all points'),
    (NegativeRounding(*BOX), r"`minimum_rounding\(slope\)` is a rounding error"),
    (SingularEntropy(4), "`entropic_metric` is positive and finite"),
    (Shared(*BOX), "answers belong to the caller"),
    (Remembering(*BOX), r"after `reset\(\)` the same questions have the same answers"),
    (Nameless(*BOX), "tells this set from others"),
    (Changing(*BOX), "stays the same while it is used"),
    (SmallBox(3, 2.0), "`bounding_box` holds every point"),
    (SmallBall(*BOX), "`enclosing_ball` holds every point"),
    (OtherBlocks(4), "`simplices` describes the set"),
    (Raising(3, 2.0), "ZeroDivisionError was raised: by the norm of the slope"),
    (Box, "an object, not the class"),
]


@pytest.mark.parametrize(("domain", "message"), MUTANTS, ids=lambda one: type(one).__name__)
def test_broken_domains_are_caught(domain: Domain, message: str) -> None:
    with pytest.raises(ConformanceError, match=message) as caught:
        check_domain(domain, other=Nameless([0.0], [1.0]))
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("breaks a rule.")
    assert lines[1].startswith("  rule: ")
    assert any(line.startswith("  seen: ") for line in lines)
    assert any(line.startswith("  do:   ") for line in lines)
    assert all(word == word.strip() for word in (caught.value.rule, caught.value.seen, caught.value.advice))


def test_a_domain_may_refuse_a_metric() -> None:
    class Refusing(Simplex):
        euclidean_only = True

        def project(self, point, metric=None):
            if metric is not None:
                raise InvalidArgument("`metric` must be None")
            return super().project(point)

    check_domain(Refusing(4))
