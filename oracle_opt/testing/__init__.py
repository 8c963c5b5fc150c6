"""What a plug-in must keep: checks of oracles, generators and domains that their authors can run."""

from oracle_opt.testing.conformance import ConformanceError
from oracle_opt.testing.domain_rules import check_domain
from oracle_opt.testing.oracle_rules import check_oracle

__all__ = ["ConformanceError", "check_domain", "check_oracle"]
