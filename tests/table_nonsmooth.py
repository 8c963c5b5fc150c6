"""Classic nonsmooth functions on all of R^n, for the table of problems; and what a problem is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from chained import chained_cb3, chained_lq, f3d, polak2

from oracle_opt import (
    Box,
    FreeSpace,
    FunctionOracle,
    Oracle,
)


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


def nonsmooth_set() -> list[Problem]:
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
