"""Binary classification data: sets known by name, and CSV or LIBSVM files; precomputed kernels with class labels."""

from oracle_opt.datasets.catalog import names
from oracle_opt.datasets.dataset import Dataset, split_points
from oracle_opt.datasets.kernel_data import KernelData, load_kernels
from oracle_opt.datasets.load import Availability, available, load

__all__ = [
    "Availability",
    "Dataset",
    "KernelData",
    "available",
    "load",
    "load_kernels",
    "names",
    "split_points",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers
