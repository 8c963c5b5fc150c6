"""Things of the wrong kind are refused where they are passed, by the name of the argument, whatever they are.

Every parameter of every public constructor gets a word, a number, None, a class, a function, an object of
the library that belongs elsewhere and some more. What it may take is named in the table; all else must be refused as
one of the errors of the library, one that names the argument in backticks.
"""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from refusal_cases import BANK, CASES, KERNELS, LABELS, MKL, MKL_RESULT, POINTS, PROGRAM, THINGS, USUAL, square

import oracle_opt.generators as G
import oracle_opt.oracles as O
import oracle_opt.oracles.svm as S
import oracle_opt.study as T
from oracle_opt import FreeSpace, FunctionOracle, minimize
from oracle_opt.errors import OracleOptError


def parameters():
    """Every parameter of every case."""
    for name, case in CASES.items():
        for parameter in inspect.signature(case.make).parameters:
            if parameter not in case.skips:
                yield pytest.param(case, parameter, id=f"{name}, {parameter}")


@pytest.mark.parametrize(("case", "parameter"), list(parameters()))
def test_wrong_things_are_refused_by_the_name_of_the_argument(case, parameter):
    wrong = []
    for thing in sorted(THINGS.keys() - set(case.takes.get(parameter, USUAL.get(parameter, "")).split())):
        try:
            case.make(**(case.right | {parameter: THINGS[thing]}))
        except OracleOptError as refusal:
            words = str(refusal)
            if not re.search(f"`{re.escape(parameter)}(`|\\[)", words) or "\n" in words or " at 0x" in words:
                wrong.append(f"{thing}: {words}")
        except Exception as problem:
            wrong.append(f"{thing}: {problem!r}")
        else:
            wrong.append(f"{thing} is taken")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", CASES)
def test_right_calls_are_right(name):
    CASES[name].make(**CASES[name].right)


def test_the_usual_mistakes_are_answered_with_what_to_pass():
    frame = pd.DataFrame({"label": LABELS})
    for call, words in (
        (lambda: FunctionOracle(square, 3), "`domain` must be a Domain such as Box(lower, upper), got 3"),
        (lambda: O.MKLOracle(np.array(KERNELS), LABELS), "`bank` must be a KernelBank such as GramBank(kernels)"),
        (lambda: MKL.decision_function(MKL_RESULT, POINTS), "`cut` must be a cut of this oracle such as result.cut"),
        (lambda: minimize(MKL, "level"), "`generator`: there is no generator 'level': did you mean level-set"),
        (lambda: minimize(MKL, 3), "`generator` must be a QueryPointGenerator object such as LevelSet(), or words"),
        (lambda: FreeSpace(3), "`radius` must state how far from `center` some minimizer lies at most"),
        (lambda: minimize(MKL, G.LevelSet), "got the class LevelSet"),
        (lambda: minimize(MKL, G.LevelSet(), cuts=MKL_RESULT), "pass result.history.cuts"),
        (lambda: minimize(square, G.LevelSet()), "wrap a function in FunctionOracle"),
        (lambda: O.MKLOracle(BANK, LABELS, loss=["hinge"]), "`loss` must be a Loss"),
        (lambda: O.MKLOracle(BANK, LABELS, loss=S.Hinge), "`loss` must be a Loss such as"),
        (lambda: O.GMKLOracle(BANK, LABELS, [2.0]), "`regularizer` must be a Regularizer such as LpRegularizer(2)"),
        (lambda: O.ConicOracle(PROGRAM, None, None, None), "ConicOracle.from_cvxpy takes a cvxpy.Problem"),
        (lambda: O.MKLOracle(BANK, frame), "`y` must have shape (n,), got (8, 1)"),
        (lambda: T.settle(PROGRAM, G.Kelley()), "ConicOracle.from_cvxpy makes one of a cvxpy.Problem"),
    ):
        with pytest.raises(OracleOptError, match=re.escape(words)):
            call()


# What is made by the library, not by its users; and what only reads a file or makes no check of its own.
EXEMPT = {
    "Cone",
    "KernelBank",
    "Source",
    "Regularizer",
    "Loss",
    "MKLSolver",
    "MKLProblem",
    "Exponential",
    "Infeasibility",
}
EXEMPT |= {
    "Estimate",
    "LightCuts",
    "PrimalSolution",
    "RelaxedSolution",
    "RoundedSolution",
    "SVMSolution",
    "SVMStatus",
    "Separable",
    "read_smps",
    "SecondStageSolutions",
}
EXEMPT |= {"read_tsplib", "SmoothDual", "WeightDerivative"}
EXEMPT |= {"FittedKernels", "KernelRecipe", "KeptKernels", "KernelModel", "ConstantKernels"}


@pytest.mark.parametrize("module", [G, O, S], ids=lambda module: module.__name__)
def test_every_public_constructor_is_in_the_table(module):
    assert set(module.__all__) - CASES.keys() - EXEMPT == set()
