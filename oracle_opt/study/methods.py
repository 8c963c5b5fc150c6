"""The one table of generator names, for studies and the command line: the file name of the class, with dashes."""

from __future__ import annotations

import ast
import difflib
from typing import Any

from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import (
    LBFGS,
    SPG,
    AnalyticCenter,
    Ellipsoid,
    FaceBundle,
    FixedPoint,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    ReducedGradient,
    SpectralBundle,
    Subgradient,
)

# The order is that of tables and legends; the baseline, one call at the average kernel, comes last.
GENERATORS: dict[str, type[QueryPointGenerator]] = {
    "analytic-center": AnalyticCenter,
    "level-set": LevelSet,
    "newton-bundle": NewtonBundle,
    "face-bundle": FaceBundle,
    "kelley": Kelley,
    "proximal-bundle": ProximalBundle,
    "spectral-bundle": SpectralBundle,
    "ellipsoid": Ellipsoid,
    "reduced-gradient": ReducedGradient,
    "spg": SPG,
    "subgradient": Subgradient,
    "mirror-descent": MirrorDescent,
    "projected-gradient": ProjectedGradient,
    "quasi-newton": QuasiNewton,
    "lbfgs": LBFGS,
    "fixed-point": FixedPoint,
}

# A comparison on l1-MKL leaves these out unless told otherwise: the ellipsoid method needs thousands of calls at
# hundreds of kernels, three are first-order methods for which `SPG` and `Subgradient` stand, two serve no simplex, and
# calls of `FaceBundle` are not comparable without the steps it takes between them.
_ON_REQUEST = (
    *("face-bundle", "ellipsoid", "mirror-descent", "projected-gradient", "quasi-newton", "spectral-bundle", "lbfgs"),
)
DEFAULT_GENERATORS = tuple(name for name in GENERATORS if name not in _ON_REQUEST)


def generator_of(words: str) -> QueryPointGenerator:
    """Make a generator from words.

    Parameters
    ----------
    words : str
        A name of the table, or ``module:name`` for a class or an object of one's own, with parameters in parentheses
        where they are not the defaults: ``"level-set"``, ``"kelley(chebyshev=True)"``, ``"mine.methods:Mine(2)"``.

    Returns
    -------
    QueryPointGenerator

    Raises
    ------
    InvalidArgument
        There is none of that name, with the nearest; or the parameters are no plain values, or not its own.

    Examples
    --------
    >>> from oracle_opt.study.methods import generator_of
    >>> generator_of("kelley(chebyshev=True)").chebyshev
    True
    """
    from oracle_opt.study.imported import imported

    name, parenthesis, rest = words.strip().partition("(")
    name = name.strip()
    made: Any = imported(name) if ":" in name else GENERATORS.get(name)
    if made is None:
        near = difflib.get_close_matches(name, GENERATORS, n=2, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(GENERATORS)}"
        raise InvalidArgument(f"there is no generator {name!r}: {hint}")
    if isinstance(made, QueryPointGenerator) and not parenthesis:
        return made
    arguments, parameters = _arguments(words, rest if parenthesis else ")")
    try:
        made = made(*arguments, **parameters)
    except TypeError as problem:
        raise InvalidArgument(f"generator {words!r} cannot be made: {problem}") from problem
    if not isinstance(made, QueryPointGenerator):
        raise InvalidArgument(f"generator {words!r} must be a QueryPointGenerator, got {made!r}")
    return made


def _arguments(words: str, rest: str) -> tuple[list[Any], dict[str, Any]]:
    """Read ``1, b=2)``: values that Python writes as literals."""
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError("it is no call")
        named = {str(part.arg): ast.literal_eval(part.value) for part in call.keywords}
        return [ast.literal_eval(part) for part in call.args], named
    except (SyntaxError, ValueError) as problem:
        raise InvalidArgument(
            f"generator {words!r} must be a name with parameters such as kelley(chebyshev=True): {problem}"
        ) from problem
