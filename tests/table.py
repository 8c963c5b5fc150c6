"""The two tables of the conformance tests: generators and problems with known optima.

A new generator joins by one line in `GENERATORS`. Which problems it runs on, and how close it must come, is data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from chained import chained_cb3, chained_lq, f3d, polak2
from tiny_kernels import (
    tiny_gmkl,
    tiny_gmkl_optimum,
    tiny_mixed_norm,
    tiny_mixed_norm_optimum,
    tiny_mkl,
    tiny_mkl_optimum,
)
from tiny_kinds import mkl_kinds_optimum, tiny_mkl_one_class, tiny_mkl_regression, tiny_mkl_squared_hinge

from oracle_opt import (
    Ball,
    Box,
    Curvature,
    Domain,
    Eigenpairs,
    FeasibilityCut,
    FreeSpace,
    FunctionOracle,
    NonnegativeOrthant,
    ObjectiveCut,
    Oracle,
    Polyhedron,
    ProductOfSimplices,
    QueryPointGenerator,
    Simplex,
)
from oracle_opt.generators import (
    LBFGS,
    SPG,
    AnalyticCenter,
    Ellipsoid,
    FixedPoint,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    ReducedGradient,
    SpectralBundle,
    Subgradient,
)
from oracle_opt.oracles import MaxEigenvalueOracle


@dataclass(frozen=True)
class Problem:
    """A problem, its optimum, and what it is for."""

    name: str
    make: Callable[[], Oracle]
    optimum: float
    kinds: frozenset[str] = field(default_factory=frozenset)
    start: tuple[float, ...] | None = None
    accuracy: float = 1e-10  # of the optimum as stated, relative to the largest value seen

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Entry:
    """A generator, and what is expected of it: per kind of problem a gap (relative to max(1, |optimum|)) and calls.

    The first kind that the problem has decides; an infinite gap, or no kind, means that only the bounds are checked.
    What it cannot serve stands here as well: `needs` holds the domains it serves, after the words it has for them; none
    stands for all.
    """

    name: str
    make: Callable[[], QueryPointGenerator]
    reaches: tuple[tuple[str, float, int], ...] = ()
    needs: tuple[str | type[Domain], ...] = ()
    takes_feasibility_cuts: bool = True
    needs_eigenpairs: bool = False

    def __str__(self) -> str:
        return self.name

    def refusal(self, oracle: Oracle) -> str | None:
        """Words that the driver must refuse an oracle with; `None` where it must run."""
        if FeasibilityCut in oracle.gives and not self.takes_feasibility_cuts:
            return "it takes no feasibility cuts, and this oracle gives them"
        if self.needs_eigenpairs and Eigenpairs not in oracle.gives:
            return "it needs eigenvectors of a largest eigenvalue, and this oracle gives none"
        words, *served = self.needs or ("", Domain)
        return None if isinstance(oracle.domain, tuple(served)) else f"it needs {words}"


INTERIOR = (("hard", 1e-4, 600), ("any", 1e-6, 400))
# Methods that ask at the boundary of the outer model never ask a feasible point of a curved feasible set.
EXACT = (("curved", np.inf, 60), *INTERIOR)
# Kelley's linear programs jump from corner to corner where many smooth pieces meet.
CORNERS = (("smooth pieces", np.inf, 60), *EXACT)
CENTRAL = (("hard", 1e-3, 1200), ("any", 1e-5, 1000))
# With fewer cuts than variables no model is exact: only the bounds are promised.
CAPPED = (("hard", np.inf, 60), *EXACT)
SMOOTH = (("badly scaled", 1e-2, 1000), ("smooth", 1e-4, 1000))
STEEPEST = (("badly scaled", np.inf, 60), *SMOOTH)
LINEAR = ("a domain with linear constraints", Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices)
ONE_SIMPLEX = ("a domain that is one simplex", Simplex)
SIMPLICES = ("a domain made of simplices", ProductOfSimplices)
GENERATORS = [
    Entry("analytic-center", AnalyticCenter, INTERIOR, needs=LINEAR),
    Entry(
        "analytic-center objective cuts",
        lambda: AnalyticCenter(epigraph=False, proximal=0.0),
        (("hard", np.inf, 60), *CENTRAL),
        needs=LINEAR,
    ),
    Entry("analytic-center not proximal", lambda: AnalyticCenter(proximal=0.0), CENTRAL, needs=LINEAR),
    Entry("analytic-center tuned accuracy", lambda: AnalyticCenter(tune_accuracy=True), INTERIOR, needs=LINEAR),
    Entry("kelley", Kelley, CORNERS, needs=LINEAR),
    Entry("kelley tuned accuracy", lambda: Kelley(tune_accuracy=True), CORNERS, needs=LINEAR),
    Entry("kelley chebyshev", lambda: Kelley(chebyshev=True), CENTRAL, needs=LINEAR),
    Entry("kelley 60 cuts", lambda: Kelley(max_cuts=60), needs=LINEAR),
    Entry("level-set", LevelSet, EXACT, needs=LINEAR),
    Entry("level-set classic", lambda: LevelSet(adaptive=False), EXACT, needs=LINEAR),
    Entry("level-set euclidean", lambda: LevelSet(entropic=False), EXACT, needs=LINEAR),
    Entry("level-set tuned accuracy", lambda: LevelSet(tune_accuracy=True), EXACT, needs=LINEAR),
    Entry("level-set 40 cuts", lambda: LevelSet(max_cuts=40), CAPPED, needs=LINEAR),
    Entry("newton-bundle", NewtonBundle, EXACT, needs=ONE_SIMPLEX, takes_feasibility_cuts=False),
    Entry("proximal-bundle", ProximalBundle, EXACT, needs=LINEAR),
    Entry("proximal-bundle 40 cuts", lambda: ProximalBundle(max_cuts=40), CAPPED, needs=LINEAR),
    Entry("ellipsoid", Ellipsoid, (("hard", np.inf, 60), ("any", 1e-6, 2000))),
    Entry("ellipsoid central", lambda: Ellipsoid(deep=False), (("hard", np.inf, 60), ("any", 1e-6, 2500))),
    Entry("spectral-bundle", SpectralBundle, (("any", 1e-9, 25),), takes_feasibility_cuts=False, needs_eigenpairs=True),
    Entry(
        "spectral-bundle of order 3",
        lambda: SpectralBundle(min_order=2, max_order=3),
        (("any", 1e-5, 100),),
        takes_feasibility_cuts=False,
        needs_eigenpairs=True,
    ),
    Entry("spg", SPG, SMOOTH, takes_feasibility_cuts=False),
    Entry("spg tuned accuracy", lambda: SPG(tune_accuracy=True), SMOOTH, takes_feasibility_cuts=False),
    Entry("spg euclidean", lambda: SPG(entropic=False), SMOOTH, takes_feasibility_cuts=False),
    Entry("spg lengths alone", lambda: SPG(nonmonotone=False), STEEPEST, takes_feasibility_cuts=False),
    Entry("spg averages alone", lambda: SPG(spectral=False), STEEPEST, takes_feasibility_cuts=False),
    Entry(
        "subgradient", Subgradient, (("feasibility", np.inf, 60), ("badly scaled", np.inf, 60), ("bounded", 0.15, 500))
    ),
    Entry("subgradient polyak", lambda: Subgradient(polyak=True)),
    Entry("projected-gradient", ProjectedGradient, STEEPEST, takes_feasibility_cuts=False),
    Entry("projected-gradient 1e-6", lambda: ProjectedGradient(accuracy=1e-6), STEEPEST, takes_feasibility_cuts=False),
    Entry(
        "mirror-descent",
        MirrorDescent,
        (("feasibility", np.inf, 60), ("smooth", 0.05, 1000), ("bounded", 0.15, 1000)),
        needs=SIMPLICES,
        takes_feasibility_cuts=False,
    ),
    Entry(
        "reduced-gradient",
        ReducedGradient,
        (("smooth simplex", 1e-4, 1000),),
        needs=ONE_SIMPLEX,
        takes_feasibility_cuts=False,
    ),
    Entry(
        "quasi-newton",
        QuasiNewton,
        SMOOTH,
        needs=("a domain that projects in diagonal metrics", *LINEAR[1:]),
        takes_feasibility_cuts=False,
    ),
    Entry(
        "lbfgs",
        LBFGS,
        SMOOTH,
        needs=("a domain of bounds alone, as Box or FreeSpace", Box, FreeSpace, NonnegativeOrthant),
        takes_feasibility_cuts=False,
    ),
    Entry("fixed-point", FixedPoint, takes_feasibility_cuts=False),
]


def _quadratic(domain: Domain, target: np.ndarray, scale: np.ndarray) -> Callable[[], Oracle]:
    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        away = scale * (z - target)
        return 0.5 * float(away @ (z - target)), away

    return lambda: FunctionOracle(function, domain)


def _max_affine(domain: Domain, slopes: np.ndarray, constants: np.ndarray) -> Callable[[], Oracle]:
    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        values = slopes @ z + constants
        i = int(values.argmax())
        return float(values[i]), slopes[i].copy()

    return lambda: FunctionOracle(function, domain)


def _with_curvature() -> Oracle:
    """max of two quadratics whose oracle states its curvature; optimum by Clarabel."""
    roots, targets = _curved_data()

    def function(z: np.ndarray) -> ObjectiveCut:
        values = [0.5 * float(np.sum((root @ (z - target)) ** 2)) for root, target in zip(roots, targets, strict=True)]
        i = int(np.argmax(values))
        slope = roots[i].T @ (roots[i] @ (z - targets[i]))
        return ObjectiveCut(z, values[i], slope, answers=(Curvature(roots[i]),))

    return FunctionOracle(function, Simplex(8), gives={Curvature})


def _curved_data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    return rng.normal(size=(2, 6, 8)), rng.dirichlet(np.ones(8), size=2) + 0.3 * rng.normal(size=(2, 8))


def _curved_optimum() -> float:
    import cvxpy as cp

    z, t = cp.Variable(8, nonneg=True), cp.Variable()
    pieces = [0.5 * cp.sum_squares(root @ (z - target)) <= t for root, target in zip(*_curved_data(), strict=True)]
    problem = cp.Problem(cp.Minimize(t), [cp.sum(z) == 1, *pieces])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


def _affine_box() -> tuple[Callable[[], Oracle], float]:
    """max of 12 affine pieces on a box; the optimum by an LP of its own."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    slopes, constants = rng.normal(size=(12, 5)), rng.normal(size=12)
    solved = linprog(
        np.r_[np.zeros(5), 1.0],
        A_ub=np.c_[slopes, -np.ones(12)],
        b_ub=-constants,
        bounds=[(-1, 1)] * 5 + [(None, None)],
    )
    return _max_affine(Box(-np.ones(5), np.ones(5)), slopes, constants), float(solved.fun)


