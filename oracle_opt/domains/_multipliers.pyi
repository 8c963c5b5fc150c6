from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import LinearConstraints

def nonnegative_quadratic(
    hessian: Matrix, linear: Vector, start: Vector, tolerance: float, max_steps: int = 300, n_free: int = 0
) -> Vector: ...
def simplex_quadratic(
    hessian: Matrix,
    linear: Vector,
    start: Vector,
    count: int,
    of_pieces: float,
    of_others: float,
    n_free: int = 0,
) -> Vector: ...

class Quadratic:
    def __init__(self, m: int, n_free: int) -> None: ...

class BoundsDual:
    def __init__(
        self,
        constraints: LinearConstraints,
        center: Vector,
        metric: Vector,
        matrix: Matrix,
        rhs: Vector,
        start: Vector,
        n_equations: int,
    ) -> None: ...
    def project(self, tolerance: float, max_steps: int) -> tuple[Vector, Vector, int]: ...
    def minimize(
        self, n_objective: int, tolerance: float, floor: float, allowed: float, max_steps: int
    ) -> tuple[Vector, Vector]: ...
