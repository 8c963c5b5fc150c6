"""Problems with known optima, for the conformance tests."""

from collections.abc import Callable

import numpy as np
from affine_pieces import largest, least_of_pieces
from table_nonsmooth import Problem, nonsmooth_set
from tiny_kernels import (
    tiny_gmkl,
    tiny_gmkl_optimum,
    tiny_mixed_norm,
    tiny_mixed_norm_optimum,
    tiny_mkl,
    tiny_mkl_optimum,
)
from tiny_kinds import mkl_kinds_optimum, tiny_mkl_one_class, tiny_mkl_regression, tiny_mkl_squared_hinge

from oracle_opt import Curvature, FeasibilityCut, FunctionOracle, ObjectiveCut, Oracle
from oracle_opt.domains import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.oracles import MaxEigenvalueOracle


def _quadratic(domain: Domain, target: np.ndarray, scale: np.ndarray) -> Callable[[], Oracle]:
    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        away = scale * (z - target)
        return 0.5 * float(away @ (z - target)), away

    return lambda: FunctionOracle(function, domain)


def _max_affine(domain: Domain, slopes: np.ndarray, constants: np.ndarray) -> Callable[[], Oracle]:

    return lambda: FunctionOracle(largest(slopes, constants), domain)


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
    rng = np.random.default_rng(5)
    slopes, constants = rng.normal(size=(12, 5)), rng.normal(size=12)
    domain = Box(-np.ones(5), np.ones(5))
    return _max_affine(domain, slopes, constants), least_of_pieces(domain, slopes, constants)


def _polyhedron(equations: bool) -> Polyhedron:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(6, 5))
    among = {"equality_matrix": rng.normal(size=(2, 5)), "equality_rhs": np.array([0.1, -0.2])} if equations else {}
    return Polyhedron(rows, rng.uniform(0.2, 0.8, size=6), lower=-1, upper=1, **among)


def _affine_polyhedron(equations: bool) -> tuple[Callable[[], Oracle], float]:
    """max of 12 affine pieces on a polyhedron; the optimum by an LP of its own."""
    rng = np.random.default_rng(7)
    slopes, constants = rng.normal(size=(12, 5)), rng.normal(size=12)
    domain = _polyhedron(equations)
    return _max_affine(domain, slopes, constants), least_of_pieces(domain, slopes, constants)


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
    rng = np.random.default_rng(8)
    n = domain.dimension
    slopes, constants = rng.normal(size=(3, 8, n)), rng.normal(size=(3, 8))

    def function(z: np.ndarray) -> ObjectiveCut:
        values = slopes @ z + constants
        chosen = values.argmax(axis=1)
        summands = tuple(ObjectiveCut(z, float(values[j, i]), slopes[j, i]) for j, i in enumerate(chosen))
        slope = sum(part.subgradient for part in summands)
        return ObjectiveCut(z, sum(part.value for part in summands), slope, summands=summands)

    return lambda: FunctionOracle(function, domain), least_of_pieces(domain, slopes, constants)


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
            lambda: FunctionOracle(lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)), Simplex(4)),
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
        *nonsmooth_set(),
    ]


PROBLEMS = _problems()