def _polyhedron(equations: bool) -> Polyhedron:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(6, 5))
    among = {"equality_matrix": rng.normal(size=(2, 5)), "equality_rhs": np.array([0.1, -0.2])} if equations else {}
    return Polyhedron(rows, rng.uniform(0.2, 0.8, size=6), lower=-1, upper=1, **among)


def _affine_polyhedron(equations: bool) -> tuple[Callable[[], Oracle], float]:
    """max of 12 affine pieces on a polyhedron; the optimum by an LP of its own."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(7)
    slopes, constants = rng.normal(size=(12, 5)), rng.normal(size=12)
    domain = _polyhedron(equations)
    solved = linprog(
        np.r_[np.zeros(5), 1.0],
        A_ub=np.r_[np.c_[slopes, -np.ones(12)], np.c_[domain.A, np.zeros(6)]],
        b_ub=np.r_[-constants, domain.b],
        A_eq=np.c_[domain.equality_matrix, np.zeros(len(domain.equality_rhs))],
        b_eq=domain.equality_rhs,
        bounds=[(-1, 1)] * 5 + [(None, None)],
    )
    return _max_affine(domain, slopes, constants), float(solved.fun)


def _quadratic_polyhedron(equations: bool) -> tuple[Callable[[], Oracle], float]:
    """Half the squared distance from a point outside a polyhedron; the optimum by Clarabel."""
    import cvxpy as cp

    domain, target = _polyhedron(equations), np.array([1.0, -0.5, 0.8, 0.3, -1.2])
    z = cp.Variable(5)
    inside = [domain.A @ z <= domain.b, z >= -1, z <= 1]
    if equations:
        inside.append(domain.equality_matrix @ z == domain.equality_rhs)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(z - target)), inside)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return _quadratic(domain, target, np.ones(5)), float(problem.value)


def _sum_of_maxima(domain: Domain) -> tuple[Callable[[], Oracle], float]:
    """Sum of three maxima of 8 affine pieces, with the cuts of each as summands; the optimum by an LP of its own."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(8)
    n = domain.dimension
    slopes, constants = rng.normal(size=(3, 8, n)), rng.normal(size=(3, 8))

    def function(z: np.ndarray) -> ObjectiveCut:
        values = slopes @ z + constants
        chosen = values.argmax(axis=1)
        summands = tuple(ObjectiveCut(z, float(values[j, i]), slopes[j, i]) for j, i in enumerate(chosen))
        slope = sum(part.subgradient for part in summands)
        return ObjectiveCut(z, sum(part.value for part in summands), slope, summands=summands)

    described = domain.linear_constraints()
    solved = linprog(
        np.r_[np.zeros(n), np.ones(3)],
        A_ub=np.c_[slopes.reshape(24, n), -np.repeat(np.eye(3), 8, axis=0)],
        b_ub=-constants.ravel(),
        A_eq=np.c_[described.equality_matrix, np.zeros((len(described.equality_rhs), 3))],
        b_eq=described.equality_rhs,
        bounds=[*zip(described.lower, described.upper, strict=True), *[(None, None)] * 3],
    )
    return lambda: FunctionOracle(function, domain), float(solved.fun)


