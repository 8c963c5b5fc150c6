"""Projections on cones in 50 digits, each proven by Moreau's conditions, and dual cones in exact terms.

Nothing here knows how the library computes. A point v is ``p + q``; where p is in K, -q in the dual cone and
``p @ q = 0``, p is the projection and norm(q) the distance, whatever found them. As a projection does not expand, a p
that is right for a point within delta of v is within delta of the right one.
"""

from decimal import Context, Decimal, InvalidOperation, localcontext

import numpy as np

from oracle_opt.oracles import Exponential, Nonnegative, PositiveSemidefinite, Power, SecondOrder, Zero

CONTEXT = Context(prec=50, Emax=10**15, Emin=-(10**15), traps=[InvalidOperation])
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)
NEARLY = Decimal("0." + 38 * "9")  # a point as near to the boundary is on it: the proof allows for more
FARTHEST = Decimal(2) ** 100
SHARP = Decimal(10) ** -30  # residual of a projection, relative to the norm of the point


def dot(u, v):
    """Inner product."""
    return sum((a * b for a, b in zip(u, v, strict=True)), ZERO)


def norm(v):
    """Euclidean norm."""
    return dot(v, v).sqrt()


def _root(positive, steps=180):
    """Where a predicate turns from false to true, by bisection in a bracket that doubles away from 0."""
    low, high, step = -ONE, ONE, ONE
    while positive(low) and step < FARTHEST:
        low, high, step = low - step, low, step * 2
    while not positive(high) and step < FARTHEST:
        low, high, step = high, high + step, step * 2
    if step >= FARTHEST:
        raise ArithmeticError("the reference finds no bracket")
    for _ in range(steps):
        middle = (low + high) / TWO
        if not low < middle < high:
            break
        low, high = (low, middle) if positive(middle) else (middle, high)
    return high


def _split_exponential(v):
    """Nearest points of the exponential cone and of its polar."""
    x, y, z = v
    if (y > 0 and z >= NEARLY * y * (x / y).exp()) or (y == 0 and x <= 0 and z >= 0):
        return v, [ZERO] * 3
    if (x > 0 and z <= -NEARLY * x * (y / x - 1).exp()) or (x == 0 and y <= 0 and z <= 0):
        return [ZERO] * 3, v
    if x <= 0 and y <= 0:
        return [x, ZERO, max(z, ZERO)], [ZERO, y, min(z, ZERO)]

    # with q = r^2 - r + 1, (x, y) = a (r, 1) + b (1, 1 - r); near the zero of a or of b, r is that plus or minus
    # exp(s), so that no digits are lost
    def below(s):  # the zero of b
        r = x / y - s.exp()
        q = r * r - r + 1
        return r, ((r - 1) * x + y) / q, y * s.exp() / q

    def above(s):  # the zero of a
        r = 1 - y / x + s.exp()
        q = r * r - r + 1
        return r, x * s.exp() / q, (x - r * y) / q

    def beyond(r, a, b):
        return a > 0 and (b <= 0 or r.exp() * a - (-r).exp() * b > z)

    if x > 0 and y > 0:
        half = (x / y + y / x - 1) / 2  # of the bracket
        upper = not beyond(*above(half.ln()))
    else:
        upper = x <= 0
    if upper:
        r, a, b = below(_root(lambda s: not beyond(*below(s))))
    else:
        r, a, b = above(_root(lambda s: beyond(*above(s))))
    if abs(r) > Decimal(10) ** 14:  # where exp(-abs(r)) is nothing: next to a face
        top, bottom = max(z, ZERO), min(z, ZERO)
        return ([ZERO, ZERO, top], [x, y, bottom]) if r > 0 else ([x, y, top], [ZERO, ZERO, bottom])
    return [a * r, a, a * r.exp()], [b, b * (1 - r), -b * (-r).exp()]


def _split_power(v, a):
    x, y, z = v
    size, sign = abs(z), (ONE if z > 0 else -ONE)
    if size == 0:
        return [max(x, ZERO), max(y, ZERO), ZERO], [min(x, ZERO), min(y, ZERO), ZERO]

    def mean(one, other):
        return (a * one.ln() + (1 - a) * other.ln()).exp() if one > 0 and other > 0 else ZERO

    if x >= 0 and y >= 0 and mean(x, y) >= NEARLY * size:
        return v, [ZERO] * 3
    if x <= 0 and y <= 0 and mean(-x / a, -y / (1 - a)) >= NEARLY * size:
        return [ZERO] * 3, v

    def point(t):
        r, rest = size / (1 + (-t).exp()), size / (1 + t.exp())

        def root(c, side):
            twice = (side * side + 4 * c).sqrt()
            return (side + twice) / 2 if side > 0 else (2 * c / (twice - side) if twice > side else c.sqrt())

        return r, rest, root(a * r * rest, x), root((1 - a) * r * rest, y)

    def beyond(t):
        r, _, first, second = point(t)
        if first <= 0 or second <= 0:
            return True
        return r.ln() > a * first.ln() + (1 - a) * second.ln()

    r, rest, first, second = point(_root(beyond))
    return [first, second, sign * r], [-a * r * rest / first, -(1 - a) * r * rest / second, sign * rest]


