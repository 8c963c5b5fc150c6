"""The one table of generator names, for the command line. A name is the file name of the class, with dashes.

All generators but `LBFGS`: a comparison is l1-MKL over the simplex, and it needs a box or free space.
"""

from __future__ import annotations

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import (
    SPG,
    AnalyticCenter,
    Ellipsoid,
    FixedPoint,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    ReducedGradient,
    Subgradient,
)

# The order is that of tables and legends; the baseline, one call at the average kernel, comes last.
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
    "mirror-descent": MirrorDescent,
    "projected-gradient": ProjectedGradient,
    "quasi-newton": QuasiNewton,
    "fixed-point": FixedPoint,
}

# A comparison leaves these out unless told otherwise: the ellipsoid method needs thousands of calls at hundreds of
# kernels, and the other three are first-order methods for which `SPG` and `Subgradient` stand.
_ON_REQUEST = ("ellipsoid", "mirror-descent", "projected-gradient", "quasi-newton")
DEFAULT_GENERATORS = tuple(name for name in GENERATORS if name not in _ON_REQUEST)