def _disc() -> Oracle:
    """min z1 + z2 where |z - (1, 1)| <= 1: feasibility cuts; optimum 2 - sqrt(2)."""
    center = np.ones(2)

    def function(z: np.ndarray) -> ObjectiveCut | FeasibilityCut:
        away = z - center
        norm = float(np.linalg.norm(away))
        if norm > 1:
            return FeasibilityCut(z, norm - 1, away / norm)
        return ObjectiveCut(z, float(z.sum()), np.ones(2))

    return FunctionOracle(function, Box(np.full(2, -3.0), np.full(2, 4.0)), gives={FeasibilityCut})


def _halfspaces_on_simplex() -> Oracle:
    """min |z - e_1|^2 on the simplex with z_1 <= 0.3 and z_2 <= 0.4, as cuts; optimum by hand: z = (.3, .35, .35)."""

    def function(z: np.ndarray) -> ObjectiveCut | FeasibilityCut:
        further = tuple(
            FeasibilityCut(z, z[j] - cap, np.eye(3)[j]) for j, cap in ((0, 0.3), (1, 0.4)) if z[j] > cap + 1e-9
        )
        if further:
            return FeasibilityCut(z, further[0].violation, further[0].normal, further[1:])
        away = z - np.eye(3)[0]
        return ObjectiveCut(z, float(away @ away), 2 * away)

    return FunctionOracle(function, Simplex(3), gives={FeasibilityCut})


