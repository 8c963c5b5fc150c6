"""Other solvers on the problems of the public collections: what one of them says of an instance, in a few words."""

import re
import shutil
import subprocess
import tempfile
from math import sqrt
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

import numpy as np
from _extensive import extensive_form, linear_program, solved_by_highs
from scipy import sparse

from oracle_opt.oracles import Nonnegative, PositiveSemidefinite, SecondOrder, Zero

SDPA_PROGRAMS = {"csdp": ("csdp", "{}"), "dsdp5": ("dsdp5", "{}"), "sdpa": ("sdpa", "-ds", "{}", "-o", "{}.out")}
CALLS = 20_000
LONGEST = 60.0  # seconds of HiGHS on an extensive form


def in_words(name, solve, known, tolerance):
    """Name and processor seconds of a solver; its error relative to the known value where that is above the tolerance.

    The fastest of three runs, unless the first one took a second.
    """
    seconds = []
    while not seconds or (len(seconds) < 3 and seconds[0] < 1.0):
        began = _processor()
        value, ended = solve()
        seconds.append(_processor() - began)
    said = f"{name} {min(seconds):.2g} s"
    if isinstance(known, str) or value is None or not np.isfinite(value):
        return f"{said}, {ended}"
    error = abs(value - known) / max(abs(known), 1e-6)
    return said if error <= tolerance else f"{said}, off by {error:.0e}"


def of_rows(problem):
    """HiGHS on a conic problem whose cones are those of linear rows."""
    lower = np.full(len(problem.b), -np.inf)
    start = 0
    for cone in problem.cones:
        if isinstance(cone, Zero):
            lower[start : start + cone.dimension] = problem.b[start : start + cone.dimension]
        start += cone.dimension
    n = len(problem.c)
    free = np.full(n, np.inf)
    return linear_program(problem.c, problem.A, lower, problem.b, -free, free, problem.offset)


def highs_on_rows(problem):
    """Value and status of HiGHS on a linear program."""
    program = of_rows(problem)
    return lambda: solved_by_highs(program)


def highs_on_scenarios(problem, outcomes, probability):
    """Value and status of HiGHS on the extensive form."""
    program = extensive_form(problem, outcomes, probability)
    return lambda: solved_by_highs(program, limit=LONGEST)


def clarabel_on(problem, tolerance=1e-8):
    """Value and status of Clarabel on a conic problem, whose form of the data is the same."""
    import clarabel

    kinds = {
        Zero: lambda cone: clarabel.ZeroConeT(cone.dimension),
        Nonnegative: lambda cone: clarabel.NonnegativeConeT(cone.dimension),
        SecondOrder: lambda cone: clarabel.SecondOrderConeT(cone.dimension),
        PositiveSemidefinite: lambda cone: clarabel.PSDTriangleConeT(cone.order),
    }
    n = len(problem.c)
    P = sparse.csc_matrix((n, n)) if problem.P is None else sparse.csc_matrix(sparse.triu(problem.P))
    cones = [kinds[type(cone)](cone) for cone in problem.cones]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance

    def solve():
        solver = clarabel.DefaultSolver(P, problem.c, sparse.csc_matrix(problem.A), problem.b, cones, settings)
        solution = solver.solve()
        status = str(solution.status)
        return (solution.obj_val + problem.offset if status == "Solved" else None), _apart(status)

    return solve


def sdpa_program(name, path):
    """Value and status of a program of semidefinite programming that reads SDPA's sparse format.

    The value is that of ``min c x``, which csdp and sdpa call primal.
    """

    def solve():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "problem.dat-s"
            shutil.copy(path, file)
            command = [word.format(file) for word in SDPA_PROGRAMS[name]]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        # dsdp5 minimizes the value with the other sign
        found = re.findall(r"(?:DSDP Solution|Primal objective value|objValPrimal)\s*[:=]\s*(\S+)", done.stdout)
        sign = -1.0 if name == "dsdp5" else 1.0
        if re.search(r"[pd]UNBD|Declaring \w+ infeasibility|(Primal|Dual) Unbounded", done.stdout):
            return None, "infeasible or unbounded"
        return (sign * float(found[-1]) if found else None), f"exit code {done.returncode}"

    return solve


def fastest_sdpa_program(path, known, tolerance):
    """Words of the fastest program that is installed; of one that misses the tolerance only if all do."""
    tried = [in_words(name, sdpa_program(name, path), known, tolerance) for name in SDPA_PROGRAMS if shutil.which(name)]
    return min(tried, key=lambda said: ("off by" in said, float(said.split()[1])), default="-")


def ellalgo_on(oracle, start, known, tolerance):
    """Calls that the ellipsoid method of ellalgo needs until its best value is so near to the known one, in words."""
    try:
        from ellalgo.cutting_plane import cutting_plane_optim
        from ellalgo.ell import Ell
        from ellalgo.ell_config import Options
    except ImportError:
        return "-"
    from oracle_opt import Query

    class Assess:
        calls, best = 0, np.inf

        def assess_optim(self, center, best):
            nearest = oracle.domain.project(center)
            outside = sqrt(np.sum((center - nearest) ** 2))
            if outside > 1e-9:
                return ((center - nearest) / outside, outside), None
            self.calls += 1
            cut = oracle.query(Query(center))
            self.best = min(self.best, cut.value)
            if self.best <= known + tolerance:
                return (cut.subgradient, np.inf), None  # no point is left: that ends it
            if cut.value < best:
                return (cut.subgradient, 0.0), cut.value
            return (cut.subgradient, cut.value - best), None

    assess = Assess()
    began = process_time()
    with np.errstate(all="ignore"):
        radius = 2.0 * oracle.domain.enclosing_ball()[1]
        cutting_plane_optim(assess, Ell(radius**2, start), np.inf, Options(max_iters=CALLS, tolerance=1e-40))
    if assess.best <= known + tolerance:
        return f"ellalgo {process_time() - began:.2g} s, {assess.calls} calls"
    return f"ellalgo not in {assess.calls} calls"


def _processor():
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _apart(status):
    """Words of a name in capitals: PrimalInfeasible is primal infeasible."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", status).lower()
