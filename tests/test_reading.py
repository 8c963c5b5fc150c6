"""What a file can do wrong ends in InvalidData with file, line and reason; what is right is read as it stands."""

import gzip
import os
import re
import tracemalloc

import highspy
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from test_benders import BLOCKS, SCENARIOS, SMPS, written

from oracle_opt import InvalidArgument, InvalidData, minimize
from oracle_opt.datasets import load
from oracle_opt.oracles import BendersOracle, GeneralizedAssignmentOracle, read_smps
from oracle_opt.oracles.benders.mps import read_mps
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, MulticommodityFlowOracle, read_tsplib
from oracle_opt.reading import Words, number, numbers, read_text, whole


def test_numbers_are_ascii_and_finite():
    for word, value in (("1", 1.0), ("-1.5e3", -1500.0), (".5", 0.5), ("5.", 5.0), ("+1E-2", 0.01)):
        assert number(word) == value
    wrong = ("1_0", "nan", "inf", "1e400", "٣", "", ".", "e5", "1-2", "0x1", "1 2", "1,5", "--1")
    for word in wrong:
        assert number(word) is None
        assert numbers(["1", word]) is None
    assert number("-inf", infinite=True) == -np.inf
    assert number("nan", infinite=True) is None
    assert [whole(word) for word in ("7", "-7", "7.0", "1_0", "9" * 19, "٣")] == [7, -7, None, None, None, None]
    np.testing.assert_array_equal(numbers(["1", "2e1"]), [1.0, 20.0])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfa", "a"),
        ("Zürich\n".encode(), "Zürich\n"),
        ("Zürich\n".encode("latin-1"), "Zürich\n"),
        (gzip.compress(b"packed", mtime=0) + gzip.compress(b" twice", mtime=0), "packed twice"),
        (b"a\n\x1a", "a\n"),
    ],
)
def test_texts(tmp_path, content, text):
    (tmp_path / "file").write_bytes(content)
    assert read_text(tmp_path / "file") == text


