"""Prices of two-stage programs, by name and with the signs of the modeling package, against HiGHS on the whole."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from test_scenario_models import farmer, pyo

from oracle_opt import InvalidArgument, minimize
from oracle_opt.domains import Box
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem

linopy = pytest.importorskip("linopy", reason="linopy is not installed: pip install 'oracle-opt[modeling]'")


def network(rng, snapshots=12, sense="min"):
    """A gas turbine, a store, a load and a limit of emissions."""
    time = pd.RangeIndex(snapshots, name="snapshot")
    sign = 1.0 if sense == "min" else -1.0
    m = linopy.Model()
    cap = m.add_variables(0, 50, name="cap")
    gas, shed = (m.add_variables(0, coords=[time], name=name) for name in ("gas", "shed"))
    level, out = m.add_variables(0, 3, [time], name="level"), m.add_variables(-2, 2, [time], name="out")
    load, fuel = (pd.Series(rng.uniform(*ends, snapshots), time) for ends in ((2, 6), (1, 2)))
    m.add_constraints(gas - cap <= 0, name="limit")
    m.add_constraints(gas + out + shed == load, name="balance")
    m.add_constraints(level - level.roll(snapshot=1) + out == 0, name="store")
    m.add_constraints(gas.sum() <= 0.75 * load.sum(), name="emissions")
    m.add_constraints(cap <= 3.7, name="site")
    m.add_objective(sign * (6 * cap + (gas * fuel).sum() + (shed * rng.uniform(20, 40)).sum()), sense=sense)
    return m


def known(m):
    m.solve("highs", io_api="direct", OutputFlag=False)
    found = {}
    for name, constraint in m.constraints.items():
        duals = constraint.dual.values
        found |= {f"{name}[{i}]": one for i, one in enumerate(duals)} if duals.ndim else {name: float(duals)}
    return pd.Series(found).dropna()


@pytest.mark.parametrize("generator", [None, "kelley"])
@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("seed", range(3))
def test_prices_of_blocks_are_the_duals_of_the_whole_model(seed, sense, generator):
    """Also of the rows that join blocks, and of the first stage's."""
    m = network(np.random.default_rng(seed), sense=sense)
    problem = TwoStageProblem.from_linopy(m, ["cap"], blocks="snapshot", size=4)
    result = minimize(BendersOracle(problem), generator, rtol=1e-9)
    assert result.success
    prices, duals = result.prices()["price"], known(m)
    assert set(prices.index) == set(duals.index)
    assert m.objective.value == pytest.approx(result.value, rel=1e-7)
    assert prices[duals.index].to_numpy() == pytest.approx(duals.to_numpy(), abs=1e-5 * np.abs(duals).max())


@pytest.mark.parametrize("seed", range(4))
def test_prices_of_scenarios_and_of_the_first_stage_are_those_of_the_extensive_form(seed):
    rng = np.random.default_rng(seed)
    p, demand = np.array([0.2, 0.5, 0.3]), rng.uniform(1, 4, (3, 2))
    c, q = rng.uniform(1, 2, 2), rng.uniform(3, 6, 2)
    block = RandomBlock(p, rows=[0, 1], rhs=demand, labels=("low", "middle", "high"))
    problem = TwoStageProblem(
        c,
        q,
        np.eye(2),
        np.eye(2),
        [0, 0],
        np.inf,
        [block],
        A=[[1, 1]],
        first_upper=[3.1],
        x_upper=9,
        row_names=["a", "b"],
    )
    result = minimize(BendersOracle(problem), rtol=1e-9)
    prices = result.prices()
    rows = np.hstack([np.tile(np.eye(2), (3, 1)), np.eye(6)])
    first = np.r_[1.0, 1.0, np.zeros(6)]
    whole = linprog(np.r_[c, np.kron(p, q)], np.vstack([-rows, first]), np.r_[-demand.ravel(), 3.1])
    assert result.upper_bound == pytest.approx(whole.fun, rel=1e-8)
    assert list(prices.columns) == ["low", "middle", "high", "price"]
    duals = -whole.ineqlin.marginals[:-1].reshape(3, 2)
    assert prices.loc[["a", "b"], ["low", "middle", "high"]].to_numpy() == pytest.approx(duals.T, abs=1e-6)
    assert prices.loc[["a", "b"], "price"].to_numpy() == pytest.approx(duals.sum(axis=0), abs=1e-6)
    assert prices["price"].iloc[-1] == pytest.approx(whole.ineqlin.marginals[-1], abs=1e-6)


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_prices_have_the_signs_of_pyomo(sense):
    """Beside Pyomo's own interface to HiGHS."""
    m = farmer("average")
    if sense == "maximize":
        profit = -m.cost.expr
        m.del_component(m.cost)
        m.cost = pyo.Objective(expr=profit, sense=pyo.maximize)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    prices = minimize(BendersOracle(TwoStageProblem.from_pyomo(m, ["acres"])), rtol=1e-9).prices()["price"]
    pyo.SolverFactory("appsi_highs").solve(m)
    for row in m.component_data_objects(pyo.Constraint):
        assert prices[row.name] == pytest.approx(m.dual[row], abs=1e-6)


def test_other_oracles_have_no_prices():
    result = minimize(FunctionOracle(lambda z: (float(z @ z), 2 * z), Box([-1.0], [1.0])))
    with pytest.raises(InvalidArgument, match="on a BendersOracle"):
        result.prices()
