"""Readers of the public collections: what cannot be read is refused by its line, at once, and nothing is left out."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import highspy
import numpy as np
import pytest
from test_reading import random_mps

from oracle_opt import InvalidData, minimize, problems
from oracle_opt.oracles import Nonnegative, PositiveSemidefinite
from oracle_opt.problems.conic_rows import of_rows, read_mps
from oracle_opt.problems.qp import quadratic_program
from oracle_opt.problems.sdpa_files import as_largest_eigenvalue, read_sdpa
from oracle_opt.problems.tables import read_tables

LINES = [
    "NAME  SMALL",
    "ROWS",
    " N  COST",
    " L  A",
    "COLUMNS",
    "    X  COST  1  A  1",
    "    Y  COST  -1  A  2",
    "RHS",
    "    B  A  4",
    "BOUNDS",
    " UP Z  X  3",
    "ENDATA",
]
SDPA = ["2", "2", "(2, -2)", "1 1", "0 1 1 1 1", "1 1 1 2 .5", "1 2 1 1 1", "2 2 2 2 1"]


def test_programs_are_those_that_highs_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for trial in range(40):
        path = tmp_path / f"program.mps{'.gz' if trial % 2 else ''}"
        text = random_mps(rng)
        path.write_bytes(gzip.compress(text.encode()) if trial % 2 else text.encode())
        plain = tmp_path / "plain.mps"
        plain.write_text(text)
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        assert highs.readModel(str(plain)) != highspy.HighsStatus.kError
        highs.ensureRowwise()
        lp = highs.getLp()
        dense = np.zeros((lp.num_row_, lp.num_col_))
        for i, (first, last) in enumerate(zip(lp.a_matrix_.start_, lp.a_matrix_.start_[1:], strict=False)):
            dense[i, lp.a_matrix_.index_[first:last]] = lp.a_matrix_.value_[first:last]
        rows = np.vstack([dense, np.eye(lp.num_col_)])
        lower, upper = np.r_[lp.row_lower_, lp.col_lower_], np.r_[lp.row_upper_, lp.col_upper_]
        if not np.isfinite([*lower, *upper]).any():
            continue
        from scipy import sparse

        known = of_rows(np.array(lp.col_cost_), sparse.csr_array(rows), lower, upper, offset=lp.offset_).problem
        read = read_mps(path).problem
        for one, other in ((read.c, known.c), (read.b, known.b), (read.A.toarray(), known.A.toarray())):
            np.testing.assert_array_equal(one, other, err_msg=text)
        assert (read.offset, repr(read.cones)) == (known.offset, repr(known.cones))


def line(text: str, at: int) -> list[str]:
    return [*LINES[:at], text, *LINES[at:]]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (line("OBJSENSE\n    MAX", 1), "to be maximized"),
        (line("QUADOBJ\n    X  X  2.0", 11), "line 12: the section 'QUADOBJ' cannot be read"),
        (line("QMATRIX\n    X  X  2.0", 11), "QMATRIX"),
        (line("QSECTION\n    X  X  2.0", 11), "QSECTION"),
        (line("QCMATRIX  A\n    X  X  2.0", 11), "QCMATRIX"),
        (line("    M  'MARKER'  'INTORG'", 5), "line 6: COLUMNS: whole variables cannot be read"),
        (line(" BV Z  Y", 10), "line 11: BOUNDS: the bound 'BV'"),
        (line(" LI Z  Y  2", 10), "'LI'"),
        (line(" SC Z  Y  2", 10), "semicontinuous"),
        (line("SOS\n S1 SOS SOS1 1", 11), "SOS"),
        (line("    Y  A  nan", 6), "line 7: COLUMNS: 'nan' is not a finite number"),
        (line("    B  A  1e400", 8), "1e400"),
        (line("    B  NOWHERE  1", 8), "there is no row 'NOWHERE'"),
        (LINES[:-1], "cut off"),
        ([" N COST"], "MPS"),
    ],
)
def test_what_is_no_plain_program_is_refused_by_its_line(lines: list[str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "small.mps"
    path.write_text("\n".join(LINES))
    assert read_mps(path).problem.c.tolist() == [1.0, -1.0]
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidData) as refused:
        read_mps(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("reader", [read_mps, read_sdpa])
def test_damaged_packing_is_refused(reader: Callable[[Path], object], tmp_path: Path) -> None:
    content = "\n".join(LINES if reader is read_mps else SDPA).encode()
    rng, packed = np.random.default_rng(0), gzip.compress(content)
    path = tmp_path / "file.gz"
    path.write_bytes(packed)
    reader(path)
    refused = 0
    for trial in range(120):
        damaged = bytearray(packed)
        for at in rng.integers(0 if trial % 2 else 10, len(packed), 2):
            damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged[: len(packed) - int(rng.integers(1, 9)) * (trial % 3 == 0)]))
        try:
            reader(path)
        except InvalidData:
            refused += 1
    assert refused > 60
    for gone in (tmp_path / "none", tmp_path):
        with pytest.raises(InvalidData):
            reader(gone)


@pytest.mark.parametrize(
    ("at", "text", "words"),
    [
        (0, "0", "line 1: SDPA's sparse format: the number of variables"),
        (0, "9e29", "the number of variables"),
        (0, "3", "line 4: SDPA's sparse format: there must be 3 finite costs"),
        (1, "3", "the orders of the blocks must be 3"),
        (1, "1", "must be 1 and no more"),
        (2, "(1e400, -2)", "line 3"),
        (2, "(2, 0)", "not 0"),
        (2, "(2, -300000000)", "block 2 of order 300000000 has 2 entries"),
        (2, "(99999999999, -2)", "block 1 of order 99999999999 has 2 entries"),
        (3, "1", "there must be 2 finite costs, got 1"),
        (3, "1 inf", "got 'inf'"),
        (4, "0 0 1 1 1", "line 5: SDPA's sparse format: there are matrices 0 to 2 and blocks 1 to 2, got 0 and 0"),
        (4, "0 3 1 1 1", "got 0 and 3"),
        (4, "3 1 1 1 1", "got 3 and 1"),
        (4, "-1 1 1 1 1", "got -1 and 1"),
        (4, "0 1 0 1 1", "block 1 is of order 2, and the entry is in row 0, column 1"),
        (4, "0 1 1 3 1", "column 3"),
        (4, "0 1 9e29 1 1", "four whole numbers"),
        (4, "0 2 1 2 1", "block 2 is diagonal, of order 2"),
        (4, "0 1 1 1", "four whole numbers"),
        (4, "0 1 1 1 1 1", "four whole numbers"),
        (4, "0 1 1 1 1e400", "a finite one"),
        (4, "0 1 1 1 1.7e308", "a finite one"),
        (4, "1 1 2 1 1", "stands twice"),
        (4, "0 1 1 1 1_0", "four whole numbers"),
    ],
)
def test_programs_in_sdpas_format_are_refused_by_their_line(at: int, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file.dat-s"
    path.write_text("\n".join(['"a comment', *SDPA[:at], text, *SDPA[at + 1 :]]).replace('"a comment\n', ""))
    with pytest.raises(InvalidData) as refused:
        read_sdpa(path)
    assert words in str(refused.value)


def test_semidefinite_programs_are_read_as_they_are_written(tmp_path: Path) -> None:
    """Random matrices, written in the upper or the lower triangle, and their inner products with random ones."""
    rng, path = np.random.default_rng(3), tmp_path / "file.dat-s"
    for _ in range(30):
        m, orders = int(rng.integers(1, 4)), [int(rng.choice([-2, 1, 3])) for _ in range(rng.integers(1, 4))]
        F = [[rng.normal(size=(abs(order),) * 2).round(3) for order in orders] for _ in range(m + 1)]
        F = [
            [one + one.T if order > 0 else np.diag(np.diag(one)) for one, order in zip(G, orders, strict=True)]
            for G in F
        ]
        lines = [
            "* comment",
            f"{m} = m",
            f"{len(orders)}",
            "{" + ", ".join(map(str, orders)) + "}",
            " ".join(["1.5"] * m),
        ]
        for k, G in enumerate(F):
            for block, one in enumerate(G, 1):
                for i, j in zip(*np.triu_indices(len(one)), strict=True):
                    a, b = (i, j) if rng.random() < 0.5 else (j, i)
                    lines += [f"{k} {block} {a + 1} {b + 1} {float(one[i, j])!r}"] if one[i, j] else []
        path.write_text("\n".join(lines))
        program, x = read_sdpa(path), rng.normal(size=m)
        assert [type(one) for one in program.cones] == [Nonnegative if k < 0 else PositiveSemidefinite for k in orders]
        slack = program.b - program.A @ x  # a vector in the cones: sum x_i F_i - F_0
        for cone, order, *blocks in zip(program.cones, orders, *F, strict=True):
            part, slack = np.split(slack, [cone.dimension])
            whole = sum(a * one for a, one in zip([-1.0, *x], blocks, strict=True))
            np.testing.assert_allclose(part, cone.vector(whole) if order > 0 else np.diag(whole), atol=1e-12)


def test_a_variable_without_a_matrix_is_no_eigenvalue(tmp_path: Path) -> None:
    path = tmp_path / "file.dat-s"
    path.write_text("\n".join(SDPA[:-1]))
    with pytest.raises(ValueError, match="`program` must have no variable without a matrix, got 1"):
        as_largest_eigenvalue(read_sdpa(path))


def quadratic(rng: np.random.Generator) -> dict[str, np.ndarray]:
    n, m = 3, 2
    root = rng.normal(size=(n, n))
    P, A = root @ root.T, rng.normal(size=(m, n))
    parts = {f"{name}_data": one.T.ravel() for name, one in (("P", P), ("A", A))}
    parts |= {"P_indices": np.tile(np.arange(n), n), "P_indptr": np.arange(0, n * n + 1, n)}
    parts |= {"A_indices": np.tile(np.arange(m), n), "A_indptr": np.arange(0, n * m + 1, m)}
    return parts | {"q": rng.normal(size=n), "l": np.full(m, -1.0), "u": np.ones(m), "r": 0.5, "n": n, "m": m}


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qp").mkdir()
    monkeypatch.setenv("ORACLE_OPT_PROBLEMS", str(tmp_path))
    return tmp_path / "qp" / "one.npz"


ENTRY = {"name": "one", "file": "one.npz", "n": 3, "resolved": 1.0, "resolved_dual": 1.0}


def test_damaged_tables_are_refused(collection: Path) -> None:
    rng = np.random.default_rng(1)
    data = quadratic(rng)
    np.savez_compressed(collection, **data)
    assert quadratic_program(ENTRY).problem.c.tolist() == data["q"].tolist()
    wrong = [
        {"q": np.full(3, np.nan)},
        {"q": np.ones(4)},
        {"q": np.array(["a", "b", "c"])},
        {"n": 4},
        {"n": -1},
        {"n": 2.0**70},
        {"P_indices": np.full(9, 7)},
        {"P_indices": np.full(9, -1)},
        {"P_indptr": np.array([0, 3, 2, 9])},
        {"P_data": -data["P_data"]},
        {"A_data": np.full(6, np.inf)},
        {"r": np.ones(2)},
        {"q": np.array([None, 1, 2], dtype=object)},
        {"q": np.ones(3, dtype=complex)},
    ]
    for one in wrong:
        np.savez_compressed(collection, **{**data, **one})
        with pytest.raises(InvalidData, match=r"one\.npz"):
            assert not quadratic_program(ENTRY), one
    for name in data:
        np.savez_compressed(collection, **{key: value for key, value in data.items() if key != name})
        with pytest.raises(InvalidData, match=r"one\.npz"):
            quadratic_program(ENTRY)
    np.savez_compressed(collection, **data)
    good, refused = collection.read_bytes(), 0
    for _ in range(300):
        damaged = bytearray(good)
        for at in rng.integers(0, len(good), rng.integers(1, 4)):
            damaged[at] ^= 1 << int(rng.integers(8))
        collection.write_bytes(bytes(damaged[: int(rng.choice([len(good), rng.integers(len(good))]))]))
        try:
            quadratic_program(ENTRY)
        except InvalidData:
            refused += 1
    assert refused > 200


def test_tables_that_claim_to_be_huge_are_refused(tmp_path: Path) -> None:
    path, header = tmp_path / "huge.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 40)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(16))
    with pytest.raises(InvalidData, match="has 16 bytes"):
        read_tables(path, "a")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"resolved": None}, "TypeError"),
        ({"resolved": "one"}, "ValueError"),
        ({"resolved": float("nan")}, "its optimum is nan"),
        ({"n": 0}, "in 0 variables"),
        ({"n": "many"}, "ValueError"),
        ({"n": float("inf")}, "OverflowError"),
        ({"file": 3}, "no name of a file"),
        ({"file": "../one.npz"}, "no name of a file"),
        ({"file": ""}, "no name of a file"),
    ],
)
def test_entries_that_describe_nothing_are_refused(collection: Path, entry: dict[str, object], words: str) -> None:
    np.savez_compressed(collection, **quadratic(np.random.default_rng(1)))
    index = collection.with_name("optima.json")
    index.write_text(json.dumps({"instances": [ENTRY]}))
    assert problems.find("qp/one")[0].n == 3
    index.write_text(json.dumps({"instances": [{**ENTRY, **entry}]}))
    with pytest.raises(InvalidData, match=rf"optima\.json: the instance 'one' is not described: .*{words}"):
        problems.find("qp/one")
    for gone in ("file", "n", "resolved"):
        index.write_text(json.dumps({"instances": [{key: value for key, value in ENTRY.items() if key != gone}]}))
        with pytest.raises(InvalidData, match=f"KeyError: '{gone}'"):
            problems.find("qp/one")
    for text in ("[" * 100_000, '{"instances": 3}', '{"instances": [3]}', "\xff\x00", "[]"):
        index.write_text(text, encoding="latin-1")
        with pytest.raises(InvalidData, match=r"optima\.json"):
            problems.find("qp/one")


def test_the_relaxed_maximal_cut_of_a_triangle_is_an_eigenvalue(tmp_path: Path) -> None:
    """9 / 4, of ``min sum x`` with ``diag(x) - L / 4`` positive semidefinite."""
    laplacian = 3.0 * np.eye(3) - 1.0
    entries = [f"0 1 {i + 1} {j + 1} {laplacian[i, j] / 4}" for i in range(3) for j in range(i, 3)]
    path = tmp_path / "triangle.dat-s"
    path.write_text("\n".join(["3", "1", "3", "1 1 1", *entries, *(f"{k} 1 {k} {k} 1" for k in (1, 2, 3))]))
    oracle, known = as_largest_eigenvalue(read_sdpa(path), radius=10.0)
    assert known
    result = minimize(oracle, rtol=1e-7)
    assert result.lower_bound - 1e-9 <= 2.25 <= result.upper_bound + 1e-9
    assert result.relative_gap < 1e-5
