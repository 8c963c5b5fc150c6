"""What outcomes of an SMPS file leave out: values that differ from the core's, read and solved."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import Query, minimize
from oracle_opt.errors import InvalidData
from oracle_opt.oracles import BendersOracle, read_smps

CORE = """NAME          MIX
ROWS
 N  COST
 G  LEAST
 E  BOTH
 L  FIRST
 L  SECOND
 G  THIRD
 L  SPAN
COLUMNS
    X1        COST  1.0   LEAST  1.0
    X1        BOTH  1.0   FIRST  -1.0
    X2        COST  0.5   BOTH   1.0
    X2        SECOND  -1.0
    Y1        COST  -3.0  FIRST  1.0
    Y1        SPAN  1.0
    Y2        COST  -2.0  SECOND 1.0
    Y2        THIRD  1.0  SPAN   1.0
RHS
    RIGHT     LEAST  0.5  BOTH   4.0
    RIGHT     THIRD  0.25 SPAN   7.0
RANGES
    RNG       SPAN   6.5
ENDATA
"""
TIME = "TIME          MIX\nPERIODS\n    X1        LEAST                    ONE\n    Y1        FIRST  TWO\nENDATA\n"


def files(folder, stochastic):
    for ending, text in (("cor", CORE), ("tim", TIME), ("sto", stochastic)):
        (folder / f"mix.{ending}").write_text(text)
    return folder / "mix.cor"


def expected(x, outcomes):
    """Expectation over outcomes given as probability, FIRST's and SECOND's side, Y1's cost, X1 in FIRST, Y2 in SPAN."""
    value = 1.0 * x[0] + 0.5 * x[1]
    for p, first, second, cost, technology, recourse, span in outcomes:
        rows = [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, recourse], [-1.0, -recourse]]
        upper = [first - technology * x[0], second + x[1], -0.25, span, 6.5 - span]
        value += p * linprog([cost, -2.0], rows, upper).fun
    return value


BLOCKS = """STOCH         MIX
BLOCKS        DISCRETE
 BL ONE       TWO     0.5
    RIGHT     FIRST    2.0
    RIGHT     SECOND   1.5
    Y1        COST    -5.0
 BL ONE       TWO     0.3
    RIGHT     FIRST    3.0
 BL ONE       TWO     0.2
    Y1        COST    -1.0
 BL TWO       TWO     0.6
    X1        FIRST   -2.0
    Y2        SPAN     0.5
 BL TWO       TWO     0.4
    Y2        SPAN     2.0
ENDATA
"""
SCENARIOS = """STOCH         MIX
SCENARIOS     DISCRETE
 SC A         'ROOT'  0.4    TWO
    RIGHT     FIRST    2.0
    RIGHT     SECOND   1.5
    Y1        COST    -5.0
    RIGHT     SPAN     8.0
 SC B         A       0.3    TWO
    RIGHT     FIRST    3.0
 SC C         B       0.2    TWO
    X1        FIRST   -2.0
 SC D         'ROOT'  0.1    TWO
    Y2        SPAN     2.0
ENDATA
"""
INDEP = """STOCH         MIX
INDEP         DISCRETE
    RIGHT     SPAN     8.0    TWO   0.5
    RIGHT     SPAN     6.75   TWO   0.5
    Y1        COST    -5.0    TWO   0.75
    Y1        COST    -1.0    TWO   0.25
ENDATA
"""


def product(*blocks):
    return [
        (np.prod([p for p, _ in chosen]), *itertools.chain(*(values for _, values in chosen)))
        for chosen in itertools.product(*blocks)
    ]


