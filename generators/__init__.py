"""Query-point generators: one file, one class per method; and the rule that chooses one."""

from oracle_opt.generators.active_set import ActiveSet
from oracle_opt.generators.analytic_center import AnalyticCenter
from oracle_opt.generators.choose import choose_generator, explain_choice
from oracle_opt.generators.ellipsoid import Ellipsoid
from oracle_opt.generators.fixed_point import FixedPoint
from oracle_opt.generators.foreign_solver import ForeignSolver
from oracle_opt.generators.frank_wolfe import FrankWolfe
from oracle_opt.generators.kelley import Kelley
from oracle_opt.generators.lbfgs import LBFGS
from oracle_opt.generators.level_set import LevelSet
from oracle_opt.generators.mirror_descent import MirrorDescent
from oracle_opt.generators.newton_bundle import NewtonBundle
from oracle_opt.generators.optimal_kelley import OptimalKelley
from oracle_opt.generators.projected_gradient import ProjectedGradient
from oracle_opt.generators.proximal_bundle import ProximalBundle
from oracle_opt.generators.quasi_newton import QuasiNewton
from oracle_opt.generators.reduced_gradient import ReducedGradient
from oracle_opt.generators.spectral_bundle import SpectralBundle
from oracle_opt.generators.spg import SPG
from oracle_opt.generators.subgradient import Subgradient
from oracle_opt.generators.trust_region import TrustRegion

__all__ = [
    "LBFGS",
    "SPG",
    "ActiveSet",
    "AnalyticCenter",
    "Ellipsoid",
    "FixedPoint",
    "ForeignSolver",
    "FrankWolfe",
    "Kelley",
    "LevelSet",
    "MirrorDescent",
    "NewtonBundle",
    "OptimalKelley",
    "ProjectedGradient",
    "ProximalBundle",
    "QuasiNewton",
    "ReducedGradient",
    "SpectralBundle",
    "Subgradient",
    "TrustRegion",
    "choose_generator",
    "explain_choice",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers
