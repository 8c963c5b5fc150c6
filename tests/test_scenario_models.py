"""Two-stage programs from a model for each scenario, or from one with a dimension of them, against HiGHS on all."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, milp

from oracle_opt import InvalidArgument, minimize
from oracle_opt.oracles import BendersOracle, TwoStageProblem

linopy = pytest.importorskip("linopy", reason="linopy is not installed: pip install 'oracle-opt[modeling]'")
xarray = pytest.importorskip("xarray", reason="xarray is not installed: it comes with linopy")
pyo = pytest.importorskip("pyomo.environ", reason="pyomo is not installed: pip install 'oracle-opt[modeling]'")

YIELDS = {"below": 0.8, "average": 1.0, "above": 1.2}
CROPS = ["wheat", "corn", "beets"]


def farmer(name, crops=CROPS):
    """The farmer of Birge and Louveaux in one year; `crops` is the order in which variables are made."""
    m = pyo.ConcreteModel(name)
    harvest = dict(zip(CROPS, YIELDS[name] * np.array([2.5, 3.0, 20.0]), strict=True))
    m.acres = pyo.Var(crops, domain=pyo.NonNegativeReals)
    m.bought = pyo.Var(["wheat", "corn"], domain=pyo.NonNegativeReals)
    m.sold = pyo.Var(crops, domain=pyo.NonNegativeReals)
    m.above = pyo.Var(domain=pyo.NonNegativeReals)
    m.land = pyo.Constraint(expr=sum(m.acres[c] for c in crops) <= 500)
    m.quota = pyo.Constraint(expr=m.sold["beets"] <= 6000)
    m.cattle = pyo.Constraint(
        ["wheat", "corn"],
        rule=lambda m, c: harvest[c] * m.acres[c] + m.bought[c] - m.sold[c] >= {"wheat": 200, "corn": 240}[c],
    )
    m.field = pyo.Constraint(expr=m.sold["beets"] + m.above <= harvest["beets"] * m.acres["beets"])
    m.cost = pyo.Objective(
        expr=150 * m.acres["wheat"]
        + 230 * m.acres["corn"]
        + 260 * m.acres["beets"]
        + 238 * m.bought["wheat"]
        + 210 * m.bought["corn"]
        - 170 * m.sold["wheat"]
        - 150 * m.sold["corn"]
        - 36 * m.sold["beets"]
        - 10 * m.above
    )
    return m


def farmers_optimum(weights):
    """All years together, by HiGHS: three fields, then bought, bought, sold, sold, sold and above of each year."""
    cost, rows, sides = [150.0, 230.0, 260.0], [np.r_[1.0, 1.0, 1.0, np.zeros(18)]], [500.0]
    for s, (p, rate) in enumerate(zip(weights, YIELDS.values(), strict=True)):
        cost += [p * one for one in (238.0, 210.0, -170.0, -150.0, -36.0, -10.0)]
        at = 3 + 6 * s
        for terms, side in (
            ({at + 4: 1.0}, 6000.0),
            ({0: -2.5 * rate, at: -1.0, at + 2: 1.0}, -200.0),
            ({1: -3.0 * rate, at + 1: -1.0, at + 3: 1.0}, -240.0),
            ({2: -20.0 * rate, at + 4: 1.0, at + 5: 1.0}, 0.0),
        ):
            row = np.zeros(21)
            row[list(terms)] = list(terms.values())
            rows.append(row)
            sides.append(side)
    return linprog(cost, np.array(rows), sides).fun


@pytest.mark.parametrize("weights", [None, [0.2, 0.5, 0.3]])
def test_the_farmer_of_a_scenario_creator(weights):
    given = None if weights is None else dict(zip(reversed(YIELDS), reversed(weights), strict=True))
    problem = TwoStageProblem.from_scenarios({name: farmer(name) for name in YIELDS}, ["acres"], given)
    oracle = BendersOracle(problem)
    run = minimize(oracle, rtol=1e-9)
    assert run.upper_bound == pytest.approx(farmers_optimum(weights or [1 / 3] * 3), rel=1e-7)
    assert run.lower_bound == pytest.approx(run.upper_bound, rel=1e-7)
    assert oracle.second_stage(run).frame().index.tolist() == list(YIELDS)
    [block] = problem.blocks
    assert len(block.technology_entries) == 3
    assert [len(one) for one in (block.rows, block.cost_columns, block.recourse_entries)] == [0, 0, 0]


def test_the_farmer_has_the_known_plan():
    models = [farmer(name, CROPS if name == "average" else CROPS[::-1]) for name in YIELDS]
    oracle = BendersOracle(TwoStageProblem.from_scenarios(models, ["acres"]))
    run = minimize(oracle, rtol=1e-9)
    assert run.upper_bound == pytest.approx(-108390, rel=1e-7)
    acres = oracle.second_stage(run).first_stage()
    assert acres.index.tolist() == ["acres[beets]", "acres[corn]", "acres[wheat]"]  # the order of the first model
    assert acres.to_numpy() == pytest.approx([250, 80, 170], abs=1e-4)


def test_probabilities_that_mpi_sppy_attaches_are_used():
    models = {name: farmer(name) for name in YIELDS}
    for model in models.values():
        model._mpisppy_probability = "uniform"
    assert TwoStageProblem.from_scenarios(models, ["acres"]).blocks[0].probabilities.tolist() == [1 / 3] * 3
    for model, p in zip(models.values(), (0.2, 0.5, 0.3), strict=True):
        model._mpisppy_probability = p
    assert TwoStageProblem.from_scenarios(models, ["acres"]).blocks[0].probabilities.tolist() == [0.2, 0.5, 0.3]
    own = TwoStageProblem.from_scenarios(models, ["acres"], [0.3, 0.3, 0.4])
    assert own.blocks[0].probabilities.tolist() == [0.3, 0.3, 0.4]
    models["above"]._mpisppy_probability = None
    with pytest.raises(InvalidArgument, match="`probabilities` must be an array of real numbers"):
        TwoStageProblem.from_scenarios(models, ["acres"])


def random_scenarios(seed, n_scenarios=4, sign=1.0):
    """Numbers of each scenario, in which entries come and go; rows r0 to r4 have other kinds of sides.

    The last ten of y move each row of the second stage up and down.
    """
    rng = np.random.default_rng(seed)
    A, T, W = rng.normal(size=(2, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    b, c, q, offset = A @ np.ones(3) + 1.0, rng.normal(size=3), rng.normal(size=4), rng.normal()
    low, width = rng.normal(size=5), np.array([np.inf, 0.5, 0.0, np.inf, 2.0])
    made = []
    for _ in range(n_scenarios):
        scenario = SimpleNamespace(A=A, b=b, c=sign * c, x=np.array([[-1.0] * 3, [2.0] * 3]), sense=sign)
        some = [np.where(rng.uniform(size=one.shape) < 0.3, 0.0, one * rng.integers(1, 3)) for one in (T, W)]
        scenario.T, scenario.W = some[0], np.hstack([some[1], np.eye(5), -np.eye(5)])
        scenario.q = sign * np.r_[q + rng.integers(0, 2, 4), np.full(10, 9.0)]
        scenario.low = low + rng.integers(0, 3, 5)
        scenario.high = scenario.low + width
        scenario.low[3], scenario.high[3] = -np.inf, scenario.low[3]
        scenario.y = np.array([[0.0] * 14, [5.0] * 4 + [np.inf] * 10])
        scenario.offset = sign * (offset + rng.integers(0, 2))
        made.append(scenario)
    return made


def in_pyomo(s):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), bounds=lambda m, j: tuple(s.x[:, j]))
    m.y = pyo.Var(range(14), bounds=lambda m, j: (s.y[0, j], None if np.isinf(s.y[1, j]) else s.y[1, j]))
    m.first = pyo.Constraint(range(2), rule=lambda m, i: sum(s.A[i, j] * m.x[j] for j in range(3)) <= s.b[i])

    def row(m, i):
        body = sum(s.T[i, j] * m.x[j] for j in range(3)) + sum(s.W[i, j] * m.y[j] for j in range(14))
        if s.low[i] == s.high[i]:
            return body == s.low[i]
        return (None if np.isinf(s.low[i]) else s.low[i], body, None if np.isinf(s.high[i]) else s.high[i])

    m.r = pyo.Constraint(range(5), rule=row)
    total = sum(s.c[j] * m.x[j] for j in range(3)) + sum(s.q[j] * m.y[j] for j in range(14)) + s.offset
    m.total = pyo.Objective(expr=total, sense=pyo.minimize if s.sense > 0 else pyo.maximize)
    return m


def in_linopy(s):
    """The same but for constants of the objective; two sides are two rows."""
    m = linopy.Model()
    x = m.add_variables(s.x[0], s.x[1], coords=[pd.RangeIndex(3, name="j")], name="x")
    y = m.add_variables(s.y[0], s.y[1], coords=[pd.RangeIndex(14, name="k")], name="y")
    m.add_constraints((x * pd.DataFrame(s.A).rename_axis("i").rename_axis("j", axis=1)).sum("j") <= s.b, name="first")
    for i in range(5):
        body = (x * pd.Series(s.T[i]).rename_axis("j")).sum() + (y * pd.Series(s.W[i]).rename_axis("k")).sum()
        if np.isfinite(s.low[i]):
            m.add_constraints(body >= s.low[i], name=f"low{i}")
        if np.isfinite(s.high[i]):
            m.add_constraints(body <= s.high[i], name=f"high{i}")
    total = (x * pd.Series(s.c).rename_axis("j")).sum() + (y * pd.Series(s.q).rename_axis("k")).sum()
    m.add_objective(total, sense="min" if s.sense > 0 else "max")
    return m


def extensive(scenarios, weights):
    """The least expected cost, by HiGHS, from the numbers alone, without the constants of the objective."""
    first, sign = scenarios[0], scenarios[0].sense
    none = sparse.csr_array((len(first.b), sum(len(one.q) for one in scenarios)))
    own = sparse.block_diag([sparse.coo_array(one.W) for one in scenarios])
    rows = [
        sparse.hstack([sparse.csr_array(first.A), none]),
        sparse.hstack([np.vstack([one.T for one in scenarios]), own]),
    ]
    low = np.r_[np.full(len(first.b), -np.inf), *(one.low for one in scenarios)]
    high = np.r_[first.b, *(one.high for one in scenarios)]
    cost = sign * np.r_[first.c, *(p * one.q for p, one in zip(weights, scenarios, strict=True))]
    bounds = np.hstack([first.x, *(one.y for one in scenarios)])
    found = milp(cost, constraints=LinearConstraint(sparse.vstack(rows), low, high), bounds=list(bounds))
    assert found.status == 0
    return found.fun


KINDS = {"pyomo": in_pyomo, "linopy": in_linopy}


@pytest.mark.campaign(2)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_random_models_have_the_optimum_of_one_linear_program(kind, seed):
    rng = np.random.default_rng(seed)
    scenarios, weights = random_scenarios(seed, sign=-1.0 if seed % 2 else 1.0), rng.dirichlet(np.ones(4))
    problem = TwoStageProblem.from_scenarios([KINDS[kind](one) for one in scenarios], ["x"], weights)
    assert min(len(problem.blocks[0].recourse_entries), len(problem.blocks[0].technology_entries)) > 0
    run = minimize(BendersOracle(problem), rtol=1e-9, atol=1e-9)
    mean = sum(p * one.sense * one.offset for p, one in zip(weights, scenarios, strict=True)) if kind == "pyomo" else 0
    known = extensive(scenarios, weights) + mean
    assert run.upper_bound == pytest.approx(known, rel=1e-7, abs=1e-7)
    assert run.lower_bound == pytest.approx(known, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("first", range(3))
def test_a_row_is_of_the_second_stage_if_it_is_in_one_scenario(first):
    """Whichever model is the first: a row may hold x alone, y alone or nothing in some scenarios."""

    def model(a, b, demand, price):
        m = pyo.ConcreteModel()
        m.x, m.y = pyo.Var(bounds=(0, 10)), pyo.Var(bounds=(0, 10))
        m.a, m.b = pyo.Param(initialize=a, mutable=True), pyo.Param(initialize=b, mutable=True)
        m.row = pyo.Constraint(expr=m.a * m.x + m.b * m.y >= demand)
        m.cost = pyo.Objective(expr=m.x + price * m.y + demand)
        return m

    data = [(1.0, 0.0, 2.0, 1.5), (0.0, 2.0, 6.0, 3.0), (0.0, 0.0, -1.0, 0.5)]
    data = data[first:] + data[:first]
    problem = TwoStageProblem.from_scenarios([model(*one) for one in data], ["x"])
    assert (problem.row_names, problem.first_row_names) == (("row",), ())
    run = minimize(BendersOracle(problem), rtol=1e-9)
    # x = 2 for the one, y = 3 at 3 each in the other, and the constants 2, 6 and -1
    assert run.upper_bound == pytest.approx(2.0 + (9.0 + 7.0) / 3, rel=1e-7)
    assert run.lower_bound == pytest.approx(run.upper_bound, rel=1e-7)
    impossible = [*data[:2], (0.0, 0.0, 1.0, 0.5)]
    with pytest.raises(InvalidArgument, match="constraint without variables that does not hold, 'row'"):
        TwoStageProblem.from_scenarios([model(0.0, 0.0, *one[2:]) for one in impossible], ["x"])


@pytest.mark.parametrize("kind", KINDS)
def test_equal_models_are_one_scenario_many_times(kind):
    [only] = random_scenarios(3, n_scenarios=1)
    known = extensive([only], [1.0]) + (only.offset if kind == "pyomo" else 0.0)
    for count in (1, 3):
        problem = TwoStageProblem.from_scenarios([KINDS[kind](only) for _ in range(count)], ["x"])
        assert problem.n_scenarios == count
        assert minimize(BendersOracle(problem), rtol=1e-9).upper_bound == pytest.approx(known, rel=1e-7)


def change(s, what):
    """Change one thing that scenarios share."""
    if what == "cost":
        s.c = s.c + np.array([0.0, 0.25, 0.0])
    elif what == "x bound":
        s.x = s.x + np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    elif what == "no bound":
        s.y = np.array([s.y[0], np.where(np.arange(14) == 2, np.inf, s.y[1])])
    elif what == "first entry":
        s.A = s.A + np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    elif what == "first side":
        s.b = s.b + np.array([0.0, 0.5])
    elif what == "sense":
        s.sense, s.c, s.q = -s.sense, -s.c, -s.q
    elif what == "one side":
        s.high = np.r_[s.low[0] + 1.0, s.high[1:]]
    elif what == "no side":
        s.low = np.r_[s.low[:4], -np.inf]
    elif what == "width":
        s.low = s.low - np.eye(5)[4] * 0.125
    return s


NAMED = {
    "cost": r"cost of the first-stage variable 'x\[1\]'",
    "x bound": r"lower bound of the variable 'x\[2\]' is -1 in 'a' and -0\.5 in 'c'",
    "no bound": r"upper side of the row 'y\[2\]-upper' is .* in 'a' and inf in 'c'",
    "first entry": r"entry of the first-stage row 'first\[1\]' and 'x\[0\]'",
    "first side": r"upper side of the first-stage row 'first\[1\]'",
    "sense": "minimize in all scenarios or maximize in all",
    "one side": r"upper side of the row 'r\[0\]' is inf in 'a'",
    "no side": r"lower side of the row 'r\[4\]' is .* and -inf in 'c'",
    "width": r"distance of the two sides of the row 'r\[4\]' is 2 in 'a' and 2\.125 in 'c'",
}
SHARED = list(NAMED)[:6]  # sides of linopy are rows of their own


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("kind", "what"), [*(("pyomo", one) for one in NAMED), *(("linopy", one) for one in SHARED)])
def test_what_scenarios_must_share_is_refused_by_name(kind, what, seed):
    scenarios = dict(zip("abcd", random_scenarios(seed), strict=True))
    change(scenarios["c"], what)
    models = {name: KINDS[kind](one) for name, one in scenarios.items()}
    with pytest.raises(InvalidArgument, match=NAMED[what]) as refusal:
        TwoStageProblem.from_scenarios(models, ["x"])
    assert "'a'" in str(refusal.value)
    assert "'c'" in str(refusal.value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_the_second_stage_that_differ_become_rows(kind, seed):
    """As the spill of a reservoir is bounded by what flows in."""
    rng = np.random.default_rng(seed)
    scenarios = random_scenarios(seed)
    for one in scenarios:
        one.y = one.y + rng.uniform(0.0, 0.3, (2, 14)) * (rng.random((2, 14)) < 0.3)
    problem = TwoStageProblem.from_scenarios([KINDS[kind](one) for one in scenarios], ["x"])
    known = extensive(scenarios, [0.25] * 4) + sum(one.offset for one in scenarios) / 4 * (kind == "pyomo")
    result = minimize(BendersOracle(problem), rtol=1e-9)
    assert result.success
    assert result.upper_bound == pytest.approx(known, rel=1e-7)


def test_whole_variables_are_relaxed_where_that_is_asked_for():
    """An example of both packages: three plants of one size, on or off."""
    built = linopy.Model()
    on = built.add_variables(binary=True, coords=[pd.RangeIndex(3, name="plant")], name="on")
    short = built.add_variables(0, name="short")
    built.add_constraints(on.sum() + short >= 1.5, name="demand")
    built.add_objective(2 * on.sum() + 5 * short)
    m = pyo.ConcreteModel()
    m.on, m.short = pyo.Var(range(3), domain=pyo.Binary), pyo.Var(domain=pyo.NonNegativeReals)
    m.demand = pyo.Constraint(expr=sum(m.on[j] for j in range(3)) + m.short >= 1.5)
    m.total = pyo.Objective(expr=2 * sum(m.on[j] for j in range(3)) + 5 * m.short)
    for read, model in ((TwoStageProblem.from_linopy, built), (TwoStageProblem.from_pyomo, m)):
        with pytest.raises(InvalidArgument, match="pass relax=True"):
            read(model, ["on"])
        result = minimize(BendersOracle(read(model, ["on"], relax=True)))
        assert result.upper_bound == pytest.approx(3.0)
        assert "RELAXATION: 3 whole variables" in result.message
    with pytest.raises(InvalidArgument, match="pass relax=True"):
        TwoStageProblem.from_scenarios([m, m], ["on"])
    joined = TwoStageProblem.from_scenarios([m, m], ["on"], relax=True)
    assert minimize(BendersOracle(joined)).upper_bound == pytest.approx(3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_other_variables_or_rows_are_refused_by_name(kind):
    models = {name: KINDS[kind](one) for name, one in zip("abcd", random_scenarios(0), strict=True)}
    if kind == "pyomo":
        models["b"].z = pyo.Var()
        models["c"].more = pyo.Constraint(expr=models["c"].y[0] <= 1)
    else:
        models["b"].add_variables(0, 1, name="z")
        models["c"].add_constraints(models["c"].variables["y"].sum() <= 100, name="more")
    with pytest.raises(InvalidArgument, match="same variables in all scenarios, and 'z' is in 'b' and not in 'a'"):
        TwoStageProblem.from_scenarios(models, ["x"])
    del models["b"]
    with pytest.raises(InvalidArgument, match="same rows in all scenarios, and 'more' is in 'c' and not in 'a'"):
        TwoStageProblem.from_scenarios(models, ["x"])


@pytest.mark.parametrize(
    ("models", "probabilities", "word"),
    [
        (3, None, "`models` must be a sequence"),
        ([], None, "at least one model"),
        ({"a": 3}, None, "`models` must be models of linopy or Pyomo, and 'a' is 3"),
        (list(YIELDS)[:2], [1.0], "`probabilities` must be 2 positive numbers"),
        (list(YIELDS)[:2], [0.5, 0.6], "add up to 1"),
        (list(YIELDS)[:2], [1.0, 0.0], "leave out scenarios that cannot happen"),
        (list(YIELDS)[:2], [0.5, np.nan], "positive numbers"),
        (list(YIELDS)[:2], {"a": 0.5, "b": 0.5}, "`probabilities` must name the scenarios"),
    ],
)
def test_arguments_that_cannot_be_are_refused(models, probabilities, word):
    given = [farmer(one) for one in models] if isinstance(models, list) else models
    with pytest.raises(InvalidArgument, match=word):
        TwoStageProblem.from_scenarios(given, ["acres"], probabilities)


def test_a_model_that_cannot_be_read_is_refused_with_its_scenario():
    wrong = farmer("above")
    wrong.square = pyo.Constraint(expr=wrong.above**2 <= 1)
    with pytest.raises(InvalidArgument, match="scenario 'above': `model` must be linear, and the constraint square"):
        TwoStageProblem.from_scenarios({"below": farmer("below"), "above": wrong}, ["acres"])


def expansion(rng, plants=12, hours=24):
    """One year's numbers of a plan of capacities: what is available and wanted each hour, and the price of fuel."""
    wanted = 50 + 40 * np.sin(np.arange(hours) / 4) ** 2 + rng.uniform(0, 20, hours)
    available = np.where(np.arange(plants)[:, None] % 3 == 0, rng.uniform(0, 1, (plants, hours)).round(1), 1.0)
    return wanted, available, rng.uniform(5, 40, plants)


