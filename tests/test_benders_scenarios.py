"""Scenarios as a table, and the second stage of each scenario, against HiGHS."""

import numpy as np
import pandas as pd
import pytest
from test_benders import capacities
from test_benders_random import VARY, K, random_program, scenario
from test_benders_random import second_stage as value_by_highs

from oracle_opt import InvalidArgument, Query, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem, read_smps

NAMES = {"names": ["mill", "farm"], "row_names": ["sold", "demand", "free"], "column_names": ["now", "later"]}


def shop(**changes):
    given = {"row_lower": -np.inf, "row_upper": [0.0, 2.0, np.inf], "x_upper": 10} | NAMES | changes
    return TwoStageProblem([1, 2], [-3, -1], [[-1, -1], [0, 0], [0, 1]], [[1, 1], [1, 0], [1, 0]], **given)


@pytest.mark.campaign(3)
@pytest.mark.parametrize("vary", VARY, ids=lambda vary: "+".join(vary) or "deterministic")
@pytest.mark.parametrize("seed", range(3))
def test_each_scenario_is_solved_and_all_add_up_to_the_certified_value(seed, vary):
    problem = random_program(seed, vary)
    oracle = BendersOracle(problem, n_summands=2)
    run = minimize(oracle, LevelSet(), rtol=1e-6)
    table = oracle.second_stage(run)
    outcomes, p = problem.all_scenarios()
    assert table.feasible.all()
    assert table.first_stage_missed <= 1e-7
    for s, outcome in enumerate(outcomes):
        T, W, q, lower, upper = scenario(problem, outcome)
        rows, known = W @ table.y[s] + T @ run.point, value_by_highs(problem, outcome, run.point)
        assert (table.y[s] >= problem.y_lower).all()
        assert (table.y[s] <= problem.y_upper).all()
        assert np.maximum(lower - rows, rows - upper).max() <= table.missed[s] + 1e-12 <= 1e-7
        assert table.cost[s] == pytest.approx(q @ table.y[s], abs=1e-12)
        assert table.cost[s] == pytest.approx(known, abs=1e-6)
        assert table.lower_bound[s] - 1e-6 <= known <= table.upper_bound[s] + 1e-6
        assert table.upper_bound[s] - table.lower_bound[s] <= 1e-6
    # the certified value holds f within [value, upper], the table within its own bounds: the two must meet
    least, most = table.expected_bounds
    assert table.expected_cost == pytest.approx(run.cut.value, abs=run.cut.error + (most - least) + 1e-9)
    assert least <= run.cut.upper + 1e-10
    assert run.cut.value <= most + 1e-10
    # the slope of the expectation is made of the multipliers
    slope = problem.c - sum(
        w * scenario(problem, o)[0].T @ pi for w, o, pi in zip(p, outcomes, table.duals, strict=True)
    )
    other = oracle.query(Query(np.clip(run.point + 0.1, problem.x_lower, problem.x_upper)))
    assert table.expected_cost + slope @ (other.point - run.point) <= other.upper + 1e-6


def test_multipliers_say_what_a_unit_more_of_a_right_hand_side_costs():
    demand = RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
    table = BendersOracle(shop(blocks=[demand])).second_stage([4.0, 0.0])
    assert table.y.tolist() == [[2.0, 2.0], [4.0, 0.0]]
    assert table.duals == pytest.approx(np.array([[-1.0, -2.0, 0.0], [-3.0, 0.0, 0.0]]), abs=1e-9)


def test_scenarios_without_a_second_stage_are_told_apart():
    problem = capacities(("rhs",), None)
    oracle = BendersOracle(problem)
    table = oracle.second_stage([5.0, 5.0, 7.0])
    known = problem.all_scenarios()[0]
    assert 0 < table.feasible.sum() < len(known)
    for fits, outcome, cost in zip(table.feasible, known, table.cost, strict=True):
        demand = problem.row_lower[3:].copy()
        demand[:2] = [block.rhs[o, 0] for block, o in zip(problem.blocks, outcome, strict=True)]
        assert fits == (demand.sum() <= 17.0)
        assert np.isfinite(cost) == fits
    assert table.expected_cost == np.inf
    assert np.isnan(table.y[~table.feasible]).all()
    assert table.frame()["scenario"]["feasible"].tolist() == table.feasible.tolist()


