"""The family of classic nonsmooth test functions, in their usual sizes."""

from functools import partial
from math import exp, sqrt

import numpy as np

from oracle_opt.arrays import Vector, digest
from oracle_opt.domains import Box, Domain, FreeSpace
from oracle_opt.errors import InvalidData
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.problems import classic_functions as classic
from oracle_opt.problems import scalable_functions as scalable
from oracle_opt.problems.collection import path_in_folder, why_missing
from oracle_opt.problems.instance import Instance, Problem
from oracle_opt.problems.problem_family import Family
from oracle_opt.problems.scalable import Function
from oracle_opt.problems.tables import read_tables

LUKSAN_VLCEK = "Luksan & Vlcek (2000), report V-798"
HAARALA = "Haarala, Miettinen & Makela (2004)"
HOCK_SCHITTKOWSKI = "Hock & Schittkowski (1981)"
BAREILLES = "collection NonSmoothProblems.jl of Bareilles"
BY_HAND = 1e-13  # of an optimum known in closed form: its rounding
SOLVED = 1e-10  # of one found by interior point methods and bounded by cutting planes


def problems() -> list[Problem]:
    """Return the functions; that of 48 towns needs its table of distances."""
    return [_problem(*row) for row in _rows()] + ([_tr48()] if path_in_folder("nonsmooth", "tr48.npz") else [])


def missing() -> dict[str, str]:
    """The function of 48 towns, where its table is not there."""
    return {} if path_in_folder("nonsmooth", "tr48.npz") else {"nonsmooth/TR48": why_missing("nonsmooth/TR48")}


FAMILY = Family("nonsmooth", "classic nonsmooth functions of 2 to 50 variables on R^n", problems, missing)


def _rows() -> list[tuple[str, Function, list[float], float, float, float, str]]:
    """Name, function, start, radius that holds a minimizer, minimum, its relative error, source."""
    twenty = [float(i) if i <= 10 else -float(i) for i in range(1, 21)]
    wong = [2.0, 3, 5, 5, 1, 2, 7, 3, 6, 10]
    return [
        ("CB2", classic.cb2, [1.0, -0.1], 5.0, 1.9522244945, SOLVED, LUKSAN_VLCEK),
        ("CB3", classic.cb3, [2.0, 2.0], 5.0, 2.0, 0.0, LUKSAN_VLCEK),
        ("DEM", classic.dem, [1.0, 1.0], 10.0, -3.0, 0.0, LUKSAN_VLCEK),
        ("QL", classic.ql, [-1.0, 5.0], 10.0, 7.2, BY_HAND, LUKSAN_VLCEK),
        ("LQ", classic.lq, [-0.5, -0.5], 5.0, -sqrt(2.0), BY_HAND, LUKSAN_VLCEK),
        ("Mifflin1", classic.mifflin1, [0.8, 0.6], 5.0, -1.0, 0.0, LUKSAN_VLCEK),
        ("Wolfe", classic.wolfe, [3.0, 2.0], 5.0, -8.0, 0.0, "Wolfe (1975), Math. Prog. Study 3:145-173"),
        ("Rosen-Suzuki", classic.rosen_suzuki, [0.0] * 4, 5.0, -44.0, 0.0, f"{LUKSAN_VLCEK}; {HOCK_SCHITTKOWSKI}, 43"),
        ("Shor", classic.shor, [0.0, 0.0, 0.0, 0.0, 1.0], 10.0, 22.60016209577, SOLVED, LUKSAN_VLCEK),
        ("Wong2", classic.wong2, wong, 40.0, 24.30620907, SOLVED, f"{LUKSAN_VLCEK}; {HOCK_SCHITTKOWSKI}, 113"),
        ("Polak2", classic.polak2, [100.0, *[0.1] * 9], 200.0, exp(4.0), BY_HAND, LUKSAN_VLCEK),
        ("MAXQUAD", classic.maxquad, [0.0] * 10, 5.0, -0.8414083345964, SOLVED, LUKSAN_VLCEK),
        ("MAXQ", scalable.maxq, twenty, 100.0, 0.0, 0.0, LUKSAN_VLCEK),
        ("MAXL", scalable.maxl, twenty, 100.0, 0.0, 0.0, LUKSAN_VLCEK),
        ("Goffin", scalable.goffin, [i - 24.5 for i in range(50)], 200.0, 0.0, 0.0, LUKSAN_VLCEK),
        ("MXHILB", scalable.mxhilb, [1.0] * 50, 20.0, 0.0, 0.0, LUKSAN_VLCEK),
        ("L1HILB", scalable.l1hilb, [1.0] * 50, 20.0, 0.0, 0.0, LUKSAN_VLCEK),
        ("Chained LQ", scalable.chained_lq, [-0.5] * 20, 10.0, -19 * sqrt(2.0), BY_HAND, HAARALA),
        ("Chained CB3 I", scalable.chained_cb3, [2.0] * 20, 10.0, 38.0, 0.0, HAARALA),
        ("Chained CB3 II", scalable.chained_cb3_ii, [2.0] * 20, 10.0, 38.0, 0.0, HAARALA),
        ("F3d-U0", classic.f3d_u0, [100.0, 33.0, -100.0], 200.0, 0.0, 0.0, BAREILLES),
        ("F3d-U1", classic.f3d_u1, [100.0, 33.0, -100.0], 200.0, 0.0, 0.0, BAREILLES),
    ]


