"""Sets in the words of a certificate: bounds and rows, with the multipliers that prove a minimum."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.domains.simplex_blocks import SimplexBlocks

WIDER = 1e-9  # by this share bounds are wider that the domain computes in floats

Described = Mapping[str, Any]


def described_bounds(lower: ArrayLike, upper: ArrayLike) -> Described:
    """``lower <= z <= upper``; bounds may be infinite."""
    return {"lower": np.asarray(lower, dtype=float), "upper": np.asarray(upper, dtype=float), "rows": ()}


def described_rows(
    constraints: LinearConstraints, lower: Vector, upper: Vector, u: Vector, v: Vector, widths: Vector | None = None
) -> Described:
    """Rows of a polyhedron within bounds, with multipliers u of inequalities and v of equations.

    An equation across which a set has a width, to the side below, is stated as two inequalities.
    """
    matrix, rhs = constraints.inequalities
    E, f = constraints.equality_matrix, constraints.equality_rhs
    if widths is not None and widths.any():
        thick = widths > 0
        ends = np.nextafter(widths - f, np.inf)[thick]
        matrix, rhs = np.vstack([matrix, E[thick], -E[thick]]), np.r_[rhs, f[thick], ends]
        u, v = np.r_[u, np.maximum(v, 0.0)[thick], np.maximum(-v, 0.0)[thick]], v[~thick]
        E, f = E[~thick], f[~thick]
    inequalities = zip(matrix, rhs.tolist(), [False] * len(rhs), u.tolist(), strict=True)
    equations = zip(E, f.tolist(), [True] * len(f), v.tolist(), strict=True)
    return {"lower": lower, "upper": upper, "rows": (*inequalities, *equations)}


def described_blocks(blocks: SimplexBlocks, slope: Vector) -> Described:
    """A product of simplices: one equation a block, whose multiplier is the smallest slope of a weight.

    It is u less the smallest ``slope / scale``: no entry of ``slope + u * scale`` is negative, all are least at z = 0.
    """
    n = sum(blocks.sizes)
    scale = np.ones(n) if blocks.scale is None else np.asarray(blocks.scale, dtype=float)
    least = np.minimum.reduceat(slope / scale, blocks.starts)
    rows = []
    for start, size, smallest in zip(blocks.starts.tolist(), blocks.sizes, least.tolist(), strict=True):
        row = np.arange(start, start + size), scale[start : start + size]
        rows.append((row, blocks.radius, True, -smallest))
    upper = np.nextafter(blocks.radius / scale, np.inf)
    return {"lower": np.zeros(n), "upper": upper, "rows": tuple(rows)}


def described_polyhedron(
    constraints: LinearConstraints, bounding_box: tuple[Vector, Vector], slope: Vector | None
) -> Described:
    """A polyhedron; its multipliers are those of a linear program, or 0 if no slope is to be minimized.

    Infinite bounds are replaced by those of its bounding box, somewhat wider.
    """
    m, k = len(constraints.inequalities[1]), len(constraints.equality_rhs)
    lower, upper = constraints.lower, constraints.upper
    if slope is None or constraints.has_bounds_alone:
        return described_rows(constraints, lower, upper, np.zeros(m), np.zeros(k))
    least, most = bounding_box
    lower = np.where(np.isinf(lower), least - WIDER * (1.0 + np.abs(least)), lower)
    upper = np.where(np.isinf(upper), most + WIDER * (1.0 + np.abs(most)), upper)
    u, v = np.zeros(m), np.zeros(k)
    if slope.any():
        from oracle_opt.domains.programs import ProgramFailure, linear_program, solved  # only here: it loads highspy

        unit = 2.0 ** np.frexp(np.abs(slope).max())[1]  # a power of two: nothing is rounded
        A, b = constraints.inequalities
        equations = constraints.equality_matrix, constraints.equality_rhs
        try:
            _, duals = solved(linear_program(slope / unit, lower, upper, A, b, *equations))
            u, v = unit * np.maximum(-duals[:m], 0.0), -unit * duals[m:]
        except ProgramFailure:
            pass  # the bounds alone prove something, too
    return described_rows(constraints, lower, upper, u, v)
