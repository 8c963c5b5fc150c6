"""Small valid files of every format the library reads, made from a seed; what reads them; what must come of it."""

import numpy as np

from oracle_opt.datasets import load
from oracle_opt.oracles import GeneralizedAssignmentOracle, read_smps
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, MulticommodityFlowOracle, read_tsplib
from oracle_opt.problems.conic_rows import read_mps
from oracle_opt.problems.sdpa_files import read_sdpa


def _table(values):
    return "\n".join(" ".join(f"{value:g}" for value in row) for row in values)


def csv(rng):
    """Comma-separated values; labels are numbers."""
    n, d = rng.integers(4, 8), rng.integers(1, 5)
    rows = [",".join([*(f"{x:g}" for x in rng.normal(size=d)), str(1 - 2 * (i % 2))]) for i in range(n)]
    return {"data.csv": "\n".join([",".join([*(f"x{j}" for j in range(d)), "label"]), *rows, ""])}


def libsvm(rng):
    """Sparse rows."""
    n, d = rng.integers(4, 8), rng.integers(2, 9)
    rows = []
    for i in range(n):
        kept = 1 + np.flatnonzero(rng.random(d) < 0.6)
        rows.append(" ".join([str(1 - 2 * (i % 2)), *(f"{j}:{rng.normal():g}" for j in kept)]))
    return {"data.svm": "\n".join([*rows[:-1], rows[-1].split()[0] + f" {d}:1", ""])}


def tsplib(rng):
    """Coordinates or distances."""
    n, kind = int(rng.integers(3, 8)), str(rng.choice(["EUC_2D", "CEIL_2D", "ATT", "GEO", "EXPLICIT"]))
    head = f"NAME: some\nTYPE: TSP\nDIMENSION: {n}\nEDGE_WEIGHT_TYPE: {kind}\n"
    if kind != "EXPLICIT":
        rows = np.column_stack((np.arange(1, n + 1), np.round(rng.uniform(0, 80, (n, 2)), 2)))
        return {"some.tsp": f"{head}NODE_COORD_SECTION\n{_table(rows)}\nEOF\n"}
    layout = str(rng.choice(["FULL_MATRIX", "UPPER_ROW", "LOWER_ROW", "UPPER_DIAG_ROW", "LOWER_DIAG_ROW"]))
    d = rng.integers(1, 90, (n, n))
    d = np.triu(d, 1) + np.triu(d, 1).T
    part = {
        "FULL_MATRIX": list(d),
        "UPPER_ROW": [d[i, i + 1 :] for i in range(n)],
        "LOWER_ROW": [d[i, :i] for i in range(n)],
        "UPPER_DIAG_ROW": [d[i, i:] for i in range(n)],
        "LOWER_DIAG_ROW": [d[i, : i + 1] for i in range(n)],
    }[layout]
    return {"some.tsp": f"{head}EDGE_WEIGHT_FORMAT: {layout}\nEDGE_WEIGHT_SECTION\n{_table(part)}\nEOF\n"}


def assignment(rng):
    """Generalized assignment."""
    m, n = rng.integers(1, 4), rng.integers(2, 6)
    costs, uses = rng.integers(1, 50, (m, n)), rng.integers(1, 9, (m, n))
    return {"gap.txt": "\n".join([f"{m} {n}", _table(costs), _table(uses), _table([uses.sum(axis=1)]), ""])}


def facilities(rng):
    """Facility location, of the OR-Library; its capacities are words."""
    m, n = rng.integers(1, 4), rng.integers(2, 5)
    opening = "\n".join(f"capacity {f}" for f in rng.integers(1, 50, m))
    served = "\n".join(f"{rng.integers(1, 9)}\n{_table([rng.integers(1, 50, m)])}" for _ in range(n))
    # the demands, which are read over, are numbers, too
    return {"cap.txt": f"{m} {n}\n{opening}\n{served}\n"}


def ghosh(rng):
    """Facility location, of Koerkel and Ghosh."""
    m, n = rng.integers(1, 4), rng.integers(2, 5)
    rows = [[i + 1, *rng.integers(1, 50, n + 1)] for i in range(m)]
    return {"ghosh.txt": f"FILE: some\n{m} {n} 0\n{_table(rows)}\n"}


def flow(rng):
    """Multicommodity flow on a ring."""
    n, k = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    arcs = [[i + 1, (i + 1) % n + 1, rng.integers(1, 9), rng.integers(1, 9)] for i in range(n)]
    pairs = [[*(rng.permutation(n)[:2] + 1), rng.integers(1, 5)] for _ in range(k)]
    return {"flow.txt": f"{n} {n} {k}\n{_table(arcs)}\n{_table(pairs)}\n"}