def expansion_in_linopy(year, build):
    wanted, available, fuel = year
    m = linopy.Model()
    plant, hour = pd.RangeIndex(len(fuel), name="plant"), pd.RangeIndex(len(wanted), name="hour")
    capacity = m.add_variables(lower=0, coords=[plant], name="capacity")
    output = m.add_variables(lower=0, coords=[plant, hour], name="output")
    missing = m.add_variables(lower=0, coords=[hour], name="missing")
    m.add_constraints(capacity <= 60, name="largest")
    m.add_constraints(output - capacity * pd.DataFrame(available, plant, hour) <= 0, name="limit")
    m.add_constraints(output.sum("plant") + missing >= pd.Series(wanted, hour), name="balance")
    m.add_objective(
        (capacity * pd.Series(build, plant)).sum() + (output * pd.Series(fuel, plant)).sum() + 3000 * missing.sum()
    )
    return m


def numbers_of(years, build):
    """The same years as numbers, for HiGHS."""
    scenarios, (plants, hours) = [], years[0][1].shape
    for wanted, available, fuel in years:
        T = np.vstack([-np.diag(hour) for hour in available.T] + [np.zeros((hours, plants))])
        output = sparse.kron(sparse.eye(hours), np.ones(plants))
        W = sparse.block_array([[sparse.eye(plants * hours), None], [output, sparse.eye(hours)]])
        one = SimpleNamespace(T=T, W=W, q=np.r_[np.tile(fuel, hours), np.full(hours, 3000.0)], sense=1.0, c=build)
        one.low = np.r_[np.full(plants * hours, -np.inf), wanted]
        one.high = np.r_[np.zeros(plants * hours), np.full(hours, np.inf)]
        one.x, one.y = np.array([[0.0] * plants, [np.inf] * plants]), np.array([[0.0], [np.inf]]) * np.ones(len(one.q))
        one.A, one.b = np.eye(plants), np.full(plants, 60.0)
        scenarios.append(one)
    return scenarios