def _problem(
    name: str, function: Function, start: list[float], radius: float, optimum: float, error: float, source: str
) -> Problem:
    wrong = error * max(1.0, abs(optimum))
    make = partial(_instance, f"nonsmooth/{name}", function, start, radius, optimum, wrong)
    return Problem(
        f"nonsmooth/{name}", "nonsmooth", len(start), make, f"version 2, from {start}", optimum, wrong, source
    )


def _instance(
    name: str, function: Function, start: list[float], radius: float, optimum: float, wrong: float, seed: int
) -> Instance:
    # The ball is around the start: around 0, a method that asks for the center of its domain would find many minimizers
    domain: Domain = FreeSpace(len(start), radius, start)
    # values of Polak2 overflow a little farther away than its box
    if function is classic.polak2:
        domain = Box(np.r_[-radius, [-3.0] * 9], np.r_[radius, [3.0] * 9])
    oracle = FunctionOracle(np.errstate(over="ignore")(function), domain, name=name)  # +inf far out
    return Instance(oracle, np.array(start), optimum, wrong)


def _tr48() -> Problem:
    data = path_in_folder("nonsmooth", "tr48.npz")
    assert data is not None
    known = f"version 1, {digest(data.read_bytes())}"
    source = f"{LUKSAN_VLCEK}; the dual of a transportation problem of 48 towns"
    return Problem("nonsmooth/TR48", "nonsmooth", 48, _transport, known, -638565.0, 0.0, source)


def _transport(seed: int) -> Instance:
    """``sum_j d_j max_i (x_i - c_ij) - sum_i s_i x_i``, the dual of a transportation problem."""
    path = path_in_folder("nonsmooth", "tr48.npz", needed="nonsmooth/TR48")
    tables = read_tables(path, "c", "d", "s")
    if [one.shape for one in tables.values()] != [(48, 48), (48,), (48,)]:
        raise InvalidData(f"{path} must hold the tables of 48 towns, got shapes {[t.shape for t in tables.values()]}")
    function = partial(_tr48_value, *tables.values())
    oracle = FunctionOracle(function, FreeSpace(48, radius=4000.0), name=f"nonsmooth/TR48 {digest(*function.args)}")
    return Instance(oracle, np.zeros(48), -638565.0, 0.0)


def _tr48_value(c: Vector, d: Vector, s: Vector, x: Vector) -> tuple[float, Vector]:
    values = x[:, None] - c
    rows = values.argmax(axis=0)
    slope = np.bincount(rows, weights=d, minlength=48) - s
    return float(d @ values[rows, np.arange(48)] - s @ x), slope