def _cycle() -> Oracle:
    """The relaxed max-cut of five nodes in a ring, as a largest eigenvalue, double at the solution y_i = const."""
    ring = np.roll(np.eye(5), 1, axis=0)
    laplacian = 2 * np.eye(5) - ring - ring.T
    domain = FreeSpace(5, 10.0, np.arange(5.0) / 5)
    return MaxEigenvalueOracle(laplacian / 4, [np.diag(row) for row in np.eye(5)], np.ones(5), trace=5, domain=domain)


def _problems() -> list[Problem]:
    target = np.array([0.1, 0.2, 0.3, 0.4])
    ones = np.ones(4)
    affine, affine_optimum = _affine_box()
    corner = np.array([3.0, 1.0, 2.0])
    smooth, bounded = {"smooth", "bounded", "any"}, {"bounded", "any"}
    on_simplex = {"smooth simplex"}

    def problem(
        name: str, make: Callable[[], Oracle], optimum: float, kinds: set[str], accuracy: float = 1e-10
    ) -> Problem:
        return Problem(name, make, optimum, frozenset(kinds), accuracy=accuracy)

    return [
        problem("quadratic on simplex", _quadratic(Simplex(4), target, ones), 0.0, smooth | on_simplex),
        problem("quadratic on scaled simplex", _quadratic(Simplex(4, 2.0), 2 * target, ones), 0.0, smooth | on_simplex),
        problem(
            "quadratic on product",
            _quadratic(ProductOfSimplices([2, 2]), np.array([0.3, 0.7, 0.9, 0.1]), ones),
            0.0,
            smooth,
        ),
        problem("quadratic outside box", _quadratic(Box(-ones, ones), 2 * ones, ones), 2.0, smooth),
        problem("quadratic in orthant", _quadratic(NonnegativeOrthant(4, radius=9.0), target, ones), 0.0, smooth),
        problem("quadratic in ball", _quadratic(Ball(4), 2 * ones, ones), 4.5, smooth),
        problem("quadratic in space", _quadratic(FreeSpace(4, radius=10.0), target, ones), 0.0, smooth),
        problem(
            "badly scaled",
            _quadratic(Box(-ones, ones), 0.5 * target, np.array([1.0, 1e2, 1e4, 1e6])),
            0.0,
            {"badly scaled", *smooth},
        ),
        problem(
            "tiny values", _quadratic(Simplex(4), np.array([-0.1, 0.2, 0.3, 0.6]), 1e-8 * ones), 1e-8 / 150, smooth
        ),
        problem("linear, corner of simplex", _max_affine(Simplex(3), corner[None], np.zeros(1)), 1.0, smooth),
        problem("max affine on box", affine, affine_optimum, bounded),
        problem(
            "absolute values on simplex",
            lambda: FunctionOracle(
                lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)),
                Simplex(4),
            ),
            0.0,
            bounded,
        ),
        problem("max affine on polyhedron", *_affine_polyhedron(False), bounded, 1e-8),
        problem("max affine on polyhedron with equations", *_affine_polyhedron(True), bounded, 1e-8),
        problem("quadratic on polyhedron", *_quadratic_polyhedron(False), smooth, 1e-8),
        problem("quadratic on polyhedron with equations", *_quadratic_polyhedron(True), smooth, 1e-8),
        problem("sum of maxima on box", *_sum_of_maxima(Box(-np.ones(6), np.ones(6))), bounded),
        problem("sum of maxima on simplex", *_sum_of_maxima(Simplex(6)), bounded),
        problem("disc by cuts", _disc, 2 - np.sqrt(2), {"feasibility", "curved", *bounded}),
        problem("caps by cuts", _halfspaces_on_simplex, 0.735, {"feasibility", *bounded}, 1e-8),
        problem("curved on simplex", _with_curvature, _curved_optimum(), smooth | on_simplex, 1e-8),
        problem("max-cut of a cycle", _cycle, 5 * (5 + np.sqrt(5)) / 8, {"any"}),
        problem("tiny mkl", tiny_mkl, tiny_mkl_optimum(), smooth | on_simplex, 1e-8),
        problem("tiny mixed norm", tiny_mixed_norm, tiny_mixed_norm_optimum(), smooth, 1e-7),
        problem("tiny gmkl", tiny_gmkl, tiny_gmkl_optimum(), smooth, 1e-7),
        *(
            problem(name, make, mkl_kinds_optimum(make()), smooth | on_simplex, 1e-7)
            for name, make in (
                ("tiny mkl squared hinge", tiny_mkl_squared_hinge),
                ("tiny mkl regression", tiny_mkl_regression),
                ("tiny mkl one class", tiny_mkl_one_class),
            )
        ),
        *_nonsmooth_set(),
    ]