def test_what_is_no_text(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(InvalidData, match="does not exist"):
        read_text(path)
    with pytest.raises(InvalidData, match="is a folder"):
        read_text(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InvalidData, match="is a pipe or a device"):
            read_text(tmp_path / "pipe")
    for content in ("a\nb".encode("utf-16"), b"ab\n\0"):
        path.write_bytes(content)
        with pytest.raises(InvalidData, match=r"line [12]: the character '.*' is in no text file"):
            read_text(path)


def test_damaged_and_endless_gzip(tmp_path, monkeypatch):
    path = tmp_path / "file.gz"
    whole_file = gzip.compress(b"12345 " * 1000)
    flipped = bytearray(whole_file)
    flipped[len(flipped) // 2] ^= 64
    for content in (whole_file[:-9], whole_file[:20], bytes(flipped), b"plain", whole_file + b"\x1f\x8b\x08"):
        path.write_bytes(content)
        with pytest.raises(InvalidData, match="cannot be unpacked by gzip"):
            read_text(path)
    path.write_bytes(gzip.compress(bytes(2**28)))
    tracemalloc.start()
    with pytest.raises(InvalidData, match="unpacks to more than 67108864 bytes"):
        read_text(path)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    path.write_bytes(whole_file)
    monkeypatch.setenv("ORACLE_OPT_MAX_UNPACKED", "5999")
    with pytest.raises(InvalidData, match="more than 5999 bytes"):
        read_text(path)
    monkeypatch.setenv("ORACLE_OPT_MAX_UNPACKED", "6000")
    assert len(read_text(path)) == 6000
    monkeypatch.setenv("ORACLE_OPT_MAX_UNPACKED", "much")
    with pytest.raises(InvalidArgument, match="ORACLE_OPT_MAX_UNPACKED"):
        read_text(path)


def test_words_know_their_lines(tmp_path):
    (tmp_path / "file").write_text("1 2\n\n3 x 1_0\n")
    words = Words.of_file(tmp_path / "file")
    np.testing.assert_array_equal(words.numbers(slice(0, 3)), [1, 2, 3])
    for chosen, message in ((slice(None), "line 3: 'x' is not"), ([0, 4], "line 3: '1_0' is not")):
        with pytest.raises(InvalidData, match=message):
            words.numbers(chosen)
    assert words.count(1, "cities") == 2
    for k, got in ((3, "'x'"), (9, "the end of the file")):
        with pytest.raises(InvalidData, match=f"the number of cities must be a whole number of at least 1, got {got}"):
            words.count(k, "cities")


# Linear programs


def random_mps(rng):
    """Text of a small program with every kind of row, range and bound."""
    rows = [(str(rng.choice(list("LGE"))), f"R{i}") for i in range(rng.integers(1, 6))]
    columns = [f"C{j}" for j in range(rng.integers(1, 6))]
    value = lambda: f"{rng.integers(-9, 10) / 4:g}"  # noqa: E731
    lines = ["NAME          RANDOM", "ROWS", " N  COST", *(f" {kind}  {name}" for kind, name in rows), "COLUMNS"]
    for column in columns:
        lines.append(f"    {column}  COST  {value()}")
        lines += [f"    {column}  {row}  {value()}" for _, row in rows if rng.random() < 0.7]
    lines += ["RHS", f"    B  COST  {value()}", *(f"    B  {row}  {value()}" for _, row in rows if rng.random() < 0.7)]
    lines += ["RANGES", *(f"    W  {row}  {value()}" for _, row in rows if rng.random() < 0.5), "BOUNDS"]
    for column in columns:
        kind = str(rng.choice(["UP", "LO", "FX", "FR", "MI", "PL", "both", "none"]))
        if kind in ("UP", "LO", "FX"):
            lines.append(f" {kind} Z  {column}  {value().lstrip('-') if kind == 'UP' else value()}")
        elif kind == "both":
            lower = rng.integers(-9, 10) / 4
            lines += [f" UP Z  {column}  {lower + 1:g}", f" LO Z  {column}  {lower:g}"]
        elif kind != "none":
            lines.append(f" {kind} Z  {column}")
    return "\n".join([*lines, "ENDATA", ""])


def test_programs_are_read_as_highs_reads_them(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(60):
        path = tmp_path / "program.mps"
        path.write_text(random_mps(rng))
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        assert highs.readModel(str(path)) != highspy.HighsStatus.kError
        highs.ensureColwise()
        model, read = highs.getLp(), read_mps(path)
        held = model.a_matrix_
        matrix = sparse.csc_array((held.value_, held.index_, held.start_), shape=read.matrix.shape)
        np.testing.assert_array_equal(read.matrix.toarray(), matrix.toarray())
        for name in ("cost", "lower", "upper"):
            column = getattr(read, "cost" if name == "cost" else f"column_{name}")
            np.testing.assert_array_equal(column, np.array(getattr(model, f"col_{name}_")))
        np.testing.assert_array_equal(read.row_lower, np.array(model.row_lower_))
        np.testing.assert_array_equal(read.row_upper, np.array(model.row_upper_))
        assert read.offset == model.offset_
        assert (list(read.rows), list(read.columns)) == (list(model.row_names_), list(model.col_names_))


def test_comments_behind_blanks_are_left_out(tmp_path):
    plain = read_smps(written(tmp_path))
    core = (
        SMPS[".cor"]
        .replace("ROWS", "ROWS\n   * the rows")
        .replace("RHS", "\t ** \nRHS")
        .replace("DEMAND  2.0", "DEMAND  2.0 * a day")
    )
    made = read_smps(written(tmp_path, cor=core, tim=SMPS[".tim"].replace("    Y ", "  * two\n    Y ")))
    assert made.digest() == plain.digest()


# Stochastic programs


@pytest.mark.parametrize(
    ("core", "beside"), [("SHOP.COR", "SHOP.TIM"), ("shop.COR", "shop.tim"), ("a.cor.gz", "a.TIM")]
)
def test_endings_in_capital_letters(tmp_path, core, beside):
    path = written(tmp_path)
    for old, new in (("cor", core), ("tim", beside), ("sto", beside[:-3] + ("STO" if beside[-1] == "M" else "sto"))):
        content = (tmp_path / f"shop.{old}").read_bytes()
        (tmp_path / f"shop.{old}").unlink()
        (tmp_path / new).write_bytes(gzip.compress(content) if new.endswith("gz") else content)
    assert not path.exists()
    assert read_smps(tmp_path / core).n_scenarios == 2
    (tmp_path / beside).unlink()
    with pytest.raises(InvalidData, match=rf"{core.split('.')[0]}\.(TIM|tim) does not exist"):
        read_smps(tmp_path / core)


def test_packed_and_latin_1_stochastic_programs(tmp_path):
    plain = read_smps(written(tmp_path, sto=BLOCKS))
    for ending in (".cor", ".tim", ".sto"):
        content = (tmp_path / f"shop{ending}").read_text().replace("DEMAND", "BÜDGET").encode("latin-1")
        (tmp_path / f"shop{ending}.gz").write_bytes(gzip.compress(content))
        (tmp_path / f"shop{ending}").unlink()
    packed = read_smps(tmp_path / "shop.cor.gz")
    for name in ("c", "q", "row_upper", "x_upper", "first_upper"):
        np.testing.assert_array_equal(getattr(packed, name), getattr(plain, name))
    for name in ("probabilities", "rows", "rhs", "cost_columns", "cost"):
        np.testing.assert_array_equal(getattr(packed.blocks[0], name), getattr(plain.blocks[0], name))
    assert BendersOracle.from_smps(tmp_path / "shop.cor.gz").n_summands == 2


@pytest.mark.parametrize("sto", [SMPS[".sto"], BLOCKS, SCENARIOS], ids=["INDEP", "BLOCKS", "SCENARIOS"])
def test_probabilities_that_do_not_add_up(tmp_path, sto):
    path = written(tmp_path, sto=re.sub(r"0\.5(?=\s)", "0.5001", sto))
    with pytest.raises(InvalidData, match=r"line \d: the probabilities of .* must add up to 1, got 1\.0002; `rescale"):
        read_smps(path)
    (block,) = read_smps(path, rescale=True).blocks
    assert block.probabilities.sum() == pytest.approx(1.0, rel=1e-15)
    assert BendersOracle.from_smps(path, rescale=True).problem.blocks[0].probabilities.tolist() == [0.5, 0.5]


def test_the_sense_of_the_core_counts(tmp_path):
    core = SMPS[".cor"].replace("COST  1.0", "COST  -1.0").replace("COST  -3.0", "COST  3.0")
    said, told = core.replace("ROWS", "OBJSENSE\n    MAX\nROWS"), read_smps(written(tmp_path, cor=core), maximize=True)
    for problem in (read_smps(written(tmp_path, cor=said)), told):
        assert (problem.c.tolist(), problem.q.tolist()) == ([1.0], [-3.0])


@pytest.mark.parametrize(
    ("ending", "old", "new", "words"),
    [
        ("cor", "BUDGET  10.0", "BUDGET  1_0", "cor, line 13: RHS: '1_0' is not a finite number"),
        ("cor", "BUDGET  10.0", "BUDGET  nan", "line 13: RHS: 'nan'"),
        ("cor", "SELL    1.0", "SELL    1e400", "line 10: COLUMNS: '1e400'"),
        ("cor", "ENDATA", "", "ends without ENDATA"),
        ("cor", " L  SELL", " L  BUDGET", "line 5: ROWS: the row 'BUDGET' stands twice"),
        ("cor", " L  SELL", " Q  SELL", "line 5: ROWS: a row is one of N, L, G, E"),
        ("cor", "X         SELL", "X         BUDGET", "line 9: COLUMNS: column 'X' has two numbers in row 'BUDGET'"),
        ("cor", "RHS  ", "    X  DEMAND  1\nRHS  ", "line 12: COLUMNS: the column 'X' stands twice"),
        ("cor", "ENDATA", "RHS\nENDATA", "line 14: the section RHS stands twice"),
        (
            "cor",
            "    X         SELL  -1.0",
            "    M 'MARKER' 'INTORG'",
            "line 9: COLUMNS: whole variables cannot",
        ),
        ("cor", "ENDATA", "BOUNDS\n UP B X -1\n LO B X 0\nENDATA", "line 16: BOUNDS: .* between 0 and -1: nowhere"),
        ("cor", "ENDATA", "BOUNDS\n UP B X -1\nENDATA", "line 15: BOUNDS: .*: nowhere; state its lower bound"),
        ("cor", "ENDATA", "BOUNDS\n UP B Q 1\nENDATA", "line 15: BOUNDS: there is no column 'Q'"),
        ("cor", "ENDATA", "BOUNDS\n BV B X\nENDATA", "line 15: BOUNDS: the bound 'BV': whole variables"),
        ("cor", "ENDATA", "    OTHER SELL 1\nENDATA", "line 14: RHS: one set can be read"),
        ("cor", "DEMAND  1.0", "DEMAND  1.0 BUDGET 1", "row BUDGET is of the first stage and holds column Y"),
        ("cor", "NAME  ", "\0NAME  ", "line 1: the character"),
        ("cor", SMPS[".cor"], "", "ends without ENDATA"),
        ("tim", "PERIODS", "PERIODS EXPLICIT", "line 2: periods that are listed"),
        ("tim", "    Y         SELL   ", "    Y   ", "line 4: a period is a column, a row and a name"),
        ("tim", "X         BUDGET", "Y         BUDGET", "line 3: .* starts at column 'Y', and .* others before"),
        ("tim", "Y         SELL", "X         SELL", "line 4: the second period starts at column 'X' and row 'SELL'"),
        ("tim", "Y         SELL", "Y         COST", "line 4: the second period starts at column 'Y' and row 'COST'"),
        ("tim", "X         BUDGET", "X         NONE", "line 3: .* 'ONE' starts at row 'NONE', which .* does not have"),
        ("tim", "X         BUDGET", "X         DEMAND", "line 4: .* must lie behind the start of the first one"),
        ("cor", "ENDATA", "    *note\nENDATA", "line 14: '[*]note' is no name: a comment begins with"),
        ("cor", "BUDGET  10.0", "BUDGET  10.0 DEMAND 1e30\n*", "sto, line 3: row 'DEMAND' has an infinite side in"),
        ("sto", "RIGHT     DEMAND", "UP BND    X     ", "line 3: INDEP: the bound UP of 'X' cannot be random"),
        ("sto", "DISCRETE", "DISCRETE ADD", "line 2: INDEP: random values must REPLACE those of the core, got 'ADD'"),
        ("sto", "6.0    TWO   0.5", "6.0    TWO   -0.5", "line 4: INDEP: the probability of RIGHT DEMAND must"),
        ("sto", "6.0    TWO   0.5", "inf    TWO   0.5", "line 4: INDEP: the value 'inf' of RIGHT DEMAND"),
        ("sto", "6.0    TWO   0.5", "1e30   TWO   0.5", "line 4: INDEP: the value '1e30' of RIGHT DEMAND"),
        ("sto", "6.0    TWO   0.5", "0.5", "line 4: INDEP: column, row, value, perhaps a period"),
        ("sto", "RIGHT ", "Z     ", "line 3: it names 'Z', which is neither a column nor the right"),
    ],
)
def test_lines_that_cannot_be_used_are_named(tmp_path, ending, old, new, words):
    assert old in SMPS[f".{ending}"]
    path = written(tmp_path, **{ending: SMPS[f".{ending}"].replace(old, new)})
    with pytest.raises(InvalidData, match=words):
        read_smps(path)


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (BLOCKS, "0.5", "0.4", "line 3: the probabilities of ONE must add up to 1, got 0.9"),
        (BLOCKS, "BLOCKS        DISCRETE\n BL ONE       TWO     0.5", "BLOCKS", "line 3: BLOCKS: values stand before"),
        (BLOCKS, "Y         COST    -3.0", "RIGHT     DEMAND  3.0", "line 5: BLOCKS: one outcome of ONE has two"),
        (BLOCKS, "BL ONE       TWO     0.5", "BL ONE       TWO", "line 3: BLOCKS: BL, name, period and probability"),
        (SCENARIOS, "SC B         A", "SC B         C", "line 6: SCENARIOS: the parent 'C' is no scenario above"),
        (SCENARIOS, "SC B         A", "SC A         A", "line 6: SCENARIOS: the scenario 'A' stands twice"),
        *(
            (text, "    RIGHT ", f" {kind}        \n    RIGHT ", "line 4: [A-Z]+: the bound .. of 'Y' cannot be random")
            for text in (BLOCKS, SCENARIOS)
            for kind in ("UP BOUND Y 3.0", "FR BOUND Y", "BV BOUND Y 1")
        ),
        (BLOCKS, "ENDATA", "INDEP DISCRETE\n RIGHT DEMAND 4.0 1.0\nENDATA", "line 9: INDEP: .* to .* and to ONE"),
    ],
)
def test_outcomes_that_cannot_be_used_are_named(tmp_path, text, old, new, words):
    assert old in text
    with pytest.raises(InvalidData, match=words):
        read_smps(written(tmp_path, sto=text.replace(old, new, 1)))


# Files of numbers


def refused(path, text, reader, words, most=50e6):
    """Assert that the file is refused in these words, and cheaply."""
    path.write_text(text)
    tracemalloc.start()
    with pytest.raises(InvalidData, match=words):
        reader(path)
    assert tracemalloc.get_traced_memory()[1] < most
    tracemalloc.stop()


OTHER_TYPES = ("CVRP", "SOP", "HCP", "ATSP", "TOUR", "")
COORDINATES = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 3\n3 4 0\nEOF\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (COORDINATES.replace(": 3", ": 30000"), "DIMENSION must be 1 to 20000, got 30000"),
        (COORDINATES.replace(": 3", ": 20000"), "must hold 60000 numbers, got 9"),
        (COORDINATES.replace(": 3", ": -3"), "DIMENSION must be 1 to 20000, got -3"),
        (COORDINATES.replace(": 3", ": 1_0"), "must state DIMENSION"),
        (COORDINATES.replace("4 0", "4 nan"), "line 6: 'nan' is not a finite number"),
        (COORDINATES.replace("3 4 0", "nan 4 0"), "line 6: 'nan 4 0' is neither"),
        (COORDINATES.replace("4 0", "4 1e300"), "the coordinates, up to 1e[+]300, are too large"),
        (COORDINATES.replace("3 4 0", "2 4 0"), "must number the cities, each once"),
        ("DIMENSION: 4\n" + COORDINATES, "line 2: DIMENSION stands twice"),
        (COORDINATES.replace("EOF", "NODE_COORD_SECTION"), "line 7: NODE_COORD_SECTION stands twice"),
        *((f"TYPE : {kind}\n{COORDINATES}", f"line 1: TYPE must be TSP, .* got '{kind}'") for kind in OTHER_TYPES),
        *(
            (COORDINATES.replace("EOF", f"{name}\n1 2\n-1\nEOF"), f"line 7: '{name}' may change the problem")
            for name in ("FIXED_EDGES_SECTION", "DEPOT_SECTION", "DEMAND_SECTION", "TOUR_SECTION", "MY_OWN_SECTION")
        ),
        (COORDINATES.replace("EOF", "DISPLAY_DATA_SECTION\nfixed_edges_section\n1 2"), "line 8: 'fixed_edges_sec"),
        ("CAPACITY: 3\n" + COORDINATES, "line 1: 'CAPACITY: 3' is neither a keyword"),
        ("garbage\n" + COORDINATES, "line 1: 'garbage' is neither a keyword"),
        ("", "must state DIMENSION"),
        (
            "DIMENSION: 20000\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2 3",
            "must hold 199990000 numbers, got 3",
        ),
    ],
)
def test_tsplib_files_are_refused_before_they_cost(tmp_path, text, words):
    refused(tmp_path / "a.tsp", text, read_tsplib, words)


