"""Binary classification data: sets known by name, and CSV or LIBSVM files."""

from oracle_opt.datasets.catalog import names
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.datasets.load import Availability, available, load
from oracle_opt.datasets.splits import split_points

__all__ = ["Availability", "Dataset", "available", "load", "names", "split_points"]
