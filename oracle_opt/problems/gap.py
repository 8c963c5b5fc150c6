"""The family of Lagrangian bounds of generalized assignment problems."""

from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, Known, path_in_folder, within_tolerance


def assignment(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`; minus the dual function where costs are minimized."""
    from oracle_opt.oracles import GeneralizedAssignmentOracle

    path = path_in_folder("gap", entry["file"], needed=f"gap/{entry['name']}")
    return GeneralizedAssignmentOracle.from_file(path, maximize=entry["sense"] == "max")


def _known(entry: Entry) -> Known:
    """By column generation, which closed its own gap; printed with ten digits."""
    bound = entry["lagrangian_bound"]
    return within_tolerance(bound if entry["sense"] == "max" else -bound, 1e-9)


FAMILY = Collection(
    "gap",
    "generalized assignment, the knapsack relaxation; minus its value where costs are minimized",
    lambda entry: int(entry["jobs"]),
    assignment,
    _known,
    "OR-Library",
)
