"""How far a run is proven: its certificate, written and verified at once, in a word for tables."""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.errors import InvalidCertificate
from oracle_opt.oracle import Oracle

if TYPE_CHECKING:
    from oracle_opt.result import Result


class Standing(Enum):
    """What the certificate of a run is worth; the value is the word that stands in tables."""

    PROVEN = "proven"  # every cut and the value at the point follow from their witnesses and the data
    GIVEN = "given the cuts"  # the bounds follow from the cuts and the value, for which there is no witness
    NONE = "none"  # no two finite bounds that a certificate could state, or a domain that it cannot describe


def standing_of(result: Result, oracle: Oracle) -> Standing:
    """Write the certificate of a run, and verify it as far as the oracle's witnesses go.

    `Standing.NONE` without a finite lower bound, with bounds taken back or contradictory, or on a domain not described.
    """
    if not isfinite(result.lower_bound) or not isfinite(result.upper_bound) or not oracle.convex:
        return Standing.NONE
    if result.status.name in ("CONTRADICTION", "OUTSIDE", "UNBOUNDED"):
        return Standing.NONE
    try:
        oracle.domain.described(np.zeros(oracle.domain.dimension))
    except InvalidCertificate:
        return Standing.NONE
    found = result.certificate().verify(oracle, ask=False)  # the run has asked
    return Standing.PROVEN if found.proven else Standing.GIVEN
