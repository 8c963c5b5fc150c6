"""What proves cuts of ``f(z) = 1/2 z @ P @ z + c @ z + offset``, and of its summands.

If ``P + D`` is positive semidefinite for a diagonal D >= 0, then for every point x

    f(z) >= f(x) + (P x + c) @ (z - x) - 1/2 (z - x) @ D @ (z - x).

D is what rounding may hide: where a Cholesky factorization of ``B + d I`` runs to its end in floats, all eigenvalues of
the block B of P are at least ``-d - t`` with t the trace of ``B + d I`` times ``(k + 1) EPS`` and a little more (Rump
2006, "Verification of positive definiteness"). In fractions D is 0 where an exact elimination finds no negative pivot.

A cut of the square ``1/2 (r @ z)**2`` with the slope s needs no point: with any number a,
``1/2 (r @ z)**2 >= a (r @ z) - a**2 / 2``, and the best a is ``s @ r / r @ r``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.certificates.affine_excess import affine_excess
from oracle_opt.certificates.claim import CutClaim
from oracle_opt.certificates.enclosed_products import scattered
from oracle_opt.certificates.enclosure import Enclosure
from oracle_opt.certificates.exact_sums import SMALLEST
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted

ELIMINATED = 30  # largest order of a block that is eliminated in fractions
WIDE = 400  # largest order of a block whose squares are added up in extended precision
SHARES = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10)  # of squares, which make up for the rounding of their roots


class QuadraticProof:
    """Proofs of cuts of a convex quadratic function.

    Parameters
    ----------
    P : csr_array of shape (n, n)
        Symmetric.
    c : ndarray of shape (n,)
        Linear part.
    offset : float
        Constant.
    """

    def __init__(self, P: sparse.csr_array, c: Vector, offset: float) -> None:
        self.P, self.c, self.offset = P, c, offset
        self._shifts: dict[bool, Vector] = {}
        self._shares: tuple[Vector, Vector] | None = None

    def value(self, x: Vector, exact: bool) -> Enclosure:
        """``f(x)``."""
        at = Enclosure.of(x, exact)
        return (at * (_half(self._gradient(at)) + Enclosure.of(self.c, exact) * 0.5)).sum() + self.offset

    def _gradient(self, at: Enclosure) -> Enclosure:
        """``P x + c`` by the entries of P that are not zero."""
        entries = self.P.tocoo()
        products = Enclosure.of(entries.data, at.exact) * at[entries.col]
        return scattered(products, entries.row, len(self.c)) + self.c

    def excess(self, domain: Domain, claim: CutClaim, x: Vector, exact: bool) -> float | Fraction:
        """By how much a cut of f exceeds the tangent at x, less what P may lack of being semidefinite."""
        at = Enclosure.of(x, exact)
        bare = affine_excess(domain, claim, self.value(x, exact), self._gradient(at), x)
        lack = self._lack(exact)
        return bare if not lack.any() else _sum(bare, _largest_form(domain, lack, at))

    def summand_excess(self, domain: Domain, claim: CutClaim, roots: sparse.csr_array, exact: bool) -> float | Fraction:
        """By how much a cut of a summand exceeds it: number 0 is the linear term, then a square for each row r.

        The squares, as their r are rounded, add up to more than the form. So each is proven to be above the cut when it
        is smaller by its share e, and with these shares the squares lie below the form and a diagonal D >= 0, which is
        charged to the linear term: every combination of cuts of all summands holds that once.
        """
        if claim.n_summands != 1 + roots.shape[0] or not 0 <= claim.summand < claim.n_summands:
            raise Refuted(f"the function has {1 + roots.shape[0]} summands, the claim is of {claim.n_summands}")
        if self._shares is None:
            self._shares = _shares(self.P, roots)
        shares, lack = self._shares
        if claim.summand == 0:
            linear = Enclosure.of(np.array(self.offset), exact), Enclosure.of(self.c, exact)
            origin = Enclosure.of(np.zeros(len(self.c)), exact)
            return _sum(affine_excess(domain, claim, *linear), _largest_form(domain, lack, origin))
        r = roots[[claim.summand - 1]].toarray()[0]
        a = float(claim.slope @ r) / float(r @ r)
        along, left = (Enclosure.of(np.array(one), exact) for one in (a, 1.0 - shares[claim.summand - 1]))
        return affine_excess(domain, claim, -_half(along**2) / left, Enclosure.of(r, exact) * along)

    def _lack(self, exact: bool) -> Vector:
        """The diagonal of D."""
        if exact not in self._shifts:
            self._shifts[exact] = _shift(self.P, exact)
        return self._shifts[exact]


def _sum(a: float | Fraction, b: float | Fraction) -> float | Fraction:
    """Of two numbers, floats rounded up; infinite if one is."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return float(np.nextafter(float(a) + float(b), np.inf))


