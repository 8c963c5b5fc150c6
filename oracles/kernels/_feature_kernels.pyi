import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Indices = NDArray[np.intp]
Store = NDArray[np.floating]
Twins = NDArray[np.int32]

def pair_sums(features: Matrix, squares: Vector, bases: Vector) -> None: ...
def fill_of_pairs(
    squares: Vector, bases: Vector, rates: Vector, scales: Vector, twins: Twins, halves: Store
) -> None: ...
def fill_of_features(
    features: Matrix,
    rates: Matrix,
    scales: Matrix,
    twins: Twins,
    halves: Store,
    room: NDArray[np.float64],
    threads: int,
) -> None: ...
def earlier_twins(features: Matrix, order: Indices, twins: Twins) -> None: ...
def quantiles_of_differences(features: Matrix, floor: float, quantiles: Vector, found: Matrix) -> None: ...
