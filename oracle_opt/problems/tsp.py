"""The family of Held and Karp's bounds of TSPLIB's instances."""

from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, path_in_folder, within_tolerance


def held_karp(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`: minus the dual function."""
    from oracle_opt.oracles import HeldKarpOracle

    return HeldKarpOracle.from_tsplib(path_in_folder("tsp", entry["file"], needed=f"tsp/{entry['name']}"))


FAMILY = Collection(
    "tsp",
    "traveling salesman, the 1-tree bound; minus its value",
    lambda entry: int(entry["cities"]),
    held_karp,
    lambda entry: within_tolerance(-entry["held_karp_bound"], 1e-9),
    "TSPLIB",
)
