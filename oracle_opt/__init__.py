"""Convex optimization through oracles, in one loop, with a proven duality gap."""

from oracle_opt.cuts import Cut, FeasibilityCut, Minorant, ObjectiveCut, Query
from oracle_opt.domain import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, ProductOfSimplices, Simplex
from oracle_opt.errors import Exhausted, InvalidArgument, InvalidCut
from oracle_opt.generator import QueryPointGenerator, SequentialGenerator, Step
from oracle_opt.oracle import FunctionOracle, Oracle
