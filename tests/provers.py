"""Generators that prove bounds of any convex function from values and slopes, as the library offers them."""

import inspect

from oracle_opt import FeasibilityCut, QueryPointGenerator, generators


def _offered() -> list[type[QueryPointGenerator]]:
    """Return the classes of generators that have a default for every parameter."""
    classes = [thing for name in generators.__all__ if inspect.isclass(thing := getattr(generators, name))]
    return [
        one
        for one in classes
        if all(p.default is not inspect.Parameter.empty for p in inspect.signature(one).parameters.values())
    ]


PROVERS = [method for one in _offered() if FeasibilityCut in (method := one()).takes and method.needs_convexity]
# The volume of an ellipsoid shrinks slowly: the others are close within some dozens of calls.
FAST = [method for method in PROVERS if not isinstance(method, generators.Ellipsoid)]
