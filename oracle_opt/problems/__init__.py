"""Problems with names: instances to compare generators on."""

from oracle_opt.problems.generated import Generated
from oracle_opt.problems.instance import Instance, Problem
from oracle_opt.problems.lookup import families, family, find, missing, suite
from oracle_opt.problems.perturbed import perturbed
from oracle_opt.problems.problem_family import Family, Listed

__all__ = [
    "Family",
    "Generated",
    "Instance",
    "Listed",
    "Problem",
    "families",
    "family",
    "find",
    "missing",
    "perturbed",
    "suite",
]
