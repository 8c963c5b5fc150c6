"""Sums over the scenarios of a query, and the cut they make: true to the last bit for the problem's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.oracles.benders.proof import EXTENDED
from oracle_opt.oracles.benders.recourse import DualVertex
from oracle_opt.oracles.benders.scenario_duals import (
    MOST_NUMBERS,
    RAY,
    RAY_OF,
    SECTION,
    DualTable,
    Piece,
    ScenarioDuals,
)
from oracle_opt.oracles.benders.second_stage_units import Units
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

Outcomes = NDArray[np.intp]
_BLOCK = 256  # terms of the inner sums
_ACCEPTED = 1e-7  # by how much HiGHS lets rows and bounds be missed


def accepted(ray: Vector) -> float:
    """By how much a point that HiGHS accepts may violate a half-space, and its error where it is proven in floats."""
    return _ACCEPTED * float(np.abs(ray).sum())


@dataclass(frozen=True, eq=False)
class Frame:
    """The data that all queries of one oracle share."""

    problem: TwoStageProblem
    units: Units
    share: Vector
    lower: Vector
    upper: Vector
    pull: sparse.csr_array
    T_sizes: sparse.csr_array
    sides: Vector
    depth: float
    pull_sizes: sparse.csr_array
    changes: list[tuple[int, NDArray[np.intp], NDArray[np.intp], Matrix]]
    longest_pull: int

    @classmethod
    def of(
        cls,
        problem: TwoStageProblem,
        units: Units,
        probability: Vector,
        n_summands: int,
        bounds: tuple[Vector, Vector],
    ) -> Frame:
        """The frame of a problem in its own units, with finite bounds of x."""
        count = len(probability)
        of_sections = max(1, n_summands // count)  # summands of a scenario
        masses = np.bincount(np.arange(count) * n_summands // count // of_sections, probability)
        mass: Vector = np.repeat(masses, of_sections) / of_sections
        finite = [np.where(np.isinf(side), 0.0, np.abs(side)) for side in (problem.row_lower, problem.row_upper)]
        sides = np.maximum(*finite)
        T_sizes = sparse.lil_array(abs(problem.T))
        for block in problem.blocks:
            if block.rhs is not None and len(block.rows):
                nominal = np.abs(problem.rhs[block.rows])
                moved = np.where(np.isinf(nominal), 0.0, nominal) + np.abs(block.rhs).max(axis=0)
                np.add.at(sides, block.rows, moved)
            if block.technology is not None:
                largest = np.abs(block.technology).max(axis=0)
                for (i, j), size in zip(block.technology_entries, largest, strict=True):
                    T_sizes[i, j] += size + abs(problem.T[i, j])
        T_sizes = T_sizes.tocsr()
        terms = int(np.diff(T_sizes.indptr).max(initial=0)) + 2 * len(problem.blocks) + len(sides) + 12
        pull = sparse.csr_array(problem.T.T).astype(np.longdouble)
        changes = []
        for b, block in enumerate(problem.blocks):
            if len(block.technology_entries):
                rows, columns = block.technology_entries.T
                changes.append((b, rows, columns, block.technology - np.asarray(problem.T[rows, columns]).ravel()))
        turned = sparse.csr_array(T_sizes.T)
        longest = 2 * int(np.diff(turned.indptr).max(initial=0)) + 2 * len(problem.blocks)
        return cls(
            problem, units, mass / mass.sum(), *bounds, pull, T_sizes, sides, EPS * terms, turned, changes, longest
        )

    def moved(self, x: Vector, outcomes: Outcomes) -> Matrix:
        """The change of the sides of ``W y`` in each scenario: its change of the right-hand side, less T x."""
        problem = self.problem
        moved = np.tile(-(problem.T @ x), (len(outcomes), 1))
        for b, block in enumerate(problem.blocks):
            if block.rhs is not None and len(block.rows):
                moved[:, block.rows] += (block.rhs - problem.rhs[block.rows])[outcomes[:, b]]
        for b, rows, columns, change in self.changes:
            np.subtract.at(moved.T, rows, ((change * x[columns])[outcomes[:, b]]).T)
        return moved


@dataclass(frozen=True, eq=False)
class Share:
    """Sums over some scenarios, as a worker sends them: those of successive summands, from the number `first` on."""

    first: int
    value: NDArray[np.longdouble]
    upper: NDArray[np.longdouble]
    size: Vector
    slope: NDArray[np.longdouble]
    slope_size: Matrix
    sums: int
    longest: int
    feasibility: tuple[FeasibilityCut, ...]
    duals: ScenarioDuals | None


class ScenarioSums:
    """Sums over the scenarios served, by summand."""

    def __init__(self, frame: Frame, x: Vector, n_summands: int, n_scenarios: int) -> None:
        self.frame, self.problem, self.x = frame, frame.problem, x
        self.n_summands, self.n_scenarios = n_summands, n_scenarios
        self.sides = frame.sides + frame.T_sizes @ np.abs(x)
        self.rate = frame.depth
        self.rounding = self.rate * self.sides
        # values and slopes of the minorants and upper bounds, in extended precision, and the sizes of their terms
        self.value = np.zeros(n_summands, dtype=np.longdouble)
        self.upper = np.zeros(n_summands, dtype=np.longdouble)
        self.slope = np.zeros((n_summands, len(x)), dtype=np.longdouble)
        self.size, self.slope_size = np.zeros(n_summands), np.zeros((n_summands, len(x)))
        self._touched = np.zeros(n_summands, dtype=bool)  # summands that scenarios were added to
        self._sums = self._longest = 0  # number of inner sums, and terms of the longest
        self.feasibility: list[FeasibilityCut] = []
        # what proves the sums: the table of dual vectors, and rows of it by scenario
        self._duals: DualTable | None = None
        self._rows: list[NDArray[Any]] = []
        self._pieces: list[Piece] | None = []
        self._sections: list[ScenarioDuals] | None = None

    def tell_duals(self, duals: DualTable, rows: NDArray[np.intp]) -> None:
        """Remember the dual vectors of the scenarios added last; the table is the same for all scenarios of a query."""
        self._duals = duals
        self._rows.append(rows)

    def forget_duals(self) -> None:
        """Do without: they are too many."""
        self._pieces = None

    def _proof(self) -> ScenarioDuals | None:
        """The dual vectors that prove the sums, if they are known for all scenarios."""
        if self._pieces is None or (self._duals is None and not self._pieces):
            return None
        if self._duals is None:
            return ScenarioDuals(self._pieces)
        kind = np.min_scalar_type(max(len(self._duals) - 1, 0))
        rows = np.concatenate([rows.astype(kind) for rows in self._rows])
        return ScenarioDuals([*self._pieces, (self._duals.rows, rows)])

    def _proof_of_sections(self, proofs: Sequence[ScenarioDuals]) -> ScenarioDuals | None:
        """The dual vectors that prove the sums of all sections, if they are not too long."""
        sections, m = self.problem.sections, len(self.problem.row_lower)
        assert sections is not None
        if self.n_scenarios * m > MOST_NUMBERS:
            return None
        vertices = np.zeros((self.n_scenarios, m))
        for number, proof in enumerate(proofs):
            own, which = proof.compact()
            vertices[:, sections.places(number)[0]] = own[which]
        return ScenarioDuals([(vertices, np.arange(self.n_scenarios))])

    def share(self) -> Share:
        """Return the sums of the summands that scenarios were added to."""
        touched = np.flatnonzero(self._touched)
        part = slice(touched[0], touched[-1] + 1) if touched.size else slice(0, 0)
        sums = self.value[part], self.upper[part], self.size[part], self.slope[part], self.slope_size[part]
        return Share(part.start, *sums, self._sums, self._longest, tuple(self.feasibility), self._proof())

    def add_share(self, share: Share) -> None:
        """Add sums over other scenarios."""
        part = slice(share.first, share.first + len(share.value))
        self.value[part] += share.value
        self.upper[part] += share.upper
        self.size[part] += share.size
        self.slope[part] += share.slope
        self.slope_size[part] += share.slope_size
        self._sums += share.sums + 1  # adding a share is one more rounding
        self._longest = max(self._longest, share.longest)
        self.feasibility.extend(share.feasibility)
        if share.duals is None or self._pieces is None:
            self._pieces = None
        else:
            self._pieces.extend(share.duals.pieces)

    def join(self, sections: Sequence[ScenarioSums]) -> None:
        """Take up the sums of the sections of the second stage, as a summand each or added up."""
        step = self.n_summands // sections[0].n_summands
        for number, sums in enumerate(sections):
            mine = slice(number if step > 1 else 0, None, step)
            self.value[mine] += sums.value
            self.upper[mine] += sums.upper
            self.size[mine] += sums.size
            self.slope[mine] += sums.slope
            self.slope_size[mine] += sums.slope_size
            self._sums += sums._sums + 1
            self._longest, self.rate = max(self._longest, sums._longest), max(self.rate, sums.rate)
            told = [replace(cut, extras={**cut.extras, SECTION: number}) for cut in sums.feasibility]
            self.feasibility.extend(told)
        proofs = [sums._proof() for sums in sections]
        self._sections = None if None in proofs or self.feasibility else [one for one in proofs if one is not None]

    def add_each(
        self, pi: Matrix, constants: Vector, values: Vector, members: NDArray[np.intp], bounds: Vector,
        outcomes: Outcomes, p: Vector,
    ) -> None:  # fmt: skip
        """Add the minorants ``p_s (value_s - pi_s T_s (z - x))`` of some scenarios, a line each.

        `members` rise; `bounds` are upper bounds on the scenarios' values.
        """
        sizes = np.abs(constants) + np.abs(pi) @ self.sides
        part = members * self.n_summands // self.n_scenarios
        starts = np.flatnonzero(np.r_[True, part[1:] > part[:-1]])
        starts = np.union1d(starts, np.arange(0, len(members), _BLOCK)) if len(members) > _BLOCK else starts
        part, weights = part[starts], p[members].astype(np.longdouble)
        self._touched[part] = True
        self._sums += len(starts)
        self._longest = max(self._longest, min(len(members), _BLOCK))

        def total(terms: NDArray[np.floating]) -> NDArray[Any]:
            return np.add.reduceat(terms, starts, axis=0)

        frame = self.frame
        np.add.at(self.value, part, total(weights * values))
        np.add.at(self.upper, part, total(weights * bounds))
        np.add.at(self.size, part, total(weights * sizes).astype(float))
        if len(pi) == 1:
            mass = total(weights)
            pull, pull_size = frame.pull @ pi[0].astype(np.longdouble), frame.pull_sizes @ np.abs(pi[0])
            np.subtract.at(self.slope, part, np.multiply.outer(mass, pull))
            np.add.at(self.slope_size, part, np.multiply.outer(mass.astype(float), pull_size))
        else:
            mean, mean_size = total(weights[:, None] * pi), total(weights[:, None] * np.abs(pi)).astype(float)
            np.subtract.at(self.slope, part, (frame.pull @ mean.T).T)
            np.add.at(self.slope_size, part, (frame.pull_sizes @ mean_size.T).T)
        for b, rows, columns, change in frame.changes:
            mine = change[outcomes[members, b]]
            if len(pi) == 1:
                pulled = total(weights[:, None] * mine) * pi[0, rows]
            else:
                pulled = total(weights[:, None] * (mine * pi[:, rows]))
            np.subtract.at(self.slope, (part[:, None], columns[None, :]), pulled)

    def add_ray(self, ray: DualVertex, member: int, violation: float, outcomes: NDArray[np.intp]) -> None:
        """Keep the half-space of a scenario, ``violation - pi T_s (z - x) <= 0``, less its rounding.

        A violation that is rounding alone is kept as it is, and its `error` tells.
        """
        pi = ray.multipliers
        normal = -(self.frame.pull @ pi.astype(np.longdouble))
        for b, rows, columns, change in self.frame.changes:
            np.subtract.at(normal, columns, change[outcomes[member, b]] * pi[rows])
        rounded, lift = self._rounded(normal, self.frame.pull_sizes @ np.abs(pi))
        lost = self.rate * ray.size(self.sides) + lift
        proven = violation - lost
        error = accepted(pi) if proven > 0 else accepted(pi) + lost
        kept = proven if proven > 0 else violation
        self.feasibility.append(
            FeasibilityCut(self.x, kept, rounded, extras={RAY: pi * self.frame.units.rows, RAY_OF: member}, error=error)
        )

    def cut(self) -> Cut:
        """The half-spaces if there are any, else the cut of the expectation."""
        if self.feasibility:
            first, *rest = sorted(
                self.feasibility, key=lambda cut: -cut.violation / max(float(np.linalg.norm(cut.normal)), 1e-300)
            )
            return replace(first, further=tuple(rest))
        summands: tuple[ObjectiveCut, ...] = ()
        proof = self._proof() if self._sections is None else self._proof_of_sections(self._sections)
        if self.n_summands > 1:
            count = min(self.n_summands, self.n_scenarios)
            starts = -(-np.arange(count + 1) * self.n_scenarios // count)
            each: list[Mapping[str, Any]] = [{}] * self.n_summands
            if count < self.n_summands and self._sections is not None:
                scenarios = range(self.n_scenarios)
                each = [one.of_scenarios(s, s + 1) for s in scenarios for one in self._sections]
            elif proof is not None:
                each = [proof.of_scenarios(first, last) for first, last in pairwise(starts.tolist())]
            sums = zip(
                self.frame.share, self.value, self.upper, self.slope, self.size, self.slope_size, each, strict=True
            )
            summands = tuple(self._one(*one) for one in sums)
        value, upper, slope, size = self.value.sum(), self.upper.sum(), self.slope.sum(axis=0), self.size.sum()
        return self._one(1.0, value, upper, slope, size, self.slope_size.sum(axis=0), proof or {}, summands)

    def _one(
        self,
        share: float,
        value: np.longdouble,
        upper: np.longdouble,
        slope: NDArray[np.longdouble],
        size: float,
        slope_size: Vector,
        extras: Mapping[str, Any],
        summands: tuple[ObjectiveCut, ...] = (),
    ) -> ObjectiveCut:
        """Cut of one part, which has this share of the first stage's cost: all roundings taken off its value."""
        c, offset = self.problem.c, self.problem.offset
        first = share * (c.astype(np.longdouble) @ self.x + offset)
        terms = share * (float(np.abs(c) @ np.abs(self.x)) + abs(offset))
        extended = EXTENDED * (self._longest + 2 * self._sums + self.n_summands + len(c) + 8)
        rounding = extended * terms + (self.rate + extended) * size
        if share < 1.0:  # up to rounding the shares add up to 1
            reach = np.maximum(np.abs(self.frame.lower), np.abs(self.frame.upper))
            rounding += EPS * (self.n_summands + 2) * share * (float(np.abs(c) @ reach) + abs(offset))
        whole = slope + share * c
        subgradient, lift = self._rounded(whole, slope_size + share * np.abs(c))
        least = nextafter(float(value + first - (rounding + lift)), -inf)
        known = (
            (upper + first - least) + extended * (terms + abs(float(upper)) + size) + (rounding if summands else 0.0)
        )
        error = max(0.0, nextafter(float(known) * (1.0 + EPS), inf))
        return ObjectiveCut(self.x, least, subgradient, error, summands=summands, extras=extras)

    def _rounded(self, slope: NDArray[np.longdouble], size: Vector) -> tuple[Vector, float]:
        """A slope in floats, rounded toward where x has more room, and the most it is lifted within the bounds."""
        above, below = self.frame.upper - self.x, self.x - self.frame.lower
        result = slope.astype(float)
        toward = np.where(above > below, -inf, inf)
        wrong = np.where(above > below, result > slope, result < slope)
        result = np.where(wrong, np.nextafter(result, toward), result)
        off = (result - slope).astype(float)
        extended = EXTENDED * (self._longest + 2 * self._sums + self.n_summands + self.frame.longest_pull + 8)
        lift = np.maximum(off * above, -off * below)
        lost = lift + extended * size * np.maximum(np.maximum(above, below), 0.0)
        return result, float(np.maximum(lost, 0.0).sum()) * (1.0 + EPS * (len(size) + 3))
