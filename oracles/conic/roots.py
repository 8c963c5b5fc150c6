"""The zero of a rising function of one number, where Newton's steps are watched by a bracket."""

from collections.abc import Callable


def rising_root(function: Callable[[float], tuple[float, float]], low: float, high: float, start: float) -> float:
    """Zero of a rising function between `low` and `high`, as exactly as its sign can tell.

    Newton's step where it stays in the bracket and halves the step before the last, else bisection.
    """
    t, last, before = start, high - low, high - low
    reach = max(1.0, abs(start))
    for _ in range(2000):
        value, slope = function(t)
        if value == 0.0:
            break
        if value > 0.0:
            high = t
        else:
            low = t
        new = t - value / slope if slope > 0.0 else high
        if not (low < new < high and abs(new - t) <= 0.5 * before):
            if low == -float("inf"):
                new = high - reach
            elif high == float("inf"):
                new = low + reach
            else:
                new = low + 0.5 * (high - low)
            reach *= 2.0
        if new == t or not low < new < high:
            break
        last, before, t = abs(new - t), last, new
    return t
