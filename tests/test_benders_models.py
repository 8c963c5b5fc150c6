"""Two-stage programs from models of linopy and Pyomo, against HiGHS on all scenarios together."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from oracle_opt import InvalidArgument, Status, minimize
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.oracles import BendersOracle, TwoStageProblem

linopy = pytest.importorskip("linopy", reason="linopy is not installed: pip install 'oracle-opt[modeling]'")
pyo = pytest.importorskip("pyomo.environ", reason="pyomo is not installed: pip install 'oracle-opt[modeling]'")

PLANTS, TOWNS = ["mill", "farm"], ["Bonn", "Rom", "Ulm"]
COST = {"mill": 1.0, "farm": 2.0}
DEMAND = {"Bonn": 3.0, "Rom": 4.0, "Ulm": 5.0}
SHIP = {(p, t): 1.0 + i + 0.5 * j for i, p in enumerate(PLANTS) for j, t in enumerate(TOWNS)}


def in_linopy(sign=1.0):
    m = linopy.Model()
    plants, towns = pd.Index(PLANTS, name="plant"), pd.Index(TOWNS, name="town")
    capacity = m.add_variables(lower=0, upper=50, coords=[plants], name="capacity")
    ship = m.add_variables(lower=0, coords=[plants, towns], name="ship")
    missing = m.add_variables(lower=0, coords=[towns], name="missing")
    m.add_constraints(capacity.sum() <= 12, name="budget")
    m.add_constraints(ship.sum("town") <= capacity, name="limit")
    m.add_constraints(ship.sum("plant") + missing >= pd.Series(DEMAND).rename_axis("town"), name="demand")
    price = pd.Series(SHIP).rename_axis(["plant", "town"]).unstack()[TOWNS].loc[PLANTS]
    total = (capacity * pd.Series(COST).rename_axis("plant")).sum() + (ship * price).sum() + 9 * missing.sum()
    m.add_objective(sign * total, sense="min" if sign > 0 else "max")
    return m


def in_pyomo(sign=1.0):
    m = pyo.ConcreteModel()
    m.capacity = pyo.Var(PLANTS, bounds=(0, 50))
    m.second = pyo.Block()
    m.ship = pyo.Var(PLANTS, TOWNS, domain=pyo.NonNegativeReals)
    m.missing = pyo.Var(TOWNS, domain=pyo.NonNegativeReals)
    m.needed = pyo.Param(TOWNS, initialize=DEMAND, mutable=True)
    m.budget = pyo.Constraint(expr=sum(m.capacity[p] for p in PLANTS) <= 12)
    m.limit = pyo.Constraint(PLANTS, rule=lambda m, p: sum(m.ship[p, t] for t in TOWNS) <= m.capacity[p])
    m.demand = pyo.Constraint(TOWNS, rule=lambda m, t: sum(m.ship[p, t] for p in PLANTS) + m.missing[t] >= m.needed[t])
    m.total = pyo.Objective(
        expr=sign
        * (
            sum(COST[p] * m.capacity[p] for p in PLANTS)
            + sum(SHIP[key] * m.ship[key] for key in SHIP)
            + 9 * sum(m.missing[t] for t in TOWNS)
        ),
        sense=pyo.minimize if sign > 0 else pyo.maximize,
    )
    return m


SCENARIOS = pd.DataFrame(
    {
        "probability": [0.5, 0.3, 0.2],
        "demand[Bonn]": [3.0, 6.0, 1.0],
        "demand[Ulm]": [5.0, 7.0, 2.0],
        ("cost", "ship[mill,Rom]"): [1.5, 1.5, 6.0],
        ("technology", "limit[farm]", "capacity[farm]"): [-1.0, -0.5, -1.0],
    },
    index=["usual", "high", "low"],
)
MODELS = {"linopy": (in_linopy, "from_linopy"), "pyomo": (in_pyomo, "from_pyomo")}


def split(kind, sign=1.0, first=("capacity",)):
    made, method = MODELS[kind]
    return getattr(TwoStageProblem, method)(made(sign), first)


def optimum():
    """All scenarios together, by HiGHS, from the data alone: two capacities; six shipments and three misses each."""
    cost, rows, sides = [COST[p] for p in PLANTS], [], []
    width = 2 + 9 * len(SCENARIOS)
    rows.append(np.r_[1.0, 1.0, np.zeros(width - 2)])
    sides.append(12.0)
    for s, (p, bonn, ulm, price, rate) in enumerate(SCENARIOS.to_numpy()):
        priced = [price if key == ("mill", "Rom") else SHIP[key] for key in SHIP] + [9.0] * 3
        cost += [p * one for one in priced]
        at = 2 + 9 * s
        for i in range(2):
            row = np.zeros(width)
            row[at + 3 * i : at + 3 * i + 3], row[i] = 1.0, (-1.0 if i == 0 else rate)
            rows.append(row)
            sides.append(0.0)
        for j, needed in enumerate((bonn, DEMAND["Rom"], ulm)):
            row = np.zeros(width)
            row[[at + j, at + 3 + j, at + 6 + j]] = -1.0
            rows.append(row)
            sides.append(-needed)
    return linprog(cost, np.array(rows), sides, bounds=[(0, 50)] * 2 + [(0, None)] * (width - 2)).fun


@pytest.mark.parametrize("kind", MODELS)
def test_the_optimum_is_that_of_all_scenarios_together(kind):
    problem = split(kind).with_scenarios(SCENARIOS)
    oracle = BendersOracle(problem)
    run = minimize(oracle, Kelley(), rtol=1e-9)
    assert run.upper_bound == pytest.approx(optimum(), rel=1e-8)
    frame = oracle.second_stage(run).frame()
    assert frame.index.tolist() == ["usual", "high", "low"]
    served = frame["y"][["ship[mill,Bonn]", "ship[farm,Bonn]", "missing[Bonn]"]].sum(axis=1)
    assert served.to_numpy() == pytest.approx([3.0, 6.0, 1.0])
    assert frame["dual"].columns.tolist() == ["limit[mill]", "limit[farm]", *(f"demand[{t}]" for t in TOWNS)]


def test_both_kinds_of_model_are_split_alike():
    one, other = split("linopy"), split("pyomo")
    assert one.digest() == other.digest()
    names = ("names", "row_names", "column_names", "first_row_names")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    assert one.names == ("capacity[mill]", "capacity[farm]")
    assert one.first_row_names == ("budget",)


@pytest.mark.parametrize("kind", MODELS)
def test_a_maximization_is_turned_and_its_tables_too(kind):
    turned, plain = split(kind, -1.0), split(kind)
    assert turned.maximize
    assert turned.digest() == plain.digest()
    profits = SCENARIOS.rename(columns={"demand[Bonn]": "demand[Rom]", "demand[Ulm]": "demand[Bonn]"})
    profits[("cost", "ship[mill,Rom]")] *= -1.0
    back = SCENARIOS.rename(columns={"demand[Bonn]": "demand[Rom]", "demand[Ulm]": "demand[Bonn]"})
    assert turned.with_scenarios(profits).digest() == plain.with_scenarios(back).digest()


def random_data(seed):
    """Rows of every sense over x in [0, 2] and y; the last ten y move each row of the second stage up and down."""
    rng = np.random.default_rng(seed)
    first, T, W = rng.normal(size=(2, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    senses = ["<=", ">=", "=", "<=", ">="]
    rhs, first_rhs = rng.normal(size=5), first @ np.ones(3) + [1.0, -1.0]
    lower, upper = [-1.0, 0.0, -2.0, 0.0, *[0.0] * 10], [1.0, 3.0, 2.0, np.inf, *[np.inf] * 10]
    W = np.hstack([W, np.eye(5), -np.eye(5)])
    q = np.r_[rng.normal(size=3), 1.0 + rng.uniform(), rng.uniform(5, 9, 10)]
    return first, first_rhs, T, W, senses, rhs, rng.normal(size=3), q, lower, upper


@pytest.mark.campaign(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", MODELS)
def test_random_models_have_the_optimum_of_one_linear_program(kind, seed):
    first, first_rhs, T, W, senses, rhs, c, q, lower, upper = random_data(seed)
    problem = getattr(TwoStageProblem, MODELS[kind][1])(RANDOM[kind](seed), ["x"])
    A = np.vstack([np.hstack([first, np.zeros((2, 14))]), np.hstack([T, W])])
    sides, kinds = np.r_[first_rhs, rhs], np.array(["<=", ">=", *senses])
    sign = np.where(kinds == ">=", -1.0, 1.0)
    equal = kinds == "="
    known = linprog(
        np.r_[c, q],
        (sign[:, None] * A)[~equal],
        (sign * sides)[~equal],
        A[equal],
        sides[equal],
        [(0, 2)] * 3 + list(zip(lower, upper, strict=True)),
    )
    run = minimize(BendersOracle(problem), LevelSet(), rtol=1e-8, atol=1e-8)
    assert run.status is Status.CONVERGED
    assert run.upper_bound == pytest.approx(known.fun + (2.5 if kind == "pyomo" else 0.0), abs=1e-6)


def random_in_linopy(seed):
    first, first_rhs, T, W, senses, rhs, c, q, lower, upper = random_data(seed)
    m = linopy.Model()
    x = m.add_variables(lower=0, upper=2, coords=[range(3)], dims=["i"], name="x")
    y = m.add_variables(pd.Series(lower).rename_axis("j"), pd.Series(upper).rename_axis("j"), name="y")

    def total(coefficients, variable, dim):
        return (pd.Series(coefficients).rename_axis(dim) * variable).sum()

    for row, side, sense in zip(first, first_rhs, ("<=", ">="), strict=True):
        m.add_constraints(total(row, x, "i"), sense, side)
    for t, w, side, sense in zip(T, W, rhs, senses, strict=True):
        m.add_constraints(total(t, x, "i") + total(w, y, "j"), sense, side)
    m.add_objective(total(c, x, "i") + total(q, y, "j"))
    return m


def random_in_pyomo(seed):
    first, first_rhs, T, W, senses, rhs, c, q, lower, upper = random_data(seed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), bounds=(0, 2))
    m.part = pyo.Block()
    m.part.y = pyo.Var(range(14), bounds=lambda _, j: (lower[j], None if np.isinf(upper[j]) else upper[j]))
    m.rows, m.part.rows = pyo.ConstraintList(), pyo.ConstraintList()

    def add(rows, body, sense, side):  # constants on both sides
        rows.add({"<=": body + 1 <= side + 1, ">=": side <= body, "=": body - 3 == side - 3}[sense])

    def total(coefficients, variable):
        return sum(float(a) * variable[i] for i, a in enumerate(coefficients))

    for row, side, sense in zip(first, first_rhs, ("<=", ">="), strict=True):
        add(m.rows, total(row, m.x), sense, side)
    for t, w, side, sense in zip(T, W, rhs, senses, strict=True):
        add(m.part.rows, total(t, m.x) + total(w, m.part.y), sense, side)
    m.cost = pyo.Objective(expr=total(c, m.x) + total(q, m.part.y) + 2.5)
    return m


RANDOM = {"linopy": random_in_linopy, "pyomo": random_in_pyomo}


def test_ranges_fixed_variables_and_single_entries_of_pyomo():
    m = in_pyomo()
    m.capacity["farm"].fix(4.0)
    m.second_range = pyo.Constraint(expr=(1, m.ship["mill", "Bonn"] + m.capacity["farm"], 9))
    problem = TwoStageProblem.from_pyomo(m, ["capacity[mill]"])
    assert problem.names == ("capacity[mill]",)
    assert problem.first_upper.tolist() == [8.0]
    assert problem.offset == 8.0
    place = problem.row_names.index("second_range")
    assert (problem.row_lower[place], problem.row_upper[place]) == (-3.0, 5.0)
    assert dict(zip(problem.row_names, problem.row_upper, strict=True))["limit[farm]"] == 4.0


def test_masked_entries_and_several_dimensions_of_linopy():
    m = linopy.Model()
    index = [pd.Index(["a", "b"], name="letter"), pd.Index([1, 2], name="number")]
    x = m.add_variables(lower=0, upper=5, name="x")
    mask = pd.Series([True, False, True]).rename_axis("i")
    y = m.add_variables(lower=0, coords=[pd.RangeIndex(3, name="i")], name="y", mask=mask)
    z = m.add_variables(lower=0, coords=index, name="z")
    m.add_constraints(y.fillna(0) + x >= 2, name="need", mask=mask)
    m.add_constraints(z.sum() >= 1, name="some")
    m.add_objective(3 * x + 2 * y.fillna(0).sum() + z.sum())
    problem = TwoStageProblem.from_linopy(m, ["x"])
    assert problem.column_names == ("y[0]", "y[2]", "z[a,1]", "z[a,2]", "z[b,1]", "z[b,2]")
    assert problem.row_names == ("need[0]", "need[2]", "some")
    assert problem.T.toarray().tolist() == [[1.0], [1.0], [0.0]]
    assert problem.q.tolist() == [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    assert minimize(BendersOracle(problem), Kelley()).upper_bound == pytest.approx(7.0)


def changed(kind, change):
    made = MODELS[kind][0]()
    change(made)
    return made


WRONG = {
    "linopy, whole": (
        "linopy",
        lambda m: m.add_variables(binary=True, name="open"),
        "`model` must be linear and continuous, of the type LP, and it has type MILP",
    ),
    "linopy, quadratic": (
        "linopy",
        lambda m: m.add_objective((m.variables["missing"] ** 2).sum(), overwrite=True),
        "type QP",
    ),
    "linopy, SOS": (
        "linopy",
        lambda m: m.add_sos_constraints(m.add_variables(0, 1, coords=[range(3)], dims=["k"], name="s"), 1, "k"),
        "it has SOS constraints",
    ),
    "pyomo, whole": (
        "pyomo",
        lambda m: m.add_component("open", pyo.Var(domain=pyo.Binary)),
        "must be continuous, and the variable open is whole: pass relax=True",
    ),
    "pyomo, product": (
        "pyomo",
        lambda m: m.add_component("odd", pyo.Constraint(expr=m.capacity["mill"] * m.missing["Rom"] <= 3)),
        "must be linear, and the constraint odd is not",
    ),
    "pyomo, no objective": ("pyomo", lambda m: m.total.deactivate(), "must have one active objective, and has 0"),
    "pyomo, SOS": (
        "pyomo",
        lambda m: m.add_component("special", pyo.SOSConstraint(var=m.missing, sos=1)),
        "special is a SOSConstraint",
    ),
    "pyomo, contradiction": (
        "pyomo",
        lambda m: (
            m.capacity.fix(9.0),
            m.capacity["mill"].unfix(),
            m.budget.deactivate(),
            m.add_component("one", pyo.Constraint(expr=2 * m.capacity["farm"] <= 17)),
        ),
        "has a constraint without variables that does not hold, 'one'",
    ),
    "pyomo, fixed": (
        "pyomo",
        lambda m: m.capacity.fix(1.0),
        "`first_stage` must leave each stage a variable, and the first stage has none",
    ),
    "pyomo, variable of another": (
        "pyomo",
        lambda m: m.add_component("other", pyo.Constraint(expr=m.missing["Rom"] <= in_pyomo().missing["Rom"])),
        "must hold all variables that it uses, and the constraint other uses missing",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_models_that_are_no_linear_programs_are_refused_with_their_reason(name):
    kind, change, words = WRONG[name]
    with pytest.raises(InvalidArgument, match=words):
        getattr(TwoStageProblem, MODELS[kind][1])(changed(kind, change), ["capacity"])


@pytest.mark.parametrize("kind", MODELS)
def test_wrong_first_stages_are_refused_with_their_reason(kind):
    everything = ["capacity", "ship", "missing"]
    for first, words in (
        (["capacty"], "`first_stage` names the variable 'capacty', which is not there: did you mean capacity"),
        (["capacity[mil]"], "`first_stage` names the variable 'capacity\\[mil\\]', which is not there"),
        ([], "`first_stage` must leave each stage a variable, and the first stage has none"),
        (everything, "`first_stage` must leave each stage a variable, and the second stage has none"),
        ("capacity", "`first_stage` must be a sequence, each the name of a variable"),
        ([3], "`first_stage\\[0\\]` must be the name of a variable, got 3"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            split(kind, first=first)
    with pytest.raises(InvalidArgument, match="it is a row of the first stage, without second-stage variables"):
        split(kind).with_scenarios(pd.DataFrame({"budget": [1.0, 2.0]}))


def test_other_things_are_no_models():
    for method in ("from_linopy", "from_pyomo"):
        with pytest.raises(InvalidArgument, match="`model` must be a"):
            getattr(TwoStageProblem, method)("model", ["x"])
    with pytest.raises(InvalidArgument, match="call its create_instance"):
        TwoStageProblem.from_pyomo(pyo.AbstractModel(), ["x"])
