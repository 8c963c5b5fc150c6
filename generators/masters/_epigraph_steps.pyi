from collections.abc import Callable

from oracle_opt.arrays import Matrix, Vector

class EpigraphProgram:
    x: Vector
    a: Vector
    nu: float
    def __init__(self, hessian: Matrix, linear: Vector, slopes: Matrix, constants: Vector, total: float) -> None: ...
    def solve(self, tolerance: float, max_steps: int, seconds_left: Callable[[], float]) -> bool: ...
