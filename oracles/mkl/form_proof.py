"""What witnesses prove with the kernels of a bank: forms and products, exact or in floats with a bound on all rounding.

Nothing of the bank is used but its `entries`, a block at a time: they are the data. Where they are computed from points
they may differ from the kernels, by at most `entry_error` times the root of the product of the two diagonal entries,
and the bounds say so. With ``m`` points that are not 0, in floats,

    S_k = x @ K_k @ x  is wrong by at most  EPS (2 m + 16) * abs(x) @ abs(K_k) @ abs(x):

half of that counts the roundings of any order of summation, and of x itself [1]_; the other half is for terms of higher
order and the rounding of the bound. The part of the entries is ``entry_error * (sum_i abs(x_i) sqrt(K_k,ii))**2``.

A form that is far smaller than ``abs(x) @ abs(K_k) @ abs(x)``, as of a kernel that tells nothing of x, is known better
by parts: of K_k and of x the leading digits are split off, so few that sums of their products are exact [2]_. Only what
is left is rounded, and the outer sum, where ``abs(x) @ abs(K_k @ x)`` stands in place of the sizes.

References
----------
.. [1] Higham (2002), "Accuracy and Stability of Numerical Algorithms", section 3.1.
.. [2] Ozaki, Ogita, Oishi, Rump (2012), "Error-free transformations of matrix multiplication by using fast routines of
   matrix multiplication and its applications", Numerical Algorithms 59.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.kernels.base import COARSE, Indices, KernelBank, charged
from oracle_opt.oracles.mkl.formula import Proven, proven, upper_at
from oracle_opt.oracles.mkl.rounded_kernel import is_classification
from oracle_opt.oracles.svm.dual_proof import feasible
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions, integers

MOST_AT_ONCE, LEAST_AT_ONCE = 1 << 20, 1 << 16  # entries of a tile, of all kernels and of one
TILE = 64  # points of a tile of which forms are made, and columns that are added up at once
FEASIBLE_TRIES = 8  # moves of single dual variables until their sum is right
AT_ONCE = 1 << 20  # entries of kernels in memory at a time
EXACT_AT_ONCE = 1 << 15  # of integers, each an object
# Forms are summed by leading digits whose error is a larger share of them if at most so many entries are read: of a
# proof less than what it may lose to rounding, so that a query, which does so at 1e-6, claims no more than is proven.
TOLD, MOST_ENTRIES = 1e-9, 1 << 25


def forms_above(bank: KernelBank, points: Indices, x: Sequence[Fraction], exact: bool) -> list[Fraction]:
    """At least ``x @ K_k @ x`` for each kernel, x being 0 elsewhere than at `points`."""
    if not points.size:
        return [Fraction(0)] * bank.n_kernels
    near = np.array([float(value) for value in x])
    if exact:
        charge = np.concatenate(
            [_charge_of_forms(part, points, near) for _, part in _kernel_parts(bank, points.size, EXACT_AT_ONCE)]
        )
        common = max(value.denominator for value in x)  # all are powers of 2
        whole = np.array([int(value * common) for value in x], dtype=object)
        sums = [Fraction(0)] * bank.n_kernels
        for which, E, rows, columns, factor in _triangle(bank, points, EXACT_AT_ONCE):
            numbers, low = integers(E)
            added = whole[rows] @ np.tensordot(whole[columns], numbers, (0, 1))
            for k, total in zip(range(which.start, which.stop), added.tolist(), strict=True):
                sums[k] += factor * total * Fraction(2) ** low
        return [total / common**2 + Fraction(more) for total, more in zip(sums, charge.tolist(), strict=True)]
    b = np.zeros(bank.n_points)
    b[points] = near
    found = forms_together(bank, b[:, None])[:, 0]
    S, F, m = found.x, found.above(), points.size
    unsure = np.flatnonzero(TOLD * np.abs(S) < F - S)
    if unsure.size and unsure.size * m**2 <= MOST_ENTRIES:
        sharper = forms_by_parts(bank.subset(unsure), b).above()
        F[unsure] = np.minimum(F[unsure], sharper)
    return _fractions(F + 2 * EPS * np.abs(F))


def forms_by_parts(bank: KernelBank, b: Vector) -> Floats:
    """``b @ K_k @ b`` for each kernel, by leading digits whose products are summed exactly, see above."""
    points = np.flatnonzero(b)
    return forms_of_products(b[points], products_by_parts(bank, points, b))


def forms_of_products(x: Vector, products: Floats) -> Floats:
    """``x @ products``, shape (p,), of numbers of shape (n, p)."""
    sizes, n = np.abs(x), x.size
    rounding = EPS * (n + 16) * (sizes @ np.abs(products.x)) + n * SMALLEST
    return Floats(x @ products.x, (sizes @ products.r) * (1.0 + EPS * (n + 16)) + rounding)


def products_by_parts(bank: KernelBank, rows: Indices, b: Vector) -> Floats:
    """``K_k @ b`` at some points for each kernel, shape (r, p), by leading digits as above."""
    points = np.flatnonzero(b)
    x, m, shape = b[points], points.size, (rows.size, bank.n_kernels)
    P, wrong = np.zeros(shape), np.zeros(shape)
    if not m or not rows.size:
        return Floats(P, wrong)
    sizes, digits = np.abs(x), (53 - (m - 1).bit_length()) // 2
    first = _leading(x, digits)
    left = x - first
    for which, part in _kernel_parts(bank, m, AT_ONCE):
        for some in _row_parts(rows.size, m * part.n_kernels, AT_ONCE):
            E = _entries(part, rows[some], points)
            high = _leading(E, digits)
            low = E - high
            P[some, which] = first @ high + (left @ high + x @ low)
            wrong[some, which] = (np.abs(left) + EPS * sizes) @ np.abs(high) + sizes @ np.abs(low)
    wrong = EPS * (m + 16) * wrong + 2 * EPS * np.abs(P) + 16 * m * (1.0 + sizes.sum()) * SMALLEST
    if bank.entry_error:
        roots = np.sqrt(np.maximum(bank.diagonal(), 0.0))
        wrong += charged(bank.entry_error) * roots[rows] * (sizes @ roots[points])
    return Floats(P, wrong)


def _leading(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """The numbers rounded to whole multiples of one power of 2, at most ``2**digits`` times it."""
    shift = 1.5 * 2.0 ** (52 - digits + int(np.frexp(np.abs(values).max(initial=0.0))[1]))
    rounded: NDArray[np.float64] = (values + shift) - shift
    return rounded


class Products(NamedTuple):
    """``sum_k w_k K_k @ b`` at each point; by how much rounding, and the error of the entries, may make it wrong."""

    values: Any
    rounding: Any
    charge: Any


def products_between(bank: KernelBank, weights: Vector, b: Vector, exact: bool) -> Products:
    """Products of the kernels with b, made of the entries: floats, or fractions that are exact."""
    n, used, support = bank.n_points, np.flatnonzero(weights), np.flatnonzero(b)
    if not used.size or not support.size:
        return Products(np.zeros(n), np.zeros(n), np.zeros(n))
    chosen = bank if used.size == bank.n_kernels else bank.subset(used)
    w, x, everywhere = weights[used], b[support], np.arange(n)
    charge = _charge_of_products(chosen, w, support, x)
    if exact:
        (w_whole, w_low), (x_whole, x_low) = integers(w), integers(x)
        values = [Fraction(0)] * n
        for which, part in _kernel_parts(chosen, support.size, EXACT_AT_ONCE):
            for rows in _row_parts(n, support.size * part.n_kernels, EXACT_AT_ONCE):
                numbers, low = integers(_entries(part, everywhere[rows], support))
                unit = Fraction(2) ** (low + w_low + x_low)
                totals = ((numbers @ w_whole[which]) @ x_whole).tolist()
                for i, total in zip(range(rows.start, rows.stop), totals, strict=True):
                    values[i] += total * unit
        return Products(np.array(values, dtype=object), np.zeros(n), charge)
    v, rounded = _products_in_floats(chosen, w, b, support)
    roots = np.sqrt(np.maximum(chosen.diagonal() @ w, 0.0))
    sizes = (1.0 + charged(chosen.rounding + chosen.entry_error)) * roots * float(np.abs(x) @ roots[support])
    wrong = EPS * (rounded + 16) * sizes + 4 * (used.size + support.size) * (1.0 + np.abs(x).sum() + w.sum()) * SMALLEST
    return Products(v, wrong, charge)


def _products_in_floats(bank: KernelBank, w: Vector, b: Vector, support: Indices) -> tuple[Vector, int]:
    """``sum_k w_k K_k @ b`` at each point, and how often a term of it is rounded at most.

    Once for each kernel of its part, as often as a few columns are added up, and for each time that these are added.
    Entries are read in square tiles, those between two points of the support once.
    """
    x, others = b[support], np.flatnonzero(b == 0)
    on, off, m = np.zeros(support.size), np.zeros(others.size), support.size
    most = max(MOST_AT_ONCE // bank.n_kernels, LEAST_AT_ONCE)
    side = max(int(min(most, MOST_AT_ONCE) ** 0.5), 1)
    at_once = max(MOST_AT_ONCE // side**2, 1)
    tiles = [slice(start, min(start + side, m)) for start in range(0, m, side)]
    parts = [slice(start, start + at_once) for start in range(0, bank.n_kernels, at_once)]
    for which in parts:
        part = bank if len(parts) == 1 else bank.subset(np.arange(bank.n_kernels)[which])
        for i, rows in enumerate(tiles):
            for columns in tiles[: i + 1]:
                M = _weighted(_entries(part, support[rows], support[columns]), w[which])
                _add_product(on[rows], M, x[columns])
                if columns is not rows:
                    _add_product(on[columns], M.T, x[rows])
        for start in range(0, others.size, side):
            rows = slice(start, start + side)
            for columns in tiles:
                M = _weighted(_entries(part, others[rows], support[columns]), w[which])
                _add_product(off[rows], M, x[columns])
    v = np.empty(b.size)
    v[support], v[others] = on, off
    return v, min(at_once, bank.n_kernels) + min(TILE, m) + -(-side // TILE) * len(tiles) * len(parts)


def _add_product(out: Vector, M: Matrix, x: Vector) -> None:
    """Add ``M @ x``, a few columns at a time: so a term goes through fewer sums."""
    for start in range(0, x.size, TILE):
        out += M[:, start : start + TILE] @ x[start : start + TILE]


def _weighted(E: NDArray[np.float64], w: Vector) -> NDArray[np.float64]:
    """``E @ w``, whichever way the entries lie in memory."""
    if w.size == 1:
        return E[:, :, 0] if w[0] == 1.0 else E[:, :, 0] * w[0]
    by_kernels = E.transpose(2, 0, 1)
    if by_kernels.flags.c_contiguous:
        return (w @ by_kernels.reshape(w.size, -1)).reshape(E.shape[:2])
    return E @ w


def proven_by(bank: KernelBank, loss: LossDual, b: Vector, exact: bool) -> Proven:
    """The proof of a machine's dual variables b, made exactly feasible: in fractions."""
    x = feasible(loss, b)
    whole = Fractions.of(np.zeros(loss.linear.size))
    whole.x[x.points] = x.x
    forms = Fractions.of(forms_above(bank, x.points, x.x, exact))
    return proven(loss, whole, 0.0, forms, lambda: x.longest, Fractions)


