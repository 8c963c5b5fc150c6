"""What the library does where no extra is installed: `main(folder)` prints what each part answers, as JSON."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
from hidden_packages import loaded

from oracle_opt import Box, FunctionOracle, MissingPackage, Simplex, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet
from oracle_opt.oracles import ConicOracle, CvxpyOracle, MaxEigenvalueOracle, Nonnegative
from oracle_opt.oracles.benders import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.kernels import GaussianKernels, GramBank, KernelList, uci_bank
from oracle_opt.oracles.mkl import GMKLOracle, LpRegularizer, MKLOracle, solve_mkl

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 2))
LABELS = np.where(POINTS[:, 0] + 0.3 * RNG.normal(size=40) > 0, 1.0, -1.0)


def square(z):
    return float(z @ z), 2 * z


def two_stage():
    """Cost 1 a unit, income 3 for each unit of a demand that is 4 or 8: buy 8, earn 10."""
    block = RandomBlock([0.5, 0.5], rows=[1], rhs=[[4.0], [8.0]])
    return TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 8], [block], x_upper=10)


def cone():
    """Two variables that are at least 1, of the least sum: a cone problem."""
    return ConicOracle(np.ones(2), -np.eye(2), -np.ones(2), [Nonnegative(2)], domain=Box([0.0, 0.0], [9.0, 9.0]))


def disc():
    """The distance of a point of a box from the unit disc, through cvxpy."""
    import cvxpy as cp

    x, p = cp.Variable(2), cp.Parameter(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x - p)), [cp.norm(x) <= 1])
    return CvxpyOracle(problem, domain=Box([1, 1], [5, 5]))


def mkl():
    return MKLOracle(uci_bank(POINTS), LABELS, C=1.0)


def recipes():
    return KernelList([GaussianKernels(), ("first", ["laplacian", "linear", lambda A, B: A @ B.T], [0])]).fit(POINTS)


WORKS = {
    "MKL": lambda folder: minimize(mkl(), LevelSet(), rtol=1e-3),
    "MKL, analytic centers": lambda folder: minimize(mkl(), AnalyticCenter(), rtol=1e-3),
    "MKL, the method chosen": lambda folder: minimize(mkl(), rtol=1e-3),
    "norms": lambda folder: minimize(GMKLOracle(uci_bank(POINTS), LABELS, LpRegularizer(2.0)), rtol=1e-3),
    "norms, Newton": lambda folder: solve_mkl(uci_bank(POINTS), LABELS, LpRegularizer(2.0), rtol=1e-3),
    "kernels by recipes": lambda folder: minimize(MKLOracle(recipes(), LABELS, C=1.0), LevelSet(), rtol=1e-3),
    "cones": lambda folder: minimize(cone(), LevelSet(), rtol=1e-3),
    "eigenvalues": lambda folder: minimize(
        MaxEigenvalueOracle(np.diag([1.0, 2.0]), [np.diag([1.0, -1.0])], [0.0], domain=Box([-2.0], [2.0])),
        LevelSet(),
        rtol=1e-3,
    ),
    "Benders": lambda folder: minimize(BendersOracle(two_stage()), Kelley(), rtol=1e-6),
    "cvxpy": lambda folder: minimize(disc(), Kelley(), rtol=1e-3),
    "a journal": lambda folder: minimize(
        FunctionOracle(square, Simplex(3)), LevelSet(), rtol=1e-3, journal=folder / "journal"
    ),
}


def gap(run, folder):
    """The relative gap proven, which a run has to end with."""
    return float(run(folder).relative_gap)


def result():
    return minimize(FunctionOracle(square, Simplex(3)), Kelley(), max_calls=5)


def with_terminal(call):
    """Call with a standard error that says it is a terminal."""
    sys.stderr.isatty = lambda: True
    return call()


def threads(folder):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as executor:
        BendersOracle(two_stage(), executor=executor)


def load(name):
    from oracle_opt import datasets

    return datasets.load(name)


def study(name):
    from oracle_opt import study

    return getattr(study, name)


def libsvm(folder):
    (folder / "small.svm").write_text("1 1:0.5\n-1 2:1\n")
    return load(folder / "small.svm")


def weights(folder):
    oracle = MKLOracle(GramBank([np.eye(2), np.ones((2, 2)) + np.eye(2)]), [1, -1])
    return oracle.weights(minimize(oracle, Kelley(), max_calls=3))


def studied(folder):
    from oracle_opt.problems import suite

    return study("Study")(suite("nonsmooth")[:1], {"kelley": Kelley()}).run(folder / "study")


# What each part that needs a package refuses with: the package, and the extra that installs it.
NEEDS = {
    "History.to_frame": ("pandas", "study", lambda folder: result().history.to_frame()),
    "Result.plot": ("matplotlib", "plot", lambda folder: result().plot()),
    "plot_weights": ("matplotlib", "plot", lambda folder: study("plot_weights")(None)),
    "oracle.weights": ("pandas", "study", weights),
    "minimize(progress=True)": (
        "rich",
        "cli",
        lambda folder: with_terminal(lambda: minimize(FunctionOracle(square, Simplex(3)), Kelley(), progress=True)),
    ),
    "the estimators": ("scikit-learn", "learn", lambda folder: import_module("oracle_opt.learn")),
    "an executor": ("threadpoolctl", "parallel", threads),
    "a set of scikit-learn": ("scikit-learn", "learn", lambda folder: load("wdbc")),
    "a set of OpenML": ("scikit-learn", "learn", lambda folder: load("ionosphere")),
    "a file of LIBSVM": ("scikit-learn", "learn", libsvm),
    "Study.run": ("pandas", "study", studied),
    "Results.read": ("pandas", "study", lambda folder: study("Results").read(folder)),
    "scenarios in a table": ("pandas", "study", lambda folder: two_stage().with_scenarios(None)),
    "the second stage in a table": (
        "pandas",
        "study",
        lambda folder: BendersOracle(two_stage()).second_stage([5.0]).frame(),
    ),
    "models of linopy": ("linopy", "modeling", lambda folder: TwoStageProblem.from_linopy(None, ["x"])),
    "models of Pyomo": ("pyomo", "modeling", lambda folder: TwoStageProblem.from_pyomo(None, ["x"])),
}


def refusal(run, folder):
    """The words of MissingPackage, or what came instead."""
    try:
        return f"no refusal: {run(folder)!r}"
    except MissingPackage as problem:
        return str(problem)
    except Exception as problem:  # the test shows it
        return f"{type(problem).__name__}: {problem}"


def main(folder):
    """Do everything in a folder."""
    place = Path(folder)
    answers = {
        "works": {name: gap(run, place) for name, run in WORKS.items()},
        "needs": {name: refusal(run, place) for name, (_, _, run) in NEEDS.items()},
        "loaded": loaded(),
    }
    print(json.dumps(answers))