def _half(value: Enclosure) -> Enclosure:
    return value * (Fraction(1, 2) if value.exact else 0.5)


def _blocks(P: sparse.csr_array) -> list[NDArray[np.intp]]:
    """Variables that entries of P join, those without entries left out."""
    count, block = sparse.csgraph.connected_components(P, directed=False)
    order = np.argsort(block, kind="stable")
    used = np.diff(P.indptr) > 0
    return [one for one in np.split(order, np.cumsum(np.bincount(block, minlength=count))[:-1]) if used[one[0]]]


def _shift(P: sparse.csr_array, exact: bool) -> Vector:
    """A diagonal D >= 0 with which P is positive semidefinite."""
    shift = np.zeros(P.shape[0])
    for members in _blocks(P):
        B = P[np.ix_(members, members)].toarray()
        if not (exact and len(members) <= ELIMINATED and _semidefinite(B)):
            shift[members] = _lacking(B)
    return shift


def _shares(P: sparse.csr_array, roots: sparse.csr_array) -> tuple[Vector, Vector]:
    """Shares e_i, and a diagonal D >= 0, with ``sum_i (1 - e_i) r_i r_i' <= P + D``.

    The smallest of a list for which D is 0 or, where it is for none, as small as rounding lets it be.
    """
    shares, shift = np.zeros(roots.shape[0]), np.zeros(P.shape[0])
    columns = roots.tocsc()
    for members in _blocks(P):
        rows = np.unique(columns[:, members].indices)
        R, B = roots[rows][:, members].toarray(), P[np.ix_(members, members)].toarray()
        wide = np.longdouble if len(members) <= WIDE else np.float64  # more digits, where that takes no time
        squares = R.T.astype(wide) @ R.astype(wide)
        size = float((np.abs(R).T @ np.abs(R)).sum(axis=1).max()) + len(members) * float(np.abs(B).max())
        error = 1.01 * float(np.finfo(wide).eps) * (len(rows) + 6) * size
        lacks = []
        for share in SHARES:
            left = (B - wide(1.0 - share) * squares).astype(float)
            lacks.append(_lacking(left, error + EPS * float(np.abs(left).sum(axis=1).max())))
            if not lacks[-1]:
                break
        chosen = next(i for i, lack in enumerate(lacks) if lack <= 2.0 * min(lacks))
        shares[rows], shift[members] = SHARES[chosen], lacks[chosen]
    return shares, shift


def _lacking(B: Matrix, error: float = 0.0) -> float:
    """A number d >= 0 with which ``B + d I`` is positive semidefinite, also where B is wrong by a norm of `error`."""
    k, size = len(B), float(np.abs(B.diagonal()).sum())
    rounding = 1.01 * (k + 4) * EPS * size + error + SMALLEST
    if k == 1:
        return max(0.0, error - float(B[0, 0]))
    d = -2.0 * rounding
    while d < np.inf:
        raised = B + d * np.eye(k)
        wrong = 1.01 * ((k + 4) * EPS * float(np.abs(raised.diagonal()).sum()) + EPS * abs(d)) + error
        try:
            np.linalg.cholesky(raised)
            if d + wrong <= 0:
                return 0.0
            if d > 0:
                return 1.01 * (d + wrong)
        except np.linalg.LinAlgError:
            pass
        d = 2.0 * rounding if d < 0 else 4.0 * d
    raise Refuted("the quadratic form is not convex")


def _semidefinite(B: Matrix) -> bool:
    """Whether an elimination in fractions finds no negative pivot, and only zeros beside a pivot that is zero."""
    left = [[Fraction(entry) for entry in row] for row in B.tolist()]
    while left:
        pivot, *row = left[0]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        rest = [one[1:] for one in left[1:]]
        if pivot:
            rest = [
                [b - x * y / pivot for b, y in zip(one, row, strict=True)] for one, x in zip(rest, row, strict=True)
            ]
        left = rest
    return True


def _reach(domain: Domain, at: Enclosure) -> Enclosure:
    """The largest distance of each variable from a point's, over the domain."""
    bounds = domain.bounding_box()
    if not np.isfinite(bounds).all():
        raise Refuted("the domain has no end, and the quadratic form is not known to be convex without rounding")
    sides = [(Enclosure.of(side, at.exact) - at).size() for side in bounds]
    far = np.maximum(*sides)
    return Enclosure(far, far)


def _largest_form(domain: Domain, diagonal: Vector, at: Enclosure) -> float | Fraction:
    """The largest ``1/2 (z - x) @ D @ (z - x)`` over a domain."""
    used = np.flatnonzero(diagonal)
    if not used.size:
        return Fraction(0) if at.exact else 0.0
    reach = _reach(domain, at)[used]
    found: float | Fraction = _half((Enclosure.of(diagonal[used], at.exact) * reach**2).sum()).upper.item()
    return found