def _nonsmooth_set() -> list[Problem]:
    """Classic functions on all of R^n, from the folder ORACLE_OPT_PROBLEMS if there is one; else those without data."""

    def cb2(x: np.ndarray) -> tuple[float, np.ndarray]:
        e = np.exp(x[1] - x[0])
        values = [x[0] ** 2 + x[1] ** 4, (2 - x[0]) ** 2 + (2 - x[1]) ** 2, 2 * e]
        slopes = [
            np.array([2 * x[0], 4 * x[1] ** 3]),
            np.array([2 * x[0] - 4, 2 * x[1] - 4]),
            np.array([-2 * e, 2 * e]),
        ]
        i = int(np.argmax(values))
        return float(values[i]), slopes[i]

    def cb3(x: np.ndarray) -> tuple[float, np.ndarray]:
        e = np.exp(x[1] - x[0])
        values = [x[0] ** 4 + x[1] ** 2, (2 - x[0]) ** 2 + (2 - x[1]) ** 2, 2 * e]
        slopes = [
            np.array([4 * x[0] ** 3, 2 * x[1]]),
            np.array([2 * x[0] - 4, 2 * x[1] - 4]),
            np.array([-2 * e, 2 * e]),
        ]
        i = int(np.argmax(values))
        return float(values[i]), slopes[i]

    def ql(x: np.ndarray) -> tuple[float, np.ndarray]:
        q = float(x @ x)
        values = [q, q + 10 * (4 - 4 * x[0] - x[1]), q + 10 * (6 - x[0] - 2 * x[1])]
        i = int(np.argmax(values))
        return values[i], 2 * x + np.array([[0, 0], [-40, -10], [-10, -20]])[i]

    def lq(x: np.ndarray) -> tuple[float, np.ndarray]:
        linear, bent = -x[0] - x[1], float(x @ x) - 1
        return float(linear + max(0.0, bent)), -np.ones(2) + (2 * x if bent > 0 else 0.0)

    def mifflin1(x: np.ndarray) -> tuple[float, np.ndarray]:
        bent = float(x @ x) - 1
        return float(-x[0] + 20 * max(0.0, bent)), np.array([-1.0, 0.0]) + (40 * x if bent > 0 else 0.0)

    def rosen_suzuki(x: np.ndarray) -> tuple[float, np.ndarray]:
        f = x @ (np.array([1, 1, 2, 1]) * x) + np.array([-5, -5, -21, 7]) @ x
        g = [
            (np.ones(4), np.array([1, -1, 1, -1]), -8.0),
            (np.array([1, 2, 1, 2]), np.array([-1, 0, 0, -1]), -10.0),
            (np.array([1, 1, 1, 0]), np.array([2, -1, 0, -1]), -5.0),
        ]
        values = [0.0] + [float(x @ (q * x) + c @ x + d) for q, c, d in g]
        i = int(np.argmax(values))
        slope = 2 * np.array([1, 1, 2, 1]) * x + np.array([-5, -5, -21, 7])
        if i:
            slope = slope + 10 * (2 * g[i - 1][0] * x + g[i - 1][1])
        return float(f + 10 * values[i]), slope

    def maxq(x: np.ndarray) -> tuple[float, np.ndarray]:
        i = int(np.argmax(x**2))
        return float(x[i] ** 2), 2 * x[i] * np.eye(len(x))[i]

    def goffin(x: np.ndarray) -> tuple[float, np.ndarray]:
        i = int(np.argmax(x))
        return float(50 * x[i] - x.sum()), 50 * np.eye(50)[i] - 1

    def mxhilb(x: np.ndarray) -> tuple[float, np.ndarray]:
        hilbert = 1 / (np.arange(50)[:, None] + np.arange(50) + 1)
        values = hilbert @ x
        i = int(np.argmax(np.abs(values)))
        return float(abs(values[i])), np.sign(values[i]) * hilbert[i]

    def space(name: str, function: Callable, start: list[float], radius: float, optimum: float, *kinds: str) -> Problem:
        domain = FreeSpace(len(start), radius=radius)
        made = lambda: FunctionOracle(function, domain)  # noqa: E731
        return Problem(name, made, optimum, frozenset({"nonsmooth", "any", *kinds}), tuple(start))

    twenty = [float(i) if i <= 10 else -float(i) for i in range(1, 21)]
    problems = [
        space("CB2", cb2, [1.0, -0.1], 5.0, 1.9522244945),
        space("CB3", cb3, [2.0, 2.0], 5.0, 2.0),
        space("QL", ql, [-1.0, 5.0], 10.0, 7.2),
        space("LQ", lq, [-0.5, -0.5], 5.0, -np.sqrt(2)),
        space("Mifflin1", mifflin1, [0.8, 0.6], 5.0, -1.0),
        space("Rosen-Suzuki", rosen_suzuki, [0.0] * 4, 5.0, -44.0),
        space("MAXQ", maxq, twenty, 100.0, 0.0, "hard"),
        space("Goffin", goffin, [i - 24.5 for i in range(50)], 200.0, 0.0, "hard"),
        space("MXHILB", mxhilb, [1.0] * 50, 20.0, 0.0, "hard"),
        space("Chained LQ", chained_lq, [-0.5] * 20, 10.0, -19 * np.sqrt(2), "hard"),
        space("Chained CB3 I", chained_cb3, [2.0] * 20, 10.0, 38.0, "hard", "smooth pieces"),
        space("F3d-U0", lambda x: f3d(x, (0.5, -2, 0, 0)), [100.0, 33.0, -100.0], 200.0, 0.0),
        space("F3d-U1", lambda x: f3d(x, (0, 10, 0, 0)), [100.0, 33.0, -100.0], 200.0, 0.0),
        # its values overflow a little farther away, and are of all sizes inside: the bounds alone are checked
        Problem(
            "Polak2",
            lambda: FunctionOracle(polak2, Box(np.r_[-200.0, [-3.0] * 9], np.r_[200.0, [3.0] * 9])),
            float(np.exp(4.0)),
            frozenset({"nonsmooth"}),
            (100.0, *[0.1] * 9),
        ),
    ]
    folder = os.environ.get("ORACLE_OPT_PROBLEMS")
    if folder:
        problems += _nonsmooth_files(Path(folder) / "nonsmooth", space)
    return problems


