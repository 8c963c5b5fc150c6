import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Numbers = NDArray[np.int32]
Masks = NDArray[np.uint8]
Singles = NDArray[np.float32]

SCRATCH: int

def powers_of_two(t: Singles, out: Singles) -> None: ...
def add_weighted_pairs(
    points: Matrix, a: Numbers, b: Numbers, V: Vector, masks: Masks, rates: Singles, forms: Vector, scratch: Singles
) -> None: ...
def products(
    left: Matrix, right: Matrix, v: Vector, masks: Masks, rates: Singles, out: Matrix, scratch: Singles
) -> None: ...
def weighted_sum(
    left: Matrix,
    right: Matrix,
    a: Numbers,
    b: Numbers,
    masks: Masks,
    rates: Singles,
    weights: Singles,
    out: Vector,
    scratch: Singles,
) -> None: ...