def forms_together(bank: KernelBank, B: NDArray[np.float64]) -> Floats:
    """``b @ K_k @ b`` for each kernel and each column b of an array of shape (n, q): each entry is read once for all.

    See docs/theory_kernels.md, "In floats first". A term is rounded twice as often as a tile is long, and once for each
    tile. The sizes of terms are summed, too, as nothing is taken for granted of kernels.
    """
    points = np.flatnonzero(B.any(axis=1))
    X, p, (u, q) = B[points], bank.n_kernels, (points.size, B.shape[1])
    S, A, sizes = np.zeros((p, q)), np.zeros(p), np.abs(X)
    most = sizes.max(axis=1)[:, None]
    if not u:
        return Floats(S, np.zeros((p, q)))
    side = min(TILE, u)
    at_once = max(AT_ONCE // side**2, 1)
    tiles = [slice(start, min(start + side, u)) for start in range(0, u, side)]
    parts = [slice(start, min(start + at_once, p)) for start in range(0, p, at_once)]
    for which in parts:
        part = bank if len(parts) == 1 else bank.subset(np.arange(which.start, which.stop))
        for i, rows in enumerate(tiles):
            for columns in tiles[: i + 1]:
                E = _entries(part, points[rows], points[columns])
                factor = 1.0 if columns is rows else 2.0
                A[which] += factor * _forms_of_tile(np.abs(E), most[rows], most[columns])[:, 0]
                some = max(4 * AT_ONCE // (side * part.n_kernels), 8)
                for start in range(0, q, some):
                    own = slice(start, start + some)
                    S[which, own] += factor * _forms_of_tile(E, X[rows, own], X[columns, own])
    rounded, small = 2 * side + len(tiles) ** 2 + 16, 4 * u * (1.0 + sizes.sum(axis=0)) * SMALLEST
    wrong = EPS * rounded * A[:, None] + small
    if bank.entry_error:
        roots = np.sqrt(np.maximum(bank.diagonal()[points], 0.0))
        wrong += charged(bank.entry_error) * (roots.T @ sizes) ** 2
    return Floats(S, wrong * (1.0 + EPS * (2 * u + 32)))


def _forms_of_tile(E: NDArray[np.float64], left: Matrix, right: Matrix) -> Matrix:
    """``left[:, j] @ E[:, :, k] @ right[:, j]``, shape (p, q), whichever way the entries lie in memory."""
    by_kernels = E.transpose(2, 0, 1)
    if by_kernels.flags.c_contiguous:
        return np.asarray(np.einsum("krq,rq->kq", by_kernels @ right, left))
    return np.asarray(np.einsum("rqk,rq->kq", np.ascontiguousarray(right.T) @ E, left))


def made_feasible(loss: LossDual, b: Vector) -> Vector | None:
    """Dual variables whose sum is exactly right, as floats: the roomiest takes the difference; None if not found."""
    values = np.clip(b, loss.lower, loss.upper)
    for k in range(FEASIBLE_TRIES):
        excess = fsum([*values.tolist(), -loss.total])
        if not excess:
            return values
        sizes, room = np.abs(values), np.abs((loss.lower if excess > 0 else loss.upper) - values)
        fit = np.flatnonzero((values != 0.0) & (room >= abs(excess)) & ((sizes >= abs(excess)) | (k == 0)))
        if not fit.size:
            return None
        values[fit[sizes[fit].argmin() if k else room[fit].argmax()]] -= excess
    return None


def proven_together(bank: KernelBank, loss: LossDual, witnesses: Sequence[Vector]) -> list[Proven | None]:
    """`proven_by` of several dual variables in floats; None where they do not tell."""
    made: list[Proven | None] = [None] * len(witnesses)
    feasible_ones = {k: x for k, b in enumerate(witnesses) if (x := made_feasible(loss, b)) is not None}
    if feasible_ones:
        forms = forms_together(bank, np.column_stack(list(feasible_ones.values())))
        for j, (k, x) in enumerate(feasible_ones.items()):
            own = Floats(np.ascontiguousarray(forms.x[:, j]), np.ascontiguousarray(forms.r[:, j]))
            made[k] = proven(loss, x, 0.0, own, partial(loss.longest_multiple, x), Floats)
    return made


def hyperplane_above(
    bank: KernelBank,
    loss: LossDual,
    b: Vector,
    bias: float,
    m: Vector,
    exact: bool,
    norms: Any = None,
    factor: Any = 1.0,
    alone: bool = True,
    numbers: type[Numbers] = Fractions,
    products: Products | None = None,
) -> Numbers:
    """The primal objective of a hyperplane of dual variables b, a bias and weights m, not negative: from above.

    Proven in docs/theory_kernels.md, "Forgiven losses", with ``tau = max c`` and one as large as what sums of the bank
    may be wrong by. Every solution is in the finite `box`, in which x is sought.
    """
    found = products_between(bank, m, b, exact) if products is None else products
    _check_finite(*found[exact:])
    v, by_rounding, by_entries = (numbers.of(one) for one in found)
    x, bounds, dual = numbers.of(b), [], loss.piecewise
    if dual is not None:
        loss = replace(dual, lower=dual.box[0], upper=dual.box[1])
    known = None if norms is None else numbers.of(norms)
    bounds.append(upper_at(loss, x, bias, v, by_rounding + by_entries, numbers, norms=known, factor=factor))
    largest = (by_rounding + by_entries).max()
    if largest.above() > 0 and is_classification(loss) and (alone or norms is None):
        if known is None:
            half = x * factor * 0.5
            known = half.dot(v) + abs(half).dot(by_rounding + by_entries)
        for more in (0.0, _of_sums(bank, m, b)) if bank.exactness > COARSE else (0.0,):
            t = largest + more
            rest = upper_at(loss, x, bias, v, np.zeros(b.size), numbers, norms=known, forgiven=more or None)
            if (t * 2.0).above() < 1 and rest.below() >= 0:
                bounds.append(rest / (1.0 - t * 2.0))
    return min(bounds, key=lambda one: one.above())


def _of_sums(bank: KernelBank, m: Vector, b: Vector) -> float:
    """How far decision values made of the bank's sums may be from those made of its entries, at most."""
    roots = np.sqrt(np.maximum(bank.diagonal() @ m, 0.0))
    error = charged(bank.noise(int(np.count_nonzero(m))) + bank.entry_error)
    return error * float(roots.max(initial=0.0)) * float(np.abs(b) @ roots)


def _check_finite(*arrays: Vector) -> None:
    if not all(np.isfinite(one).all() for one in arrays):
        raise Refuted("the numbers of the witness, or the kernels, are too large to be added up in floats")


def _fractions(values: Vector) -> list[Fraction]:
    _check_finite(values)
    return [Fraction(value) for value in values.tolist()]


def _entries(bank: KernelBank, rows: Indices, columns: Indices) -> NDArray[np.float64]:
    E = bank.entries(rows, columns)
    if not np.isfinite(E.sum()) and not np.isfinite(E).all():  # the sum is quick, and may overflow
        raise Refuted("a kernel of the bank has an entry that is not finite")
    return E


def _triangle(
    bank: KernelBank, points: Indices, most: int
) -> Iterator[tuple[slice, NDArray[np.float64], slice, slice, int]]:
    """Blocks of all kernels between some points: one half of what lies off the diagonal blocks, to be counted twice."""
    for which, part in _kernel_parts(bank, points.size, most):
        for rows in _row_parts(points.size, points.size * part.n_kernels, most):
            before = slice(0, rows.start)
            if rows.start:
                yield which, _entries(part, points[rows], points[before]), rows, before, 2
            yield which, _entries(part, points[rows], points[rows]), rows, rows, 1


def _kernel_parts(bank: KernelBank, n_columns: int, most: int) -> Iterator[tuple[slice, KernelBank]]:
    """All kernels if a few rows of them are within the limit; else some at a time."""
    at_once = max(most // (4 * n_columns), 1)
    if at_once >= bank.n_kernels:
        yield slice(0, bank.n_kernels), bank
        return
    for start in range(0, bank.n_kernels, at_once):
        stop = min(start + at_once, bank.n_kernels)
        yield slice(start, stop), bank.subset(np.arange(start, stop))


def _row_parts(n_rows: int, entries_of_row: int, most: int) -> Iterator[slice]:
    at_once = max(most // entries_of_row, 1)
    for start in range(0, n_rows, at_once):
        yield slice(start, min(start + at_once, n_rows))


def _charge_of_forms(bank: KernelBank, points: Indices, x: Vector) -> Vector:
    """The charge of the entries' error on the forms, rounded up."""
    error = bank.entry_error
    if not error:
        return np.zeros(bank.n_kernels)
    roots = np.sqrt(np.maximum(bank.diagonal()[points], 0.0))
    charge: Vector = charged(error) * (np.abs(x) @ roots) ** 2
    return charge


def _charge_of_products(bank: KernelBank, weights: Vector, support: Indices, x: Vector) -> Vector:
    """The charge on the products: ``sum_k w_k sqrt(K_k,ii K_k,jj)`` is at most that root of the sum's."""
    error = bank.entry_error
    if not error:
        return np.zeros(bank.n_points)
    roots = np.sqrt(np.maximum(bank.diagonal() @ weights, 0.0))
    charge: Vector = charged(error) * roots * float(np.abs(x) @ roots[support])
    return charge
