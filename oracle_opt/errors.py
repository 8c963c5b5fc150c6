"""Every error the library raises on its own account."""

from typing import Any


class OracleOptError(Exception):
    """Base of the library's errors."""


class InvalidArgument(OracleOptError, ValueError):
    """An argument the user passed cannot be used."""


class CapabilityMismatch(OracleOptError, ValueError):
    """A generator cannot serve an oracle; found before the first call."""


class InvalidCut(OracleOptError, ValueError):
    """An oracle answered something that is not a cut of its query point."""


class JournalMismatch(OracleOptError, ValueError):
    """A journal belongs to another problem, generator or seed, is damaged, or is in use."""


class InvalidData(OracleOptError, ValueError):
    """A data file is missing, unreadable, not a binary classification set, or not the set its name says."""


class DataUnavailable(OracleOptError, LookupError):
    """A known data set is neither on this machine nor to be fetched."""


class MissingPackage(OracleOptError, ImportError):
    """A package that only an extra of oracle-opt installs is not here; the message names both."""


class InvalidCertificate(OracleOptError, ValueError):
    """A certificate is damaged, of another version or problem, or there is nothing that it could certify."""


class Refuted(OracleOptError, ValueError):
    """A claim of a certificate does not hold, or its witness does not prove it."""


class StoreMismatch(OracleOptError, ValueError):
    """A folder of runs belongs to other settings, other data or another method."""


class StudyFailed(OracleOptError, RuntimeError):
    """Every run of a study failed; its `results` are all that is known of them, and the folder has them, too.

    Parameters
    ----------
    message : str
        What happened.
    results : Results
        The runs.
    """

    def __init__(self, message: str, results: Any = None) -> None:
        super().__init__(message)
        self.results = results


class StudyWarning(UserWarning):
    """Runs of a study failed and the others went on, or its elapsed seconds tell of a busy machine."""


class ExecutorFailed(OracleOptError, RuntimeError):
    """An executor takes no tasks any more, lost one, or has a worker without the memory for its task."""


class Exhausted(OracleOptError):
    """Raised by `ask` when a generator has nothing left to ask."""


class EmptyLocalizationSet(Exhausted):
    """Raised by `ask` when the cuts leave no point that could be better."""


class OutOfTime(OracleOptError):
    """Raised inside a generator's own work when `max_seconds` is over; `minimize` catches it and ends the run."""


class JournalWarning(UserWarning):
    """A journal was repaired, its torn last record dropped; or it cannot be locked."""
