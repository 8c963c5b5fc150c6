"""The cuts a method keeps: one pool for every cutting-plane method. Very steep cuts are averaged with others."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain, FeasibilityCut, InvalidCut, Minorant, ObjectiveCut
from oracle_opt.arrays import EPS, Vector
from oracle_opt.bounds import cut_rounding
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.known_form import KnownForm
from oracle_opt.proof.claim import ClaimKind, claim_of_cut
from oracle_opt.proof.parts import Combination, Parts, Weighted, merged


class RowShare(Parts):
    """Rows, those `used`, with weights; what a row claims is asked when it is wanted, or when it is dropped."""

    def __init__(self, rows: Rows, used: NDArray[np.intp], weights: Vector) -> None:
        self._rows, self._numbers, self._weights = rows, rows.number[used], weights
        self._dropped: dict[int, Combination] = {}
        rows.shares.add(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._rows.shares.add(self)

    def __repr__(self) -> str:
        return f"RowShare({len(self._numbers)} rows)"

    @property
    def size(self) -> int:
        """About as many numbers as the claims of the rows hold."""
        dropped = sum(claim.most_size for claim in self._dropped.values())
        return dropped + self._rows.held(self._standing())

    @property
    def n_copied(self) -> int:
        """How many numbers are copied when it is gathered: the slopes of rows that were never claimed."""
        return self._rows.copied(self._standing())

    def _standing(self) -> list[int]:
        return [number for number in self._numbers.tolist() if number not in self._dropped]

    def hold(self, numbers: NDArray[np.intp]) -> None:
        """Keep what these rows claim, as far as they are used here: they are about to be dropped."""
        for number in np.intersect1d(numbers, self._numbers).tolist():
            self._dropped[number] = self._rows.claimed(number)

    def members(self) -> Iterable[tuple[float, Combination]]:
        """Return what each row is made of, with its weight."""
        known, rows = self._dropped, self._rows
        for number, weight in zip(self._numbers.tolist(), self._weights.tolist(), strict=True):
            yield weight, known[number] if number in known else rows.claimed(number)

    def weighted(self) -> Sequence[Weighted]:
        """Return the claims of the rows, and of those that rows are mixed of, with their weights."""
        return Combination.of(self.members()).weighted()


STEEP = 1e6  # so many times the slope of the best cut is too steep
TANGENTS = 20  # limit on the pieces of the summands' model that one call adds


class CutPool:
    """Objective cuts ``f(z) >= constant + matrix @ z`` and feasibility cuts ``matrix @ z + constant <= 0``.

    Where cuts come with `summands`, cuts of the summands f_j of f, these are kept as well (multicut). Their model, the
    sum over j of the largest cut of f_j, lies above that of the whole cuts: it has as many pieces as there are ways to
    choose a call for every j. Methods that know whole cuts alone ask for those pieces they need: see `add_tangent`.

    A pool with m cuts in n variables costs O(m n) memory, and `value` and `minorant` so much time; `add` costs O(m +
    n). `shrink` keeps m below a cap without losing the proven bound.

    Parameters
    ----------
    domain : Domain
        Where the cuts hold.

    Attributes
    ----------
    objective, feasibility : Rows
        The cuts as rows: of minorants, ``f(z) >= constant + matrix @ z``, and of half-spaces.
    summands : Rows
        Cuts of the summands.
    n_summands : int
        Number of summands, 0 while no cut came with `summands`.
    upper : float
        Best value seen plus its error.
    best : ObjectiveCut or None
        The cut it was seen at.
    form : KnownForm or None
        The term that is known, as masters take it: see `KnownPool`.
    """

    form: KnownForm | None = None

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        kinds = ClaimKind.MINORANT, ClaimKind.HALF_SPACE, ClaimKind.SUMMAND
        self.objective, self.feasibility, self.summands = (Rows(domain.dimension, kind) for kind in kinds)
        self.n_summands = 0
        self.upper = np.inf
        self.best: ObjectiveCut | None = None

    def add(self, cut: ObjectiveCut | FeasibilityCut) -> None:
        """Take up a cut and the further ones of its call; `InvalidCut` if its number of summands is another one."""
        if isinstance(cut, ObjectiveCut):
            if cut.summands:
                self._add_summands(cut)
            before = len(self.objective)
            for one in (cut, *cut.further):
                self._add_row(self.objective, one.point, one.value, one.subgradient, cut.upper, one.extras)
            if cut.upper < self.upper:
                self.upper, self.best = cut.upper, cut
            if self.best is not None:
                flatten(self.objective, self.best, self.upper, self._domain, first=before)
        else:
            for half in (cut, *cut.further):
                size, told = half.violation, half.extras
                self._add_row(self.feasibility, half.point, size, half.normal, size, told, tolerance=half.error)

    def flatten(self, best: ObjectiveCut) -> bool:
        """Replace cuts that have become too steep beside the best one, see `flatten`; whether there were any."""
        return flatten(self.objective, best, self.upper, self._domain) is not None

    def _add_summands(self, cut: ObjectiveCut) -> None:
        if self.n_summands not in (0, len(cut.summands)):
            raise InvalidCut(
                f"`summands` must be as many in every cut, one a summand of f: got {len(cut.summands)}, before "
                f"{self.n_summands}"
            )
        self.n_summands = self.summands.n_summands = len(cut.summands)
        for j, one in enumerate(cut.summands):
            self._add_row(self.summands, one.point, one.value, one.subgradient, one.upper, one.extras, j)

    def _add_row(
        self,
        rows: Rows,
        point: Vector,
        value: float,
        slope: Vector,
        upper: float,
        extras: Mapping[str, Any],
        summand: int = 0,
        tolerance: float = 0.0,
    ) -> None:
        error, size = cut_rounding(point, value, slope)
        size += self._domain.extent(slope)
        stated = upper if isfinite(upper) else value  # of a cut alone nothing is known of f but the cut
        rows.add(slope, value - float(slope.dot(point)), stated, size, error, summand, tolerance, extras)

    def add_domain(self, domain: Domain) -> None:
        """Add the domain's inequalities as feasibility cuts known beforehand."""
        known = domain.linear_constraints()
        if known is not None:
            self.add_inequalities(*known.inequalities)

    def add_inequalities(self, matrix: NDArray[np.float64], rhs: Vector) -> None:
        """Add ``matrix @ z <= rhs``, which all of the domain satisfies, as feasibility cuts known beforehand."""
        for row, side in zip(matrix, rhs, strict=True):
            size = abs(float(side)) + self._domain.extent(row)
            # a certificate need not name them: on the domain they only lower the minorant
            self.feasibility.add(row, -float(side), 0.0, size, 0.0, origin=Combination(()))

    def value(self, point: Vector) -> float:
        """Value of the model at a point; -inf without objective cuts."""
        whole = self.objective.largest(point)
        return max(whole, self._piece(point)[1]) if self.n_summands else whole

    def add_tangent(self, point: Vector, height: float) -> bool:
        """Add the piece of the summands' model that is largest at a point as a cut, if it exceeds `height` there.

        It is the sum over j of the largest cut of f_j at the `point` where a method is about to ask: a minorant of f,
        and one that no call gave if these cuts are of several calls. `height` is what the model of whole cuts says
        there, plus what the method need not care about. If a cut was added, the master has to be solved again.
        """
        if not self.n_summands:
            return False
        largest, value = self._piece(point)
        if not value > height:
            return False
        before, summands = len(self.objective), self.summands
        size = float(summands.size[largest].sum())
        error = float(summands.error[largest].sum()) + EPS * self.n_summands * size  # and the rounding of these sums
        chosen = np.zeros(len(summands))
        chosen[largest] = 1.0
        slope, constant = summands.combine(chosen), float(summands.constant[largest].sum())
        pieces = RowShare(summands, largest, np.ones(self.n_summands))
        self.objective.add(slope, constant, self.upper, size, error, origin=pieces)
        return len(self.objective) > before

    def _piece(self, point: Vector) -> tuple[NDArray[np.intp], float]:
        """For each summand its cut that is largest at the point, and the sum of their values there."""
        values = self.summands.constant + self.summands.products(point)
        order = np.lexsort((values, self.summands.summand))
        ends = np.searchsorted(self.summands.summand[order], np.arange(self.n_summands), side="right")
        largest = order[ends - 1]
        return largest, float(values[largest].sum())

    def minorant(self, objective: Vector, feasibility: Vector, summands: Vector | None = None) -> Minorant | None:
        """Convex combination of objective cuts plus nonnegative multiples of feasibility cuts.

        Any nonnegative multipliers give a function below f on the feasible set, good ones a tight one: negative
        entries, which only rounding can make, are cut off, so a solver's tolerance cannot falsify the bound. Among
        the multipliers of the summands, those of each are scaled to the sum 1 - (sum of the whole cuts' multipliers).
        The `error` of the minorant bounds what rounding does to the cuts' constants, the multipliers and their sums.
        """
        return self._combined(objective, feasibility, summands)

    def _combined(self, objective: Vector, feasibility: Vector, summands: Vector | None = None) -> Minorant | None:
        """The minorant that the cuts as they are kept combine to."""
        a, u = np.maximum(objective, 0.0), np.maximum(feasibility, 0.0)
        total = whole = fsum(a.tolist())
        b = np.zeros(0)
        if summands is not None and self.n_summands:
            b = np.maximum(summands, 0.0)
            sums = np.bincount(self.summands.summand, b, self.n_summands)
            if sums.min() > 0:  # otherwise the cuts of the whole function are used
                total = whole + float(sums.mean())
                b = b * ((total - whole) / sums)[self.summands.summand]
            else:
                b = np.zeros(0)
        if not (total > 0 and isfinite(total) and np.isfinite(u).all()):
            return None
        totals, slope, terms, parts = np.zeros(4), np.zeros(self._domain.dimension), 6.0, []
        for rows, weights in ((self.objective, a), (self.feasibility, u), (self.summands, b)):
            used = weights.nonzero()[0]
            if len(used):
                shares = weights / total
                totals += rows.sums(shares)
                slope += rows.combine(shares)
                # products and their sum, and, of the summands, the sums of multipliers, which are not exact
                terms += len(used) * (1.0 if rows is self.summands else 0.5)
                parts.append(RowShare(rows, used, shares[used]))
        constant, size, error, tolerance = totals.tolist()
        return Minorant(constant, slope, error + EPS * terms * size, tolerance, tuple(parts))

    def shrink(
        self, cap: int, objective: Vector, feasibility: Vector, summands: Vector | None = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Drop slack cuts once there are more than `cap`; give the masks of those kept, or `None` if none was dropped.

        The minorant of the given multipliers, the proof of the present bound, is added as a cut of its own, so
        that no later model is worse than this bound (aggregation: Kiwiel 1983, "An aggregate subgradient method").
        Half of `cap` stays, those with the largest multipliers, then the newest; of the summands' cuts as many for each
        summand on average, and at least the newest. `objective`, `feasibility` and `summands` are the multipliers of
        the cuts of each kind; the masks are of the whole cuts and of those of summands.
        """
        if len(self.objective) <= cap and len(self.summands) <= cap * max(self.n_summands, 1):
            return None
        aggregate = self._combined(objective, feasibility, summands)
        if aggregate is not None:
            constant, tolerance = aggregate.constant - aggregate.error, aggregate.tolerance
            origin = merged(aggregate.parts, constant, aggregate.slope, tolerance)
        mask = _largest(objective, cap)
        if summands is None:  # the method knows the summands by their tangents alone
            summands = np.zeros(len(self.summands))
        of_summands = _largest(summands, cap * self.n_summands)
        newest = np.unique(self.summands.summand[::-1], return_index=True)[1]
        of_summands[len(of_summands) - 1 - newest] = True
        self.objective.keep(mask)
        self.summands.keep(of_summands)
        if aggregate is not None:
            size = abs(aggregate.constant) + self._domain.extent(aggregate.slope)
            self.objective.add(aggregate.slope, constant, self.upper, size, 0.0, tolerance=tolerance, origin=origin)
        return mask, of_summands


def _largest(multipliers: Vector, cap: int) -> NDArray[np.bool_]:
    """Mask of all, or, if these are more than `cap`, of half as many: the largest, and the newest of equal ones."""
    if len(multipliers) <= cap:
        return np.ones(len(multipliers), dtype=bool)
    mask = np.zeros(len(multipliers), dtype=bool)
    mask[np.lexsort((np.arange(len(mask)), multipliers))[-max(1, cap // 2) :]] = True
    return mask


def flatten(rows: Rows, best: ObjectiveCut, upper: float, domain: Domain, first: int = 0) -> NDArray[np.bool_] | None:
    """Replace too steep rows by convex combinations with the best cut: see docs/theory_methods.md, "very steep"."""
    limit = STEEP * float(np.abs(best.subgradient).max())
    steep = first + (rows.steepness[first:] > limit).nonzero()[0]
    if not (limit > 0 and len(steep)):
        return None
    slope, constant = best.subgradient, best.constant
    error, size = cut_rounding(best.point, best.value, slope)
    size += domain.extent(slope)
    flat = Combination([(1.0, claim_of_cut(best, error))])
    found = []
    for i in steep.tolist():
        t = limit / float(rows.steepness[i])
        mixed = t * rows.row(i) + (1.0 - t) * slope
        sizes = t * float(rows.size[i]) + size
        errors = t * float(rows.error[i]) + error + 4.0 * EPS * sizes
        height = t * float(rows.constant[i]) + (1.0 - t) * constant
        origin = Combination.of([(t, rows.claimed(int(rows.number[i]))), (1.0 - t, flat)])
        found.append((mixed, height, sizes, errors, t * float(rows.tolerance[i]), origin))
    kept = np.ones(len(rows), dtype=bool)
    kept[steep] = False
    rows.keep(kept)
    for mixed, height, sizes, errors, tolerance, origin in found:
        rows.add(mixed, height, upper, sizes, errors, tolerance=tolerance, origin=origin)
    return kept
