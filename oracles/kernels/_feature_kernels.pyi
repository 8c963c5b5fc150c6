import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Store = NDArray[np.floating]

def pair_sums(features: Matrix, constant: float, squares: Vector, bases: Vector) -> None: ...
def fill_of_pairs(
    squares: Vector, bases: Vector, rates: Vector, scales: Vector, halves: Store, total: Vector, threads: int
) -> None: ...
def fill_of_features(
    features: Matrix, rates: Matrix, scales: Matrix, halves: Store, total: Vector, threads: int
) -> None: ...
def quantiles_of_differences(
    features: Matrix, sums: Matrix, floor: float, quantiles: Vector, weighted: bool, found: Matrix
) -> None: ...
