"""What a run proved, as data that others can check."""

import sys

from oracle_opt.proof import claim, parts, run_proof

# Results that earlier versions pickled name their classes by these modules.
sys.modules.update(
    {f"{__name__}.{name}": module for name, module in (("claim", claim), ("parts", parts), ("provenance", run_proof))}
)