def test_a_plan_of_capacities_of_some_thousand_rows():
    rng = np.random.default_rng(5)
    years, build, weights = [expansion(rng) for _ in range(10)], rng.uniform(200, 900, 12), rng.dirichlet(np.ones(10))
    models = {f"year {2030 + i}": expansion_in_linopy(year, build) for i, year in enumerate(years)}
    problem = TwoStageProblem.from_scenarios(models, ["capacity"], weights)
    run = minimize(BendersOracle(problem), rtol=1e-9)
    known = extensive(numbers_of(years, build), weights)
    assert run.upper_bound == pytest.approx(known, rel=1e-7)
    assert run.lower_bound == pytest.approx(known, rel=1e-7)


def whole_model(years, build, weights, sign=1.0, last=60.0):
    """All years in one model of the shape of PyPSA's: bounds are rows, some of them infinite, costs are expected."""
    m, (plants, hours) = linopy.Model(), years[0][1].shape
    plant, hour = pd.RangeIndex(plants, name="plant"), pd.RangeIndex(hours, name="hour")
    scenario = pd.Index([f"s{i}" for i in range(len(years))], name="scenario")

    def data(values, *dims):
        return xarray.DataArray(np.array(values), coords=dims)

    wanted, available, fuel = (list(each) for each in zip(*years, strict=True))
    limits = np.full((plants, len(years)), 60.0)
    limits[1, -1] = last
    capacity = m.add_variables(coords=[plant], name="capacity")
    output = m.add_variables(coords=[scenario, plant, hour], name="output")
    missing = m.add_variables(coords=[hour, scenario], name="missing")
    m.add_constraints(capacity >= 0, name="none")
    m.add_constraints(1.0 * capacity <= data(limits, plant, scenario), name="largest")
    m.add_constraints(output >= 0, name="output-lower")
    m.add_constraints(1.0 * output <= data(np.full((plants, hours), np.inf), plant, hour), name="output-upper")
    m.add_constraints(missing >= 0, name="missing-lower")
    m.add_constraints(output - data(available, scenario, plant, hour) * capacity <= 0, name="limit")
    m.add_constraints(output.sum("plant") + missing >= data(wanted, scenario, hour), name="balance")
    p = data(weights, scenario)
    later = (output * (p * data(fuel, scenario, plant))).sum() + (missing * (3000 * p)).sum()
    m.add_objective(sign * ((capacity * data(build, plant)).sum() + later), sense="min" if sign > 0 else "max")
    return m


