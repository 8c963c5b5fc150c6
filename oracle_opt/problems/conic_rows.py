"""Linear and quadratic programs of rows ``l <= A x <= u`` as conic oracles, and the reader of MPS files."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import FreeSpace
from oracle_opt.errors import InvalidData

if TYPE_CHECKING:
    from scipy import sparse

    from oracle_opt.oracles import Cone, ConicOracle

INFINITE = 1e20  # what MPS files and solvers call infinite
MOST = 500  # half-spaces of one answer


def read_mps(path: Path, radius: float = 1e4) -> ConicOracle:
    """Return the linear program of an MPS file, packed by gzip or not, as an oracle.

    Parameters
    ----------
    path : Path
    radius : float
        A promise: some minimizer lies so near the origin.

    Raises
    ------
    InvalidData
        HiGHS cannot read the file.
    """
    import highspy
    from scipy import sparse

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "problem.mps"
        content = path.read_bytes()
        plain.write_bytes(gzip.decompress(content) if path.suffix == ".gz" else content)
        if highs.readModel(str(plain)) == highspy.HighsStatus.kError:
            raise InvalidData(f"{path} is no MPS file that HiGHS can read")
    highs.ensureColwise()
    lp = highs.getLp()
    shape = (lp.num_row_, lp.num_col_)
    A = sparse.csc_array((lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_), shape=shape)
    rows = sparse.vstack([A, sparse.eye_array(lp.num_col_)]).tocsr()
    lower, upper = np.r_[lp.row_lower_, lp.col_lower_], np.r_[lp.row_upper_, lp.col_upper_]
    return of_rows(np.array(lp.col_cost_), rows, lower, upper, offset=float(lp.offset_), radius=radius)


def of_rows(
    c: Vector,
    rows: sparse.csr_array,
    lower: Vector,
    upper: Vector,
    *,
    offset: float = 0.0,
    P: sparse.csc_array | None = None,
    radius: float = 1e4,
) -> ConicOracle:
    """Return the oracle of ``min 1/2 x @ P @ x + c @ x + offset`` where ``lower <= rows @ x <= upper``."""
    from scipy import sparse

    from oracle_opt.oracles import ConicOracle, Nonnegative, Zero

    equal = lower == upper
    below, above = (lower > -INFINITE) & ~equal, (upper < INFINITE) & ~equal
    cones: list[Cone] = [Zero(int(equal.sum()))] if equal.any() else []
    inequalities = int(below.sum() + above.sum())
    cones += [Nonnegative(inequalities)] if inequalities else []
    A = sparse.vstack([rows[equal], -rows[below], rows[above]])
    b = np.r_[lower[equal], -lower[below], upper[above]]
    domain = FreeSpace(len(c), radius)
    return ConicOracle(c, A, b, cones, domain=domain, P=P, offset=offset, max_half_spaces=MOST)
