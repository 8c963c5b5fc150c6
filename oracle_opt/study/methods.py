"""The one table of generator names, for the command line. A name is the file name of the class, with dashes."""

from __future__ import annotations

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import (
    SPG,
    AnalyticCenter,
    Ellipsoid,
    FixedPoint,
    Kelley,
    LevelSet,
    NewtonBundle,
    ProximalBundle,
    ReducedGradient,
    Subgradient,
)

# In the order of tables and legends; the baseline, one call at the average kernel, comes last.
GENERATORS: dict[str, type[QueryPointGenerator]] = {
    "analytic-center": AnalyticCenter,
    "level-set": LevelSet,
    "newton-bundle": NewtonBundle,
    "kelley": Kelley,
    "proximal-bundle": ProximalBundle,
    "ellipsoid": Ellipsoid,
    "reduced-gradient": ReducedGradient,
    "spg": SPG,
    "subgradient": Subgradient,
    "fixed-point": FixedPoint,
}

# What a comparison runs unless told otherwise: the ellipsoid method needs thousands of calls at hundreds of kernels.
DEFAULT_GENERATORS = tuple(name for name in GENERATORS if name != "ellipsoid")
