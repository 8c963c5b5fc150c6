"""The classic nonsmooth functions that exist in any size, on boxes."""

from collections.abc import Callable
from math import sqrt

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Box
from oracle_opt.errors import InvalidArgument
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.problems import scalable_functions as functions
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, nearest

Function = Callable[[Vector], tuple[float, Vector]]

# function, start at n variables, minus the lower bounds, minimum
FUNCTIONS: dict[str, tuple[Function, Callable[[int], Vector], float, Callable[[int], float]]] = {
    "maxq": (functions.maxq, lambda n: _signed(n), 2.0, lambda n: 0.0),
    "maxl": (functions.maxl, lambda n: _signed(n), 2.0, lambda n: 0.0),
    "goffin": (functions.goffin, lambda n: np.linspace(-1.0, 1.0, n), 2.0, lambda n: 0.0),
    "mxhilb": (functions.mxhilb, np.ones, 2.0, lambda n: 0.0),
    "l1hilb": (functions.l1hilb, np.ones, 2.0, lambda n: 0.0),
    "nesterov": (functions.nesterov, np.ones, 2.0, lambda n: -0.5 / n),
    "chained_lq": (functions.chained_lq, lambda n: np.full(n, -0.5), 5.0, lambda n: (1 - n) * sqrt(2.0)),
    "chained_cb3": (functions.chained_cb3, lambda n: np.full(n, 2.0), 5.0, lambda n: 2.0 * (n - 1)),
    "chained_cb3_ii": (functions.chained_cb3_ii, lambda n: np.full(n, 2.0), 5.0, lambda n: 2.0 * (n - 1)),
}


def _signed(n: int) -> Vector:
    """Sizes that grow up to one, the second half of them negative."""
    sizes = np.arange(1, n + 1) / n
    return np.where(np.arange(n) < n / 2, sizes, -sizes)


def draw(function: str = "maxq", n: int = 100) -> Instance:
    """Make an instance; nothing is random."""
    if function not in FUNCTIONS:
        raise InvalidArgument(
            f"`function` must be a function of this family, got {function!r}: {nearest(function, FUNCTIONS)}"
        )
    if n < 2:
        raise InvalidArgument(f"`n` must be at least 2, got {n}")
    value, start, half, optimum = FUNCTIONS[function]
    # not centered at 0, the minimizer of many, where methods that ask for the center would find it by chance
    domain = Box(np.full(n, -half), np.full(n, 1.5 * half))
    oracle = FunctionOracle(value, domain, name=f"scalable {function}")
    least = optimum(n)
    return Instance(oracle, start(n), least, 1e-15 * abs(least))


FAMILY = Generated(
    "scalable",
    "classic nonsmooth functions of any size on boxes",
    draw,
    tuple(
        {"function": function, "n": n}
        for function, sizes in (
            ("maxq", (100, 1000)),
            ("maxl", (100, 1000)),
            ("goffin", (10, 200)),
            ("mxhilb", (10, 200, 1000)),
            ("l1hilb", (10, 200)),
            ("nesterov", (10, 100)),
            ("chained_lq", (100, 1000, 10000)),
            ("chained_cb3", (100, 1000, 10000)),
            ("chained_cb3_ii", (100, 1000, 10000)),
        )
        for n in sizes
    ),
    version=2,
    source="Luksan & Vlcek (2000), report V-798; Haarala, Miettinen & Makela (2004); Nesterov (2004); minimum by hand",
)
