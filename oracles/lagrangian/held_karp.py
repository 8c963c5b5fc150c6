"""The 1-tree relaxation of the traveling salesman problem."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats, real, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.lagrangian._spanning_tree import spanning_tree
from oracle_opt.oracles.lagrangian.lagrangian_oracle import LagrangianOracle, finite_reach
from oracle_opt.oracles.lagrangian.network_proofs import least_one_tree, tree_of
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined
from oracle_opt.oracles.lagrangian.relaxed_solution import RelaxedSolution
from oracle_opt.oracles.lagrangian.tsplib import read_tsplib
from oracle_opt.proof.claim import Bound
from oracle_opt.reading import data_of


class HeldKarpOracle(LagrangianOracle):
    """Held and Karp's bound: the degree constraints of a tour are relaxed, a minimum 1-tree is left.

    A 1-tree is a spanning tree of all cities but a special one, and two edges at that. A tour is a 1-tree in which all
    cities have degree 2; with multipliers u the costs are ``distances[i, j] + u[i] + u[j]``. The best bound equals the
    value of the subtour-elimination linear program and does not depend on the special city.

    Parameters
    ----------
    distances : array_like of shape (n, n)
        Symmetric, n >= 3; the diagonal plays no role.
    special : int
        The special city, default 0.
    radius : float, optional
        Euclidean distance from 0 within which best multipliers are stated to lie; default is ``sqrt(n)`` times the
        largest distance.

    Raises
    ------
    InvalidArgument
        Distances that are not symmetric or not finite, fewer than three cities, a special city that is none.

    Notes
    -----
    `solution` of an answer holds the edges in the order of ``numpy.triu_indices(n, 1)``, `compact` the numbers
    ``i * n + j`` of its n edges i < j, which prove the cut. `recover` gives the `arrays`
    "edges", a symmetric matrix of shape (n, n) that says how much of each edge the average takes: a point of the
    subtour-elimination polytope, up to its violation. There is no `executor`: a tree does not fall apart into
    independent problems.

    References
    ----------
    .. [1] Held, Karp (1970), "The traveling-salesman problem and minimum spanning trees", Oper. Res. 18:1138-1162.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import ProximalBundle
    >>> from oracle_opt.oracles import HeldKarpOracle
    >>> corners = np.array([[0, 0], [0, 3], [4, 0], [4, 3]])
    >>> oracle = HeldKarpOracle(np.linalg.norm(corners[:, None] - corners, axis=2))
    >>> round(oracle.dual_bound(minimize(oracle, ProximalBundle())), 4)
    14.0
    """

    polyhedral = True

    def __init__(self, distances: ArrayLike, *, special: int = 0, radius: float | None = None) -> None:
        d = np.ascontiguousarray(floats("distances", distances))
        if d.ndim != 2 or d.shape[0] != d.shape[1] or len(d) < 3:
            raise InvalidArgument(f"`distances` must have shape (n, n) with n >= 3, got {d.shape}")
        np.fill_diagonal(d, 0.0)
        if not np.isfinite(d).all():
            raise InvalidArgument(f"`distances` must be finite, got {d[~np.isfinite(d)][0]}")
        if not np.array_equal(d, d.T):
            i, j = np.argwhere(d != d.T)[0]
            raise InvalidArgument(f"`distances` must be symmetric, got {d[i, j]} and {d[j, i]} between {i} and {j}")
        if whole("special", special, 0) >= len(d):
            raise InvalidArgument(f"`special` must be a city, 0 to {len(d) - 1}, got {special!r}")
        self.distances, self.special = d, int(special)
        n = len(d)
        self._longest = float(np.abs(d).max())
        self._others = np.flatnonzero(np.arange(n) != special)
        with np.errstate(over="ignore"):
            most = float(np.sqrt(n) * max(np.abs(d).max(), 1.0))
        reach = finite_reach("distances", most) if radius is None else real("radius", radius, above=0.0, infinite=True)
        name = f"1-trees at {special} #{digest(d)}"
        super().__init__(self._one_tree, np.full(n, 2.0), radius=reach, name=name)
        self._count = 1

    @classmethod
    def from_tsplib(
        cls, path: str | os.PathLike[str], *, special: int = 0, radius: float | None = None
    ) -> HeldKarpOracle:
        """Read a TSPLIB file at `path`, as `read_tsplib` does; `special` and `radius` are as above."""
        with data_of(Path(path), "special", "radius"):
            return cls(read_tsplib(path), special=special, radius=radius)

    def _arrays(self, points: Sequence[Vector], weights: Matrix) -> dict[str, Any]:
        edges = np.zeros(self.distances.shape)
        for u, weight in zip(points, weights[:, 0], strict=True):
            edges[self._edges(u)] += weight
        return {"edges": edges + edges.T}

    def _one_tree(self, u: Vector) -> RelaxedSolution:
        n = len(self.distances)
        low, high = self._edges(u)
        edges = np.zeros(n * (n - 1) // 2)
        edges[low * n - low * (low + 1) // 2 + high - low - 1] = 1.0
        degree = np.bincount(np.r_[low, high], minlength=n)
        cost = fsum(self.distances[low, high])
        # the costs that the trees are compared by are rounded twice each
        missed = EPS * 2 * (n + 1) * (self._longest + 2.0 * float(np.abs(u).max()))
        bound = cost + float(u @ degree) - missed
        numbers = (low * n + high).astype(np.int32)
        return RelaxedSolution(cost, degree, solution=edges, bound=bound, compact=numbers)

    def _examined(self, witness: Mapping[str, Any], summand: int | None, exact: bool) -> Examined | None:
        return tree_of(self.distances, self.special, witness, exact)

    def relaxed_bound(self, u: Vector, exact: bool = False) -> Bound:
        """Length of a shortest 1-tree by Prim's algorithm, in floats rounded down."""
        return least_one_tree(self.distances, self.special, u, exact)

    def _edges(self, u: Vector) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Edges of the cheapest 1-tree at these multipliers, by the smaller city of each and the larger one."""
        n, special = len(u), self.special
        parents, order = np.empty(n, dtype=np.intp), np.empty(n - 2, dtype=np.intp)
        spanning_tree(self.distances, u, special, np.empty(n), parents, order)
        to_special = (self.distances[special, self._others] + u[special]) + u[self._others]
        nearest = self._others[np.argsort(to_special, kind="stable")[:2]]
        tails, heads = np.r_[parents[order], special, special], np.r_[order, nearest]
        return np.minimum(tails, heads), np.maximum(tails, heads)
