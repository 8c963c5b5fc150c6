"""Sentences on our figures beside those of Picard et al. (2012), made of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from papers.figures import Printed, printed_figures
from papers.repetitions import Row, Tally


def agrees(row: Row, printed: Printed) -> bool:
    """Whether ours is no farther from the printed mean than the larger of the two deviations."""
    return abs(row.ours - float(printed.value)) <= max(row.deviation, float(printed.spread or 0.0))


def agreements(tally: Tally, table: str) -> tuple[str, ...]:
    """How many accuracies of a table agree with the printed ones, and which do not."""
    printed = printed_figures("qnpkl", table)
    compared = [
        (row, printed[row.set, row.quantity])
        for row in tally.rows()
        if row.quantity.startswith("accuracy") and (row.set, row.quantity) in printed
    ]
    if not compared:
        return ()
    outside = [
        f"{row.set}, {row.quantity.partition(', ')[2]} ({row.ours:.1f}, printed {figure.value})"
        for row, figure in compared
        if not agrees(row, figure)
    ]
    which = f"; these do not: {'; '.join(outside)}" if outside else ""
    return (
        f"{len(compared) - len(outside)} of {len(compared)} accuracies agree with the printed ones within the larger "
        f"of both deviations{which}.",
    )


def differences(tally: Tally, sets: Iterable[str]) -> tuple[str, ...]:
    """By how many points of accuracy products are ahead of sums."""
    printed = printed_figures("qnpkl", "table1")
    parts = []
    for label in sets:
        product, total = (tally.mean(label, f"accuracy %, {method}") for method in ("QN-PKL", "MKL"))
        papers = _of_two(printed, label, "accuracy %", lambda a, b: f"{a - b:+.1f}")
        parts.append(f"{label} {product - total:+.1f}{papers}")
    return (f"Accuracy of QN-PKL less that of MKL, in points: {'; '.join(parts)}.",)


def speed_ups(tally: Tally, sets: Iterable[str]) -> tuple[str, ...]:
    """Seconds of MKL over those of QN-PKL."""
    printed = printed_figures("qnpkl", "table1")
    parts = []
    for label in sets:
        product, total = (tally.mean(label, f"seconds, {method}") for method in ("QN-PKL", "MKL"))
        papers = _of_two(printed, label, "seconds", lambda a, b: f"{b / a:.1f}")
        parts.append(f"{label} {total / product:.1f}{papers}")
    return (f"Seconds of MKL over those of QN-PKL: {'; '.join(parts)}.",)


def who_agrees(tally: Tally, sets: Iterable[str]) -> tuple[str, ...]:
    """Which rows of a set agree with the printed accuracies, and how far R goes."""
    printed, shares = printed_figures("qnpkl", "table1"), printed_figures("qnpkl", "table2")
    rows = tally.rows()
    sentences = []
    for label in sets:
        if (label, "accuracy %, MKL") not in printed:
            continue
        own = [row for row in rows if row.set == label or row.set.startswith(f"{label},")]
        names = list(dict.fromkeys(row.set for row in own))
        met = {
            method: {
                row.set
                for row in own
                for column in (method, f"{method} with gamma = 1")
                if row.quantity == f"accuracy %, {column}" and agrees(row, printed[label, f"accuracy %, {method}"])
            }
            for method in ("MKL", "QN-PKL", "SVM")
        }
        counts = ", ".join(f"{method}'s on {len(found)}" for method, found in met.items())
        every = [name for name in names if all(name in found for found in met.values())]
        of_all = f"all on {'; '.join(every)}" if every else "all on none"
        ranges = []
        for method, columns in (("MKL", ("MKL", "MKL with gamma = 1")), ("QN-PKL", ("QN-PKL",))):
            low, high = _range([tally.mean(name, f"R %, {column}") for name in names for column in columns])
            ranges.append(f"{method}'s from {low} to {high} (printed {shares[label, f'R %, {method}'].value})")
        low, high = _range(
            [tally.mean(name, "seconds, QN-PKL") / tally.mean(name, "seconds, QN-PKL to 1e-2") for name in names]
        )
        sentences.append(
            f"{label}: of {len(names)} rows, the printed accuracy is met within the larger of both deviations for "
            f"{counts}, {of_all}. R goes for {' and for '.join(ranges)}. QN-PKL takes {low} to {high} times the "
            "seconds of QN-PKL to 1e-2."
        )
    return tuple(sentences)


def _range(values: list[float]) -> tuple[str, str]:
    """Least and largest of them."""
    return f"{min(values):.1f}", f"{max(values):.1f}"


def _of_two(
    printed: Mapping[tuple[str, str], Printed], label: str, kind: str, say: Callable[[float, float], str]
) -> str:
    """What the paper prints of QN-PKL and of MKL, said by a function of both; nothing if it does not print both."""
    product, total = (printed.get((label, f"{kind}, {method}")) for method in ("QN-PKL", "MKL"))
    if product is None or total is None:
        return ""
    return f" (printed {say(float(product.value), float(total.value))})"