@pytest.mark.parametrize("seed", range(3))
def test_a_model_with_a_dimension_of_scenarios_is_taken_apart(seed):
    rng = np.random.default_rng(seed)
    years, build, weights = [expansion(rng, 4, 6) for _ in range(5)], rng.uniform(200, 900, 4), rng.dirichlet([2.0] * 5)
    years = [(wanted, available, years[0][2] if seed else fuel) for wanted, available, fuel in years]
    model = whole_model(years, build, weights, sign=-1.0 if seed == 2 else 1.0)
    by_name = {f"s{i}": weights[i] for i in reversed(range(5))}
    problem = TwoStageProblem.from_linopy(model, ["capacity"], "scenario", by_name)
    [block] = problem.blocks
    assert block.labels == ("s0", "s1", "s2", "s3", "s4")
    assert block.probabilities.tolist() == weights.tolist()
    assert problem.column_names[0] == "output[0,0]"
    assert problem.row_names[-1] == "balance[5]"
    # costs that the scenarios share do not vary by the rounding of p * q / p
    varying = {problem.column_names[j].partition("[")[0] for j in block.cost_columns}
    assert varying == (set() if seed else {"output"})
    run = minimize(BendersOracle(problem), rtol=1e-9)
    known = extensive(numbers_of(years, build), weights)
    assert run.upper_bound == pytest.approx(known, rel=1e-7)
    assert run.lower_bound == pytest.approx(known, rel=1e-7)


