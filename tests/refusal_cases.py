"""The right call of every public constructor, and what its parameters take besides."""

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import get_args

import cvxpy as cp
import numpy as np
from sklearn.gaussian_process.kernels import RBF

import oracle_opt
import oracle_opt.generators as G
import oracle_opt.oracles as O
import oracle_opt.oracles.svm as S
import oracle_opt.study as T
from oracle_opt import Box, FreeSpace, FunctionOracle, Simplex, minimize
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import GramBank

RNG = np.random.default_rng(0)


def square(z):
    return float(z @ z), 2 * z


ORACLE = FunctionOracle(square, Simplex(3))
RESULT = minimize(ORACLE, G.Kelley(), max_calls=5)
LABELS = np.tile([1.0, -1.0], 4)
KERNELS = [np.outer(v, v) + np.eye(8) for v in RNG.normal(size=(3, 8))]
BANK = GramBank(KERNELS)
DISTANCES = [np.abs(np.subtract.outer(v, v)) for v in RNG.normal(size=(3, 8))]
VARIABLE, PARAMETER = cp.Variable(2), cp.Parameter(2)
PROGRAM = cp.Problem(cp.Minimize(cp.sum_squares(VARIABLE - PARAMETER)), [VARIABLE >= 0])
TWO_STAGE = O.TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], x_upper=10)

POINTS = RNG.normal(size=(8, 2))
MKL = O.MKLOracle(O.uci_bank(POINTS), LABELS)
MKL_RESULT = minimize(MKL, G.LevelSet(), max_calls=3)

SMALL = Dataset("small", POINTS, LABELS, ("a", "b"), "drawn", "here")


def compare(
    datasets,
    max_calls=2,
    seed=0,
    splits=1,
    train=0.7,
    C=100.0,
    single_cut=False,
    executor=None,
    jobs=1,
    progress=False,
    log=False,
):
    """Compare in a folder of its own."""
    options = {"max_calls": max_calls, "seed": seed, "splits": splits, "train": train, "C": C}
    options |= {"single_cut": single_cut, "executor": executor, "jobs": jobs, "progress": progress, "log": log}
    with tempfile.TemporaryDirectory() as folder:
        return T.compare(datasets, ["fixed-point"], folder, **options)


# Each kind of thing under the name by which a row of the table says that a parameter takes it.
THINGS = {
    "none": None,
    "bool": True,
    "number": 2.5,
    "negative": -1,
    "text": "word",
    "class": G.Kelley,
    "function": square,
    "dict": {"a": 1.0},
    "list": [object()],
    "object": object(),
    "result": RESULT,
    "generator": G.Kelley(),
    "cvxpy": PROGRAM,
    "complex": 1j,
    "nan": float("nan"),
}


@dataclass(frozen=True)
class Case:
    """A call that is right, and what its parameters take besides: names of THINGS, by parameter."""

    make: Callable[..., object]
    right: dict[str, object] = field(default_factory=dict)
    takes: dict[str, str] = field(default_factory=dict)
    skips: tuple[str, ...] = ()


def by_signature(kind: type) -> Case:
    """What a constructor takes whose parameters all have defaults, as its annotations tell.

    A number whose default lies between 0 and 1 is a share: 2.5 is none.
    """
    takes = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        told_as = parameter.annotation
        words = told_as if isinstance(told_as, str) else inspect.formatannotation(told_as)
        kinds = {word.strip() for word in words.split("|")}
        kinds |= {"None" for kind in get_args(told_as) if kind is type(None)}
        share = isinstance(parameter.default, float) and 0.0 < parameter.default < 1.0
        told = {"bool": FLAG, "float": "" if share else NUMBER, "str": "text", "None": "none"}
        takes[name] = " ".join(told.get(one, "") for one in sorted(kinds)).strip()
    return Case(kind, {}, takes)


