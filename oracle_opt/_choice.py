"""The one place where the core knows the generators: a run that was given none has one chosen.

Everything else of the core serves any generator, and imports none. The import is inside the function, so that
``import oracle_opt`` does not load them.
"""

from __future__ import annotations

from oracle_opt.checks import check_oracle
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.oracle import Oracle


def chosen(oracle: Oracle) -> tuple[QueryPointGenerator, str]:
    """Return the generator that is chosen for an oracle, and a sentence that says why."""
    check_oracle(oracle)
    from oracle_opt.generators.choose import choose_generator, explain_choice

    return choose_generator(oracle), explain_choice(oracle)