def _split_second_order(v):
    t, u = v[0], v[1:]
    size = norm(u)
    if size <= t:
        return v, [ZERO] * len(v)
    if size <= -t:
        return [ZERO] * len(v), v
    half = (t + size) / 2
    p = [half, *(half * entry / size for entry in u)]
    return p, [one - other for one, other in zip(v, p, strict=True)]


def eigenpairs(M):
    """Eigenvalues and eigenvectors (as columns of the list of rows) of a symmetric matrix, by Jacobi's rotations."""
    n = len(M)
    M = [row[:] for row in M]
    Q = [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]
    for _ in range(60):
        if all(M[i][j] == 0 or abs(M[i][j]) <= Decimal(10) ** -45 * norm(M[i]) for i in range(n) for j in range(i)):
            break
        for i in range(n):
            for j in range(i + 1, n):
                if M[i][j] == 0:
                    continue
                half = (M[j][j] - M[i][i]) / (2 * M[i][j])
                t = (ONE if half >= 0 else -ONE) / (abs(half) + (half * half + 1).sqrt())
                c = 1 / (t * t + 1).sqrt()
                s = t * c
                for rows in (M, Q):
                    for row in rows:
                        row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
                M[i], M[j] = (
                    [c * one - s * other for one, other in zip(M[i], M[j], strict=True)],
                    [s * one + c * other for one, other in zip(M[i], M[j], strict=True)],
                )
    return [M[i][i] for i in range(n)], Q


def _matrix(v, order):
    """The symmetric matrix of a vector, with the root of two as the library's vectors have it, in 50 digits."""
    M = [[ZERO] * order for _ in range(order)]
    k = 0
    for j in range(order):
        for i in range(j + 1):
            M[i][j] = M[j][i] = v[k] if i == j else v[k] / TWO.sqrt()
            k += 1
    return M


def _split_semidefinite(v, order):
    values, Q = eigenpairs(_matrix(v, order))
    parts = []
    for keep in (max, min):
        part = []
        for j in range(order):
            for i in range(j + 1):
                entry = sum((keep(value, ZERO) * Q[i][k] * Q[j][k] for k, value in enumerate(values)), ZERO)
                part.append(entry if i == j else entry * TWO.sqrt())
        parts.append(part)
    return parts


def split(cone, v):
    """Nearest points p of K and q of its polar cone; raises ArithmeticError unless they are proven."""
    with localcontext(CONTEXT):
        v = [Decimal(float(entry)) for entry in v]
        match cone:
            case Zero():
                p, q = [ZERO] * len(v), v
            case Nonnegative():
                p, q = [max(entry, ZERO) for entry in v], [min(entry, ZERO) for entry in v]
            case SecondOrder():
                p, q = _split_second_order(v)
            case PositiveSemidefinite():
                p, q = _split_semidefinite(v, cone.order)
            case Exponential():
                p, q = _split_exponential(v)
            case Power():
                p, q = _split_power(v, Decimal(cone.exponent))
        slack = SHARP * norm(v)
        apart = norm([entry - one - other for entry, one, other in zip(v, p, q, strict=True)])
        inside = within(cone, p, slack) and within_dual(cone, [-entry for entry in q], slack)
        if apart > slack or abs(dot(p, q)) > slack * norm(v) or not inside:
            raise ArithmeticError(f"the reference fails for {cone!r} at {[float(entry) for entry in v]}")
        return p, q


def within(cone, z, slack=ZERO):
    """Whether a vector of decimals is in K; its last entry (its matrix, for a matrix) may be off by `slack`."""
    with localcontext(CONTEXT):
        match cone:
            case Zero():
                return all(abs(entry) <= slack for entry in z)
            case Nonnegative():
                return all(entry >= -slack for entry in z)
            case SecondOrder():
                return norm(z[1:]) <= z[0] + slack
            case PositiveSemidefinite():
                return min(eigenpairs(_matrix(z, cone.order))[0]) >= -slack
            case Exponential():
                x, y, top = z
                return (x <= 0 and y == 0 and top >= -slack) or (y > 0 and y * (x / y).exp() <= top + slack)
            case Power():
                return _powers(z, Decimal(cone.exponent), ONE, ONE) >= abs(z[2]) - slack


def within_dual(cone, y, slack=ZERO):
    """Whether a vector of decimals is in the dual cone, by the dual cone's own inequality."""
    with localcontext(CONTEXT):
        match cone:
            case Zero():
                return True
            case Exponential():
                u, v, w = y
                if u > 0:
                    return False
                return (v >= -slack and w >= -slack) if u == 0 else -u * (v / u - 1).exp() <= w + slack
            case Power():
                a = Decimal(cone.exponent)
                return _powers(y, a, a, 1 - a) >= abs(y[2]) - slack
            case _:
                return within(cone, y, slack)


def _powers(z, a, one, other):
    """``(x / one)**a * (y / other)**(1 - a)``; minus infinity where x or y is negative."""
    x, y = z[0] / one, z[1] / other
    if x < 0 or y < 0:
        return Decimal("-Infinity")
    return (a * x.ln() + (1 - a) * y.ln()).exp() if x and y else ZERO


def decimals(v):
    """A vector of floats as decimals, exactly."""
    return [Decimal(float(entry)) for entry in np.asarray(v)]
