"""The family of two-stage stochastic linear programs in SMPS files."""

from oracle_opt.oracle import Oracle
from oracle_opt.problems.collection import Collection, Entry, Known, path_in_folder, within_tolerance


def benders(entry: Entry) -> Oracle:
    """Return the oracle of an entry of `optima.json`, with all its scenarios; what is maximized changes its sign."""
    from oracle_opt.oracles import BendersOracle, read_smps

    name = f"stochastic/{entry['name']}"
    core, time, scenarios = (
        path_in_folder("stochastic", entry["files"][ending], needed=name) for ending in ("cor", "tim", "sto")
    )
    # some are published with rounded probabilities, and solved as they are
    return BendersOracle(read_smps(core, time, scenarios, maximize=entry["sense"] == "max", rescale=False))


def _known(entry: Entry) -> Known:
    """Of the extensive form, by the simplex method; first stages that violate a row by its tolerance may cost less."""
    return within_tolerance(-entry["resolved"] if entry["sense"] == "max" else entry["resolved"], 1e-8)


FAMILY = Collection(
    "stochastic",
    "two-stage stochastic linear programs by Benders' cuts",
    lambda entry: int(entry["first_stage"]["columns"]),
    benders,
    _known,
    "public SMPS collections",
)
