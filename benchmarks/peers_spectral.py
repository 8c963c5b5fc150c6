"""Semidefinite programs of constant trace: ours beside csdp, dsdp5, sdpa, Clarabel and SCS; changes of a graph.

Ours ends at a proven relative gap of 1e-5. dsdp5 is asked for the same; the others end at their own tolerances, of 1e-7
to 1e-8, SCS 1e-4. csdp, dsdp5 and sdpa read files in SDPA's format, which are written before the clock starts.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from _peers import Answer, from_result, growth, installed, side_by_side
from _shared import parser, say
from _verified import print_certificates, verified
from scipy import sparse

from oracle_opt import FreeSpace, minimize, problems
from oracle_opt.generators import SpectralBundle
from oracle_opt.oracles import MaxEigenvalueOracle

LIMIT = 45  # processor seconds of a program
RTOL = 1e-5
COMMANDS = ("csdp", "dsdp5", "sdpa")
MODELED = {"Clarabel": 130, "SCS": 130}  # largest order that they are given


def graph(nodes, edges, seed=0):
    """Weights of a random graph."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, nodes, (2, 3 * edges))
    places = rng.permutation(np.unique((i * nodes + j)[i < j]))[:edges]
    weights = sparse.coo_array((np.ones(edges), (places // nodes, places % nodes)), shape=(nodes, nodes))
    return sparse.csr_array(weights + weights.T)


def laplacian(weights):
    """Of a graph, a quarter."""
    return sparse.csr_array(sparse.diags_array(weights.sum(axis=1)) - weights) / 4.0


def units(n):
    """The matrices with a one on the diagonal."""
    return [sparse.csr_array(([1.0], ([i], [i])), shape=(n, n)) for i in range(n)]


def max_cut(nodes, edges):
    """``max <L / 4, X>``, X_ii = 1."""
    return laplacian(graph(nodes, edges)), units(nodes), np.ones(nodes), float(nodes)


def theta(nodes, edges):
    """``max <J, X>``, X_ij = 0 for edges, trace 1."""
    i, j = sparse.triu(graph(nodes, edges)).coords
    A = [sparse.csr_array(([1.0, 1.0], ([a, b], [b, a])), shape=(nodes, nodes)) for a, b in zip(i, j, strict=True)]
    return sparse.csr_array(np.ones((nodes, nodes))), A, np.zeros(len(A)), 1.0


def bisection(nodes, edges):
    """Least cut of a graph in two halves, negative: ``max -<L / 4, X>``, X_ii = 1, ``<e e', X> = 0``."""
    everywhere = sparse.csr_array(np.ones((nodes, nodes)))
    return -laplacian(graph(nodes, edges)), [*units(nodes), everywhere], np.r_[np.ones(nodes), 0.0], float(nodes)


def instance(name):
    """A program of SDPLIB as it is in its file."""
    problem = problems.find(f"sdp/{name}")[0]()
    return problem.oracle


FAMILIES = {"max-cut": max_cut, "theta": theta, "min-bisection": bisection}


def oracle_of(family, sizes):
    """Our oracle of an instance."""
    if family == "SDPLIB":
        return instance(sizes)
    C, A, b, trace = FAMILIES[family](*sizes)
    return MaxEigenvalueOracle(C, A, b, trace=trace, domain=FreeSpace(len(b), 1e4))


def sdpa_file(family, sizes, folder):
    """The file of an instance; SDPLIB's are in the folder of problems."""
    from oracle_opt.problems.collection import path_in_folder

    if family == "SDPLIB":
        return path_in_folder("sdp", f"{sizes}.dat-s", needed=sizes)
    C, A, b, trace = FAMILIES[family](*sizes)
    if family == "theta":  # elsewhere the diagonal has that trace
        A, b = [*A, sparse.eye_array(C.shape[0], format="csr")], np.r_[b, trace]
    path = Path(folder) / "program.dat-s"
    with path.open("w") as file:
        file.write(f"{len(A)}\n1\n{C.shape[0]}\n{' '.join(repr(float(side)) for side in b)}\n")
        for k, matrix in enumerate([C, *A]):
            upper = sparse.triu(matrix).tocoo()
            for i, j, value in zip(*upper.coords, upper.data, strict=True):
                file.write(f"{k} 1 {i + 1} {j + 1} {float(value)!r}\n")
    return path


def ours(family, sizes):
    """To a proven gap."""
    oracle = oracle_of(family, sizes)
    return lambda: from_result(minimize(oracle, SpectralBundle(), rtol=RTOL, max_calls=300, max_seconds=600.0), oracle)


def program(command, family, sizes):
    """A program that reads SDPA's files, with what it says of its gap."""
    folder = tempfile.mkdtemp()
    path = sdpa_file(family, sizes, folder)
    out = Path(folder) / "out"
    line = {
        "csdp": [command, str(path), str(out)],
        "dsdp5": [command, str(path), "-gaptol", str(RTOL)],
        "sdpa": [command, "-ds", str(path), "-o", str(out), "-numThreads", "1"],
    }[command]
    value = {
        "csdp": r"Dual objective value: *(\S+)",
        "dsdp5": r"DSDP Solution: *(\S+)",
        "sdpa": r"objValPrimal *= *(\S+)",
    }[command]

    def solve():
        done = subprocess.run(
            ["prlimit", f"--cpu={LIMIT}", *line], capture_output=True, text=True, cwd=folder, check=False
        )
        if done.returncode < 0:
            return Answer(np.nan, ended=f"> {LIMIT} s")
        found = re.search(value, done.stdout)
        if found is None:
            return Answer(np.nan, ended=f"exit code {done.returncode}")
        return Answer(abs(float(found[1])))

    return solve


def modeled(solver, family, sizes):
    """Clarabel or SCS on the dual, ``min trace * t + b @ y`` with ``t I - C + sum_i y_i A_i`` positive semidefinite."""
    oracle = oracle_of(family, sizes)
    order, matrix = oracle.order, oracle.matrix
    m = matrix.entries.shape[1]
    turned = solver == "SCS"  # its triangle is the lower one

    def flat(i, j, data, count):
        """Rows of the triangle, column by column, off the diagonal times the root of two."""
        row, column = np.divmod(i, order)
        kept = row >= column if turned else row <= column
        row, column, j, data = row[kept], column[kept], j[kept], data[kept]
        place = column * (2 * order - column - 1) // 2 + row if turned else column * (column + 1) // 2 + row
        data = np.where(row == column, data, np.sqrt(2.0) * data)
        return sparse.csc_array((data, (place, j)), shape=(order * (order + 1) // 2, count))

    entries = matrix.entries.tocoo()
    places = (matrix.rows * order + matrix.columns)[entries.coords[0]]
    of_C = oracle.C.tocoo()
    C = flat(of_C.coords[0] * order + of_C.coords[1], np.zeros(of_C.nnz, dtype=int), of_C.data, 1)
    A = flat(places, entries.coords[1], entries.data, m)
    unit = flat(np.arange(order) * (order + 1), np.zeros(order, dtype=int), np.ones(order), 1)
    rows_of, right = sparse.csc_matrix(-sparse.hstack([unit, A])), -C.toarray().ravel()
    cost = np.r_[oracle.trace, oracle.b]

    def solve():
        if turned:
            import scs

            data = {"A": rows_of, "b": right, "c": cost}
            done = scs.SCS(data, {"s": [order]}, verbose=False, time_limit_secs=4 * LIMIT).solve()
            return Answer(
                done["info"]["pobj"], ended="" if done["info"]["status"] == "solved" else done["info"]["status"]
            )
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads, settings.time_limit = False, 1, 4.0 * LIMIT
        cones, none = [clarabel.PSDTriangleConeT(order)], sparse.csc_matrix((m + 1, m + 1))
        done = clarabel.DefaultSolver(none, cost, rows_of, right, cones, settings).solve()
        return Answer(done.obj_val, ended="" if str(done.status) == "Solved" else str(done.status))

    return solve


def rows(quick):
    """Instances: family, sizes, order, words."""
    yield "SDPLIB", "mcp100", 100, "max-cut mcp100"
    if not quick:
        yield "SDPLIB", "mcp124-1", 124, "max-cut mcp124-1"
        yield "SDPLIB", "mcp500-1", 500, "max-cut mcp500-1"
    for nodes in (200,) if quick else (400, 800, 1500, 2000):
        yield "max-cut", (nodes, 4 * nodes), nodes, f"max-cut, {nodes:,} nodes, {4 * nodes:,} edges"
    if quick:
        return
    yield "max-cut", (7000, 17148), 7000, "max-cut, 7,000 nodes, 17,148 edges, as maxG60"
    yield "SDPLIB", "theta1", 50, "theta1"
    yield "SDPLIB", "theta2", 100, "theta2"
    yield "theta", (60, 377), 60, "theta, 60 nodes, 377 edges"
    yield "SDPLIB", "gpp100", 100, "equipartition gpp100"
    yield "min-bisection", (124, 400), 124, "bisection, 124 nodes, 400 edges"
    yield "min-bisection", (250, 800), 250, "bisection, 250 nodes, 800 edges"


def compared(quick):
    """The table of all solvers, and the growth of max-cut."""
    commands = [command for command in COMMANDS if installed(command)]
    yield "| program | ours, seconds (calls), MiB | " + " | ".join([*commands, *MODELED]) + " | ours / best |"
    yield "|---" * (4 + len(commands) + len(MODELED) - 1) + "|"
    times = {name: [] for name in ("ours", *commands)}
    sizes_of, beyond = [], set()
    for family, sizes, order, words in rows(quick):
        say(words)
        solvers = {"ours": (ours, family, sizes)}
        for command in commands:
            if order < 7000 and (family, command) not in beyond:
                solvers[command] = (program, command, family, sizes)
        for solver, most in MODELED.items():
            if order <= most:
                solvers[solver] = (modeled, solver, family, sizes)
        found = side_by_side(solvers, rounds=1 if quick or order >= 400 else 3, limit=600.0)
        for command in commands:
            if command in found and found[command].answer.ended:
                beyond.add((family, command))
        mine = found["ours"]
        best = min((one.seconds for name, one in found.items() if name != "ours" and not one.answer.ended), default=0.0)
        cells = [found[name].words if name in found else "-" for name in (*commands, *MODELED)]
        share = f"{mine.seconds / best:.2f}" if best else "-"
        own = f"{mine.words} ({mine.answer.calls}), {mine.bytes / 2**20:.0f}"
        yield f"| {words} | {own} | {' | '.join(cells)} | {share} |"
        for name, one in found.items():
            away = abs(abs(one.answer.value) - abs(mine.answer.bound))
            if not one.answer.ended and away > 2e-3 * abs(mine.answer.value):
                say(f"  {name} gives {one.answer.value}, ours {mine.answer.bound} to {mine.answer.value}")
        if family == "max-cut" and order < 7000:
            sizes_of.append(order)
            for name in times:
                times[name].append(found[name].seconds if name in found and not found[name].answer.ended else np.nan)
    grown = ", ".join(f"{name} {growth(sizes_of, np.array(of)):.1f}" for name, of in times.items())
    if len(sizes_of) > 1:
        yield ""
        yield f"Growth of the seconds over the nodes of max-cut, from {sizes_of[0]} to {sizes_of[-1]:,}: {grown}."


def changed(weights, kind, seed=1):
    """The graph with a hundredth of its edges replaced, or all of its weights changed by some percent."""
    rng = np.random.default_rng(seed)
    upper = sparse.triu(weights).tocoo()
    i, j, data = *upper.coords, upper.data.copy()
    if kind == "weights":
        data *= np.exp(0.05 * rng.normal(size=len(data)))
    else:
        few = {"5 edges": 5, "1 % of the edges": len(data) // 100}[kind]
        gone = rng.permutation(len(data))[:few]
        n = weights.shape[0]
        i[gone], j[gone] = rng.integers(0, n // 2, few), rng.integers(n // 2, n, few)
    one = sparse.coo_array((data, (i, j)), shape=weights.shape)
    return sparse.csr_array(one + one.T)


def after_a_change(quick):
    """Cold and warm runs on graphs that changed."""
    yield "| nodes | change | from nothing, seconds (calls) | from the last run |"
    yield "|---" * 4 + "|"
    for nodes in (200,) if quick else (400, 1500):
        weights = graph(nodes, 4 * nodes)
        method = SpectralBundle()
        first = minimize(oracle_of_weights(weights), method, rtol=RTOL)
        for kind, words in (
            ("5 edges", "5 edges replaced"),
            ("1 % of the edges", "1 % of the edges replaced"),
            ("weights", "all weights, by 5 %"),
        ):
            oracle = oracle_of_weights(changed(weights, kind))
            cells, ends = [], []
            for options, start in (({}, None), ({"factor": method.primal_factor()}, first.point)):
                seconds = []
                for _ in range(3):
                    before = process_time()
                    run = minimize(oracle, SpectralBundle(**options), start, rtol=RTOL)
                    seconds.append(process_time() - before)
                cells.append(
                    f"{np.median(seconds):.2g} ({run.n_calls})" + ("" if run.success else f" {run.status.name}")
                )
                ends.append(run)
                verified(run, oracle)
            assert ends[0].lower_bound <= ends[1].upper_bound
            assert ends[1].lower_bound <= ends[0].upper_bound
            yield f"| {nodes:,} | {words} | {cells[0]} | {cells[1]} |"


def oracle_of_weights(weights):
    """Max-cut of a graph."""
    n = weights.shape[0]
    return MaxEigenvalueOracle(laplacian(weights), units(n), np.ones(n), trace=float(n), domain=FreeSpace(n, 1e4))


def main(arguments=None):
    """Print both tables."""
    quick = parser(__doc__).parse_args(arguments).quick
    for line in compared(quick):
        print(line, flush=True)
    print()
    for line in after_a_change(quick):
        print(line, flush=True)
    print()
    print_certificates()


if __name__ == "__main__":
    main()