KNOWN = {
    # what a later outcome leaves out is as in the block's first one
    "BLOCKS": (
        BLOCKS,
        [
            (p, first, second, cost, technology, recourse, 7.0)
            for p, first, second, cost, technology, recourse in product(
                [(0.5, (2.0, 1.5, -5.0)), (0.3, (3.0, 1.5, -5.0)), (0.2, (2.0, 1.5, -1.0))],
                [(0.6, (-2.0, 0.5)), (0.4, (-2.0, 2.0))],
            )
        ],
    ),
    # a scenario is as its parent, the root as the core
    "SCENARIOS": (
        SCENARIOS,
        [
            (0.4, 2.0, 1.5, -5.0, -1.0, 1.0, 8.0),
            (0.3, 3.0, 1.5, -5.0, -1.0, 1.0, 8.0),
            (0.2, 3.0, 1.5, -5.0, -2.0, 1.0, 8.0),
            (0.1, 0.0, 0.0, -3.0, -1.0, 2.0, 7.0),
        ],
    ),
    "INDEP": (
        INDEP,
        [
            (p, 0.0, 0.0, cost, -1.0, 1.0, span)
            for p, span, cost in product([(0.5, (8.0,)), (0.5, (6.75,))], [(0.75, (-5.0,)), (0.25, (-1.0,))])
        ],
    ),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_what_an_outcome_leaves_out_is_inherited(tmp_path, kind):
    stochastic, outcomes = KNOWN[kind]
    oracle = BendersOracle.from_smps(files(tmp_path, stochastic))
    assert oracle.problem.n_scenarios == len(outcomes)
    for x in ([1.0, 3.0], [2.5, 1.5], [3.5, 0.5]):
        assert oracle.query(Query(np.array(x))).value == pytest.approx(expected(x, outcomes))


def test_the_core_is_read_with_its_senses_and_ranges(tmp_path):
    problem = read_smps(files(tmp_path, INDEP))
    assert problem.names == ("X1", "X2")
    assert problem.c.tolist() == [1.0, 0.5]
    assert problem.q.tolist() == [-3.0, -2.0]
    assert problem.A.toarray().tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert problem.first_lower.tolist() == [0.5, 4.0]
    assert problem.first_upper.tolist() == [np.inf, 4.0]
    assert problem.T.toarray().tolist() == [[-1.0, 0.0], [0.0, -1.0], [0.0, 0.0], [0.0, 0.0]]
    assert problem.W.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    assert problem.row_lower.tolist() == [-np.inf, -np.inf, 0.25, 0.5]
    assert problem.row_upper.tolist() == [0.0, 0.0, np.inf, 7.0]
    assert problem.rhs.tolist() == [0.0, 0.0, 0.25, 7.0]
    assert (problem.x_lower.tolist(), problem.x_upper.tolist()) == ([0.0, 0.0], [np.inf, np.inf])


def test_a_scenario_that_names_nothing_has_its_parents_values(tmp_path):
    text = SCENARIOS.replace("    X1        FIRST   -2.0\n", "")
    problem = read_smps(files(tmp_path, text))
    (block,) = problem.blocks
    rhs = dict(zip(block.rows.tolist(), block.rhs.T, strict=True))
    np.testing.assert_array_equal(rhs[0], [2.0, 3.0, 3.0, 0.0])
    np.testing.assert_array_equal(rhs[1], [1.5, 1.5, 1.5, 0.0])
    np.testing.assert_array_equal(rhs[3], [8.0, 8.0, 8.0, 7.0])
    np.testing.assert_array_equal(block.cost[:, 0], [-5.0, -5.0, -5.0, -3.0])
    np.testing.assert_array_equal(block.recourse[:, 0], [1.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(block.probabilities, [0.4, 0.3, 0.2, 0.1])


RANGED = """NAME          STORE
ROWS
 N  COST
 L  CAP
 {kind}  NEED
COLUMNS
    X         COST  1.0   CAP   1.0
    X         NEED  1.0
    Y         COST  3.0   NEED  1.0
    S         COST  2.0   NEED  -1.0
RHS
    RHS       CAP  {cap}   NEED  {side}
RANGES
    RNG       NEED  {width}
ENDATA
"""
RANGED_TIME = "TIME STORE\nPERIODS LP\n    X CAP ONE\n    Y NEED TWO\nENDATA\n"
SECTIONS = {
    "INDEP": lambda sides: [f"    RHS NEED {side} TWO 0.25" for side in sides],
    "BLOCKS": lambda sides: [f" BL B TWO 0.25\n    RHS NEED {side}" for side in sides],
    "SCENARIOS": lambda sides: [f" SC S{k} 'ROOT' 0.25 TWO\n    RHS NEED {side}" for k, side in enumerate(sides)],
}


def interval(kind, b, width):
    """What MPS says of a row of RANGES."""
    if kind == "G":
        return b, b + abs(width)
    if kind == "L":
        return b - abs(width), b
    return (b, b + width) if width >= 0 else (b - abs(width), b)


def extensive(kind, width, sides, cap):
    """The minimum of all scenarios in one program."""
    rows, upper = [[1.0] + [0.0] * 8], [cap]
    for k, b in enumerate(sides):
        row = np.zeros(9)
        row[[0, 1 + 2 * k, 2 + 2 * k]] = 1.0, 1.0, -1.0
        low, high = interval(kind, b, width)
        rows += [row, -row]
        upper += [high, -low]
    return linprog([1.0, *([0.75, 0.5] * 4)], rows, upper).fun


@pytest.mark.campaign(3)
@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("sign", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("kind", ["L", "G", "E"])
def test_a_random_side_moves_the_interval_of_its_row(tmp_path, kind, sign, section):
    rng = np.random.default_rng([ord(kind), int(sign) + 1, len(section)])
    for unit in (1.0, 1e-3, 1e4):
        core, width = float(unit * rng.uniform(-5, 9)), float(sign * unit * rng.uniform(0.5, 4))
        sides = (unit * rng.uniform(-5, 12, 4)).tolist()
        names = {"kind": kind, "cap": 10.0 * unit, "side": core, "width": width}
        lines = "\n".join(SECTIONS[section](sides))
        for ending, text in (
            ("cor", RANGED.format(**names)),
            ("tim", RANGED_TIME),
            ("sto", f"STOCH STORE\n{section} DISCRETE\n{lines}\nENDATA\n"),
        ):
            (tmp_path / f"store.{ending}").write_text(text)
        result, truth = (
            minimize(BendersOracle.from_smps(tmp_path / "store.cor")),
            extensive(kind, width, sides, 10 * unit),
        )
        assert result.success
        assert result.lower_bound - 1e-6 * unit <= truth <= result.upper_bound + 1e-6 * unit
        # an outcome that says nothing is the core, whose interval is that of the file
        (tmp_path / "store.sto").write_text("STOCH STORE\nSCENARIOS DISCRETE\n SC A 'ROOT' 1.0 TWO\nENDATA\n")
        problem = read_smps(tmp_path / "store.cor")
        assert (problem.row_lower[0], problem.row_upper[0]) == pytest.approx(interval(kind, core, width))


def test_a_range_beside_which_a_random_side_has_no_digits_is_refused(tmp_path):
    stochastic = "STOCH STORE\nINDEP DISCRETE\n    RHS NEED 8.1 TWO 1.0\nENDATA\n"
    for kind, refused in (("G", True), ("E", True), ("L", False)):
        core = RANGED.format(kind=kind, cap=10.0, side=5.0, width=1e15)
        for ending, text in (("cor", core), ("tim", RANGED_TIME), ("sto", stochastic)):
            (tmp_path / f"store.{ending}").write_text(text)
        if refused:
            with pytest.raises(InvalidData, match=r"line 3: the range 1e[+]15 of row 'NEED' is too wide for a side"):
                read_smps(tmp_path / "store.cor")
        else:
            assert read_smps(tmp_path / "store.cor").blocks[0].rhs.tolist() == [[8.1]]
