import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

def signed_box(y: Vector, C: Vector) -> tuple[Vector, Vector]: ...
def solve_signed(
    K: Matrix | NDArray[np.float32],
    linear: Vector,
    lower: Vector,
    upper: Vector,
    kink: Vector | None,
    ridge: Vector | None,
    endless: bool,
    total: float,
    offset: float,
    noise: float,
    b: Vector,
    accuracy: float,
    tolerance: float,
    max_steps: int,
) -> tuple[Vector, float, float, float, float, float, float, int, int, int]: ...
