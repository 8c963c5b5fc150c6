"""Linear equations without rounding, and whether a matrix is positive semidefinite: by matrices of python-flint."""

from collections.abc import Callable, Iterable
from fractions import Fraction

Line = dict[int, Fraction]
Equation = tuple[Line, Fraction]


def eliminated(equations: Iterable[Equation], weight: Callable[[int], float]) -> Line | None:
    """Solve ``sum_j line_j x_j = right``, those x_j that are left over being 0: of least weight, but for ties.

    Lines of one unknown tell it; lines whose heaviest unknown stands in no other come last. The others are few, and
    solved by a dense matrix.
    """
    left = {i: (dict(line), right) for i, (line, right) in enumerate(equations)}
    holds: dict[int, set[int]] = {}
    for i, (line, _) in left.items():
        for j in line:
            holds.setdefault(j, set()).add(i)
    found, last, queue = Line(), list[tuple[int, Line, Fraction]](), [*left]
    while queue:
        i = queue.pop()
        if i not in left:
            continue
        line, right = left[i]
        if not line and right:
            return None
        heaviest = max(line, key=lambda j: (weight(j), len(holds[j]) == 1), default=None)
        if heaviest is None or (len(line) > 1 and len(holds[heaviest]) > 1):
            continue
        del left[i]
        for j in line:
            holds[j].discard(i)
        if len(line) > 1:
            last.append((heaviest, line, right))
            queue += [k for j in line if len(holds[j]) == 1 for k in holds[j]]
            continue
        found[heaviest] = right / line[heaviest]
        for k in holds[heaviest]:
            other, side = left[k]
            left[k] = other, side - other.pop(heaviest) * found[heaviest]
        queue += holds[heaviest]
    lines = [pair for pair in left.values() if pair[0]]
    rest = _solved(lines, sorted({j for line, _ in lines for j in line}, key=weight, reverse=True)) if lines else Line()
    if rest is None:
        return None
    found |= rest
    for j, line, right in reversed(last):
        found[j] = (right - _sum(line, found)) / line[j]
    return found


def _sum(line: Line, known: Line) -> Fraction:
    return sum((v * known[j] for j, v in line.items() if j in known), Fraction(0))


def _solved(lines: list[Equation], columns: list[int]) -> Line | None:
    import flint  # only here: the import takes time

    place, width = {j: k for k, j in enumerate(columns)}, len(columns)
    matrix = flint.fmpq_mat(len(lines), width + 1)
    for i, (line, right) in enumerate(lines):
        for j, v in line.items():
            matrix[i, place[j]] = flint.fmpq(v.numerator, v.denominator)
        matrix[i, width] = flint.fmpq(right.numerator, right.denominator)
    reduced, rank = matrix.rref()
    found, k = Line(), 0
    for i in range(rank):
        while reduced[i, k] == 0:
            k += 1
        if k == width:
            return None
        found[columns[k]] = Fraction(int(reduced[i, width].p), int(reduced[i, width].q))
    return found


def semidefinite(whole: list[list[int]], *, strictly: bool = False) -> bool:
    """Whether a symmetric matrix of whole numbers is positive semidefinite, or `strictly` definite.

    All roots of its characteristic polynomial are real: none is negative if its coefficients alternate (Descartes).
    """
    import flint  # only here: the import takes time

    falling = reversed(flint.fmpz_mat(whole).charpoly().coeffs())
    return all(v * (-1) ** k >= strictly for k, v in enumerate(falling))
