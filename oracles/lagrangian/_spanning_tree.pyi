import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Indices = NDArray[np.intp]

def spanning_tree(
    costs: Matrix, potentials: Vector, without: int, near: Vector, parents: Indices, order: Indices
) -> None: ...
