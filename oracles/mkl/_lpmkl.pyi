from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

class ColumnCache:
    @property
    def hits(self) -> int: ...
    @property
    def misses(self) -> int: ...
    def __init__(self, fetch: Callable[[int], Matrix], n: int, p: int, slots: int) -> None: ...

class Penalty: ...

class LpNorm(Penalty):
    def __init__(self, p: float, lam: float) -> None: ...

class SquaredNorm(Penalty):
    def __init__(self, lam: float) -> None: ...

class Entropy(Penalty):
    def __init__(self, reference: Vector, lam: float) -> None: ...

class Elastic(Penalty):
    def __init__(self, linear: float, quadratic: float) -> None: ...

def take_steps(
    cache: ColumnCache,
    penalty: Penalty,
    linear: Vector,
    ridge: Vector,
    lower: Vector,
    upper: Vector,
    diagonal: Matrix,
    x: Vector,
    M: Matrix,
    S: Vector,
    target: float,
    limit: int,
) -> tuple[int, NDArray[np.intp], float]: ...
