import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Indices = NDArray[np.intp]
Places = NDArray[np.int32]
Store = NDArray[np.floating]

def weighted_rows(rows: Store, which: Indices, weights: Vector, shares: Matrix, threads: int) -> None: ...
def piece_count(count: int) -> int: ...
def pair_products(pairs: Store, places: Indices, weights: Vector, out: Matrix, threads: int) -> None: ...
def support_pairs(
    packed: Store,
    kernels: Indices,
    support: Indices,
    v: Vector,
    pairs: Store,
    places: Places,
    kept: Indices,
    found: Indices,
    weights: Vector,
) -> None: ...
def row_pairs(
    packed: Store,
    kernels: Indices,
    rows: Indices,
    columns: Indices,
    pairs: Store,
    places: Places,
    kept: Indices,
    found: Indices,
) -> None: ...
