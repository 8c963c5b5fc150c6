"""The family of SDPLIB's semidefinite programs."""

from oracle_opt.domains import FreeSpace
from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, Known, path_in_folder, within_tolerance
from oracle_opt.problems.sdpa_files import as_largest_eigenvalue, read_sdpa

# Where all dual solutions have one trace the program is a largest eigenvalue, on a ball of this radius, in units in
# which all F_i have norm one; the others are conic, each violated eigenvalue a cut.
EIGENVALUES = {
    "mcp100": 1e3,
    "mcp124-1": 1e3,
    "mcp500-1": 1e3,
    "theta1": 1e3,
    "theta2": 1e3,
    "gpp100": 1e4,
    "qap5": 1e4,
}
RADIUS = 1e4


def semidefinite_program(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`."""
    from oracle_opt.oracles import ConicOracle

    name = entry["name"]
    program = read_sdpa(path_in_folder("sdp", entry["file"], needed=f"sdp/{name}"))
    if name in EIGENVALUES:
        return as_largest_eigenvalue(program, EIGENVALUES[name])[0]
    return ConicOracle.from_problem(program, domain=FreeSpace(program.c.size, RADIUS), tolerance=1e-8)


def _known(entry: Entry) -> Known:
    """Between proven bounds where there are some."""
    if "resolved_bounds" in entry:
        lower, upper = entry["resolved_bounds"]
        return 0.5 * (lower + upper), 0.5 * (upper - lower) + 1e-9 * abs(upper)
    return within_tolerance(entry["resolved"], entry["tolerance"])


FAMILY = Collection(
    "sdp",
    "semidefinite programs, as largest eigenvalues where their trace is known",
    lambda entry: int(entry["m"]),
    semidefinite_program,
    _known,
    "SDPLIB 1.2",
)
