"""What was found to hold of a certificate, and how far a run is proven in a word for tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.errors import InvalidCertificate
from oracle_opt.oracle import Oracle
from oracle_opt.words import one_line

if TYPE_CHECKING:
    from oracle_opt.result import Result


@dataclass(frozen=True, eq=False)
class CertificateVerdict:
    """What holds: the minimum lies between `lower` and `upper`. What does not hold raises `Refuted`, so this says yes.

    ``print(verdict)`` says it in words.

    Parameters
    ----------
    lower, upper : float
        The minimum lies between them, given the cuts that are not proven.
    n_cuts : int
        How many cuts the lower bound rests upon.
    n_proven, n_given : int
        How many of them were proven from the data of the problem, and how many are taken as given, because there was
        no oracle or no witness.
    value_proven : bool
        Whether the value at the best point was proven, too.
    outside : float
        By how much the best point violates a constraint, at most.
    promise : str
        What the bounds rest upon besides, in words: a domain in which a minimizer is only promised.
    exact : bool
        Whether the witnesses were examined in fractions.
    """

    __repr__ = one_line

    lower: float
    upper: float
    n_cuts: int
    n_proven: int = 0
    n_given: int = 0
    value_proven: bool = False
    outside: float = 0.0
    promise: str = ""
    exact: bool = False

    @property
    def holds(self) -> bool:
        """True: a certificate that does not hold has no verdict but raises `Refuted`."""
        return True

    @property
    def proven(self) -> bool:
        """Whether all cuts and the value were proven from the data, and nothing was taken as given."""
        return self.value_proven and not self.n_given

    @property
    def gap(self) -> float:
        """``upper - lower``, and 0 where that is negative."""
        return max(0.0, self.upper - self.lower)

    def __str__(self) -> str:
        if self.proven:
            words = f"holds{self.promise}: all {self.n_cuts} cuts and the value at the point are proven from the data"
        elif not self.n_proven and not self.value_proven:
            words = f"holds, given the {self.n_cuts} cuts and the value at the point{self.promise}"
        else:
            value = "proven" if self.value_proven else "given"
            words = (
                f"holds, given {self.n_given} of the {self.n_cuts} cuts{self.promise}: the other {self.n_proven} are "
                f"proven from the data; the value at the point is {value}"
            )
        return (
            f"{words}; the minimum lies in [{self.lower!r}, {self.upper!r}], the gap is {self.gap:.3g}, and the point "
            f"is feasible {f'up to {self.outside:.1g}' if self.outside else 'exactly'}"
        )


class Standing(Enum):
    """What the certificate of a run is worth; the value is the word that stands in tables."""

    PROVEN = "proven"  # every cut and the value at the point follow from their witnesses and the data
    GIVEN = "given the cuts"  # the bounds follow from the cuts and the value, for which there is no witness
    NONE = "none"  # no two finite bounds that a certificate could state, or a domain that it cannot describe


def standing_of(result: Result, oracle: Oracle) -> Standing:
    """Write the certificate of a run, and verify it as far as the oracle's witnesses go.

    Parameters
    ----------
    result : Result
        What `minimize` returned.
    oracle : Oracle
        The problem, whose data the cuts are held against.

    Returns
    -------
    Standing
        `Standing.NONE` for runs without a finite lower bound, for those whose bounds were taken back or contradict each
        other, as their `status` says, and on domains of users that have no description.

    Raises
    ------
    InvalidCertificate, Refuted
        The run claims more than its certificate proves: it must not be published.
    """
    if not isfinite(result.lower_bound) or not isfinite(result.upper_bound) or not oracle.convex:
        return Standing.NONE
    if result.status.name in ("CONTRADICTION", "OUTSIDE"):
        return Standing.NONE
    try:
        oracle.domain.described(np.zeros(oracle.domain.dimension))
    except InvalidCertificate:
        return Standing.NONE
    found = result.certificate().verify(oracle)
    return Standing.PROVEN if found.proven else Standing.GIVEN