def test_tsplib_files_packed_and_out_of_order(tmp_path):
    typed = f"TYPE: TSP (by hand)\n{COORDINATES}"
    for name, text in (("a.tsp", typed), ("b.tsp.gz", COORDINATES.replace("1 0 0\n2 0 3", "2 0 3\n1 0 0"))):
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        assert read_tsplib(tmp_path / name).tolist() == [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
    (tmp_path / "two.tsp").write_text(COORDINATES.replace(": 3", ": 2").replace("3 4 0\n", ""))
    with pytest.raises(InvalidData, match=r"two\.tsp: `distances` must"):
        HeldKarpOracle.from_tsplib(tmp_path / "two.tsp")
    (tmp_path / "far.tsp").write_text(
        "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1.5e308 1 1\n"
    )
    with pytest.raises(InvalidData, match=r"far\.tsp: `distances` are too large"):
        HeldKarpOracle.from_tsplib(tmp_path / "far.tsp")
    with pytest.raises(InvalidArgument, match="`special`"):
        HeldKarpOracle.from_tsplib(tmp_path / "a.tsp", special=7)


@pytest.mark.parametrize(
    ("reader", "text", "words"),
    [
        (GeneralizedAssignmentOracle.from_file, "1 1 1 1 1_0", "line 1: '1_0' is not a finite number"),
        (GeneralizedAssignmentOracle.from_file, "-1 1\n1 1 1", "line 1: the number of agents must"),
        (GeneralizedAssignmentOracle.from_file, "1 1\n1\n2\n1", "job 0 fits none"),
        (GeneralizedAssignmentOracle.from_file, "1 1\n1\n1.5\n2", "`uses` must be integers"),
        (GeneralizedAssignmentOracle.from_file, "1 2\n1e308 1\n1 1\n2", "`costs` are too large"),
        (FacilityLocationOracle.from_file, "1 1\n7 1\n1 1e308", "`costs` are too large"),
        (FacilityLocationOracle.from_file, "1 1\n7 1.7e308\n1 8e307", "`opening` are too large"),
        (MulticommodityFlowOracle.from_file, "2 1 1\n1 2 1e308 1\n1 2 1", "`costs` are too large"),
        (GeneralizedAssignmentOracle.from_file, "1 2\n1 1\n2e9 2e9\n2.1e9", "table has 4.2e[+]09 entries"),
        (GeneralizedAssignmentOracle.from_file, "999999999 999999999 1", "must hold m n"),
        (FacilityLocationOracle.from_file, "1 1\n7 inf\n1 1", "line 2: 'inf' is not a finite number"),
        (FacilityLocationOracle.from_file, "1 1\n7 -1\n1 1", "`opening` must be at least 0"),
        (FacilityLocationOracle.from_file, "FILE: a\n1 1_0 0\n1 1 1", "line 2: the number of customers must"),
        (MulticommodityFlowOracle.from_file, "2 1 1\n1 2 1 1\n1 2 nan", "line 3: 'nan' is not a finite number"),
        (MulticommodityFlowOracle.from_file, "900000000 1 1\n1 900000000 1 1\n1 2 1", "line 1: 900000000 nodes"),
        (MulticommodityFlowOracle.from_file, "2 1 1\n2 1 1 1\n1 2 1", "must lead from 0 to 1"),
        (MulticommodityFlowOracle.from_file, "2 1 1\n1 2 inf 1\n1 2 1", "line 2: 'inf' is not a finite number"),
        (MulticommodityFlowOracle.from_file, "", "line 1: the number of nodes must .* got the end of the file"),
    ],
)
def test_files_of_numbers_that_cannot_be_used(tmp_path, reader, text, words):
    refused(tmp_path / "numbers.txt", text, reader, words)


def test_infinite_capacities_and_bad_options_of_flow_files(tmp_path):
    path = tmp_path / "flow.txt"
    path.write_text("3 3 1\n1 2 1 1\n1 3 2 inf\n3 2 2 9\n1 2 2\n")
    assert MulticommodityFlowOracle.from_file(path).capacities.tolist() == [1, np.inf, 9]
    with pytest.raises(InvalidArgument, match="`radius`"):
        MulticommodityFlowOracle.from_file(path, radius=-1.0)


# Data sets


def test_a_large_index_in_a_small_file_costs_nothing(tmp_path):
    import sklearn.datasets  # noqa: F401 - its import shall not be counted

    refused(tmp_path / "a.svm", "1 1:1\n-1 2:1 300000000:1\n", load, "line 2: the index 300000000 is too large")
    (tmp_path / "b.svm").write_text("1 1:1\n-1 2:1 1048576:1\n")
    assert load(tmp_path / "b.svm").shape == (2, 2**20)


def test_a_wide_header_costs_nothing(tmp_path):
    header = ",".join(f"x{j}" for j in range(100_000))
    refused(tmp_path / "a.csv", f"{header}\n" + "1\n" * 100_000, load, "line 2: there are 1 values", most=150e6)


@pytest.mark.parametrize("index", [np.arange(8), np.arange(1, 9), np.arange(8)[::-1], 3 * np.arange(8) + 5])
def test_the_index_that_pandas_writes_is_no_feature(tmp_path, index):
    rng = np.random.default_rng(index[0])
    frame = pd.DataFrame(rng.normal(size=(8, 2)), columns=["a", "b"], index=index).assign(label=[0, 1] * 4)
    path = tmp_path / "kept.csv"
    frame.to_csv(path)
    for _ in range(3):  # each time it is read and written again there is one more
        with pytest.warns(UserWarning, match="'Unnamed: .* is left out: it has no name and numbers the rows") as said:
            data = load(path)
        assert said[0].filename == __file__
        assert data.feature_names == ("a", "b")
        np.testing.assert_array_equal(data.X, frame[["a", "b"]])
        pd.read_csv(path).to_csv(path)
    frame[["label"]].to_csv(path)
    with pytest.raises(InvalidData, match="there is no feature but 'Unnamed: 0', which has no name and numbers"):
        load(path)


@pytest.mark.parametrize("column", [[0.0, 1, 2, 2], [0.5, 1, 2, 3], [-1.0, 0, 1, 2]])
def test_columns_without_a_name_that_number_nothing_are_features(tmp_path, column):
    lines = [f"{value},7,{k % 2}" for k, value in enumerate(column)]
    (tmp_path / "a.csv").write_text("\n".join([",a,label", *lines]))
    assert load(tmp_path / "a.csv").X[:, 0].tolist() == column
    (tmp_path / "b.csv").write_text("\n".join(["row,a,label", *(f"{k},7,{k % 2}" for k in range(4))]))
    assert load(tmp_path / "b.csv").feature_names == ("row", "a")


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize(
    "text",
    ["a;b;label\n1;2;0", "a, m;b, kg;label\n1;2;0", "\na;b;c\n1,5;2;0", '"a";"b";"c"\n1;2;0', "1,5;2;0\n1,6;3;1"],
)
def test_other_separators_are_named(tmp_path, text, mark):
    (tmp_path / "a.csv").write_text(text.replace(";", mark))
    with pytest.raises(InvalidData, match=f"; if its values are separated by {re.escape(repr(mark))}, a comma"):
        load(tmp_path / "a.csv")


def test_odd_texts_of_data_sets(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,label\r\n1,ja\r\n\r\n2, nein \r\n".encode("latin-1"))
    dataset = load(tmp_path / "a.csv")
    assert dataset.feature_names == ("größe",)
    assert dataset.y.tolist() == [-1.0, 1.0]
    (tmp_path / "a.svm").write_bytes(b"\xef\xbb\xbf1 1:1 # words \xff\r\n\r\n-1 qid:3 2:1\r\n")
    assert load(tmp_path / "a.svm").dense().tolist() == [[1, 0], [0, 1]]
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidData, match="is a folder"):
        load(tmp_path / "folder.csv")


def test_whole_variables_are_relaxed_where_that_is_asked_for(tmp_path):
    """By MARKER lines, without bounds between 0 and 1, and by bounds of whole variables."""
    marker = "    M         'MARKER'                 'INTORG'\n"
    lines = SMPS[".cor"].splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("    X "))
    plain = "".join([*lines[:at], marker, *lines[at:]])
    after = next(i for i, line in enumerate(lines) if line.startswith("    Y "))
    closed = "".join([*lines[:at], marker, *lines[at:after], marker.replace("INTORG", "INTEND"), *lines[after:]])
    problem = read_smps(written(tmp_path, cor=closed), relax=True)
    assert (problem.n_whole, problem.x_lower.tolist(), problem.x_upper.tolist()) == (1, [0.0], [1.0])
    assert problem.y_upper.tolist() == [np.inf]
    assert read_smps(written(tmp_path, cor=plain), relax=True).n_whole == 2
    for kind, upper in (("BV B X", 1.0), ("UI B X 7", 7.0)):
        bounded = SMPS[".cor"].replace("ENDATA", f"BOUNDS\n {kind}\nENDATA")
        problem = read_smps(written(tmp_path, cor=bounded), relax=True)
        assert (problem.n_whole, problem.x_upper.tolist()) == (1, [upper])
    oracle = BendersOracle.from_smps(written(tmp_path, cor=closed), relax=True)
    result = minimize(oracle)
    assert "RELAXATION: 1 whole variables count as any numbers" in result.message
    certificate = result.certificate()
    assert certificate.facts["relaxation"].startswith("RELAXATION")
    certificate.verify(oracle)
    assert "RELAXATION" not in minimize(BendersOracle.from_smps(written(tmp_path))).message
