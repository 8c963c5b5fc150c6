"""The family of multicommodity flow problems, their capacities relaxed."""

from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, path_in_folder, within_tolerance


def flow(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`: minus the dual function."""
    from oracle_opt.oracles import MulticommodityFlowOracle

    return MulticommodityFlowOracle.from_file(path_in_folder("mcf", entry["file"], needed=f"mcf/{entry['name']}"))


FAMILY = Collection(
    "mcf",
    "multicommodity flow, the capacity relaxation; minus its value",
    lambda entry: int(entry["dual_dimension"]),
    flow,
    lambda entry: within_tolerance(-entry["resolved"], 1e-9),
    "the grid and planar collections of CommaLab",
)
