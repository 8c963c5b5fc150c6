"""The family of convex quadratic programs of Maros and Meszaros."""

import numpy as np

from oracle_opt.errors import InvalidData
from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, Known, path_in_folder
from oracle_opt.problems.conic_rows import of_rows
from oracle_opt.problems.tables import read_tables

PARTS = ("data", "indices", "indptr")
RADIUS: dict[str, float] = {}


def quadratic_program(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`: ``min 1/2 x P x + q x + r, l <= A x <= u``."""
    from scipy import sparse

    path = path_in_folder("qp", entry["file"], needed=f"qp/{entry['name']}")
    radius = RADIUS.get(entry["name"], 1e4)
    data = read_tables(path, *(f"{name}_{part}" for name in "PA" for part in PARTS), *"qlurnm")
    try:
        n, m = (int(data[name].item()) for name in "nm")
        P, A = (
            sparse.csc_array(tuple(data[f"{name}_{part}"] for part in PARTS), shape=(rows, n))
            for name, rows in (("P", n), ("A", m))
        )
        for matrix in (P, A):
            matrix.check_format(full_check=True)
            if not np.isfinite(matrix.data).all():
                raise ValueError("an entry of a matrix is not finite")
        if any(data[name].shape != (size,) for name, size in (("q", n), ("l", m), ("u", m))):
            raise ValueError(f"q must have {n} numbers, l and u {m}")
        return of_rows(data["q"], A.tocsr(), data["l"], data["u"], offset=float(data["r"].item()), P=P, radius=radius)
    except (ArithmeticError, IndexError, TypeError, ValueError) as problem:  # `InvalidArgument` is a ValueError
        raise InvalidData(f"{path} is no quadratic program that can be solved: {problem}") from problem


def _known(entry: Entry) -> Known:
    """Between the values of an interior point method's primal and dual solution, printed with eleven digits."""
    primal, dual = float(entry["resolved"]), float(entry["resolved_dual"])
    return 0.5 * (primal + dual), abs(primal - dual) + 1e-9 * max(1e-2, abs(primal))


FAMILY = Collection(
    "qp",
    "convex quadratic programs",
    lambda entry: int(entry["n"]),
    quadratic_program,
    _known,
    "Maros & Meszaros (1999)",
)