def smps(rng):
    """A stochastic program with every section."""
    n, k, first, second = (int(v) for v in rng.integers(1, 4, 4))
    columns = [f"X{j}" for j in range(n)] + [f"Y{j}" for j in range(k)]
    rows = [f"A{i}" for i in range(first)] + [f"B{i}" for i in range(second)]
    kinds = rng.choice(list("LGE"), len(rows))
    value = lambda: f"{rng.integers(-9, 10) / 4:g}"  # noqa: E731
    core = [
        "NAME          SOME",
        "ROWS",
        " N  COST",
        *(f" {a}  {b}" for a, b in zip(kinds, rows, strict=True)),
        "COLUMNS",
    ]
    for column in columns:
        core.append(f"    {column}        COST      {value()}")
        held = rows if column[0] == "X" else rows[first:]
        core += [f"    {column}        {row}       {value()}" for row in held]
    core += ["RHS", *(f"    RHS       {row}       {value()}" for row in rows)]
    core += ["RANGES", f"    RNG       {rows[0]}       2", "BOUNDS"]
    core += [f" UP BND       {column}        {rng.integers(1, 9)}" for column in columns[::2]] + ["ENDATA", ""]
    time = "TIME          SOME\nPERIODS\n    X0        A0        ONE\n    Y0        B0        TWO\nENDATA\n"
    head = str(rng.choice(["INDEP", "BLOCKS", "SCENARIOS"]))
    body = []
    entries = [("RHS", rows[first]), ("Y0", "COST"), ("X0", rows[first]), ("Y0", rows[-1])]
    for s in range(2):
        if head == "INDEP":
            body += [f"    RHS       {rows[first]}       {value()}   TWO   0.5"]
            continue
        body.append(
            " BL ONE       TWO       0.5" if head == "BLOCKS" else f" SC S{s}  {'ROOT' if not s else 'S0'}  0.5  TWO"
        )
        body += [f"    {column}       {row}       {value()}" for column, row in entries]
    sto = "\n".join(["STOCH         SOME", f"{head}         DISCRETE", *body, "ENDATA", ""])
    return {"some.cor": "\n".join(core), "some.tim": time, "some.sto": sto}


def mps(rng):
    """A linear program to be minimized, with every section but OBJSENSE, which is seldom there."""
    rows = [(str(rng.choice(list("LGE"))), f"R{i}") for i in range(rng.integers(1, 5))]
    value = lambda: f"{rng.integers(-9, 10) / 4:g}"  # noqa: E731
    lines = ["NAME          SOME"]
    lines += ["OBJSENSE", "    MIN"] if rng.random() < 0.2 else []
    lines += ["ROWS", " N  COST", *(f" {kind}  {name}" for kind, name in rows), "COLUMNS"]
    columns = [f"C{j}" for j in range(rng.integers(1, 5))]
    for column in columns:
        lines.append(f"    {column}  COST  {value()}")
        lines += [f"    {column}  {row}  {value()}" for _, row in rows if rng.random() < 0.7]
    lines += ["RHS", f"    B  COST  {value()}", *(f"    B  {row}  {value()}" for _, row in rows)]
    lines += ["RANGES", f"    W  {rows[0][1]}  {value()}", "BOUNDS"]
    for column in columns:
        kind = str(rng.choice(["UP", "FX", "FR", "both", "none"]))
        if kind == "both":
            lower = rng.integers(-9, 10) / 4
            lines += [f" UP Z  {column}  {lower + 1:g}", f" LO Z  {column}  {lower:g}"]
        elif kind != "none":
            lines.append(f" {kind} Z  {column}" + (f"  {rng.integers(0, 9) / 4:g}" if kind != "FR" else ""))
    return {"some.mps": "\n".join([*lines, "ENDATA", ""])}


