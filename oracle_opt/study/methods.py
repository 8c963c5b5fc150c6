"""The one table of generator names, for studies and the command line: the file name of the class, with dashes."""

import difflib
import re
from typing import Any

from oracle_opt import generators
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import (
    LBFGS,
    SPG,
    AnalyticCenter,
    Ellipsoid,
    FixedPoint,
    FrankWolfe,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    OptimalKelley,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    ReducedGradient,
    SpectralBundle,
    Subgradient,
    TrustRegion,
)
from oracle_opt.study.generator_words import GeneratorWords, read_generator_words
from oracle_opt.words import shown

# The order is that of tables and legends; the baseline, one call at the average kernel, comes last.
_ORDER = (
    AnalyticCenter,
    LevelSet,
    NewtonBundle,
    Kelley,
    OptimalKelley,
    ProximalBundle,
    TrustRegion,
    SpectralBundle,
    Ellipsoid,
    ReducedGradient,
    SPG,
    Subgradient,
    MirrorDescent,
    ProjectedGradient,
    QuasiNewton,
    LBFGS,
    FrankWolfe,
    FixedPoint,
)
GENERATORS: dict[str, type[QueryPointGenerator]] = {
    re.sub("(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(): kind for kind in _ORDER
}

# A comparison on l1-MKL leaves these out unless told otherwise: the ellipsoid method needs thousands of calls at
# hundreds of kernels, some are first-order methods for which `SPG` and `Subgradient` stand, others serve no simplex.
_ON_REQUEST = (
    *("ellipsoid", "mirror-descent", "projected-gradient", "quasi-newton", "spectral-bundle", "lbfgs"),
    *("optimal-kelley", "trust-region", "frank-wolfe"),
)
DEFAULT_GENERATORS = tuple(name for name in GENERATORS if name not in _ON_REQUEST)


def generator_of(words: str) -> QueryPointGenerator:
    """Make a generator from words, which are parsed and never evaluated.

    Parameters
    ----------
    words : str
        A name of the table or of a class of `oracle_opt.generators`, or ``module:name`` for a class or an object of
        one's own, with parameters in parentheses where they are not the defaults: ``"level-set"``,
        ``"LevelSet(entropic=False)"``, ``"ActiveSet(NewtonBundle())"``, ``"mine.methods:Mine(2)"``. Parameters are
        plain values, or names of generators with parentheses. The module of ``module:name`` is imported, also from the
        current folder; nothing in it is called but a class of generators.

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
    >>> generator_of("LevelSet(entropic=False)").entropic
    False
    """
    return _made(words.strip(), read_generator_words(words))


def _made(words: str, read: GeneratorWords) -> QueryPointGenerator:
    from oracle_opt.study.generator_words import imported

    kind: Any = imported(read.name) if ":" in read.name else GENERATORS.get(read.name) or _classes().get(read.name)
    if kind is None:
        raise InvalidArgument(f"`generator`: there is no generator {read.name!r}: {_nearest(read.name)}")
    if isinstance(kind, QueryPointGenerator) and not read.has_parentheses:
        return kind
    if not (isinstance(kind, type) and issubclass(kind, QueryPointGenerator)):  # anything else is not called
        raise InvalidArgument(
            f"`generator` {words!r} must name a class of generators or a generator, got {shown(kind)}"
        )
    arguments = [_value(words, value) for value in read.arguments]
    parameters = {name: _value(words, value) for name, value in read.parameters.items()}
    try:
        return kind(*arguments, **parameters)
    except TypeError as problem:
        raise InvalidArgument(f"`generator` {words!r} cannot be made: {problem}") from problem


def _value(words: str, value: Any) -> Any:
    """A parameter: words of a generator become that generator."""
    return _made(words, value) if isinstance(value, GeneratorWords) else value


def _classes() -> dict[str, type[QueryPointGenerator]]:
    """Public classes of generators by name."""
    public = {name: getattr(generators, name) for name in generators.__all__}
    return {name: kind for name, kind in public.items() if isinstance(kind, type)}


def _nearest(name: str) -> str:
    """The known names nearest to a wrong one: of classes if it has a capital letter, else of the table."""
    known = list(GENERATORS) if name == name.lower() else list(_classes())
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.4)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(GENERATORS)}"
