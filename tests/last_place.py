"""Answers of oracles moved by one unit in the last place, as another processor would give them: `pytest --ulp SEED`.

A test that compares answers to the last bit, and not what follows from them, is marked `to_the_bit`: none moves there.
"""

from dataclasses import replace
from functools import wraps
from threading import local
from zlib import crc32

import numpy as np

from oracle_opt import FeasibilityCut, ObjectiveCut, Oracle


class Asked(local):
    """Whether an oracle is being asked, of each thread."""

    still = False  # of all threads: whether answers are left as they are


asked = Asked()


def moved(cut, seed):
    """The answer with its value and each entry of its slope one unit up, one down or where they are.

    Which of the three is decided by the digits of the point and the value: whoever asks again gets the same answer,
    also in another unit, a power of 2. What is next to 0, or infinite, stays.
    """
    if not isinstance(cut, ObjectiveCut | FeasibilityCut):
        return cut
    value, slope = ("value", "subgradient") if isinstance(cut, ObjectiveCut) else ("violation", "normal")
    numbers = np.array([getattr(cut, value), *getattr(cut, slope)], dtype=float)
    digits = np.frexp(np.append(cut.point, numbers[0]).astype(float))[0]
    rng = np.random.default_rng([seed, crc32(digits.tobytes())])
    ends = np.array([-np.inf, 0.0, np.inf])[rng.integers(0, 3, len(numbers))]
    still = (ends == 0) | (np.abs(numbers) < 1e-290) | ~np.isfinite(numbers)
    numbers = np.where(still, numbers, np.nextafter(numbers, ends))
    changes = {value: float(numbers[0]), slope: numbers[1:]}
    for name in ("summands", "further"):
        if parts := getattr(cut, name, ()):
            changes[name] = tuple(moved(part, seed) for part in parts)
    return replace(cut, **changes)


def move_answers(seed):
    """Let every oracle, of the library and of tests, answer so; of one that asks another, only its own answers move.

    An oracle of the attribute `signs` keeps what it answered as a proof to the last bit: what it asks moves instead.
    """

    def wrap(kind):
        if "query" not in vars(kind):
            return
        query = kind.query

        @wraps(query)
        def answer(self, question):
            if asked.still or getattr(asked, "inside", False) or getattr(self, "signs", False):
                return query(self, question)
            asked.inside = True
            try:
                return moved(query(self, question), seed)
            finally:
                asked.inside = False

        kind.query = answer

    def wrap_below(kind):
        wrap(kind)
        for one in kind.__subclasses__():
            wrap_below(one)

    def begin(kind):
        above(kind)
        wrap(kind)

    above = Oracle.__init_subclass__.__func__
    wrap_below(Oracle)
    Oracle.__init_subclass__ = classmethod(begin)
