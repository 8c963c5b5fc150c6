"""What the tests of journals share: an oracle that counts, a function, and whether two histories are the same."""

from itertools import pairwise

import numpy as np

from oracle_opt import FunctionOracle, Oracle, Query, Simplex
from oracle_opt._journal_file import RecordFile


class Counted(Oracle):
    """Passes everything on and counts."""

    def __init__(self, inner):
        self.inner, self.domain, self.calls = inner, inner.domain, 0

    def reset(self):
        self.inner.reset()

    def resume(self, cut):
        self.inner.resume(cut)

    def identity(self):
        return self.inner.identity()

    def query(self, query):
        self.calls += 1
        return self.inner.query(query)


def absolute():
    target = np.array([0.1, 0.2, 0.3, 0.4])
    return FunctionOracle(lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)), Simplex(4), name="absolute")


def assert_same_history(one, other) -> None:
    for name in ("call", "step", "value", "error", "upper_bound", "lower_bound", "bound_source", "model_bound"):
        np.testing.assert_array_equal(getattr(one.history, name), getattr(other.history, name))


def records_of(path) -> list[bytes]:
    file = RecordFile(path)
    file.close()
    return file.records


def recalled(make, points) -> list[tuple]:
    """What an oracle answers that was given the cut before, and what one answers that was never interrupted: equal."""
    first, later = make(), make()
    cuts, pairs = [first.query(Query(point)) for point in points], []
    for before, cut in pairwise(cuts):
        later.reset()
        later.resume(before)
        again = later.query(Query(cut.point))
        assert (again.value, again.error) == (cut.value, cut.error)
        np.testing.assert_array_equal(again.subgradient, cut.subgradient)
        pairs.append((again, cut))
    return pairs
