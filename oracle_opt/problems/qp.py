"""The family of convex quadratic programs of Maros and Meszaros."""

from __future__ import annotations

import numpy as np

from oracle_opt.oracle import Oracle
from oracle_opt.problems.conic_rows import of_rows
from oracle_opt.problems.folder import Collection, Entry, Known, path_in_folder

RADIUS: dict[str, float] = {}


def quadratic_program(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`: ``min 1/2 x P x + q x + r, l <= A x <= u``."""
    from scipy import sparse

    with np.load(path_in_folder("qp", entry["file"], needed=f"qp/{entry['name']}")) as file:
        data = dict(file)
    n, m = int(data["n"]), int(data["m"])
    P = sparse.csc_array((data["P_data"], data["P_indices"], data["P_indptr"]), shape=(n, n))
    A = sparse.csc_array((data["A_data"], data["A_indices"], data["A_indptr"]), shape=(m, n)).tocsr()
    radius = RADIUS.get(entry["name"], 1e4)
    return of_rows(data["q"], A, data["l"], data["u"], offset=float(data["r"]), P=P, radius=radius)


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
