"""The family of Lagrangian bounds of uncapacitated facility location problems."""

from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, path_in_folder, within_tolerance


def location(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`: minus the dual function."""
    from oracle_opt.oracles import FacilityLocationOracle

    return FacilityLocationOracle.from_file(path_in_folder("uflp", entry["file"], needed=f"uflp/{entry['name']}"))


FAMILY = Collection(
    "uflp",
    "uncapacitated facility location, the assignment relaxation; minus its value",
    lambda entry: int(entry["customers"]),
    location,
    lambda entry: within_tolerance(-entry["lp_bound"], 1e-9),
    "OR-Library and UflLib",
)
