"""What a plug-in must keep: checks of oracles, generators and domains that their authors can run."""

from oracle_opt.testing.conformance import ConformanceError
from oracle_opt.testing.domain_rules import check_domain
from oracle_opt.testing.generator_rules import check_generator
from oracle_opt.testing.known_problems import KnownProblem, small_domains, small_problems
from oracle_opt.testing.known_runs import check_run
from oracle_opt.testing.oracle_rules import check_oracle

__all__ = [
    "ConformanceError",
    "KnownProblem",
    "check_domain",
    "check_generator",
    "check_oracle",
    "check_run",
    "small_domains",
    "small_problems",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers
