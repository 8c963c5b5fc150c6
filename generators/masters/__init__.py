"""What cutting-plane methods share: pools of cuts, models of the function, and the problems solved over them."""

from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.feasible_points import nearest_feasible, nothing_left, prove_empty
from oracle_opt.generators.masters.interior_point import EpigraphSolution, minimize_epigraph
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.linear_program import ModelMinimum
from oracle_opt.generators.masters.polyhedral import polyhedral_refusal
from oracle_opt.generators.masters.proximal import ProximalPoint, proximal_point
from oracle_opt.generators.masters.proximity_control import ProximityControl
from oracle_opt.generators.masters.spectral import SpectralModel, SpectralPoint, minimize_spectral

__all__ = [
    "CutPool",
    "CuttingPlaneModel",
    "EpigraphSolution",
    "LevelProjection",
    "ModelMinimum",
    "Polytope",
    "ProximalPoint",
    "ProximityControl",
    "Rows",
    "SpectralModel",
    "SpectralPoint",
    "analytic_center",
    "minimize_epigraph",
    "minimize_spectral",
    "nearest_feasible",
    "nothing_left",
    "polyhedral_refusal",
    "prove_empty",
    "proximal_point",
]
