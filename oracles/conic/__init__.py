"""Linear and quadratic optimization over cones, and linear constraints without number."""

from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_oracle import ConicOracle
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.infeasibility import Infeasibility
from oracle_opt.oracles.conic.power import Power
from oracle_opt.oracles.conic.second_order import SecondOrder
from oracle_opt.oracles.conic.semi_infinite import SemiInfiniteOracle
from oracle_opt.oracles.conic.semidefinite import PositiveSemidefinite

__all__ = [
    "Cone",
    "ConicOracle",
    "ConicProblem",
    "Exponential",
    "Infeasibility",
    "Nonnegative",
    "PositiveSemidefinite",
    "Power",
    "SecondOrder",
    "SemiInfiniteOracle",
    "Zero",
]
