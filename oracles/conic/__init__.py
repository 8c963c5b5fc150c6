"""Linear and quadratic optimization over cones."""

from oracle_opt.oracles.conic.cones import (
    Cone,
    Exponential,
    Nonnegative,
    PositiveSemidefinite,
    Power,
    SecondOrder,
    Zero,
)
from oracle_opt.oracles.conic.infeasibility import Infeasibility
from oracle_opt.oracles.conic.oracle import ConicOracle

__all__ = [
    "Cone",
    "ConicOracle",
    "Exponential",
    "Infeasibility",
    "Nonnegative",
    "PositiveSemidefinite",
    "Power",
    "SecondOrder",
    "Zero",
]
