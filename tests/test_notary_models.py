"""Bounds of linear programs of other packages: by the names of rows, whatever signs, senses and whole columns."""

import highspy
import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from oracle_opt import Certificate, InvalidArgument, InvalidCertificate, notarize
from oracle_opt.cli import main
from oracle_opt.oracles import BendersOracle, ConicOracle, TwoStageProblem
from oracle_opt.oracles.conic.linear_tree import _left_out


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def program(seed, sense="min", whole=0, m=8, n=6, endless=False):
    """A random program in HiGHS with names, feasible and bounded, with equations, inequalities and ranges."""
    rng = np.random.default_rng(seed)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    A, inside = np.round(rng.normal(size=(m, n)), 2) * (rng.random((m, n)) < 0.6), rng.uniform(0, 1, n)
    lower, upper = A @ inside - rng.uniform(0, 0.5, m), A @ inside + rng.uniform(0, 0.5, m)
    kind = rng.integers(0, 4, m)
    lower[kind == 0], upper[kind == 1] = -np.inf, np.inf
    lower[kind == 2] = upper[kind == 2] = (A @ inside)[kind == 2]
    cost = rng.normal(size=n) if not endless else (1 if sense == "min" else -1) * rng.uniform(0.1, 1, n)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.col_cost_, lp.offset_ = n, m, cost, 2.5
    lp.col_lower_, lp.col_upper_ = np.zeros(n), np.full(n, np.inf if endless else 2.0)
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.col_names_, lp.row_names_ = [f"x{j}" for j in range(n)], [f"row{i}" for i in range(m)]
    lp.sense_ = highspy.ObjSense.kMinimize if sense == "min" else highspy.ObjSense.kMaximize
    A = sparse.csr_array(A)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    if whole:
        lp.integrality_ = [highspy.HighsVarType.kInteger] * whole + [highspy.HighsVarType.kContinuous] * (n - whole)
    highs.passModel(lp)
    return highs


