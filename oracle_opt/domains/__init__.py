"""Domains: simple known sets, one class per file."""

from oracle_opt.domains.ball import Ball
from oracle_opt.domains.box import Box
from oracle_opt.domains.domain import Domain
from oracle_opt.domains.free_space import FreeSpace
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.domains.nonnegative_orthant import NonnegativeOrthant
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.domains.product_of_simplices import ProductOfSimplices
from oracle_opt.domains.simplex import Simplex
from oracle_opt.domains.simplex_blocks import SimplexBlocks

__all__ = [
    "Ball",
    "Box",
    "Domain",
    "FreeSpace",
    "LinearConstraints",
    "NonnegativeOrthant",
    "Polyhedron",
    "ProductOfSimplices",
    "Simplex",
    "SimplexBlocks",
]