def sdpa(rng):
    """A semidefinite program with blocks of all kinds, brackets, comments and words behind counts."""
    m, orders = int(rng.integers(1, 5)), [int(rng.choice([-3, -1, 1, 2, 4])) for _ in range(rng.integers(1, 4))]
    words = [f"{order}" for order in orders]
    blocks = [f"({', '.join(words)})", " ".join(words), "{" + ",".join(words) + "}"][rng.integers(3)]
    lines = ['"a program', "* of blocks"] if rng.random() < 0.5 else []
    lines += [f"{m} = mdim" if rng.random() < 0.5 else f" {m}", f"{len(orders)} = nblocks", blocks]
    lines.append(" ".join(f"{x:.3g}" for x in rng.normal(size=m)))
    for k in range(m + 1):
        for block, order in enumerate(orders, 1):
            for i in range(1, abs(order) + 1):
                for j in range(i, abs(order) + 1 if order > 0 else i + 1):
                    if i == j or rng.random() < 0.4:
                        a, b = (i, j) if rng.random() < 0.8 else (j, i)
                        lines.append(f"{k} {block} {a} {b} {rng.normal():.3g}")
    return {"some.dat-s": "\n".join([*lines, ""])}


def _finite(*arrays):
    return all(np.isfinite(np.asarray(a)).all() for a in arrays)


def good_dataset(data):
    """Finite points, both labels, a name a column."""
    n, d = data.shape
    X = data.X.data if hasattr(data.X, "indptr") else data.X
    return _finite(X) and set(data.y) == {-1.0, 1.0} and len(data.y) == n and len(data.feature_names) == d


def good_distances(d):
    """A symmetric finite table."""
    return d.ndim == 2 and _finite(d) and np.array_equal(d, d.T) and not d.diagonal().any()


def good_program(problem):
    """Finite data, probabilities that add up, bounds and sides in order."""
    p = problem
    finite = _finite(p.c, p.q, p.T.data, p.W.data, p.A.data, p.offset)
    ordered = all(
        (a <= b).all() for a, b in ((p.x_lower, p.x_upper), (p.y_lower, p.y_upper), (p.row_lower, p.row_upper))
    )
    blocks = all(
        abs(b.probabilities.sum() - 1) <= 1e-4 and _finite(b.rhs, b.cost, b.technology, b.recourse) for b in p.blocks
    )
    return finite and ordered and blocks


def good_relaxation(oracle):
    """Finite data, and the relaxed problem answers at the middle of its domain."""
    data = [
        getattr(oracle, name) for name in ("costs", "opening", "uses", "distances", "demands") if hasattr(oracle, name)
    ]
    return _finite(*data)


def good_cones(value):
    """Finite data of a conic program, as many rows as its cones have entries."""
    problem = getattr(value, "problem", value)
    rows = sum(cone.dimension for cone in problem.cones)
    shapes = problem.A.shape == (rows, len(problem.c)) and problem.b.shape == (rows,)
    return shapes and _finite(problem.A.data, problem.b, problem.c, problem.offset)


def content(value):
    """All numbers of what was read, to compare two."""
    if hasattr(value, "cones"):
        return [value.c.tolist(), value.A.toarray().tolist(), value.b.tolist(), repr(value.cones), value.offset]
    if isinstance(value, np.ndarray):
        return [value.tolist()]
    if hasattr(value, "feature_names"):
        return [value.digest(), value.feature_names, value.description]
    if hasattr(value, "identity"):
        return [value.identity()]
    names = (
        "c",
        "q",
        "row_lower",
        "row_upper",
        "first_lower",
        "first_upper",
        "x_lower",
        "x_upper",
        "y_lower",
        "y_upper",
    )
    arrays = [getattr(value, name) for name in names] + [value.T.toarray(), value.W.toarray(), value.A.toarray()]
    for block in value.blocks:
        arrays += [block.probabilities, block.rows, block.rhs, block.cost, block.technology, block.recourse]
    return [array.tolist() for array in arrays]


# format: (maker of files, reader of the first of them, check, whether `inf` may stand for a number somewhere)
FORMATS = {
    "csv": (csv, load, good_dataset, False),
    "libsvm": (libsvm, load, good_dataset, False),
    "tsplib": (tsplib, read_tsplib, good_distances, False),
    "1-trees": (tsplib, HeldKarpOracle.from_tsplib, good_relaxation, False),
    "assignment": (assignment, GeneralizedAssignmentOracle.from_file, good_relaxation, False),
    "facilities": (facilities, FacilityLocationOracle.from_file, good_relaxation, False),
    "ghosh": (ghosh, FacilityLocationOracle.from_file, good_relaxation, False),
    "flow": (flow, MulticommodityFlowOracle.from_file, good_relaxation, True),
    "smps": (smps, read_smps, good_program, True),
    "mps": (mps, read_mps, good_cones, True),
    "sdpa": (sdpa, read_sdpa, good_cones, False),
}
