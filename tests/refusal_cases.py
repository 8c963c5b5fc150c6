"""The right call of every public constructor, and what its parameters take besides."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

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
        share = isinstance(parameter.default, float) and 0.0 < parameter.default < 1.0
        told = {"bool": FLAG, "float": "" if share else NUMBER, "str": "text", "None": "none"}
        takes[name] = " ".join(told.get(one, "") for one in sorted(kinds)).strip()
    return Case(kind, {}, takes)


FLAG, NUMBER, ARRAY = "bool", "number", "number bool negative nan"
SIGNED = "number negative"
CASES = {
    # domains
    "Ball": Case(oracle_opt.Ball, {"dimension": 3}, {"radius": NUMBER, "center": "none"}),
    "Box": Case(
        Box, {"lower": [0.0, 0.0], "upper": [1.0, 1.0]}, {"promised": FLAG, "lower": "negative", "upper": NUMBER}
    ),
    "FreeSpace": Case(FreeSpace, {"dimension": 3, "radius": 9.0}, {"radius": NUMBER, "center": "none"}),
    "NonnegativeOrthant": Case(oracle_opt.NonnegativeOrthant, {"dimension": 3}, {"radius": NUMBER}),
    "Polyhedron": Case(
        oracle_opt.Polyhedron,
        {"A": [[1.0, 1.0]], "b": [1.0], "lower": [0.0, 0.0], "upper": [1.0, 1.0]},
        {
            "A": "none",
            "b": "",
            "equality_matrix": "none",
            "equality_rhs": "none",
            "lower": "negative",
            "upper": NUMBER,
            "center": "none",
            "tighten": FLAG,
            "promised": FLAG,
        },
    ),
    "ProductOfSimplices": Case(oracle_opt.ProductOfSimplices, {"sizes": [2, 3]}, {"radius": NUMBER}),
    "Simplex": Case(Simplex, {"dimension": 3}, {"radius": NUMBER}),
    # the core
    "FunctionOracle": Case(
        FunctionOracle,
        {"function": square, "domain": Simplex(3)},
        {
            "function": "function class",
            "tolerance": NUMBER,
            "convex": FLAG,
            "name": "none text",
            "prove_cut": "none function class",
            "prove_value": "none function class",
        },
    ),
    "minimize": Case(
        minimize,
        {"oracle": ORACLE, "generator": G.Kelley(), "max_calls": 2},
        {
            "generator": "none generator",
            "point": "none",
            "rtol": NUMBER,
            "atol": NUMBER,
            "gtol": "none number",
            "max_calls": "",
            "max_seconds": "none number",
            "keep_cuts": FLAG,
            "journal": "none text",
            "journal_check": FLAG,
            "callback": "none function class",
            "first": FLAG,
            "progress": FLAG,
            "log": "bool function class",
            "check": FLAG,
        },
        skips=("journal",),
    ),
    # generators
    "choose_generator": Case(G.choose_generator, {"oracle": ORACLE}),
    "explain_choice": Case(G.explain_choice, {"oracle": ORACLE}),
    "LevelSet": Case(G.LevelSet, {}, by_signature(G.LevelSet).takes | {"target": "none " + SIGNED}),
    "ActiveSet": Case(G.ActiveSet, {"generator": G.LevelSet()}, {"generator": "generator"}),
    "AnalyticCenter": Case(
        G.AnalyticCenter,
        takes={
            "epigraph": FLAG,
            "upper_weight": "none number",
            "domain_weight": NUMBER,
            "proximal": NUMBER,
            "tune_accuracy": FLAG,
        },
    ),
    "ForeignSolver": Case(G.ForeignSolver, {"solve": square}, {"solve": "function class", "cuts": FLAG, "prove": FLAG}),
    "TrustRegion": Case(G.TrustRegion, takes={"norm": "text", "radius": NUMBER, "tune_accuracy": FLAG}),
    # cones
    "Zero": Case(O.Zero, {"dimension": 3}),
    "Nonnegative": Case(O.Nonnegative, {"dimension": 3}),
    "SecondOrder": Case(O.SecondOrder, {"dimension": 3}),
    "PositiveSemidefinite": Case(O.PositiveSemidefinite, {"order": 3}),
    "Power": Case(O.Power, {"exponent": 0.3}),
    "ConicProblem": Case(
        O.ConicProblem,
        {"c": [1.0], "A": [[1.0]], "b": [1.0], "cones": [O.Nonnegative(1)]},
        {"P": "none", "offset": SIGNED},
    ),
    "ConicProblem.from_data": Case(
        O.ConicProblem.from_data,
        {"data": cp.Problem(cp.Minimize(cp.sum(VARIABLE)), [VARIABLE >= 0]).get_problem_data(cp.SCS)[0]},
        {"triangle": "none", "offset": SIGNED},
    ),
    "ConicOracle": Case(
        O.ConicOracle,
        {"c": [1.0], "A": [[1.0]], "b": [1.0], "cones": [O.Nonnegative(1)]},
        {
            "P": "none",
            "offset": SIGNED,
            "domain": "none",
            "multicut": FLAG,
            "hold_rows": "none bool",
            "tolerance": NUMBER,
            "recover": "none function class",
        },
    ),
    "SemiInfiniteOracle": Case(
        O.SemiInfiniteOracle,
        {"objective": [1.0, 1.0, 1.0], "separate": square, "domain": Simplex(3)},
        {
            "objective": "function class",
            "separate": "function class",
            "tolerance": NUMBER,
            "missed": NUMBER,
            "name": "none text",
        },
    ),
    "ConicOracle.from_cvxpy": Case(
        O.ConicOracle.from_cvxpy,
        {"problem": cp.Problem(cp.Minimize(cp.sum(VARIABLE)), [VARIABLE >= 0])},
        {"domain": "none", "multicut": FLAG, "hold_rows": "none bool", "tolerance": NUMBER, "problem": ""},
    ),
    "settle": Case(
        T.settle,
        {"oracle": O.ConicOracle([1.0], [[-1.0]], [1.0], [O.Nonnegative(1)]), "generator": G.Kelley()},
        {"generator": "generator", "rtol": NUMBER, "max_seconds": "none number"},
    ),
    # other oracles
    "BendersOracle": Case(
        O.BendersOracle,
        {"problem": TWO_STAGE},
        dict.fromkeys(("n_samples", "n_summands", "executor", "parts", "warm"), "none") | {"radius": NUMBER},
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
            **dict.fromkeys(("x_lower", "x_upper", "y_lower", "y_upper", "offset"), SIGNED),
            "names": "none",
            "row_names": "none",
            "column_names": "none",
            "first_row_names": "none",
            "maximize": FLAG,
            "sections": "none",
        },
    ),
    "RandomBlock": Case(
        O.RandomBlock,
        {"probabilities": [0.5, 0.5], "rows": [0], "rhs": [[1.0], [2.0]]},
        {"rhs": "none", "cost": "none", "technology": "none", "recourse": "none", "name": "text"},
        skips=("cost_columns", "technology_entries", "recourse_entries", "rows"),
    ),
    "CvxpyOracle": Case(
        O.CvxpyOracle,
        {"problem": PROGRAM},
        {"problem": "cvxpy", "parameters": "none", "domain": "none", "radius": NUMBER, "options": "none dict"},
    ),
    "MaxEigenvalueOracle": Case(
        O.MaxEigenvalueOracle,
        {"C": np.eye(3), "A": [np.eye(3)], "b": [1.0]},
        {"trace": NUMBER, "domain": "none", "within": "", "lanczos_from": ""},
    ),
    "LagrangianOracle": Case(
        O.LagrangianOracle,
        {"solve": square, "rhs": [1.0, 2.0]},
        {
            "solve": "function class",
            "inequality": FLAG,
            "maximize": FLAG,
            "radius": NUMBER,
            "domain": "none",
            "name": "none text",
            "executor": "none",
            "examine": "none function class",
        },
    ),
    "FacilityLocationOracle": Case(
        O.FacilityLocationOracle, {"opening": [1.0, 1.0], "costs": np.ones((2, 3))}, {"multicut": FLAG}
    ),
    "GeneralizedAssignmentOracle": Case(
        O.GeneralizedAssignmentOracle,
        {"costs": np.ones((2, 3)), "uses": np.ones((2, 3)), "capacities": [3.0, 3.0]},
        {"maximize": FLAG, "multicut": FLAG, "radius": "none number", "executor": "none"},
    ),
    "HeldKarpOracle": Case(O.HeldKarpOracle, {"distances": 1.0 - np.eye(4)}, {"radius": "none number"}),
    "MulticommodityFlowOracle": Case(
        O.MulticommodityFlowOracle,
        {"arcs": [[0, 1]], "costs": [1.0], "capacities": [9.0], "commodities": [[0, 1]], "demands": [1.0]},
        {"multicut": FLAG, "radius": "none number", "executor": "none"},
    ),
    # losses, regularizers and the oracles of multiple kernel learning
    "Hinge": Case(S.Hinge, {}, {"C": NUMBER, "class_weight": "none"}),
    "SquaredHinge": Case(S.SquaredHinge, {}, {"C": NUMBER, "class_weight": "none"}),
    "Logistic": Case(S.Logistic, {}, {"C": NUMBER, "class_weight": "none"}),
    "SmoothedHinge": Case(S.SmoothedHinge, {}, {"C": NUMBER, "width": NUMBER, "class_weight": "none"}),
    "WeightedLoss": Case(S.WeightedLoss, {"loss": S.Huber(), "weights": [1.0, 2.0]}, {"weights": NUMBER}),
    "EpsilonInsensitive": Case(S.EpsilonInsensitive, {}, {"C": NUMBER, "epsilon": NUMBER}),
    "SquaredEpsilonInsensitive": Case(S.SquaredEpsilonInsensitive, {}, {"C": NUMBER, "epsilon": NUMBER}),
    "AsymmetricEpsilonInsensitive": Case(
        S.AsymmetricEpsilonInsensitive, {}, {"C": NUMBER, "below": NUMBER, "above": NUMBER, "quantile": NUMBER}
    ),
    "Pinball": Case(S.Pinball, {}, {"C": NUMBER, "quantile": NUMBER}),
    "Huber": Case(S.Huber, {}, {"C": NUMBER, "delta": NUMBER}),
    "LeastSquares": Case(S.LeastSquares, {}, {"C": NUMBER}),
    "OneClass": Case(S.OneClass, {}, {"weights": "none"}),
    "LpRegularizer": Case(O.LpRegularizer, {"p": 1.5}, {"p": NUMBER, "weight": NUMBER, "power": NUMBER}),
    "ElasticNet": Case(O.ElasticNet, {}, {"linear": NUMBER, "quadratic": NUMBER}),
    "EntropyRegularizer": Case(O.EntropyRegularizer, {}, {"weight": NUMBER, "reference": NUMBER}),
    "MKLOracle": Case(
        O.MKLOracle, {"bank": BANK, "y": LABELS}, {"accuracy": NUMBER, "loss": "none number", "C": "none number"}
    ),
    "GMKLOracle": Case(
        O.GMKLOracle,
        {"bank": BANK, "y": LABELS},
        {"accuracy": NUMBER, "loss": "none number", "C": "none number", "regularizer": "none", "radius": NUMBER},
    ),
    "SharedWeightsOracle": Case(
        O.SharedWeightsOracle,
        {"machines": [O.MKLOracle(BANK, LABELS)]},
        {"regularizer": "none", "radius": NUMBER},
    ),
    "KernelMachine": Case(
        O.KernelMachine,
        {"bank": BANK, "y": LABELS},
        {"accuracy": NUMBER, "loss": "none number", "C": "none number"},
    ),
    "KernelWeightsOracle": Case(
        O.KernelWeightsOracle,
        {"machines": [O.KernelMachine(BANK, LABELS)], "weights": O.Groups(BANK.n_kernels)},
        {"accuracy": "none number", "max_solves": "none"},
    ),
    "Groups": Case(O.Groups, {"n_kernels": 3}, {"groups": "none"}),
    "Regularized": Case(O.Regularized, {"n_kernels": 3, "regularizer": O.LpRegularizer(2.0)}, {"radius": NUMBER}),
    "MixedNormOracle": Case(
        O.MixedNormOracle,
        {"bank": BANK, "y": LABELS, "groups": [[0, 1], [2]]},
        {"accuracy": NUMBER, "loss": "none number", "C": "none number", "max_solves": "none"},
    ),
    "solve_mkl": Case(
        O.solve_mkl,
        {"bank": BANK, "y": LABELS, "max_calls": 1},
        {
            "loss": "none number",
            "C": "none number",
            "regularizer": "none",
            "rtol": NUMBER,
            "atol": NUMBER,
            "solver": "none",
            "max_seconds": "none number",
            "keep_cuts": FLAG,
            "journal": "none text",
            "journal_check": FLAG,
            "callback": "none function class",
            "progress": FLAG,
            "log": "bool function class",
            "check": FLAG,
        },
        skips=("journal",),
    ),
    "solve_lp_mkl": Case(
        S.solve_lp_mkl,
        {"bank": BANK, "y": LABELS, "max_calls": 1},
        {"C": NUMBER, "p": NUMBER, "lam": NUMBER, "rtol": NUMBER, "solver": "none", "max_seconds": "none number"}
        | {"check": FLAG, "log": "bool function class"},
    ),
    "SMOMKL": Case(O.SMOMKL, {}, {"working_points": "none", "rtol": NUMBER}),
    "NewtonMKL": Case(O.NewtonMKL, {}, {"fallback": "none", "rtol": NUMBER}),
    "solve_svm": Case(
        S.solve_svm,
        {"K": np.eye(8), "y": LABELS},
        {"loss": "none", "accuracy": NUMBER, "start": "none", "tolerance": "none number", "check": FLAG},
    ),
    "solve_csvc": Case(
        S.solve_csvc,
        {"K": np.eye(8), "y": LABELS},
        {"C": NUMBER, "accuracy": NUMBER, "start": "none", "tolerance": "none number", "check": FLAG},
    ),
    "MKLOracle.decision_function": Case(
        MKL.decision_function, {"cut": MKL_RESULT.cut, "new": np.ones((3, 2))}, skips=("self",)
    ),
    "MKLOracle.predict": Case(MKL.predict, {"cut": MKL_RESULT.cut, "new": np.ones((3, 2))}),
    # kernels
    "GramBank": Case(
        GramBank, {"kernels": KERNELS}, {"normalize": FLAG, "memory_limit": "none", "check": FLAG}, skips=("dtype",)
    ),
    "Bank": Case(O.Bank, {"source": BANK}, {"kernels": "none", "points": "none"}),
    "ProductBank": Case(O.ProductBank, {"distances": DISTANCES}, {"check": FLAG}),
    "RBFBank": Case(
        O.RBFBank,
        {"X": RNG.normal(size=(8, 2)), "features": [[0, 1]], "widths": [[1.0, 2.0]]},
        {"scale": "none number"},
        skips=("dtype",),
    ),
    "ShardedBank": Case(O.ShardedBank, {"bank": BANK}, {"executor": "none"}),
    "SubsetBank": Case(
        O.SubsetBank,
        {"X": RNG.normal(size=(8, 2)), "features": [[0, 1], [1]], "widths": [1.0, 2.0]},
        {"scale": "none number", "widths": NUMBER},
    ),
    "SubsetBank.random": Case(
        O.SubsetBank.random,
        {"X": RNG.normal(size=(8, 2)), "n_kernels": 5},
        {"largest": "none", "scale": "none number"},
    ),
    "PolynomialBank": Case(
        O.PolynomialBank,
        {"X": RNG.normal(size=(8, 2)), "features": [[0, 1]], "degrees": [[1, 2]]},
        {"scale": "none number"},
    ),
    "GaussianKernels": Case(
        O.GaussianKernels, {"widths": [1.0, 2.0]}, {"widths": "number none", "each": "bool", "n_pairs": "none"}
    ),
    "MetricKernel": Case(O.MetricKernel, {"metric": "laplacian"}, {"parameters": "none", "each": "bool"}),
    "FunctionKernel": Case(
        O.FunctionKernel,
        {"function": square},
        {"function": "function", "name": "text none", "exactness": "number none", "each": "bool"},
    ),
    "SklearnKernel": Case(O.SklearnKernel, {"kernel": RBF(1.0)}, {"name": "text none", "each": "bool"}),
    "PrecomputedKernels": Case(O.PrecomputedKernels, {"kernels": KERNELS}, {"names": "none"}),
    "PolynomialKernels": Case(O.PolynomialKernels, {"degrees": [1, 2]}, {"constant": "number", "each": "bool"}),
    "KernelList": Case(
        O.KernelList,
        {"kernels": [O.GaussianKernels()]},
        {"standardize": "bool", "on_the_fly": "bool"},
        skips=("normalize", "dtype"),
    ),
    "JoinedBank": Case(O.JoinedBank, {"banks": [BANK, BANK]}, {"prepare": "none class function", "labels": "none"}),
    "uci_bank_on_the_fly": Case(O.uci_bank_on_the_fly, {"X": RNG.normal(size=(8, 2))}, skips=("dtype",)),
    "simplemkl_bank": Case(
        O.simplemkl_bank, {"X": RNG.normal(size=(8, 2))}, {"memory_limit": "none"}, skips=("dtype",)
    ),
    "uci_bank": Case(O.uci_bank, {"X": RNG.normal(size=(8, 2))}, {"memory_limit": "none"}, skips=("dtype",)),
    # studies
    "Limits": Case(T.Limits, takes={"seconds": "none number"}),
    "Study": Case(
        T.Study,
        {"instances": {"own": ORACLE}, "generators": ["kelley"]},
        {"limits": "none", "keep_points": FLAG, "verify": FLAG},
    ),
    "compare": Case(
        compare,
        {"datasets": [SMALL]},
        {"C": "none number", "single_cut": FLAG, "jobs": "none", "executor": "none", "progress": FLAG}
        | {"log": "bool function class"},
    ),
}
# generators and solvers whose parameters all have defaults need no line here
CASES |= {
    name: by_signature(getattr(G, name))
    for name in G.__all__
    if name not in CASES and inspect.isclass(getattr(G, name))
}
