"""The report of an installation: versions, processor, memory, data folders, and a self-test."""

from oracle_opt.doctor.diagnosis import Diagnosis, examine
from oracle_opt.doctor.findings import Finding

__all__ = ["Diagnosis", "Finding", "examine"]
