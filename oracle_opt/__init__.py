"""Convex optimization through oracles, in one loop, with a proven duality gap."""

from importlib.util import find_spec

if find_spec("oracle_opt.oracles") is None:  # a clone keeps this package, its oracles and generators side by side
    raise ImportError(
        f"{__path__[0]} is the source folder of oracle_opt, not the installed package, which it hides: "
        "leave the folder of the clone, or install it with pip install --editable ."
    )

from oracle_opt.answers.analytic_update import AnalyticUpdate
from oracle_opt.answers.answer import Answer
from oracle_opt.answers.curvature import Curvature
from oracle_opt.answers.eigenpairs import AffineMatrix, Eigenpairs
from oracle_opt.answers.exact_slopes import ExactSlopes
from oracle_opt.bounds import BoundSource, BoundTracker
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, PartialQuery, Query
from oracle_opt.domains import (
    Ball,
    Box,
    Domain,
    FreeSpace,
    LinearConstraints,
    NonnegativeOrthant,
    ProductOfSimplices,
    Simplex,
    SimplexBlocks,
)
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.driver import minimize
from oracle_opt.errors import (
    CapabilityMismatch,
    DataUnavailable,
    EmptyLocalizationSet,
    ExecutorFailed,
    Exhausted,
    InvalidArgument,
    InvalidCertificate,
    InvalidCut,
    InvalidData,
    JournalMismatch,
    JournalWarning,
    MissingPackage,
    OracleOptError,
    OutOfTime,
    Refuted,
    StoreMismatch,
    StudyFailed,
    StudyWarning,
)
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.generator import Minorant, QueryPointGenerator, SequentialGenerator, Step
from oracle_opt.guarantee import Guarantee, Regularity
from oracle_opt.history import History, Record
from oracle_opt.known import L1Term, QuadraticTerm
from oracle_opt.listener import Listener
from oracle_opt.notary import notarize
from oracle_opt.oracle import Oracle
from oracle_opt.proposal import Proposal
from oracle_opt.result import Result, Status

__all__ = [
    "AffineMatrix",
    "AnalyticUpdate",
    "Answer",
    "Ball",
    "BoundSource",
    "BoundTracker",
    "Box",
    "CapabilityMismatch",
    "Certificate",
    "Curvature",
    "Cut",
    "DataUnavailable",
    "Domain",
    "Eigenpairs",
    "EmptyLocalizationSet",
    "ExactSlopes",
    "ExecutorFailed",
    "Exhausted",
    "FeasibilityCut",
    "FreeSpace",
    "FunctionOracle",
    "Guarantee",
    "History",
    "InvalidArgument",
    "InvalidCertificate",
    "InvalidCut",
    "InvalidData",
    "JournalMismatch",
    "JournalWarning",
    "L1Term",
    "LinearConstraints",
    "Listener",
    "Minorant",
    "MissingPackage",
    "NonnegativeOrthant",
    "ObjectiveCut",
    "Oracle",
    "OracleOptError",
    "OutOfTime",
    "PartialQuery",
    "Polyhedron",
    "ProductOfSimplices",
    "Proposal",
    "QuadraticTerm",
    "Query",
    "QueryPointGenerator",
    "Record",
    "Refuted",
    "Regularity",
    "Result",
    "SequentialGenerator",
    "Simplex",
    "SimplexBlocks",
    "Status",
    "Step",
    "StoreMismatch",
    "StudyFailed",
    "StudyWarning",
    "__version__",
    "minimize",
    "notarize",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("oracle-opt")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
