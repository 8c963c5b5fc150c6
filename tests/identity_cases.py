"""What the tables of identities are made of: data, and how to change them by the least there is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from oracle_opt.oracles import GramBank, MKLOracle, RandomBlock, RelaxedSolution
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge


def ulp(values, *places):
    """The values with one entry, at one or several mirrored places, moved by its last bit."""
    changed = np.array(values, dtype=float)
    for place in places or [(0,) * changed.ndim]:
        changed[place] = np.nextafter(changed[place], np.inf)
    return changed


def swapped(values, i, j):
    """The values with two entries changed for each other."""
    changed = np.array(values)
    changed[[i, j]] = changed[[j, i]]
    return changed


def next_to(number):
    return float(np.nextafter(number, np.inf))


@dataclass
class Case:
    """What is made of which arguments; values that must change its identity, and arguments that need not, with why."""

    make: Callable
    arguments: dict[str, Any]
    changed: dict[str, list[Any]]
    exempt: dict[str, str] = field(default_factory=dict)
    identity: Callable = lambda made: made.identity()


RNG = np.random.default_rng(0)


POINTS = RNG.normal(size=(6, 3))


KERNELS = np.array([POINTS[:, :k] @ POINTS[:, :k].T + np.eye(6) for k in (1, 2, 3)])


Y = np.array([1.0, -1, 1, -1, 1, -1])


DISTANCES = ((POINTS[:, None] - POINTS[None]) ** 2).transpose(2, 0, 1)


BANK = GramBank(KERNELS)


OTHER_BANK = GramBank([ulp(KERNELS[0]), *KERNELS[1:]])


ROUNDS_ALONE = "answers differ by rounding alone, and are certified"


NAMES_ALONE = "names what is there; no number depends on it"


SVM = {
    "y": [-Y, swapped(Y, 0, 1)],
    "loss": [
        Hinge(next_to(3.0)),
        ulp(np.full(6, 3.0), 4),
        Hinge(3.0, class_weight={1: 2.0}),
        SquaredHinge(3.0),
        EpsilonInsensitive(3.0),
    ],
    "accuracy": [next_to(1e-8)],
    "max_steps": [10],
}


SVM_ARGUMENTS = {"bank": BANK, "y": Y, "loss": Hinge(3.0), "accuracy": 1e-8, "max_steps": 1000}


SHORT = {
    "C": "short for the loss Hinge(C)",
    "memory_budget": "six points are solved on their combined kernel; test_matrix_free.py has more",
}


CLASSES = {"C": [next_to(3.0), ulp(np.full(6, 3.0), 4)], "class_weight": [{1: 2.0}, {1: 2.0, -1: next_to(1.0)}]}


def answers_of(loss):
    """Identity of an oracle with a loss."""
    return MKLOracle(BANK, None if isinstance(loss, OneClass) else Y, loss).identity()


def sells(**changes):
    """A two-stage program whose random blocks vary all there is."""
    given = {
        "c": [1.0, 2.0],
        "q": [-3.0, 1.0],
        "T": [[-1.0, -0.5], [0.0, -0.25]],
        "W": [[1.0, -1.0], [1.0, 0.5]],
        "row_lower": [-10.0, -20.0],
        "row_upper": [0.0, 2.0],
        "blocks": [RandomBlock(**BLOCK)],
        "A": [[1.0, 1.0], [1.0, -1.0]],
        "first_lower": [-9.0, -8.0],
        "first_upper": [9.0, 8.0],
        "x_lower": [0.0, 0.5],
        "x_upper": [10.0, 10.0],
        "y_lower": [0.0, 0.0],
        "y_upper": [5.0, 6.0],
        "offset": 0.5,
        "names": ["a", "b"],
    }
    return given | changes


BLOCK = {
    "probabilities": [0.25, 0.75],
    "rows": [1],
    "rhs": [[2.0], [6.0]],
    "cost_columns": [0],
    "cost": [[-3.0], [-2.0]],
    "technology_entries": [[0, 1]],
    "technology": [[-0.5], [-0.75]],
    "recourse_entries": [[0, 0]],
    "recourse": [[1.0], [2.0]],
    "name": "demand",
}


def sparse_in(values, places):
    """A sparse matrix of order 3 with these values in these places."""
    return sparse.csr_array((values, np.transpose(places)), shape=(3, 3))


def of_cvxpy(bound=1.0, nonneg=False, offset=0.0, power=2.0, constant=None):
    x, p = cp.Variable(2, nonneg=nonneg), cp.Parameter(2, name="p")
    c = np.array([1.0, 2.0]) if constant is None else constant
    return cp.Problem(cp.Minimize(cp.sum(cp.power(x - p, power)) + c @ x + offset), [x <= bound])


def fixed_beside(value):
    x, p, q = cp.Variable(), cp.Parameter(name="p"), cp.Parameter(name="q")
    q.value = value
    return cp.Problem(cp.Minimize(cp.square(x - p) + q * x), [x >= 0]), [p]


def two_parameters(order=(0, 1)):
    x, p, q = cp.Variable(), cp.Parameter(name="p"), cp.Parameter(name="q")
    parameters = [p, q]
    return cp.Problem(cp.Minimize(cp.square(x - p) + cp.square(2 * x - q))), [parameters[i] for i in order]


def solve(u):
    return RelaxedSolution(0.0, np.zeros(2))
