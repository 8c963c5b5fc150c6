"""The report of an installation: versions of its packages, and a self-test."""

from oracle_opt.doctor.diagnosis import Diagnosis, Finding, examine

__all__ = ["Diagnosis", "Finding", "examine"]
