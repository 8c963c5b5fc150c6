"""Oracles, and each of their arguments changed by the least there is, or exempt with a reason."""

import numpy as np
from identity_cases import (
    BANK,
    DISTANCES,
    KERNELS,
    OTHER_BANK,
    POINTS,
    ROUNDS_ALONE,
    SHORT,
    SVM,
    SVM_ARGUMENTS,
    Case,
    Y,
    next_to,
    of_cvxpy,
    sells,
    solve,
    sparse_in,
    swapped,
    ulp,
)

from oracle_opt import (
    Box,
    Curvature,
    FeasibilityCut,
    FreeSpace,
    FunctionOracle,
    L1Term,
    NonnegativeOrthant,
    QuadraticTerm,
    Query,
)
from oracle_opt.oracles import (
    Composite,
    CvxpyOracle,
    GeneralizedAssignmentOracle,
    MaxEigenvalueOracle,
    MulticommodityFlowOracle,
    ProductBank,
    RiskOracle,
)
from oracle_opt.oracles.benders import BendersOracle, CVaR, RandomBlock, TwoStageProblem
from oracle_opt.oracles.conic import ConicOracle, Nonnegative, SecondOrder, SemiInfiniteOracle, Zero
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, LagrangianOracle, RelaxedSolution
from oracle_opt.oracles.mkl import (
    ElasticNet,
    EntropyRegularizer,
    GMKLOracle,
    Groups,
    KernelMachine,
    KernelWeightsOracle,
    LpRegularizer,
    MixedNormOracle,
    MKLOracle,
    Regularized,
    SharedWeightsOracle,
)


def above_a_tenth(z):
    """Rows that say ``z >= 0.1``."""
    return -np.eye(2), np.full(2, -0.1)


def of_square(z):
    """A function and its slope."""
    return z @ z, 2 * z


DEMANDS = [RandomBlock([0.25, 0.75], rows=[1], rhs=[[1.0], [2.0]])]  # dual vertices of all scenarios
ANSWERED = BendersOracle(TwoStageProblem(**sells(blocks=DEMANDS)))
ANSWERED.query(Query(np.ones(ANSWERED.domain.dimension)))
WORKERS = {"executor": "only does the tasks", "parts": "how many tasks there are; each answer is the same"}


