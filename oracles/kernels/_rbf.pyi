from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Sparse: TypeAlias = tuple[NDArray[np.intc], NDArray[np.intc], Vector, Vector, int]
Side: TypeAlias = NDArray[np.floating] | Sparse
Numbers: TypeAlias = NDArray[np.floating]

def products(
    lanes: Side, others: Side, weights: Vector, rates: Vector, single: bool, polynomial: bool, threads: int
) -> Matrix: ...
def products_across(
    lanes: Side, others: Side, weights: Vector, rates: Vector, single: bool, polynomial: bool, threads: int
) -> Matrix: ...
def forms(points: Side, weights: Vector, rates: Vector, single: bool, polynomial: bool, threads: int) -> Vector: ...
def add_combined(
    lanes: Side,
    others: Side,
    weights: Vector,
    rates: Vector,
    single: bool,
    polynomial: bool,
    out: Matrix,
    threads: int,
) -> None: ...
def write_entries(
    lanes: Side,
    others: Side,
    rates: Vector,
    single: bool,
    polynomial: bool,
    scale: float,
    out: NDArray[np.float64],
    threads: int,
) -> None: ...
def exp2_of(t: Numbers, out: Numbers) -> None: ...
def barycentric(places: Vector, nodes: Vector, factors: Vector, out: Matrix) -> None: ...