def solved(highs):
    """Value, duals by name and point by name."""
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    found, lp = highs.getSolution(), highs.getLp()
    duals = dict(zip(lp.row_names_, found.row_dual, strict=True))
    return highs.getInfo().objective_function_value, duals, dict(zip(lp.col_names_, found.col_value, strict=True))


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("endless", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_names_signs_and_senses(seed, sense, endless, tmp_path):
    highs = program(seed, sense, endless=endless)
    value, duals, point = solved(highs)
    highs.writeModel(str(tmp_path / "model.mps"))
    turn = -1.0 if sense == "max" else 1.0
    for model in (highs, str(tmp_path / "model.mps"), tmp_path / "model.mps"):
        oracle = ConicOracle.from_model(model, "highs")
        for given in (duals, np.array(list(duals.values()))):
            made = notarize(oracle, given, point)
            assert -1e-9 <= turn * value - made.lower <= 1e-8 * (1 + abs(value))
            assert made.gap <= 1e-8
            assert made.verify(ConicOracle.from_model(model)).proven
            assert not made.verify(oracle, exact=True).promise
    negated = {name: -dual for name, dual in duals.items()}
    assert notarize(ConicOracle.from_model(highs, "negated"), negated).lower == pytest.approx(turn * value, abs=1e-8)
    assert notarize(ConicOracle.from_model(highs)).lower == pytest.approx(turn * value, abs=1e-8)


def test_signs_are_told_by_inequalities_or_asked_for():
    for seed in range(4):
        highs = program(seed, endless=True)
        value, duals, _ = solved(highs)
        for sign in (1.0, -1.0):
            told = {name: sign * dual for name, dual in duals.items()}
            assert notarize(ConicOracle.from_model(highs), told).lower == pytest.approx(value, abs=1e-8)
    lp = highs.getLp()
    lp.row_lower_ = lp.row_upper_ = np.zeros(lp.num_row_)
    lp.col_upper_ = np.ones(lp.num_col_)
    highs.passModel(lp)
    with pytest.raises(ValueError, match="signs='highs'"):
        notarize(ConicOracle.from_model(highs), np.ones(lp.num_row_))
    assert np.isfinite(notarize(ConicOracle.from_model(highs, "gurobi"), np.ones(lp.num_row_)).lower)


def test_refusals_name_rows_columns_and_ways():
    highs = program(1, endless=True)
    oracle = ConicOracle.from_model(highs)
    for given, words in (
        ({"rwo1": 1.0}, "`multipliers` must name rows of the model, and rwo1"),
        ({"row1": np.nan}, "finite, got nan"),
        ([1.0], r"shape \(8,\)"),
        (None, "has none of its own"),
    ):
        with pytest.raises(ValueError, match=words):
            notarize(oracle, given)
    with pytest.raises(ValueError, match="must name columns of the model, and y"):
        notarize(oracle, np.zeros(8), {"y": 1.0})
    free = highspy.Highs()
    free.setOptionValue("output_flag", False)
    x, y = free.addVariable(-np.inf, np.inf, name="ship"), free.addVariable(0, np.inf, name="store")
    free.addConstr(x + y >= 1, name="need")
    free.minimize(x + y)
    with pytest.raises(ValueError, match="columns ship, which have no bound"):
        notarize(ConicOracle.from_model(free), {})
    for model, words in ((3, "`model` must be the path"), ("no.mps", "No such file")):
        with pytest.raises((ValueError, OSError), match=words):
            ConicOracle.from_model(model)
    with pytest.raises(ValueError, match="`signs` must be one of"):
        ConicOracle.from_model(free, "mine")


def test_whole_columns_are_relaxed_and_said_to_be():
    highs = program(2, "max", whole=3)
    oracle = ConicOracle.from_model(highs, "highs")
    lp = highs.getLp()
    lp.integrality_ = []
    highs.passModel(lp)
    value, duals, point = solved(highs)
    made = notarize(oracle, duals, point)
    assert made.lower == pytest.approx(-value, abs=1e-8)
    assert "RELAXATION: 3 whole variables" in made.facts["relaxation"]
    assert "minus its objective" in made.facts["sense"]


def test_a_ray_of_an_infeasible_program_is_its_proof():
    highs = program(3)
    highs.addConstr(highs.qsum(highs.getVariables()) <= -1.0, name="never")
    highs.setOptionValue("presolve", "off")
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
    ray = np.array(highs.getDualRay()[2])
    for given in (None, ray, -ray, dict(zip(highs.getLp().row_names_, ray, strict=True))):
        oracle = ConicOracle.from_model(highs)
        assert oracle.prove_infeasible(oracle.infeasible_by(given), exact=True) > 0
        with pytest.raises(ValueError, match="infeasible_by"):
            notarize(oracle, given)
    with pytest.raises(ValueError, match="does not prove"):
        oracle.infeasible_by(np.zeros(9))


def test_models_of_linopy_and_pyomo_bring_their_own_duals():
    linopy, pyo, pd = pytest.importorskip("linopy"), pytest.importorskip("pyomo.environ"), pytest.importorskip("pandas")
    model = linopy.Model()
    goods = pd.Index(["a", "b"], name="goods")
    x = model.add_variables(lower=0, upper=4, coords=[goods], name="x")
    model.add_constraints(x.sum() >= 3, name="need")
    model.add_constraints(x <= 2, name="cap")
    model.add_objective((x * pd.Series([1.0, 3.0], goods)).sum())
    with pytest.raises(ValueError, match="none of its own"):
        notarize(ConicOracle.from_model(model))
    model.solve("highs", output_flag=False)
    oracle = ConicOracle.from_model(model)
    assert notarize(oracle).lower == pytest.approx(5.0)
    assert notarize(oracle, {"need": 3.0, "cap[a]": -2.0}, {"x[a]": 2.0, "x[b]": 1.0}).gap <= 1e-9
    plain = pyo.ConcreteModel()
    plain.x = pyo.Var(["a", "b"], bounds=(0, 2))
    plain.need = pyo.Constraint(expr=plain.x["a"] + plain.x["b"] >= 3)
    plain.cost = pyo.Objective(expr=plain.x["a"] + 3 * plain.x["b"])
    plain.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    plain.dual[plain.need] = 2.9
    assert notarize(ConicOracle.from_model(plain)).lower == pytest.approx(4.9)


@pytest.mark.parametrize("solver", ["HIGHS", "SCS", "OSQP", "CLARABEL"])
def test_a_cvxpy_problem_brings_the_duals_of_any_solver(solver):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    x, A = cp.Variable(4, bounds=[0, 2]), rng.random((3, 4))
    for goal in (cp.Minimize(cp.sum(x)), cp.Maximize(-cp.norm1(x - 1)), cp.Minimize(cp.norm(x - 1))):
        problem = cp.Problem(goal, [A @ x >= 0.5, cp.sum(x) == 1.5])
        if solver in ("HIGHS", "OSQP") and "Pnorm" in str(goal):
            continue
        problem.solve(solver=solver)
        oracle = ConicOracle.from_model(problem)
        made = notarize(oracle)
        turn = -1.0 if oracle.maximizes else 1.0
        assert -1e-9 <= turn * problem.value - made.lower + 1e-3 * (solver in ("SCS", "OSQP")) <= 1e-2
        assert made.verify(oracle).proven


def branched(highs, most=2000):
    """Value of the best point, and the leaves of a plain branch and bound of linear programs by HiGHS."""
    lp, best, waiting, leaves = highs.getLp(), np.inf, [], []
    whole = [j for j, kind in enumerate(lp.integrality_) if kind == highspy.HighsVarType.kInteger]
    turn = 1.0 if lp.sense_ == highspy.ObjSense.kMinimize else -1.0
    root = np.array(lp.col_lower_), np.array(lp.col_upper_)
    lp.integrality_ = []
    highs.passModel(lp)
    highs.setOptionValue("presolve", "off")
    waiting, n = [root], lp.num_col_
    while waiting:
        lower, upper = waiting.pop()
        highs.changeColsBounds(n, np.arange(n, dtype=np.int32), lower, upper)
        highs.run()
        if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            leaves.append((lower, upper, np.array(highs.getDualRay()[2])))
            continue
        found, value = highs.getSolution(), turn * highs.getInfo().objective_function_value
        away = [abs(found.col_value[j] - round(found.col_value[j])) for j in whole]
        if value >= best - 1e-9 or max(away) < 1e-6:
            best = min(best, value)
            leaves.append((lower, upper, np.array(found.row_dual)))
            continue
        j = whole[int(np.argmax(away))]
        below, above = upper.copy(), lower.copy()
        below[j] = np.floor(found.col_value[j])
        above[j] = below[j] + 1.0
        waiting += [(lower, below), (above, upper)]
    assert len(leaves) < most
    return turn * best, leaves


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("seed", range(5))
def test_leaves_of_a_tree_prove_the_optimum_in_whole_numbers(seed, sense):
    highs = program(seed, sense, whole=5, m=4, n=7)
    oracle = ConicOracle.from_model(highs, "highs")  # whose rays do not turn round in a maximization
    value, leaves = branched(highs)
    turn, found = 1.0 if sense == "min" else -1.0, oracle.notarize_tree(leaves)
    assert found.bound == pytest.approx(value, abs=1e-7)
    assert turn * found.bound <= turn * value + 1e-9
    assert f"the {len(leaves)} leaves cover all points" in str(found)
    for k, (lower, upper, duals) in enumerate(leaves[:5]):
        with pytest.raises(InvalidCertificate, match="leave out points: those with"):
            oracle.notarize_tree(leaves[:k] + leaves[k + 1 :])
        weaker = oracle.notarize_tree([*leaves[:k], *leaves[k + 1 :], (lower, upper, 0.5 * duals)])
        assert turn * weaker.bound <= turn * value + 1e-9
    named = [
        (dict(zip(oracle.columns, lower, strict=True)), dict(zip(oracle.columns, upper, strict=True)), duals)
        for lower, upper, duals in leaves
    ]
    assert oracle.notarize_tree(named).bound == found.bound


@pytest.mark.parametrize("seed", range(30))
def test_boxes_cover_what_they_cover_point_by_point(seed):
    """Random boxes of two whole columns and one of numbers, whose points at halves tell what is left out."""
    rng = np.random.default_rng(seed)
    whole, root = np.array([True, True, False]), (np.zeros(3), np.array([4.0, 3.0, 2.0]))
    lower = np.floor(rng.uniform(0, 2.5, (60, 3)))
    upper = np.minimum(lower + rng.integers(0, 5, (60, 3)), root[1])
    chosen = rng.permutation(60)[: rng.integers(8, 60)]
    lower, upper = lower[chosen], upper[chosen]
    points = np.stack(np.meshgrid(range(5), range(4), np.arange(0, 2.25, 0.25), indexing="ij"), -1).reshape(-1, 3)
    inside = ((points[:, None] >= lower) & (points[:, None] <= upper)).all(axis=2).any(axis=1)
    gap = _left_out(root, lower, upper, whole)
    assert (gap is None) == inside.all()
    if gap is not None:
        assert not inside[((points > gap[0] - whole) & (points < gap[1] + whole)).all(axis=1)].all()


def test_the_command_writes_what_verify_takes(tmp_path):
    highs = program(0, endless=True)
    value, duals, point = solved(highs)
    model, out = tmp_path / "model.mps", tmp_path / "bound.jsonl"
    highs.writeModel(str(model))
    given, place = tmp_path / "duals.csv", tmp_path / "point.csv"
    given.write_text("row,dual\n" + "".join(f"{name},{dual!r}\n" for name, dual in duals.items()))
    place.write_text("".join(f"{name};{dual!r}\n" for name, dual in point.items()))
    done = run("notarize", model, "--duals", given, "--out", out, "--point", place)
    assert done.exit_code == 0, done.output
    assert f"at least {Certificate.load(out).lower!r}" in done.output
    assert Certificate.load(out).lower == pytest.approx(value, abs=1e-8)
    assert run("verify", out, "--model", model).exit_code == 0
    assert run("verify", out).exit_code == 0
    for words, name in (
        ("row0,1\nnone,2\n", "none is none"),
        ("row0,1\nrow1,x\n", "line 2"),
        ("row0,1\nrow0,1\n", "twice"),
    ):
        given.write_text(words)
        done = run("notarize", model, "--duals", given, "--out", out)
        assert done.exit_code == 2
        assert name in done.stderr
    highs.addConstr(highs.qsum(highs.getVariables()) <= -1.0, name="never")
    highs.writeModel(str(model))
    given.write_text("never,-1\n")
    done = run("notarize", model, "--duals", given, "--out", out, "--signs", "highs")
    assert (done.exit_code, done.output) == (0, "no point is feasible: the ray proves it of the model\n")
    assert run("verify", out, "--model", model).exit_code == 1


def test_notarize_takes_the_model_itself(tmp_path):
    highs = program(3)
    value, duals, _ = solved(highs)
    highs.writeModel(str(tmp_path / "model.mps"))
    made = [notarize(highs, duals), notarize(tmp_path / "model.mps", duals, signs="highs"), notarize(highs)]
    assert [one.lower for one in made] == pytest.approx([value] * 3, rel=1e-6)
    assert made[1].verify(ConicOracle.from_model(tmp_path / "model.mps")).proven
    stages = TwoStageProblem([1.0], [2.0], [[1.0]], [[1.0]], 3.0, np.inf, [], x_upper=5.0)
    bound = notarize(stages, [[1.0]])
    assert bound.lower == pytest.approx(3.0)
    assert bound.verify(BendersOracle(stages)).proven
    with pytest.raises(InvalidArgument, match="model"):
        notarize(object(), [1.0])
    for known in (stages, BendersOracle(stages)):
        with pytest.raises(InvalidArgument, match="signs"):
            notarize(known, [[1.0]], signs="highs")
