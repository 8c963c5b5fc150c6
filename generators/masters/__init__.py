"""Masters of cutting-plane methods: pools of cuts, models of the function, and the problems solved over them."""

from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.feasible_points import nearest_feasible, nothing_left, prove_empty
from oracle_opt.generators.masters.interior_point import EpigraphSolution, minimize_epigraph
from oracle_opt.generators.masters.known_model import KnownModel, KnownProjection
from oracle_opt.generators.masters.known_pool import KnownPool
from oracle_opt.generators.masters.level_center import LevelCenter
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.linear_program import ModelMinimum
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal
from oracle_opt.generators.masters.proximal_master import ProximalPoint, proximal_point
from oracle_opt.generators.masters.proximity_control import ProximityControl
from oracle_opt.generators.masters.spectral_master import SpectralPoint, minimize_spectral
from oracle_opt.generators.masters.spectral_models import SpectralModel, StructuredModel
from oracle_opt.generators.masters.spectral_multipliers import minimize_in_multipliers

__all__ = [
    "CutPool",
    "CuttingPlaneModel",
    "EpigraphSolution",
    "KnownModel",
    "KnownPool",
    "KnownProjection",
    "LevelCenter",
    "LevelProjection",
    "ModelMinimum",
    "Polytope",
    "ProximalPoint",
    "ProximityControl",
    "Rows",
    "SpectralModel",
    "SpectralPoint",
    "StructuredModel",
    "analytic_center",
    "minimize_epigraph",
    "minimize_in_multipliers",
    "minimize_spectral",
    "nearest_feasible",
    "nothing_left",
    "polyhedral_refusal",
    "prove_empty",
    "proximal_point",
]
