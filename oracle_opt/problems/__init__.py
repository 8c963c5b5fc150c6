"""Problems with names: instances to compare generators on."""

from oracle_opt.problems.certification import Certified, certify, stored_certificate
from oracle_opt.problems.instance import Instance, Problem
from oracle_opt.problems.lookup import families, family, find, missing, suite
from oracle_opt.problems.problem_family import Family, Generated

__all__ = [
    "Certified",
    "Family",
    "Generated",
    "Instance",
    "Problem",
    "certify",
    "families",
    "family",
    "find",
    "missing",
    "stored_certificate",
    "suite",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers
