"""Benders' oracle against the extensive form, which HiGHS solves whole."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from oracle_opt import FeasibilityCut, InvalidArgument, Query, Status, minimize
from oracle_opt.errors import InvalidData
from oracle_opt.generators import AnalyticCenter, Kelley, ProximalBundle
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem, read_smps
from oracle_opt.oracles.benders.vertices import Vertices

LIMIT = 60.0


def capacities(vary=("rhs", "technology"), penalty=20.0, seed=0):
    """Capacities x for 3 plants, 4 random demands served or (unless penalty is None) bought at a penalty."""
    rng = np.random.default_rng(seed)
    plants, towns = 3, 4
    ship = rng.uniform(1, 5, (plants, towns))
    buy = 0 if penalty is None else towns
    k = plants * towns + buy
    W = np.zeros((plants + towns, k))
    T = np.zeros((plants + towns, plants))
    for i in range(plants):
        W[i, i * towns : (i + 1) * towns] = 1.0
        T[i, i] = -1.0
    for j in range(towns):
        W[plants + j, j : plants * towns : towns] = 1.0
        if buy:
            W[plants + j, plants * towns + j] = 1.0
    demand = rng.uniform(2, 8, towns)
    q = np.r_[ship.ravel(), np.full(buy, 0.0 if penalty is None else penalty)]
    blocks = []
    if "rhs" in vary:
        blocks += [
            RandomBlock(
                [0.5, 0.3, 0.2], rows=[plants + j], rhs=demand[j] * np.array([[0.6], [1.0], [1.7]]), name=f"town {j}"
            )
            for j in range(2)
        ]
    if "technology" in vary:
        blocks.append(RandomBlock([0.7, 0.3], technology_entries=[[0, 0], [1, 1]], technology=[[-1, -1], [-0.5, -0.8]]))
    if "cost" in vary:
        blocks.append(RandomBlock([0.4, 0.6], cost_columns=[0, 5], cost=[[1.0, 1.0], [4.0, 6.0]]))
    if "recourse" in vary:
        blocks.append(RandomBlock([0.5, 0.5], recourse_entries=[[0, 1], [2, 9]], recourse=[[1.0, 1.0], [1.4, 1.2]]))
    return TwoStageProblem(
        rng.uniform(3, 6, plants),
        q,
        T,
        W,
        np.r_[np.full(plants, -np.inf), demand],
        np.r_[np.zeros(plants), np.full(towns, np.inf)],
        blocks,
        A=[[1.0, 1.0, 1.0]],
        first_upper=[LIMIT],
        x_upper=50.0,
        offset=7.0,
    )


def extensive_form(problem):
    """One linear program over all scenarios."""
    outcomes, p = problem.all_scenarios()
    n, k, m = problem.c.size, problem.q.size, len(problem.row_lower)
    rows, lower, upper, costs = [], [], [], [problem.c]
    for s, (outcome, weight) in enumerate(zip(outcomes, p, strict=True)):
        T, W, q = problem.T.toarray(), problem.W.toarray(), problem.q.copy()
        lo, up = problem.row_lower.copy(), problem.row_upper.copy()
        for block, o in zip(problem.blocks, outcome, strict=True):
            shift = block.rhs[o] - problem.rhs[block.rows]
            lo[block.rows] += shift
            up[block.rows] += shift
            q[block.cost_columns] = block.cost[o]
            T[tuple(block.technology_entries.T)] = block.technology[o]
            W[tuple(block.recourse_entries.T)] = block.recourse[o]
        place = sparse.csr_array(([1.0], ([0], [s])), shape=(1, len(p)))
        rows.append(sparse.hstack([sparse.csr_array(T), sparse.kron(place, W)]))
        lower, upper, costs = [*lower, lo], [*upper, up], [*costs, weight * q]
    matrix, lower, upper = sparse.vstack(rows).tocsr(), np.concatenate(lower), np.concatenate(upper)
    first = sparse.hstack([problem.A, sparse.csr_array((problem.A.shape[0], k * len(p)))])
    above, below = np.isfinite(upper), np.isfinite(lower)
    solved = linprog(
        np.concatenate(costs),
        A_ub=sparse.vstack([matrix[above], -matrix[below], first]),
        b_ub=np.r_[upper[above], -lower[below], problem.first_upper],
        bounds=[*zip(problem.x_lower, problem.x_upper, strict=True), *[(0, None)] * (k * len(p))],
    )
    assert matrix.shape[0] == m * len(p)
    assert matrix.shape[1] == n + k * len(p)
    return solved.fun + problem.offset


KINDS = [("rhs",), ("rhs", "technology"), ("rhs", "cost"), ("recourse", "technology", "rhs"), ()]


@pytest.mark.campaign(4)
@pytest.mark.parametrize("vary", KINDS, ids=lambda vary: "+".join(vary) or "deterministic")
@pytest.mark.parametrize("penalty", [20.0, None], ids=["complete", "incomplete"])
@pytest.mark.parametrize("generator", [Kelley(), AnalyticCenter(), ProximalBundle()], ids=repr)
def test_optimum_is_that_of_the_extensive_form(vary, penalty, generator):
    problem = capacities(vary, penalty)
    known = extensive_form(problem)
    run = minimize(BendersOracle(problem), generator, rtol=1e-6, max_calls=500)
    assert run.status is Status.CONVERGED
    assert run.lower_bound <= known + 1e-6 * abs(known)
    assert known <= run.upper_bound + 1e-6 * abs(known)


@pytest.mark.parametrize("vary", [("rhs", "technology"), ("rhs", "cost", "recourse")], ids="+".join)
def test_cuts_are_minorants_and_half_spaces_hold(vary):
    problem = capacities(vary, None)
    oracle, rng = BendersOracle(problem), np.random.default_rng(3)
    answers = [oracle.query(Query(rng.uniform(2, 18, 3))) for _ in range(40)]
    feasible = [cut for cut in answers if not isinstance(cut, FeasibilityCut)]
    assert 3 <= len(feasible) < len(answers)
    for cut in answers:
        for other in feasible:
            away = other.point - cut.point
            if isinstance(cut, FeasibilityCut):
                assert all(part.violation + part.normal @ away <= 1e-8 for part in (cut, *cut.further))
            else:
                assert cut.value + cut.subgradient @ away <= other.upper + 1e-8


def test_parts_add_up():
    oracle = BendersOracle(capacities(), n_summands=4)
    cut = oracle.query(Query(np.array([8.0, 6.0, 7.0])))
    assert len(cut.summands) == 4
    assert sum(part.value for part in cut.summands) == pytest.approx(cut.value)
    assert sum(part.subgradient for part in cut.summands) == pytest.approx(cut.subgradient)
    assert BendersOracle(capacities()).query(Query(cut.point)).value == pytest.approx(cut.value)


def test_bunching_gives_what_single_programs_give(monkeypatch):
    problem, x = capacities(), np.array([5.0, 6.0, 7.0])
    bunched = BendersOracle(problem).query(Query(x))
    monkeypatch.setattr(TwoStageProblem, "only_rows_vary", False)
    singly = BendersOracle(problem).query(Query(x))
    assert bunched.value == pytest.approx(singly.value, rel=1e-10)


def test_a_basis_that_misses_its_own_scenario_counts_no_other_twice(monkeypatch):
    problem, x = capacities(), np.array([5.0, 6.0, 7.0])
    known = BendersOracle(problem).query(Query(x))
    tried = Vertices.tried

    def misses_the_first(self, form, which, *given):
        fits, bounds = tried(self, form, which, *given)
        others = fits & (np.arange(len(which)) > 0)
        return others, bounds[others[fits]]

    monkeypatch.setattr(Vertices, "tried", misses_the_first)
    cut = BendersOracle(problem).query(Query(x))
    assert cut.value == pytest.approx(known.value, rel=1e-10)
    assert cut.subgradient == pytest.approx(known.subgradient, rel=1e-10)


def test_sampled_average_and_its_interval():
    problem = capacities()
    known = extensive_form(problem)
    run = minimize(BendersOracle(problem, n_samples=400, seed=1), Kelley(), rtol=1e-6)
    estimate = BendersOracle(problem).estimate(run.point, 4000, seed=2, level=0.999)
    exact = BendersOracle(problem).query(Query(run.point)).value
    assert abs(estimate.mean - exact) <= estimate.half_width
    assert exact >= known - 1e-6
    assert run.upper_bound == pytest.approx(known, rel=0.05)


SMPS = {
    ".cor": """NAME          SHOP
ROWS
 N  COST
 L  BUDGET
 L  SELL
 L  DEMAND
COLUMNS
    X         COST  1.0   BUDGET  1.0
    X         SELL  -1.0
    Y         COST  -3.0  SELL    1.0
    Y         DEMAND  1.0
RHS           RIGHT
    RIGHT     BUDGET  10.0   DEMAND  2.0
ENDATA
""",
    ".tim": """TIME          SHOP
PERIODS
    X         BUDGET                   ONE
    Y         SELL                     TWO
ENDATA
""",
    ".sto": """STOCH         SHOP
INDEP         DISCRETE
    RIGHT     DEMAND   2.0    TWO   0.5
    RIGHT     DEMAND   6.0    TWO   0.5
ENDATA
""",
}
BLOCKS = """STOCH         SHOP
BLOCKS        DISCRETE
 BL ONE       TWO     0.5
    RIGHT     DEMAND   2.0
    Y         COST    -3.0
 BL ONE       TWO     0.5
    RIGHT     DEMAND   6.0
ENDATA
"""
SCENARIOS = """STOCH         SHOP
SCENARIOS     DISCRETE
 SC A         'ROOT'  0.5    ONE
    RIGHT     DEMAND   2.0
    X         SELL    -1.0
 SC B         A       0.5    TWO
    RIGHT     DEMAND   6.0
ENDATA
"""


def written(folder, **changes):
    for ending, text in (SMPS | {f".{name}": text for name, text in changes.items()}).items():
        (folder / f"shop{ending}").write_text(text)
    return folder / "shop.cor"


@pytest.mark.parametrize("sto", [SMPS[".sto"], BLOCKS, SCENARIOS], ids=["INDEP", "BLOCKS", "SCENARIOS"])
def test_each_kind_of_stochastic_file(tmp_path, sto):
    # buy 6, sell 2 or 6 at 3: cost 6 - 3 * 4
    run = minimize(BendersOracle.from_smps(written(tmp_path, sto=sto)), Kelley(), rtol=1e-9)
    assert run.point == pytest.approx([6.0])
    assert run.upper_bound == pytest.approx(-6.0)


def test_maximization_turns_all_costs(tmp_path):
    core = SMPS[".cor"].replace("COST  1.0", "COST  -1.0").replace("COST  -3.0", "COST  3.0")
    oracle = BendersOracle.from_smps(written(tmp_path, cor=core, sto=BLOCKS.replace("-3.0", "3.0")), maximize=True)
    assert minimize(oracle, Kelley(), rtol=1e-9).upper_bound == pytest.approx(-6.0)


@pytest.mark.parametrize(
    ("ending", "old", "new", "words"),
    [
        ("sto", "TWO   0.5", "TWO   0.0", r"sto, line 3: .*probability of RIGHT DEMAND must lie above 0"),
        ("sto", "6.0    TWO   0.5", "6.0    TWO   0.4", "must add up to 1, got 0.9"),
        ("sto", "DISCRETE", "NORMAL", "must be DISCRETE"),
        ("sto", "INDEP ", "CHANCE", "cannot be read"),
        ("sto", "DEMAND", "NOWHERE", "line 3: it names the row 'NOWHERE'"),
        ("sto", "RIGHT     DEMAND", "X   BUDGET", "first stage alone"),
        ("tim", "Y         SELL", "Z         SELL", "line 4: period 'TWO' starts at column 'Z'"),
        ("tim", "ENDATA", "    Q   R   THREE\nENDATA", "two periods"),
        ("cor", "COLUMNS", "COLLUMS", "line 7: the section 'COLLUMS' cannot be read"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, ending, old, new, words):
    path = written(tmp_path, **{ending: SMPS[f".{ending}"].replace(old, new)})
    with pytest.raises(InvalidData, match=words):
        read_smps(path)


def test_a_missing_file_is_named(tmp_path):
    path = written(tmp_path)
    (tmp_path / "shop.tim").unlink()
    with pytest.raises(InvalidData, match=r"shop\.tim does not exist"):
        read_smps(path)


def test_bad_arguments_are_named():
    problem = capacities()
    for options, words in (
        ({"n_summands": 0}, "n_summands"),
        ({"radius": 0.0}, "radius"),
        ({"n_samples": 0.5}, "n_samples"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            BendersOracle(problem, **options)
    with pytest.raises(InvalidArgument, match="`T` must be finite"):
        TwoStageProblem([1.0], [1.0], [[np.nan]], [[1.0]], [0.0], [1.0])
    with pytest.raises(InvalidArgument, match="`rhs` of block"):
        RandomBlock([1.0], rows=[0], rhs=[[1.0, 2.0]])
    with pytest.raises(InvalidArgument, match="`rows` of block"):
        TwoStageProblem([1.0], [1.0], [[1.0]], [[1.0]], [0.0], [1.0], [RandomBlock([1.0], rows=[4], rhs=[[1.0]])])
    unbounded = TwoStageProblem([1.0], [-1.0], [[1.0]], [[0.0]], [-np.inf], [1.0], x_upper=1.0)
    with pytest.raises(InvalidArgument, match="bounded second stage"):
        minimize(BendersOracle(unbounded), Kelley())
