"""Whether an answer given anew can be one to the problem whose answers a journal holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oracle_opt._journal_entries import Entry
from oracle_opt.consistency import contradiction
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, is_infinite

ROUNDING = 1e-8  # relative to the value and to the terms of the cut: by so much exact answers may differ


def disagreement(entries: Sequence[Entry], fresh: Cut, convex: bool) -> str:
    """Say how an answer to the last recorded query, given anew, contradicts the recorded ones; no words if it does not.

    At one point f lies in ``[value, value + error]`` of both answers, so these intervals meet, and either both answers
    call the point feasible or none does. If f is convex, the new answer may contradict no earlier one, either: unless
    the recorded answer did so already.
    """
    last = entries[-1].cut
    if type(fresh) is not type(last):
        feasible = isinstance(fresh, ObjectiveCut)
        return f"{_stated(fresh)} now, {_stated(last)} then: the point is {'' if feasible else 'in'}feasible now"
    if isinstance(fresh, ObjectiveCut) and isinstance(last, ObjectiveCut):
        if is_infinite(fresh) or is_infinite(last):
            return "" if is_infinite(fresh) and is_infinite(last) else f"{_stated(fresh)} now, {_stated(last)} then"
        apart = max(fresh.value - last.upper, last.value - fresh.upper)
        if apart > ROUNDING * max(_size(fresh), _size(last)):
            return f"{_stated(fresh)} now, {_stated(last)} then"
    if convex:
        finite = [(k, entry) for k, entry in enumerate(entries[:-1], 1) if not is_infinite(entry.cut)]
        for number, entry in finite:
            words = contradiction(entry.cut, fresh, number, len(entries))
            if words and not contradiction(entry.cut, last, 0, 0):
                return f"the answer given now contradicts answer {number}. {words}"
    return ""


def _size(cut: ObjectiveCut) -> float:
    return max(abs(cut.value), float(np.abs(cut.subgradient) @ np.abs(cut.point)))


def _stated(cut: Cut) -> str:
    if isinstance(cut, FeasibilityCut):
        return f"violation {cut.violation:.10g}"
    return f"value {cut.value:.10g}" + (f" to {cut.upper:.10g}" if cut.error else "")
