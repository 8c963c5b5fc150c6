"""Vectors of the dual of a product of cones, cones of one kind together: each kind is one array operation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.power import Power
from oracle_opt.oracles.conic.second_order import SecondOrder
from oracle_opt.oracles.conic.semidefinite import PositiveSemidefinite
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import SMALLEST

ROUNDED = 16 * EPS  # share of its terms by which a bound of a dual cone is moved: more than these round


class ConeGroups:
    """Which rows belong to which kind of cone; `others` are power cones, not `known` if some are a user's own."""

    def __init__(self, cones: Sequence[Cone]) -> None:
        self.known = all(
            type(one) in (Zero, Nonnegative, SecondOrder, PositiveSemidefinite, Exponential, Power) for one in cones
        )
        ends = np.cumsum([0, *(cone.dimension for cone in cones)])
        rows = [(cone, np.arange(start, start + cone.dimension)) for cone, start in zip(cones, ends[:-1], strict=True)]
        second: dict[int, list[NDArray[np.intp]]] = {}
        for cone, its in rows:
            if isinstance(cone, SecondOrder):
                second.setdefault(cone.dimension, []).append(its)
        none = [np.zeros(0, dtype=np.intp)]
        self.zero = np.concatenate(none + [its for cone, its in rows if isinstance(cone, Zero)])
        self.plus = np.concatenate(none + [its for cone, its in rows if isinstance(cone, Nonnegative)])
        self.second = [np.array(some) for some in second.values()]
        self.matrices = [(cone, its) for cone, its in rows if isinstance(cone, PositiveSemidefinite)]
        self.exponential = np.array([its for cone, its in rows if isinstance(cone, Exponential)], dtype=np.intp)
        self.exponential = self.exponential.reshape(-1, 3)
        self.others = [(cone, its) for cone, its in rows if isinstance(cone, Power)]

    def lifted(self, z: Vector) -> Vector:
        """A vector near z in the dual cone whatever rounding did: see docs/theory_cones.md, "A solver first"."""
        y = np.array(z, dtype=float)
        y[self.plus] = np.maximum(y[self.plus], 0.0)
        for rows in self.second:
            v = y[rows]
            largest = np.abs(v[:, 1:]).max(axis=1, initial=0.0)
            unit = np.where(largest > 0.0, largest, 1.0)
            norm = largest * np.sqrt(((v[:, 1:] / unit[:, None]) ** 2).sum(axis=1)) * (1.0 + (v.shape[1] + 8) * EPS)
            y[rows[:, 0]] = np.maximum(v[:, 0], norm + v.shape[1] * SMALLEST * (largest > 0.0))
        for cone, rows in self.matrices:
            values = np.linalg.eigvalsh(cone.matrix(y[rows]))
            least = cone.order * ROUNDED * max(abs(values[0]), abs(values[-1]))
            if values[0] < least:
                y[rows] += cone.vector((2.0 * least - values[0]) * np.eye(cone.order))
        if len(self.exponential):
            u, v, w = y[self.exponential].T
            inside = (u < 0.0) & (w > 0.0)
            logs = np.log(np.where(inside, w, 1.0)), np.log(np.where(inside, -u, 1.0))
            need = u * (1.0 + logs[0] - logs[1])
            need += ROUNDED * np.abs(u) * (2.0 + np.abs(logs[0]) + np.abs(logs[1])) + 4.0 * SMALLEST
            raised = np.where(inside, np.maximum(v, need), np.maximum(v, 0.0))
            y[self.exponential] = np.c_[np.where(inside, u, 0.0), raised, np.maximum(w, 0.0)]
        for other, rows in self.others:
            y[rows] = other.dual_near(Enclosure.of(y[rows])).lower
        return y

    def moved(self, A: sparse.csr_array, z: Vector, s: Vector, b: Vector) -> sparse.csr_array:
        """``W @ A``, W telling in which directions, and how far, the vector z of the dual cone may be moved.

        See docs/theory_cones.md, "A solver first". The normal of a tangent plane is the direction of the slack s.
        """
        m, far = len(z), 1.0 + float(np.abs(z).max(initial=0.0))
        rows, columns, entries = [self.zero, self.plus], [self.zero, self.plus], [np.full(len(self.zero), far**2)]
        entries.append(np.maximum(z[self.plus], 0.0) ** 2)
        curved = [*self.second, self.exponential, *(its[None] for _, its in self.others)]
        for at in filter(len, curved):
            k, slack = at.shape[1], s[at]
            norm = np.linalg.norm(slack, axis=1)
            told = norm > 1e-7 * np.maximum(1.0, np.abs(b[at]).max(axis=1))
            t = np.where(told[:, None], slack / np.where(told, norm, 1.0)[:, None], 0.0)
            block = (z[at] ** 2).sum(axis=1)[:, None, None] * (np.eye(k) - t[:, :, None] * t[:, None, :])
            rows.append(np.repeat(at, k, axis=1).ravel())
            columns.append(np.tile(at, (1, k)).ravel())
            entries.append(block.ravel())
        where = np.concatenate(rows), np.concatenate(columns)
        found = sparse.csr_array((np.concatenate(entries), where), shape=(m, m)) @ A
        for cone, its in self.matrices:
            Z = cone.matrix(z[its]) * np.linalg.norm(z[its])
            used = np.unique(A[its].indices)
            some = [cone.vector(0.5 * (Z @ M + M @ Z)) for M in map(cone.matrix, A[its][:, used].toarray().T)]
            where = np.tile(its, len(used)), np.repeat(used, len(its))
            found = found + sparse.csr_array((np.ravel(some), where), shape=A.shape)
        return found

    def inward(self, shift: Vector) -> Vector:
        """A direction into the cones, by so much in each row that is not 0; equations have none."""
        v = np.zeros(len(shift))
        v[self.plus] = shift[self.plus]
        for rows in self.second:
            v[rows[:, 0]] = shift[rows].max(axis=1)
        for cone, its in self.matrices:
            v[its] = cone.vector(shift[its].max() * np.eye(cone.order))
        if len(self.exponential):
            v[self.exponential] = shift[self.exponential].max(axis=1)[:, None] * np.array([-1.0, 1.0, 1.0])
        return v
