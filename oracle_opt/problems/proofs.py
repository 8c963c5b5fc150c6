"""The table of what this library has proven of each problem: a value reached and a bound, by which generator."""

import csv
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

from oracle_opt.arrays import digest
from oracle_opt.bounds import relative_gap
from oracle_opt.problems.instance import Problem
from oracle_opt.words import one_line

TABLE = Path(__file__).with_name("proven.csv")


@dataclass(frozen=True, eq=False)
class Proof:
    """The bounds that one run has proven of a problem."""

    __repr__ = one_line

    name: str
    data: str
    upper_bound: float
    lower_bound: float
    n_calls: int
    generator: str
    certificate: str = ""

    @property
    def gap(self) -> float:
        """The relative gap."""
        return relative_gap(self.upper_bound, self.lower_bound)


def proof_of(problem: Problem) -> Proof | None:
    """Return what is proven of a problem, `None` if nothing of these data."""
    proof = _shipped().get(problem.name)
    return proof if proof is not None and proof.data == digest(problem.identity()) else None


@cache
def _shipped() -> dict[str, Proof]:
    return read_proofs(TABLE)


def read_proofs(path: Path) -> dict[str, Proof]:
    """Return the rows of a table, by the names of the problems; none if there is no such file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {
            row["name"]: Proof(
                row["name"],
                row["data"],
                float(row["upper_bound"]),
                float(row["lower_bound"]),
                int(row["n_calls"]),
                row["generator"],
                row["certificate"],
            )
            for row in rows
        }


def write_proofs(path: Path, proofs: Mapping[str, Proof]) -> None:
    """Write a table, in the order of the mapping; numbers to the last bit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Proof)])
        writer.writerows(astuple(proof) for proof in proofs.values())
