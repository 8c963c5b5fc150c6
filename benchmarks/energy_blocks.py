"""One energy model cut into weeks, to a proven 1e-3, beside HiGHS with the whole of it, in processor seconds.

    python benchmarks/energy_blocks.py [--quick]

Buses in a ring, at 3 hours: gas, wind, sun, shedding, a battery and a store of hydrogen, both cyclic over all weeks,
lines to expand, and a limit of CO2. What is built comes first, and weeks are sections that meet in budgets.
"""

import time

import highspy
import linopy
import numpy as np
import pandas as pd
import xarray
from _shared import parser, table

from oracle_opt import minimize
from oracle_opt._highs_model import silent_highs
from oracle_opt.oracles import BendersOracle, TwoStageProblem
from oracle_opt.oracles.benders.linopy_program import linopy_program

WEEK, HOURS = 56, 3
KINDS = ("gas", "wind", "sun", "power", "energy", "electrolyzer", "fuel cell", "tank", "line")


def network(buses, weeks, seed=0):
    """The model, and the names of what is decided first."""
    rng = np.random.default_rng(seed)
    time_, bus = pd.RangeIndex(weeks * WEEK, name="time"), pd.RangeIndex(buses, name="bus")
    hour = HOURS * np.arange(len(time_))
    model = linopy.Model()
    built = model.add_variables(0, 1000.0, coords=[pd.Index(KINDS, name="kind"), bus], name="built")
    names = ("burnt", "blown", "shone", "shed", "in", "out", "level", "split", "joined", "filled")
    used = {name: model.add_variables(0, coords=[time_, bus], name=name) for name in names}
    flow = model.add_variables(-1000.0, 1000.0, coords=[time_, bus], name="flow")

    def series(values):
        return xarray.DataArray(np.reshape(values, (len(time_), buses)), coords=[time_, bus])

    phase = rng.uniform(0.0, 6.0, buses)
    wind = np.clip(0.4 + 0.3 * np.sin(hour[:, None] / 15.0 + phase) + rng.normal(0, 0.1, (len(time_), buses)), 0, 1)
    sun = np.clip(np.sin(2 * np.pi * (hour - 6) / 24), 0, 1)[:, None] * rng.uniform(0.6, 1.0, (len(time_), buses))
    load = 100.0 * (1 + 0.3 * np.sin(2 * np.pi * (hour - 8) / 24))[:, None] * rng.uniform(0.7, 1.3, buses)
    shapes = {"burnt": 1.0, "blown": series(wind), "shone": series(sun)}
    limits = dict(zip(("burnt", "blown", "shone", "out", "level", "split", "joined", "filled"), KINDS, strict=False))
    for name, kind in limits.items():
        model.add_constraints(used[name] - shapes.get(name, 1.0) * built.sel(kind=kind) <= 0, name=f"{name} limit")
    model.add_constraints(used["in"] - built.sel(kind="power") <= 0, name="in limit")
    model.add_constraints(flow - built.sel(kind="line") <= 0, name="flow limit")
    model.add_constraints(flow + built.sel(kind="line") >= 0, name="flow back")
    made = used["burnt"] + used["blown"] + used["shone"] + used["shed"] + used["out"] - used["in"] - used["split"]
    made = made + 0.5 * used["joined"] + flow - flow.roll(bus=1)
    model.add_constraints(made == series(load), name="balance")
    stored = used["level"] - used["level"].roll(time=1) - 0.95 * HOURS * used["in"] + HOURS / 0.95 * used["out"]
    model.add_constraints(stored == 0, name="battery")
    tank = used["filled"] - used["filled"].roll(time=1) - 0.7 * HOURS * used["split"] + HOURS * used["joined"]
    model.add_constraints(tank == 0, name="hydrogen")
    model.add_constraints(used["burnt"].sum() <= 0.25 * load.sum(), name="carbon")
    price = pd.Series([20.0, 100.0, 60.0, 15.0, 10.0, 30.0, 30.0, 0.1, 20.0], pd.Index(KINDS, name="kind"))
    running = (
        120.0 * used["burnt"].sum() + 0.1 * (used["blown"].sum() + used["shone"].sum()) + 3000.0 * used["shed"].sum()
    )
    model.add_objective(weeks * (built * price).sum() + HOURS * running)
    return model, ["built"]


def by_highs(program, **options):
    """Processor seconds of HiGHS with the whole, and its value."""
    solver, lp, matrix = silent_highs()(), highspy.HighsLp(), program.matrix.tocsc()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        solver.setOptionValue(name, value)
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, program.column_lower, program.column_upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver.passModel(lp)
    start = time.process_time()
    solver.run()
    return time.process_time() - start, solver.getInfo().objective_function_value


def main():
    """Print the table."""
    rows = []
    for buses, weeks in ((2, 4),) if parser(__doc__).parse_args().quick else ((2, 4), (3, 8), (4, 16)):
        model, first = network(buses, weeks)
        program = linopy_program(model)[0]
        simplex, least = by_highs(program, solver="simplex")
        interior, _ = by_highs(program, solver="ipm", run_crossover="off")
        start = time.process_time()
        problem = TwoStageProblem.from_linopy(model, first, blocks="time", size=WEEK)
        result = minimize(BendersOracle(problem), rtol=1e-3)
        own = time.process_time() - start
        if not result.lower_bound <= least * (1 + 1e-7) <= result.upper_bound + 2e-7 * least:
            raise SystemExit(f"{least} is not between the bounds of {result}")
        size = "{} x {}".format(*program.matrix.shape)
        seconds = [f"{one:.2f}" for one in (simplex, interior, own)]
        rows.append([f"{buses} buses, {weeks} weeks", size, *seconds, f"{own / simplex:.2f}", result.n_calls])
    headings = (
        "network",
        "whole model",
        "HiGHS simplex",
        "interior point, no crossover",
        "ours",
        "ours / simplex",
        "calls",
    )
    table(headings, rows)


if __name__ == "__main__":
    main()
