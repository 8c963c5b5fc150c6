"""The squared lp norm with a gradient that is bounded away from 0, as the program of SPG-GMKL's authors takes it."""

from __future__ import annotations

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.oracles import LpRegularizer, Regularizer


class FlooredNorm(Regularizer):
    """``1/2 norm(d, p)**2`` for 1 < p < 2, whose slope at weights below a floor is that at the floor.

    The derivative of ``d**p`` has an infinite slope at 0: no length suits Euclidean steps there. Here a line
    takes its place below the floor t, ``h(d) = p t**(p-1) d`` for ``d < t`` and ``d**p + (p-1) t**p`` above, so that

        r(d) = 1/2 sum(h(d_k))**(2/p),  of gradient  sum(h)**(2/p - 1) max(d_k, t)**(p-1).

    It is convex and nowhere below the norm, so that bounds from below by the norm's conjugate hold for both.

    Parameters
    ----------
    p : float
        Exponent of the norm, between 1 and 2.
    floor : float
        t; 1e-4 in the program that the authors published. The paper does not speak of it.

    References
    ----------
    Jain, Vishwanathan & Varma (2012), "SPG-GMKL", and their program, of which the file ``svm.cpp`` computes this
    gradient.
    """

    convex = True

    def __init__(self, p: float, floor: float = 1e-4) -> None:
        self.p = real("p", p, above=1.0, most=2.0)
        self.floor = real("floor", floor, above=0.0)
        self._norm = LpRegularizer(p)

    def value(self, d: Vector) -> float:
        """``1/2 sum(h)**(2/p)``."""
        return float(0.5 * self._powers(d).sum() ** (2.0 / self.p))

    def gradient(self, d: Vector) -> Vector:
        """``sum(h)**(2/p - 1) * max(d, t)**(p - 1)``."""
        slope: Vector = self._powers(d).sum() ** (2.0 / self.p - 1.0) * np.maximum(d, self.floor) ** (self.p - 1.0)
        return slope

    def conjugate(self, s: Vector) -> float:
        """That of the norm, which is at least as large."""
        return self._norm.conjugate(s)

    def best_multiple(self, linear: float, s: Vector, longest: float, quadratic: float = 0.0) -> float:
        """That of the norm."""
        return self._norm.best_multiple(linear, s, longest, quadratic)

    def metric(self, d: Vector) -> Vector | None:
        """That of the norm, which tells apart the weights below the floor, too."""
        return self._norm.metric(d)

    def _powers(self, d: Vector) -> Vector:
        """Return h at each weight."""
        p, t = self.p, self.floor
        powers: Vector = np.where(d < t, p * t ** (p - 1.0) * d, d**p + (p - 1.0) * t**p)
        return powers
