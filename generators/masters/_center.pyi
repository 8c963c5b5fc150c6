import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.barrier import Polytope

class Center:
    point: Vector
    def __init__(
        self,
        polytope: Polytope,
        start: Vector,
        slack: Vector,
        weights: Vector,
        places: NDArray[np.intp],
        signs: Vector,
    ) -> None: ...
    def solve(self, tolerance: float, max_steps: int) -> bool: ...