ORACLES = {
    FunctionOracle: Case(
        FunctionOracle,
        {"function": solve, "domain": Box([0, 0], [1, 1]), "gives": (), "convex": True},
        {
            "function": [lambda z: (z.sum(), np.ones(2))],
            "domain": [Box([0, 0], [1, next_to(1.0)])],
            "gives": [(FeasibilityCut,), (Curvature,)],
            "convex": [False],
            "constraints": [[solve], [solve, solve]],
            "name": ["other"],
        },
        dict.fromkeys(("witness", "prove_cut", "prove_value"), "who examines claims, not what is claimed")
        | {"tolerance": "of constraints, and there are none: test_function_constraints has some"},
    ),
    MKLOracle: Case(MKLOracle, SVM_ARGUMENTS, SVM | {"bank": [OTHER_BANK]}, SHORT),
    KernelWeightsOracle: Case(
        KernelWeightsOracle,
        {"machines": [KernelMachine(BANK, Y)], "weights": Groups(3), "accuracy": None, "max_solves": None},
        {
            "machines": [[KernelMachine(BANK, -Y)], [KernelMachine(OTHER_BANK, Y)], [KernelMachine(BANK, Y)] * 2],
            "weights": [Groups(3, [[0, 1], [2]]), Regularized(3, LpRegularizer(2.0), 10.0)],
            "accuracy": [0.125],
            "max_solves": [1],
        },
    ),
    GMKLOracle: Case(
        GMKLOracle,
        SVM_ARGUMENTS | {"regularizer": LpRegularizer(2.0), "radius": 10.0},
        SVM
        | {
            "bank": [OTHER_BANK, ProductBank(DISTANCES), ProductBank.from_points(POINTS)],
            "regularizer": [LpRegularizer(next_to(2.0)), ElasticNet(), EntropyRegularizer()],
            "radius": [next_to(10.0), np.inf],
        },
        SHORT,
    ),
    MixedNormOracle: Case(
        MixedNormOracle,
        SVM_ARGUMENTS | {"groups": [[0, 1], [2]], "max_solves": None},
        SVM | {"bank": [OTHER_BANK], "groups": [[[0], [1, 2]], [[1, 0], [2]], [[2], [0, 1]]], "max_solves": [1]},
        SHORT,
    ),
    SharedWeightsOracle: Case(
        SharedWeightsOracle,
        {"machines": [MKLOracle(BANK, Y), MKLOracle(BANK, -Y)], "regularizer": LpRegularizer(2.0), "radius": 10.0},
        {
            "machines": [
                [MKLOracle(BANK, Y), MKLOracle(BANK, Y)],
                [MKLOracle(BANK, Y)],
                [MKLOracle(BANK, Y), MKLOracle(OTHER_BANK, -Y)],
            ],
            "regularizer": [None, LpRegularizer(next_to(2.0))],
            "radius": [next_to(10.0)],
        },
    ),
    BendersOracle: Case(
        BendersOracle,
        {
            "problem": TwoStageProblem(**sells(blocks=DEMANDS)),
            "n_samples": 20,
            "seed": 0,
            "n_summands": 1,
            "radius": 1e6,
            "warm": None,
            "risk": None,
        },
        {
            "problem": [TwoStageProblem(**sells(offset=0.25, blocks=DEMANDS))],  # the case below changes all of it
            "n_samples": [None, 19],
            "seed": [1],
            "n_summands": [2],
            "warm": [ANSWERED],
            "risk": [CVaR(0.9), CVaR(0.9, 0.5), CVaR(0.8)],
        },
        WORKERS
        | {
            "parts": ROUNDS_ALONE,
            "radius": "stands in for infinite bounds, and the rows of this one imply finite ones",
        },
    ),
    ConicOracle: Case(
        ConicOracle,
        {
            "c": [1.0, 2.0, 3.0],
            "A": sparse_in([-1.0, -2.0, -3.0], [(0, 0), (1, 1), (2, 1)]),
            "b": [1.0, 1.0, 2.0],
            "cones": [Nonnegative(1), SecondOrder(2)],
            "domain": FreeSpace(3, 100.0),
            "P": np.diag([1.0, 2.0, 3.0]),
            "multicut": True,
            "hold_rows": True,
        },
        {
            "c": [ulp([1.0, 2.0, 3.0], 1)],
            "A": [
                sparse_in([-1.0, -2.0, -next_to(3.0)], [(0, 0), (1, 1), (2, 1)]),
                sparse_in([-1.0, -2.0, -3.0], [(0, 0), (1, 1), (2, 2)]),
                sparse_in([-1.0, -2.0, -3.0], [(0, 0), (1, 1), (1, 2)]),
                sparse_in([-1.0, -2.0, -3.0], [(0, 0), (2, 1), (2, 2)]),
            ],
            "b": [ulp([1.0, 1.0, 2.0], 2), swapped([1.0, 1.0, 2.0], 1, 2)],
            "cones": [[Nonnegative(3)], [Nonnegative(2), SecondOrder(1)], [Zero(1), SecondOrder(2)], [SecondOrder(3)]],
            "domain": [FreeSpace(3, next_to(100.0)), FreeSpace(3, 100.0, [0, 0, 5e-324]), Box(-np.ones(3), np.ones(3))],
            "P": [None, np.diag([1.0, 2.0, next_to(3.0)]), np.diag([2.0, 1.0, 3.0])],
            "multicut": [False],
            "hold_rows": [False],
            "offset": [5e-324],
            "tolerance": [next_to(1e-9)],
            "max_half_spaces": [49],
        },
        {
            "recover": "leads from a point to the variables of the model: no answer depends on it",
            "radius": "is that of the default domain, and excludes a `domain`",
        },
    ),
    SemiInfiniteOracle: Case(
        SemiInfiniteOracle,
        {"objective": [1.0, 2.0], "separate": above_a_tenth, "domain": Box([0, 0], [1, 1])},
        {
            "objective": [[1.0, next_to(2.0)], [2.0, 1.0], lambda z: (z @ z, 2 * z)],
            "separate": [lambda z: (z, 1.0)],
            "domain": [Box([0, 0], [1, next_to(1.0)])],
            "tolerance": [next_to(1e-9)],
            "missed": [5e-324],
            "max_rows": [49],
            "name": ["other"],
        },
    ),
    MaxEigenvalueOracle: Case(
        MaxEigenvalueOracle,
        {
            "C": sparse_in([1.0, 2.0, 2.0], [(0, 0), (0, 1), (1, 0)]),
            "A": [np.eye(3), np.diag([1.0, 0, 0])],
            "b": [1.0, 2.0],
            "domain": FreeSpace(2, 10.0),
            "n_vectors": 2,
        },
        {
            "C": [
                sparse_in([next_to(1.0), 2.0, 2.0], [(0, 0), (0, 1), (1, 0)]),
                sparse_in([1.0, 2.0, 2.0], [(1, 1), (0, 1), (1, 0)]),
                sparse_in([1.0, 2.0, 2.0], [(2, 2), (0, 1), (1, 0)]),
                sparse_in([1.0, 2.0, 2.0], [(0, 0), (0, 2), (2, 0)]),
            ],
            "A": [
                [np.diag([1.0, 1.0, next_to(1.0)]), np.diag([1.0, 0, 0])],
                [np.diag([1.0, 0, 0]), np.eye(3)],
                [np.eye(3), np.diag([0, 1.0, 0])],
            ],
            "b": [ulp([1.0, 2.0], 1), [2.0, 1.0]],
            "trace": [next_to(1.0)],
            "domain": [FreeSpace(2, next_to(10.0)), None],
            "n_vectors": [1],
            "within": [next_to(0.1)],
            "lanczos_from": [3],
        },
    ),
    Composite: Case(
        Composite,
        {"oracle": FunctionOracle(of_square, Box([0, 0], [1, 1])), "known": QuadraticTerm(2.0) + L1Term(0.5)},
        {
            "oracle": [FunctionOracle(of_square, Box([0, 0], [1, next_to(1.0)]))],
            "known": [
                QuadraticTerm(next_to(2.0)) + L1Term(0.5),
                QuadraticTerm(2.0) + L1Term(next_to(0.5)),
                QuadraticTerm(2.0, [0.0, 1.0]) + L1Term(0.5),
                QuadraticTerm(2.0, diagonal=[1.0, next_to(1.0)]) + L1Term(0.5),
                QuadraticTerm(2.0, factor=np.eye(2)) + L1Term(0.5),
                QuadraticTerm(2.0),
                L1Term([0.5, 0.25]),
            ],
            "domain": [Box([0, 0], [1, next_to(0.5)])],
        },
    ),
    RiskOracle: Case(
        RiskOracle,
        {
            "kind": "quantile",
            "X": sparse_in([1.0, 2.0, 3.0], [(0, 0), (1, 1), (2, 2)]),
            "y": [1.0, 2.0, 2.0],
            "level": 0.25,
            "domain": FreeSpace(3, 10.0),
        },
        {
            "kind": ["expectile"],
            "X": [
                sparse_in([1.0, 2.0, next_to(3.0)], [(0, 0), (1, 1), (2, 2)]),
                sparse_in([1.0, 2.0, 3.0], [(0, 0), (2, 1), (2, 2)]),
                sparse_in([1.0, 2.0, 3.0], [(0, 0), (1, 2), (2, 2)]),
            ],
            "y": [ulp([1.0, 2.0, 2.0], 2), [2.0, 1.0, 2.0]],
            "level": [next_to(0.25), None],
            "sample_weight": [[1.0, 1.0, next_to(1.0)], [1.0, 0.0, 1.0]],
            "domain": [FreeSpace(3, next_to(10.0)), None],
        },
        {"width": "is of another kind"},
    ),
    LagrangianOracle: Case(
        LagrangianOracle,
        {"solve": solve, "rhs": [1.0, 2.0], "inequality": [True, False], "maximize": False, "radius": 1e4},
        {
            "solve": [lambda u: RelaxedSolution(1.0, np.zeros(2))],
            "rhs": [ulp([1.0, 2.0]), [2.0, 1.0]],
            "inequality": [[False, True], True, False],
            "maximize": [True],
            "radius": [next_to(1e4)],
            "domain": [NonnegativeOrthant(2, 1e4)],
            "name": ["other"],
        },
        WORKERS | {"examine": "examines answers, and is no part of them"},
    ),
    HeldKarpOracle: Case(
        HeldKarpOracle,
        {"distances": KERNELS[2], "special": 0},
        {"distances": [ulp(KERNELS[2], (0, 3), (3, 0)), KERNELS[1]], "special": [1], "radius": [1.0]},
    ),
    GeneralizedAssignmentOracle: Case(
        GeneralizedAssignmentOracle,
        {"costs": [[1, 2, 3.0], [4, 4, 1]], "uses": [[2, 2, 2], [1, 1, 1]], "capacities": [3, 2]},
        {
            "costs": [ulp([[1, 2, 3.0], [4, 4, 1]], (0, 0))],
            "uses": [[[2, 2, 2], [1, 1, 2]]],
            "capacities": [[3, 3]],
            "maximize": [True],
            "multicut": [True],
            "radius": [1.0],
        },
        WORKERS,
    ),
    FacilityLocationOracle: Case(
        FacilityLocationOracle,
        {"opening": [2.0, 2.0], "costs": [[1, 1, 5.0], [5, 2, 1]]},
        {"opening": [ulp([2.0, 2.0], 1)], "costs": [ulp([[1, 1, 5.0], [5, 2, 1]], (0, 2))], "multicut": [True]},
    ),
    MulticommodityFlowOracle: Case(
        MulticommodityFlowOracle,
        {
            "arcs": [[0, 1], [0, 2], [2, 1], [1, 2]],
            "costs": [1.0, 2, 2, 2],
            "capacities": [1.0, 9, 9, np.inf],
            "commodities": [[0, 1], [2, 1]],
            "demands": [2.0, 1.0],
        },
        {
            "arcs": [[[0, 1], [0, 2], [2, 1], [1, 0]]],
            "costs": [ulp([1.0, 2, 2, 2], 3)],
            "capacities": [ulp([1.0, 9, 9, np.inf], 1), [1.0, 9, np.inf, 9]],
            "commodities": [[[0, 1], [0, 2]]],
            "demands": [ulp([2.0, 1.0], 1)],
            "multicut": [True],
            "radius": [3.0],
        },
        WORKERS,
    ),
    CvxpyOracle: Case(
        CvxpyOracle,
        {"problem": of_cvxpy(), "domain": Box([-1, -1], [1, 1])},
        {
            "problem": [
                of_cvxpy(bound=next_to(1.0)),
                of_cvxpy(nonneg=True),
                of_cvxpy(offset=5e-324),
                of_cvxpy(power=4.0),
                of_cvxpy(constant=ulp([1.0, 2.0], 1)),
            ],
            "domain": [Box([-1, -1], [1, next_to(1.0)]), None],
            "solver": ["SCS"],
            "options": [{"max_iter": 100}, {"max_iter": 101}],
            "accuracy": [next_to(1e-8)],
        },
        {"parameters": "fixed and reordered parameters have tests of their own below", "radius": "so has it"},
    ),
}
