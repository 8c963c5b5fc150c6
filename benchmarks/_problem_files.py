"""Readers of the public instances of the folder ORACLE_OPT_PROBLEMS: linear, quadratic, semidefinite programs."""

import gzip
import json
import os
import tempfile
from pathlib import Path

import highspy
import numpy as np
from scipy import sparse

from oracle_opt import FreeSpace
from oracle_opt.oracles import ConicOracle, ConicProblem, Nonnegative, PositiveSemidefinite, Zero

FOLDER = Path(os.environ.get("ORACLE_OPT_PROBLEMS", "problems"))


def instances(kind):
    """Entries of `optima.json` of a kind of problem, by name; none if the folder is absent."""
    path = FOLDER / kind / "optima.json"
    return {entry["name"]: entry for entry in json.loads(path.read_text())["instances"]} if path.exists() else {}


def linear_program(entry):
    """Conic oracle of an MPS file: equations, then inequalities and bounds, as rows."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.mps"
        path.write_bytes(gzip.decompress((FOLDER / "lp" / entry["file"]).read_bytes()))
        highs.readModel(str(path))
    highs.ensureColwise()
    lp = highs.getLp()
    shape = (lp.num_row_, lp.num_col_)
    A = sparse.csc_array((lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_), shape=shape)
    rows = sparse.vstack([A, sparse.eye_array(lp.num_col_)]).tocsr()
    lower, upper = np.r_[lp.row_lower_, lp.col_lower_], np.r_[lp.row_upper_, lp.col_upper_]
    return _rows_oracle(np.array(lp.col_cost_), rows, lower, upper, lp.offset_)


def _rows_oracle(c, rows, lower, upper, offset, P=None):
    equal = lower == upper
    below, above = (lower > -1e20) & ~equal, (upper < 1e20) & ~equal
    cones = [Zero(int(equal.sum()))] if equal.any() else []
    cones += [Nonnegative(int(below.sum() + above.sum()))]
    A = sparse.vstack([rows[equal], -rows[below], rows[above]])
    b = np.r_[lower[equal], -lower[below], upper[above]]
    return ConicOracle(c, A, b, cones, domain=FreeSpace(len(c), 1e4), P=P, offset=offset, max_half_spaces=500)


def quadratic_program(entry):
    """Conic oracle of ``min 1/2 x P x + q x + r, l <= A x <= u``."""
    data = np.load(FOLDER / "qp" / f"{entry['name']}.npz")
    n, m = int(data["n"]), int(data["m"])
    P = sparse.csc_array((data["P_data"], data["P_indices"], data["P_indptr"]), shape=(n, n))
    A = sparse.csc_array((data["A_data"], data["A_indices"], data["A_indptr"]), shape=(m, n))
    return _rows_oracle(data["q"], A.tocsr(), data["l"], data["u"], float(data["r"]), P)


def semidefinite_program(entry):
    """``min c x : sum_i x_i F_i - F_0`` in K, from a file in SDPA's sparse format."""
    lines = (FOLDER / "sdp" / f"{entry['name']}.dat-s").read_text().splitlines()
    lines = [line for line in lines if line.strip() and line[0] not in '"*']
    plain = [line.translate(str.maketrans(",(){}", "     ")).split() for line in lines]
    m = int(plain[0][0])
    sizes = [int(float(size)) for size in plain[2][: int(plain[1][0])]]
    c = np.array(plain[3][:m], dtype=float)
    cones = [PositiveSemidefinite(size) if size > 0 else Nonnegative(-size) for size in sizes]
    starts = np.cumsum([0, *(cone.dimension for cone in cones)])
    b = np.zeros(starts[-1])
    entries = []
    for fields in plain[4:]:
        k, block, i, j = (int(field) for field in fields[:4])
        i, j = min(i, j) - 1, max(i, j) - 1
        size = sizes[block - 1]
        row = starts[block - 1] + (j * (j + 1) // 2 + i if size > 0 else i)
        value = float(fields[4]) * (np.sqrt(2.0) if i != j else 1.0)
        if k == 0:
            b[row] -= value
        else:
            entries.append((row, k - 1, -value))
    rows, columns, values = zip(*entries, strict=True)
    return ConicProblem(c, sparse.csr_array((values, (rows, columns)), shape=(len(b), m)), b, cones)