FLAG, NUMBER, ARRAY = "bool", "number", "number bool negative nan"
SIGNED = "number negative"
# What parameters of these names take wherever a case says nothing else of them.
USUAL = {
    **dict.fromkeys(
        ["radius", "upper", "tolerance", "rtol", "atol", "accuracy", "C", "epsilon", "quantile", "p", "weight"], NUMBER
    ),
    **dict.fromkeys(
        [
            "center",
            "domain",
            "P",
            "executor",
            "names",
            "parameters",
            "class_weight",
            "regularizer",
            "max_solves",
            "memory_limit",
        ],
        "none",
    ),
    "lower": "negative",
    **dict.fromkeys(
        [
            "promised",
            "keep_cuts",
            "journal_check",
            "progress",
            "check",
            "tune_accuracy",
            "multicut",
            "maximize",
            "each",
        ],
        FLAG,
    ),
    "name": "text none",
    "generator": "generator",
    **dict.fromkeys(["max_seconds", "loss", "scale"], "none number"),
    "callback": "none class function",
    "log": "bool function class",
    "solve": "function class",
    "offset": SIGNED,
    "hold_rows": "none bool",
}
CASES = {
    # domains
    "Ball": Case(oracle_opt.Ball, {"dimension": 3}),
    "Box": Case(Box, {"lower": [0.0, 0.0], "upper": [1.0, 1.0]}),
    "FreeSpace": Case(FreeSpace, {"dimension": 3, "radius": 9.0}),
    "NonnegativeOrthant": Case(oracle_opt.NonnegativeOrthant, {"dimension": 3}),
    "Polyhedron": Case(
        oracle_opt.Polyhedron,
        {"A": [[1.0, 1.0]], "b": [1.0], "lower": [0.0, 0.0], "upper": [1.0, 1.0]},
        {"A": "none", "equality_matrix": "none", "equality_rhs": "none", "tighten": FLAG},
    ),
    "ProductOfSimplices": Case(oracle_opt.ProductOfSimplices, {"sizes": [2, 3]}),
    "Simplex": Case(Simplex, {"dimension": 3}),
    # the core
    "QuadraticTerm": Case(
        oracle_opt.QuadraticTerm,
        {"center": [0.0, 0.0], "diagonal": [1.0, 1.0], "factor": np.eye(2)},
        {"weight": NUMBER, "diagonal": "none", "factor": "none"},
    ),
    "L1Term": Case(oracle_opt.L1Term, {"weight": [0.5, 0.5]}, {"weight": NUMBER}),
    "FunctionOracle": Case(
        FunctionOracle,
        {"function": square, "domain": Simplex(3)},
        {
            "function": "function class",
            "domain": "",
            "convex": FLAG,
            "prove_cut": "none class function",
            "prove_value": "none class function",
        },
    ),
    "minimize": Case(
        minimize,
        {"oracle": ORACLE, "generator": G.Kelley(), "max_calls": 2},
        {"generator": "none generator", "point": "none", "gtol": "none number", "first": FLAG},
        skips=("journal",),
    ),
    # generators
    "choose_generator": Case(G.choose_generator, {"oracle": ORACLE}),
    "explain_choice": Case(G.explain_choice, {"oracle": ORACLE}),
    "LevelSet": Case(G.LevelSet, {}, by_signature(G.LevelSet).takes | {"target": "none " + SIGNED}),
    "ActiveSet": Case(G.ActiveSet, {"generator": G.LevelSet()}),
    "AnalyticCenter": Case(
        G.AnalyticCenter,
        takes={"epigraph": FLAG, "upper_weight": "none number", "domain_weight": NUMBER, "proximal": NUMBER},
    ),
    "ForeignSolver": Case(G.ForeignSolver, {"solve": square}, {"cuts": FLAG, "prove": FLAG}),
    "TrustRegion": Case(G.TrustRegion, takes={"norm": "text"}),
    # cones
    "Zero": Case(O.Zero, {"dimension": 3}),
    "Nonnegative": Case(O.Nonnegative, {"dimension": 3}),
    "SecondOrder": Case(O.SecondOrder, {"dimension": 3}),
    "PositiveSemidefinite": Case(O.PositiveSemidefinite, {"order": 3}),
    "Power": Case(O.Power, {"exponent": 0.3}),
    "ConicProblem": Case(O.ConicProblem, {"c": [1.0], "A": [[1.0]], "b": [1.0], "cones": [O.Nonnegative(1)]}),
    "ConicProblem.from_data": Case(
        O.ConicProblem.from_data,
        {"data": cp.Problem(cp.Minimize(cp.sum(VARIABLE)), [VARIABLE >= 0]).get_problem_data(cp.SCS)[0]},
        {"triangle": "none"},
    ),
    "ConicOracle": Case(
        O.ConicOracle,
        {"c": [1.0], "A": [[1.0]], "b": [1.0], "cones": [O.Nonnegative(1)]},
        {"recover": "none class function", "radius": "none number"},
    ),
    "SemiInfiniteOracle": Case(
        O.SemiInfiniteOracle,
        {"objective": [1.0, 1.0, 1.0], "separate": square, "domain": Simplex(3)},
        {"objective": "function class", "separate": "function class", "domain": "", "missed": NUMBER},
    ),
    "ConicOracle.from_cvxpy": Case(
        O.ConicOracle.from_cvxpy,
        {"problem": cp.Problem(cp.Minimize(cp.sum(VARIABLE)), [VARIABLE >= 0])},
        {"radius": "none number", "gp": "bool"},  # True asks for a geometric program, which this is not
    ),
    "settle": Case(
        T.settle, {"oracle": O.ConicOracle([1.0], [[-1.0]], [1.0], [O.Nonnegative(1)]), "generator": G.Kelley()}
    ),
    # other oracles
    "BendersOracle": Case(
        O.BendersOracle,
        {"problem": TWO_STAGE},
        {"n_samples": "none", "n_summands": "none", "parts": "none", "warm": "none", "risk": "none"},
    ),
    "TwoStageProblem": Case(
        O.TwoStageProblem,
        {
            "c": [1.0],
            "q": [-3.0],
            "T": [[-1.0], [0.0]],
            "W": [[1.0], [1.0]],
            "row_lower": -np.inf,
            "row_upper": [0.0, 2.0],
        },
        {
            "row_lower": SIGNED,
            "row_upper": SIGNED,
            "A": "none",
            "first_lower": "none number negative",
            "first_upper": "none number negative",
            "x_lower": SIGNED,
            "x_upper": SIGNED,
            "y_lower": SIGNED,
            "y_upper": SIGNED,
            "row_names": "none",
            "column_names": "none",
            "first_row_names": "none",
            "sections": "none",
        },
    ),
    "CVaR": Case(O.CVaR, {"level": 0.9}),
    "RandomBlock": Case(
        O.RandomBlock,
        {"probabilities": [0.5, 0.5], "rows": [0], "rhs": [[1.0], [2.0]]},
        {"rhs": "none", "cost": "none", "technology": "none", "recourse": "none", "name": "text"},
        skips=("total", "cost_columns", "technology_entries", "recourse_entries", "rows"),
    ),
    "CvxpyOracle": Case(
        O.CvxpyOracle, {"problem": PROGRAM}, {"problem": "cvxpy", "options": "none dict", "accuracy": ""}
    ),
    "MaxEigenvalueOracle": Case(
        O.MaxEigenvalueOracle, {"C": np.eye(3), "A": [np.eye(3)], "b": [1.0]}, {"C": "", "trace": NUMBER}
    ),
    "Composite": Case(O.Composite, {"oracle": ORACLE, "known": oracle_opt.L1Term(1.0)}, {"domain": "none class"}),
    "RiskOracle": Case(
        O.RiskOracle,
        {"kind": "expectile", "X": POINTS, "y": LABELS},
        {"X": "", "level": "none", "width": "none", "sample_weight": "none"},
    ),
    "LagrangianOracle": Case(
        O.LagrangianOracle, {"solve": square, "rhs": [1.0, 2.0]}, {"inequality": FLAG, "examine": "none class function"}
    ),
    "FacilityLocationOracle": Case(O.FacilityLocationOracle, {"opening": [1.0, 1.0], "costs": np.ones((2, 3))}),
    "GeneralizedAssignmentOracle": Case(
        O.GeneralizedAssignmentOracle,
        {"costs": np.ones((2, 3)), "uses": np.ones((2, 3)), "capacities": [3.0, 3.0]},
        {"radius": "none number"},
    ),
    "HeldKarpOracle": Case(O.HeldKarpOracle, {"distances": 1.0 - np.eye(4)}, {"radius": "none number"}),
    "MulticommodityFlowOracle": Case(
        O.MulticommodityFlowOracle,
        {"arcs": [[0, 1]], "costs": [1.0], "capacities": [9.0], "commodities": [[0, 1]], "demands": [1.0]},
        {"radius": "none number"},
    ),
    # losses, regularizers and the oracles of multiple kernel learning
    "Hinge": Case(S.Hinge),
    "SquaredHinge": Case(S.SquaredHinge),
    "Logistic": Case(S.Logistic),
    "SmoothedHinge": Case(S.SmoothedHinge, {}, {"width": NUMBER}),
    "WeightedLoss": Case(S.WeightedLoss, {"loss": S.Huber(), "weights": [1.0, 2.0]}, {"loss": "", "weights": NUMBER}),
    "EpsilonInsensitive": Case(S.EpsilonInsensitive),
    "SquaredEpsilonInsensitive": Case(S.SquaredEpsilonInsensitive),
    "AsymmetricEpsilonInsensitive": Case(S.AsymmetricEpsilonInsensitive, {}, {"below": NUMBER, "above": NUMBER}),
    "Pinball": Case(S.Pinball),
    "Huber": Case(S.Huber, {}, {"delta": NUMBER}),
    "LeastSquares": Case(S.LeastSquares),
    "OneClass": Case(S.OneClass, {}, {"weights": "none"}),
    "LpRegularizer": Case(O.LpRegularizer, {"p": 1.5}, {"power": NUMBER}),
    "ElasticNet": Case(O.ElasticNet, {}, {"linear": NUMBER, "quadratic": NUMBER}),
    "EntropyRegularizer": Case(O.EntropyRegularizer, {}, {"reference": NUMBER}),
    "MKLOracle": Case(O.MKLOracle, {"bank": BANK, "y": LABELS}, {"C": "none number"}),
    "GMKLOracle": Case(O.GMKLOracle, {"bank": BANK, "y": LABELS}, {"C": "none number"}),
    "SharedWeightsOracle": Case(O.SharedWeightsOracle, {"machines": [O.MKLOracle(BANK, LABELS)]}),
    "KernelMachine": Case(O.KernelMachine, {"bank": BANK, "y": LABELS}, {"C": "none number"}),
    "KernelWeightsOracle": Case(
        O.KernelWeightsOracle,
        {"machines": [O.KernelMachine(BANK, LABELS)], "weights": O.Groups(BANK.n_kernels)},
        {"accuracy": "none number"},
    ),
    "Groups": Case(O.Groups, {"n_kernels": 3}, {"groups": "none"}),
    "Regularized": Case(O.Regularized, {"n_kernels": 3, "regularizer": O.LpRegularizer(2.0)}, {"regularizer": ""}),
    "MixedNormOracle": Case(
        O.MixedNormOracle, {"bank": BANK, "y": LABELS, "groups": [[0, 1], [2]]}, {"C": "none number"}
    ),
    "solve_mkl": Case(
        O.solve_mkl,
        {"bank": BANK, "y": LABELS, "max_calls": 1},
        {"C": "none number", "solver": "none"},
        skips=("journal",),
    ),
    "solve_lp_mkl": Case(
        S.solve_lp_mkl, {"bank": BANK, "y": LABELS, "max_calls": 1}, {"lam": NUMBER, "solver": "none"}
    ),
    "SMOMKL": Case(O.SMOMKL, {}, {"working_points": "none"}),
    "NewtonMKL": Case(O.NewtonMKL, {}, {"fallback": "none"}),
    "solve_svm": Case(
        S.solve_svm, {"K": np.eye(8), "y": LABELS}, {"loss": "none", "start": "none", "tolerance": "none number"}
    ),
    "solve_csvc": Case(S.solve_csvc, {"K": np.eye(8), "y": LABELS}, {"start": "none", "tolerance": "none number"}),
    "MKLOracle.decision_function": Case(
        MKL.decision_function, {"cut": MKL_RESULT.cut, "new": np.ones((3, 2))}, skips=("self",)
    ),
    "MKLOracle.predict": Case(MKL.predict, {"cut": MKL_RESULT.cut, "new": np.ones((3, 2))}),
    # kernels
    "GramBank": Case(GramBank, {"kernels": KERNELS}, {"normalize": FLAG}, skips=("dtype",)),
    "Bank": Case(O.Bank, {"source": BANK}, {"kernels": "none", "points": "none"}),
    "ProductBank": Case(O.ProductBank, {"distances": DISTANCES}),
    "SubsetBank": Case(
        O.SubsetBank,
        {"X": RNG.normal(size=(8, 2)), "features": [[0, 1], [1]], "widths": [1.0, 2.0]},
        {"widths": NUMBER},
    ),
    "SubsetBank.random": Case(O.SubsetBank.random, {"X": RNG.normal(size=(8, 2)), "n_kernels": 5}, {"largest": "none"}),
    "RBFBank": Case(
        O.RBFBank, {"X": RNG.normal(size=(8, 2)), "features": [[0, 1]], "widths": [[1.0, 2.0]]}, skips=("dtype",)
    ),
    "ShardedBank": Case(O.ShardedBank, {"bank": BANK}),
    "PolynomialBank": Case(O.PolynomialBank, {"X": RNG.normal(size=(8, 2)), "features": [[0, 1]], "degrees": [[1, 2]]}),
    "GaussianKernels": Case(O.GaussianKernels, {"widths": [1.0, 2.0]}, {"widths": "none number", "n_pairs": "none"}),
    "MetricKernel": Case(O.MetricKernel, {"metric": "laplacian"}),
    "FunctionKernel": Case(
        O.FunctionKernel, {"function": square}, {"function": "function", "exactness": "none number"}
    ),
    "SklearnKernel": Case(O.SklearnKernel, {"kernel": RBF(1.0)}),
    "PrecomputedKernels": Case(O.PrecomputedKernels, {"kernels": KERNELS}),
    "PolynomialKernels": Case(O.PolynomialKernels, {"degrees": [1, 2]}, {"constant": NUMBER}),
    "KernelList": Case(
        O.KernelList,
        {"kernels": [O.GaussianKernels()]},
        {"standardize": FLAG, "on_the_fly": FLAG},
        skips=("normalize", "dtype"),
    ),
    "JoinedBank": Case(O.JoinedBank, {"banks": [BANK, BANK]}, {"prepare": "none class function", "labels": "none"}),
    "uci_bank_on_the_fly": Case(O.uci_bank_on_the_fly, {"X": RNG.normal(size=(8, 2))}, skips=("dtype",)),
    "simplemkl_bank": Case(O.simplemkl_bank, {"X": RNG.normal(size=(8, 2))}, skips=("dtype",)),
    "uci_bank": Case(O.uci_bank, {"X": RNG.normal(size=(8, 2))}, skips=("dtype",)),
    # studies
    "Limits": Case(T.Limits, takes={"seconds": "none number"}),
    "Study": Case(
        T.Study,
        {"instances": {"own": ORACLE}, "generators": ["kelley"]},
        {"limits": "none", "keep_points": FLAG, "verify": FLAG},
    ),
    "compare": Case(compare, {"datasets": [SMALL]}, {"C": "none number", "single_cut": FLAG, "jobs": "none"}),
}
# generators and solvers whose parameters all have defaults need no line here
CASES |= {
    name: by_signature(getattr(G, name))
    for name in G.__all__
    if name not in CASES and inspect.isclass(getattr(G, name))
}
