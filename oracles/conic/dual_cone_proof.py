"""Vectors that are in the dual of a cone whatever rounding did: those of a witness, repaired where they have to be.

A half-space of a conic problem rests on a vector y of the dual cone. A stranger's y is not believed: it is replaced by
a vector near to it that is in the dual cone by its construction, and the half-space of that one is what is proven.

- Equations: any vector. Inequalities: negative entries become 0.
- Second-order cone: ``(t, u)`` with t raised to the norm of u, rounded up.
- Semidefinite cone: the witness are vectors v, and ``y = sum of v v'``, with the diagonal raised as `separate` does.
- Exponential cone: ``v >= u (1 + log(w / -u))`` where u < 0 and w > 0 (the logarithm of ``-u exp(v / u - 1) <= w``), so
  v is raised to that, or w; where u is not negative, ``(0, v, w)`` with v and w at least 0.
- Power cone: ``abs(w) <= (u / a)**a (v / (1 - a))**(1 - a)``: the size of w is cut down to that, or u or v raised.
"""

from typing import Any

import numpy as np

from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.cones import RAISED, Cone, Nonnegative, PositiveSemidefinite, SecondOrder, Zero
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.power import Power
from oracle_opt.proof.enclosure import Enclosure


def in_dual_cone(cone: Cone, y: Enclosure) -> Enclosure | None:
    """A vector of the dual cone near a vector y; `None` for a cone whose dual is not known here."""
    kind = type(cone)
    if kind is PositiveSemidefinite:
        return _semidefinite(cone, y)
    if kind in (Zero, Nonnegative):
        return y if kind is Zero else _positive(y)
    repair = {SecondOrder: _second_order, Exponential: _exponential, Power: _power}.get(kind)
    if repair is None:
        return None
    if y.lower.shape != (cone.dimension,):
        raise Refuted(f"the dual vector of a {cone!r} must have {cone.dimension} entries, got {y.lower.shape}")
    return repair(cone, y)


def _positive(y: Enclosure) -> Enclosure:
    """The positive parts."""
    clipped = np.maximum(y.lower, 0 * y.lower)
    return Enclosure(clipped, clipped)


def _vector(*entries: Any) -> Enclosure:
    """A vector of known numbers, floats or fractions."""
    array = np.array(entries, dtype=float if all(isinstance(entry, float) for entry in entries) else object)
    return Enclosure(array, array)


def _second_order(cone: Cone, y: Enclosure) -> Enclosure:
    norm = (y[1:] ** 2).sum().sqrt().upper.item()
    raised = y.lower.copy()
    raised[0] = max(raised[0], norm)
    return Enclosure(raised, raised)


def _semidefinite(cone: Any, v: Enclosure) -> Enclosure:
    """``v_i v_j`` on the diagonal, times sqrt(2) beside it, summed over the v."""
    if v.lower.ndim != 2 or v.lower.shape[1] != cone.order:
        raise Refuted(f"the dual vectors of a {cone!r} must have {cone.order} entries each, got {v.lower.shape}")
    columns, rows = np.tril_indices(cone.order)  # the upper triangle, column by column
    products = (v[:, rows] * v[:, columns]).sum(axis=0)
    raised = (v * v).sum() * RAISED  # any multiple of the identity may be added: this one is in the half-spaces
    root = Enclosure.of(np.array(2.0), v.exact).sqrt()
    beside = rows != columns
    scaled = products[beside] * root
    lower, upper = products.lower.copy(), products.upper.copy()
    lower[beside], upper[beside] = scaled.lower, scaled.upper
    diagonal = products[~beside] + raised
    lower[~beside], upper[~beside] = diagonal.lower, diagonal.upper
    return Enclosure(lower, upper)


def _exponential(cone: Cone, y: Enclosure) -> Enclosure:
    u, v, w = y.lower.tolist()
    zero = 0 * u
    if u >= 0:
        return _vector(zero, max(v, zero), max(w, zero))
    choices = []
    try:  # the least w
        least = (-y[0] * ((-y[1]) / (-y[0]) - 1).exp()).upper.item()
        choices.append(_vector(u, v, max(w, least)))
    except OverflowError:
        pass
    if w > 0:
        least = (y[0] * (1 + y[2].log() - (-y[0]).log())).upper.item()
        choices.append(_vector(u, max(v, least), w))
    if not choices:
        raise Refuted("the dual vector of an exponential cone has a negative first entry, and no positive last one")
    return min(choices, key=lambda one: sum(abs(float(part)) for part in one.lower - y.lower))


def _power(cone: Any, y: Enclosure) -> Enclosure:
    a = Enclosure.of(np.array(cone.exponent), y.exact)
    return within_power(y, a, a, 1 - a)


def within_power(y: Enclosure, a: Enclosure, p: Enclosure | float, q: Enclosure | float) -> Enclosure:
    """A vector near (u, v, w) with ``(u / p)**a (v / q)**(1 - a) >= abs(w)`` and u, v >= 0.

    Either u is raised, or v, or the size of w is cut down, whatever moves least.
    """
    u, v, w = y.lower.tolist()
    zero = 0 * u
    u, v, b = max(u, zero), max(v, zero), 1 - a
    if not w:
        return _vector(u, v, w)
    choices = [_vector(u, v, zero)]
    log_p, log_q = (one.log() if isinstance(one, Enclosure) else one - 1 for one in (p, q))
    log_u, log_v, log_w = (_vector(one)[0].log() if one > 0 else None for one in (u, v, abs(w)))
    assert log_w is not None
    try:
        if log_u is not None and log_v is not None:
            most = (a * (log_u - log_p) + b * (log_v - log_q)).exp().lower.item()
            if abs(w) <= most:
                return _vector(u, v, w)
            choices.append(_vector(u, v, max(-most, min(w, most))))
        if log_v is not None:
            least = ((log_w - b * (log_v - log_q)) / a + log_p).exp().upper.item()
            choices.append(_vector(max(u, least), v, w))
        if log_u is not None:
            least = ((log_w - a * (log_u - log_p)) / b + log_q).exp().upper.item()
            choices.append(_vector(u, max(v, least), w))
    except OverflowError:  # in fractions: numbers of a hundred thousand digits; the first choice is left
        pass
    return min(choices, key=lambda one: sum(abs(float(part)) for part in one.lower - y.lower))
