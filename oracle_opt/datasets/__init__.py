"""Binary classification data: sets known by name, and CSV or LIBSVM files."""

from oracle_opt.datasets.catalog import names
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.datasets.load import Availability, available, load

__all__ = ["Availability", "Dataset", "available", "load", "names"]