def test_some_scenarios_of_a_million_or_of_a_sample():
    labels = [f"day {i}" for i in range(1000)]
    rng = np.random.default_rng(0)
    days = [RandomBlock(np.full(1000, 1e-3), rows=[i], rhs=rng.uniform(1, 5, (1000, 1)), labels=labels) for i in (1, 2)]
    problem = shop(row_upper=[0.0, 2.0, 9.0], blocks=days)
    oracle = BendersOracle(problem)
    table = oracle.second_stage([3.0, 0.0], range(5000, 5003))
    assert table.frame()["outcome"].to_numpy().tolist() == [["day 5", f"day {i}"] for i in range(3)]
    assert table.frame().index.tolist() == [5000, 5001, 5002]
    with pytest.raises(InvalidArgument, match="`scenarios` must be all 1000000, each once, for an expected cost, got "):
        _ = table.expected_cost
    drawn = BendersOracle(problem, n_samples=50, seed=3)
    cut = drawn.query(Query(np.array([3.0, 0.0])))
    assert drawn.second_stage(cut).expected_cost == pytest.approx(cut.value, abs=cut.error + 1e-9)


def test_what_cannot_be_asked_of_the_second_stage():
    oracle = BendersOracle(shop(blocks=[RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])]))
    for at, scenarios, words in (
        ([1.0], None, r"`at` must be a finite first-stage decision of shape \(2,\), got \[1\]"),
        ([1.0, np.nan], None, "`at` must be a finite"),
        ("best", None, "`at` must be a Result, an ObjectiveCut or a first-stage decision"),
        ([1.0, 1.0], [2], "`scenarios` must be at least 0 and below 2, got 2"),
        ([1.0, 1.0], [-1], "`scenarios` must be at least 0"),
        ([1.0, 1.0], [0.5], "`scenarios` must be whole numbers"),
        ([1.0, 1.0], 1, "`scenarios` must be whole numbers of scenarios, or a range"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            oracle.second_stage(at, scenarios)
    many = RandomBlock(np.full(10**6, 1e-6), rows=[1], rhs=np.ones((10**6, 1)))
    wide = TwoStageProblem([1], np.ones(318), np.zeros((2, 1)), np.ones((2, 318)), -np.inf, [9, 9], [many], x_upper=1)
    with pytest.raises(InvalidArgument, match=r"`scenarios` must be fewer: .* take 2.6 GB; pass some"):
        BendersOracle(wide).second_stage([0.5])


TABLE = {
    "probability": [0.25, 0.75],
    "demand": [2.0, 6],
    ("cost", "now"): [-3, -2],
    ("technology", "free", "farm"): [1.0, 0.5],
    ("recourse", "sold", "later"): [1.0, 2.0],
}


def test_a_table_is_a_random_block():
    known = RandomBlock([0.25, 0.75], [1], [[2], [6]], [0], [[-3], [-2]], [[2, 1]], [[1], [0.5]], [[0, 1]], [[1], [2]])
    plain = shop(row_upper=[0.0, 2.0, 5.0])
    problem = plain.with_scenarios(pd.DataFrame(TABLE, index=["low", "high"]))
    assert problem.digest() == shop(row_upper=[0.0, 2.0, 5.0], blocks=[known]).digest()
    assert plain.blocks == ()
    assert problem.blocks[0].labels == ("low", "high")
    several = pd.DataFrame([[0.25, 2, -3], [0.75, 6, -2]])
    several.columns = pd.MultiIndex.from_tuples([("probability", ""), ("rhs", "demand"), ("cost", "now")])
    by_number = pd.DataFrame({"probability": [0.25, 0.75], 1: [2.0, 6.0], ("cost", 0): [-3.0, -2.0]})
    assert plain.with_scenarios(several).digest() == plain.with_scenarios(by_number).digest()
    assert plain.with_scenarios(pd.DataFrame({"demand": [1, 2, 3, 4]})).blocks[0].probabilities.tolist() == [0.25] * 4


def test_costs_in_a_table_are_those_of_the_maximization():
    turned = shop(maximize=True).with_scenarios(pd.DataFrame({("cost", "now"): [3.0, 2.0], "demand": [1.0, 2.0]}))
    assert turned.blocks[0].cost.ravel().tolist() == [-3.0, -2.0]
    assert turned.blocks[0].rhs.ravel().tolist() == [1.0, 2.0]


def test_independent_tables_combine():
    frame, other = pd.DataFrame({"demand": [1.0, 3.0]}), pd.DataFrame({("cost", "now"): [-1.0, -2.0, -3.0]})
    problem = shop().with_scenarios(frame, other)
    assert problem.n_scenarios == 6
    with pytest.raises(InvalidArgument, match=r"`scenarios\[1\]` has \('rhs', 1\), which varies in another table"):
        shop().with_scenarios(frame, frame.set_axis([("rhs", 1)], axis=1))


def table(**changes):
    return pd.DataFrame({"probability": [0.5, 0.5], "demand": [1.0, 2.0]} | changes, index=["mon", "tue"])


WRONG = {
    "no table": ({"demand": [1.0]}, "must be a pandas DataFrame, a row a scenario, got {demand}"),
    "no rows": (table().iloc[:0], "must have at least one row"),
    "no entry": (table()[["probability"]], r"must have a column for each entry that varies.* got the columns"),
    "missing": (
        table(demand=[1.0, None]),
        "the entry of row 'tue', column 'demand' is nan, and must be a finite number",
    ),
    "not available": (
        table().assign(demand=pd.array([1, None], dtype="Int64").tolist()),
        "the entry of row 'tue', column 'demand' is nan",
    ),
    "infinite": (table(demand=[-np.inf, 1.0]), "row 'mon', column 'demand' is -inf"),
    "text": (table(demand=["1", 2.0]), "row 'mon', column 'demand' is '1', and must be a number"),
    "words": (table(demand=["few", "many"]), "row 'mon', column 'demand' is 'few', and must be a number"),
    "truth": (table(demand=[True, False]), "row 'mon', column 'demand' is True, and must be a number"),
    "dates": (table(demand=pd.to_datetime(["2024-01-01"] * 2)), "column 'demand' is Timestamp"),
    "negative": (table(probability=[1.5, -0.5]), "row 'tue', column 'probability' is -0.5: probabilities are positive"),
    "zero": (table(probability=[1.0, 0.0]), "column 'probability' is 0: drop scenarios that cannot happen"),
    "sum": (table(probability=[0.5, 0.4]), "add up to 0.9 instead of 1; .*divide that column by its sum"),
    "unknown": (table(demnd=[1, 2]), "names the second-stage row 'demnd', which is not there: did you mean demand?"),
    "a column": (table(later=[1, 2]), r"its cost is the column \('cost', 'later'\)"),
    "first stage": (table(mill=[1, 2]), "it is a variable of the first stage"),
    "no such number": (table().assign(**{"x": 1.0}).rename(columns={"x": 7}), "names the second-stage row 7"),
    "kind": (table().rename(columns={"demand": ("price", "now")}), r"has the column \('price', 'now'\); a column is"),
    "too short": (table().rename(columns={"demand": ("technology", "sold")}), "has the column"),
    "no side": (table(free=[1, 2]), "varies the row 'free', which has neither side"),
    "twice": (table().assign(**{"x": 1.0}).rename(columns={"x": 1}), "two columns for one entry, 'demand' and 1"),
    "probabilities twice": (
        pd.DataFrame([[0.5, 0.5, 1]] * 2, columns=["probability", "probability", "demand"]),
        "two columns of probabilities",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_with_its_reason(name):
    wrong, words = WRONG[name]
    with pytest.raises(InvalidArgument, match=f"^`scenarios`.*{words}"):
        shop().with_scenarios(wrong)


def test_names_are_as_many_as_what_they_name_and_all_different():
    for changes, words in (
        ({"row_names": ["a"]}, "`row_names` must be 3, one per second-stage row, got 1"),
        ({"column_names": ["a", "a"]}, "`column_names` must all be different, and 'a' stands twice"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            shop(**changes)
    twins = shop(names=["mill", "mill"])
    with pytest.raises(InvalidArgument, match="names the first-stage column 'mill', a name that 2 have"):
        twins.with_scenarios(table().rename(columns={"demand": ("technology", "sold", "mill")}))
    assert shop(row_names=None).row_names == ("row0", "row1", "row2")
    assert len(random_program(0, ()).column_names) == K


def test_names_of_smps_files(tmp_path):
    (tmp_path / "shop.cor").write_text(
        "NAME SHOP\nROWS\n N COST\n L BUDGET\n L SELL\n L DEMAND\nCOLUMNS\n X COST 1 BUDGET 1\n X SELL -1\n"
        " Y COST -3 SELL 1\n Y DEMAND 1\nRHS\n RIGHT BUDGET 10 DEMAND 2\nENDATA\n"
    )
    (tmp_path / "shop.tim").write_text("TIME SHOP\nPERIODS\n X BUDGET ONE\n Y SELL TWO\nENDATA\n")
    (tmp_path / "shop.sto").write_text(
        "STOCH SHOP\nSCENARIOS DISCRETE\n SC POOR ROOT 0.5 TWO\n RIGHT DEMAND 2\n"
        " SC RICH ROOT 0.5 TWO\n RIGHT DEMAND 6\n"
        "ENDATA\n"
    )
    problem = read_smps(tmp_path / "shop.cor")
    frame = BendersOracle(problem).second_stage([5.0]).frame()
    assert frame.index.tolist() == ["POOR", "RICH"]
    assert frame["y"].to_dict() == {"Y": {"POOR": 2.0, "RICH": 5.0}}
    assert frame["dual"].columns.tolist() == ["SELL", "DEMAND"]
    more = problem.with_scenarios(pd.DataFrame({"DEMAND": [1.0, 2.0, 3.0]}))
    assert more.n_scenarios == 3