def test_rows_of_one_first_stage_variable_bound_it_without_a_promise():
    rng = np.random.default_rng(0)
    model = whole_model([expansion(rng, 4, 6) for _ in range(2)], np.full(4, 300.0), [0.5, 0.5])
    oracle = BendersOracle(TwoStageProblem.from_linopy(model, ["capacity"], "scenario", [0.5, 0.5]), radius=1.0)
    assert oracle.domain.lower == pytest.approx(np.zeros(4), abs=1e-9)
    assert oracle.domain.upper == pytest.approx(np.full(4, 60.0))
    assert minimize(oracle, rtol=1e-8).success


def two_scenarios(m):
    y = m.variables["missing"]
    m.add_constraints(y.sel(hour=0, scenario="s0", drop=True) == y.sel(hour=0, scenario="s1", drop=True), name="tied")


def one_scenario(m):
    m.add_constraints(m.variables["missing"].sel(hour=0, scenario="s1", drop=True) <= 5, name="single")


@pytest.mark.parametrize(
    ("first_stage", "dim", "probabilities", "change", "word"),
    [
        (["capacity"], None, None, None, "has a dimension 'scenario', in the variable 'output': pass `scenario_dim`"),
        (["capacity"], None, [0.5, 0.5], None, "`probabilities` must come with `scenario_dim`"),
        (["capacity"], "scenario", None, None, "`probabilities` must be those of the scenarios"),
        (["capacity"], "scenario", [0.5, 0.6], None, "add up to 1"),
        (["capacity"], "scenario", {"s0": 0.5, "s2": 0.5}, None, "must name the scenarios"),
        (["capacity"], "year", [0.5, 0.5], None, "`scenario_dim` must be a dimension of the model, and 'year'"),
        (["capacity[1]"], "scenario", [0.5, 0.5], None, r"'capacity\[0\]' lacks the dimension"),
        (["capacity", "missing"], "scenario", [0.5, 0.5], None, r"'missing\[0\]' has the dimension"),
        (["capacitty"], "scenario", [0.5, 0.5], None, "capacitty"),
        (["capacity"], "scenario", [0.5, 0.5], two_scenarios, "has a row of two scenarios, 'tied'"),
        (["capacity"], "scenario", [0.5, 0.5], one_scenario, "'single' is in 's1' and not in 's0'"),
    ],
)
def test_what_cannot_be_taken_apart_is_refused_by_name(first_stage, dim, probabilities, change, word):
    rng = np.random.default_rng(0)
    model = whole_model([expansion(rng, 4, 6) for _ in range(2)], np.full(4, 300.0), [0.5, 0.5])
    if change is not None:
        change(model)
    with pytest.raises(InvalidArgument, match=word):
        TwoStageProblem.from_linopy(model, first_stage, dim, probabilities)


