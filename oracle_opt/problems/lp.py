"""The family of Netlib's linear programs."""

from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, path_in_folder, within_tolerance
from oracle_opt.problems.conic_rows import read_mps

# of those of which no minimizer is known within 1e4 of the origin
RADIUS = {"israel": 1e5, "kb2": 1e5, "stocfor1": 1e5, "scagr7": 1e5, "lotfi": 1e5, "vtp.base": 1e6}


def linear_program(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`."""
    path = path_in_folder("lp", entry["file"], needed=f"lp/{entry['name']}")
    return read_mps(path, RADIUS.get(entry["name"], 1e4))


FAMILY = Collection(
    "lp",
    "linear programs of Netlib; violated rows are cuts",
    lambda entry: int(entry["columns"]),
    linear_program,
    lambda entry: within_tolerance(entry["resolved"], entry["tolerance"]),
    "Netlib lp/data",
)