def _nonsmooth_files(folder: Path, space: Callable[..., Problem]) -> list[Problem]:
    """Those that need tables: Shor, MAXQUAD, TR48."""
    known = {item["name"]: item for item in json.loads((folder / "optima.json").read_text())["instances"]}
    shor, maxquad, tr48 = (dict(np.load(folder / f"{name}.npz")) for name in ("shor", "maxquad", "tr48"))

    def f_shor(x: np.ndarray) -> tuple[float, np.ndarray]:
        values = shor["b"] * ((x - shor["a"]) ** 2).sum(axis=1)
        i = int(values.argmax())
        return float(values[i]), 2 * shor["b"][i] * (x - shor["a"][i])

    def f_maxquad(x: np.ndarray) -> tuple[float, np.ndarray]:
        values = [float(x @ a @ x - b @ x) for a, b in zip(maxquad["A"], maxquad["b"], strict=True)]
        i = int(np.argmax(values))
        return values[i], 2 * maxquad["A"][i] @ x - maxquad["b"][i]

    def f_tr48(x: np.ndarray) -> tuple[float, np.ndarray]:
        values = x[:, None] - tr48["c"]
        rows = values.argmax(axis=0)
        slope = np.bincount(rows, weights=tr48["d"], minlength=48) - tr48["s"]
        return float(tr48["d"] @ values[rows, np.arange(48)] - tr48["s"] @ x), slope

    return [
        space("Shor", f_shor, [0.0, 0.0, 0.0, 0.0, 1.0], 10.0, known["Shor"]["resolved"]),
        space("MAXQUAD", f_maxquad, [0.0] * 10, 5.0, known["MAXQUAD"]["resolved"]),
        space("TR48", f_tr48, [0.0] * 48, 4000.0, known["TR48"]["resolved"], "hard"),
    ]


PROBLEMS = _problems()
