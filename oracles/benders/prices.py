"""Prices of rows: the multipliers behind a proven bound, from the dual vectors of the claims that it is made of."""

import re
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracles.benders.scenario_data import ScenarioData
from oracle_opt.oracles.benders.scenario_proof import subject_of
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.proof.claim import ClaimKind
from oracle_opt.proof.parts import Weighted

if TYPE_CHECKING:
    from pandas import DataFrame

PRICE = "price"
SPLIT = re.compile(r"(.*) in block \d+")  # the name of a row's part in one block


def prices(data: ScenarioData, terms: Iterable[Weighted]) -> tuple[Matrix, Vector]:
    """Prices of the second stage's rows, a line a scenario, in the expected cost; and those of the first stage's rows.

    Raises `InvalidArgument` where a claim has no dual vectors.
    """
    problem, total = data.problem, 0.0
    found, slope = np.zeros((data.n_scenarios, len(problem.row_lower))), np.zeros(len(problem.c))
    for weight, claim in terms:
        slope += weight * claim.slope
        whole = claim.kind is ClaimKind.MINORANT or (claim.kind is ClaimKind.SUMMAND and claim.summand == 0)
        total += weight * whole
        about = subject_of(data, claim)
        if about is None:
            raise InvalidArgument("`prices` needs the dual vectors of all cuts, and they were too large to be kept")
        part, subject = about
        rows = np.arange(found.shape[1])
        if part is not data:
            assert problem.sections is not None
            number = next(i for i, one in enumerate(data.sections) if one is part)
            rows = np.flatnonzero(problem.sections.of_rows == number)
        pulls = weight * subject.weights[:, None] * subject.vertices[subject.vertex_of]
        np.add.at(found, (subject.members[:, None], rows), pulls)
    total = total or 1.0
    return found / total, _first_stage(problem, slope / total)


def _first_stage(problem: TwoStageProblem, slope: Vector) -> Vector:
    """Multipliers of the first stage's rows, of which the slope of the bound is made, and bounds of x."""
    from scipy.optimize import linprog  # only here: it takes a while to load

    if not problem.A.shape[0]:
        return np.zeros(0)
    high, low = np.isfinite(problem.first_upper), np.isfinite(problem.first_lower)
    bounds = np.column_stack([problem.x_lower, problem.x_upper])
    A = problem.A
    done = linprog(
        slope,
        np.vstack([A[high].toarray(), -A[low].toarray()]),
        np.r_[problem.first_upper[high], -problem.first_lower[low]],
        bounds=bounds,
    )
    if done.status != 0:
        raise InvalidArgument(f"`prices` of the first stage are not known: {done.message}")
    multipliers = np.zeros(A.shape[0])
    multipliers[high] += done.ineqlin.marginals[: high.sum()]
    multipliers[low] -= done.ineqlin.marginals[high.sum() :]
    return multipliers


def price_frame(problem: TwoStageProblem, second: Matrix, first: Vector, labels: list[Hashable]) -> "DataFrame":
    """Prices by the names of rows, in a column a scenario, and in `PRICE` of a unit more in all of them."""
    pandas = require("pandas", "study", "tables of prices")
    sign = -1.0 if problem.maximize else 1.0
    frame = pandas.DataFrame(sign * second.T, list(problem.row_names), labels if len(labels) > 1 else [PRICE])
    if len(labels) > 1:
        frame[PRICE] = frame.sum(axis=1)
    names = [match[1] if (match := SPLIT.fullmatch(name)) else name for name in frame.index]
    frame = frame.groupby(names, sort=False).mean()  # the parts of a row have one price
    own = pandas.DataFrame({PRICE: sign * first}, list(problem.first_row_names))
    return pandas.concat([frame.drop(index=own.index, errors="ignore"), own]).rename_axis("row")
