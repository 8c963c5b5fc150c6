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
    ProximalBundle,
    ReducedGradient,
    Subgradient,
)

# In the order of tables and legends; the baseline, one call at the average kernel, comes last.
GENERATORS: dict[str, type[QueryPointGenerator]] = {
    "analytic-center": AnalyticCenter,
    "level-set": LevelSet,
    "kelley": Kelley,
    "proximal-bundle": ProximalBundle,
    "ellipsoid": Ellipsoid,
    "reduced-gradient": ReducedGradient,
    "spg": SPG,
    "subgradient": Subgradient,
    "fixed-point": FixedPoint,
}