def test_a_first_stage_row_that_differs_is_refused_by_name():
    rng = np.random.default_rng(0)
    model = whole_model([expansion(rng, 4, 6) for _ in range(2)], np.full(4, 300.0), [0.5, 0.5], last=50.0)
    word = r"upper side of the first-stage row 'largest\[1\]' is 60 in 's0' and 50 in 's1'"
    with pytest.raises(InvalidArgument, match=word):
        TwoStageProblem.from_linopy(model, ["capacity"], "scenario", [0.5, 0.5])


def test_models_of_one_scenario_each_must_not_hold_several():
    rng = np.random.default_rng(0)
    model = whole_model([expansion(rng, 4, 6) for _ in range(2)], np.full(4, 300.0), [0.5, 0.5])
    with pytest.raises(InvalidArgument, match="has a dimension 'scenario'"):
        TwoStageProblem.from_scenarios({"one": model, "other": model}, ["capacity"])


@pytest.mark.parametrize("sign", ["<=", ">=", "="])
@pytest.mark.parametrize("side", [np.inf, -np.inf, np.nan])
def test_an_infinite_side_is_none_where_all_numbers_keep_it(sign, side):
    m = linopy.Model()
    x = m.add_variables(0, 9, name="x")
    y = m.add_variables(0, coords=[pd.RangeIndex(2, name="i")], name="y")
    m.add_constraints(x + y.sum() >= 3, name="enough")
    m.add_objective(x + 2 * y.sum())
    m.add_constraints(1.0 * y, sign, 1.0, name="open")
    m.constraints["open"].update(rhs=side)
    if (sign, side) in (("<=", np.inf), (">=", -np.inf)):
        assert minimize(BendersOracle(TwoStageProblem.from_linopy(m, ["x"])), rtol=1e-9).upper_bound == pytest.approx(3)
        return
    with pytest.raises(InvalidArgument, match="right-hand sides that can hold, and the constraint 'open'"):
        TwoStageProblem.from_linopy(m, ["x"])


def test_coordinates_that_are_called_alike_are_refused():
    m = linopy.Model()
    x = m.add_variables(0, 10, name="x")
    y = m.add_variables(0, coords=[pd.Index([1, "1"], name="i")], name="y")
    m.add_constraints(x + y.sum() >= 3, name="row")
    m.add_objective(x + 2 * y.sum())
    with pytest.raises(InvalidArgument, match=r"coordinates of different names, and two are called 'y\[1\]'"):
        TwoStageProblem.from_linopy(m, ["x"])
