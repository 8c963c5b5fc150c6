"""Random problems with a term that is known, as oracles and as cvxpy problems."""

import cvxpy as cp
import numpy as np

from oracle_opt import Box, FreeSpace, FunctionOracle, L1Term, NonnegativeOrthant, Polyhedron, QuadraticTerm, Simplex
from oracle_opt.oracles import Composite

KINDS = ("max", "abs", "hinge", "zero")
DOMAINS = ("free", "unbounded", "box", "orthant", "simplex", "polyhedron")
TERMS = ("quadratic", "center", "diagonal", "low rank", "full", "l1", "elastic", "weights", "all")


def drawn(seed):
    """A composite oracle, the same in cvxpy, and its variable; in words, what was drawn."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 12)), int(rng.integers(1, 25))
    z, constraints = cp.Variable(n), []
    A, b = (rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2) for shape in ((m, n), m))
    kind, domain, term = rng.choice(KINDS, p=[0.4, 0.3, 0.25, 0.05]), rng.choice(DOMAINS), rng.choice(TERMS)

    def function(x):
        v = A @ x + b
        if kind == "max":
            return v.max(), A[v.argmax()]
        if kind == "abs":
            return abs(v).sum(), A.T @ np.sign(v)
        return (np.maximum(v, 0).sum(), A.T @ (v > 0)) if kind == "hinge" else (0.0, np.zeros(n))

    of_cvxpy = {"max": cp.max(A @ z + b), "abs": cp.norm1(A @ z + b), "hinge": cp.sum(cp.pos(A @ z + b)), "zero": 0}
    known, h = _term(term, rng, z)
    lower, upper = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    G, g = rng.standard_normal((2, n)), np.abs(rng.standard_normal(2))
    if domain == "unbounded" and not known.curvature:
        domain = "free"
    space = {
        "free": lambda: FreeSpace(n, radius=1e4),
        "unbounded": lambda: FreeSpace(n, radius=np.inf),
        "box": lambda: Box(lower, upper),
        "orthant": lambda: NonnegativeOrthant(n, radius=1e4),
        "simplex": lambda: Simplex(n),
        "polyhedron": lambda: Polyhedron(G, g, lower=lower, upper=upper),
    }[domain]()
    constraints += {
        "box": [z >= lower, z <= upper],
        "orthant": [z >= 0],
        "simplex": [z >= 0, cp.sum(z) == 1],
        "polyhedron": [z >= lower, z <= upper, G @ z <= g],
    }.get(domain, [])
    options = {}
    if domain in ("box", "free") and rng.random() < 0.2:
        normal, side = rng.standard_normal(n), abs(rng.standard_normal())
        options["constraints"] = [lambda x: (normal @ x - side, normal)]
        constraints.append(normal @ z <= side)
    oracle = Composite(FunctionOracle(function, space, **options), known)
    return oracle, cp.Problem(cp.Minimize(of_cvxpy[kind] + h), constraints), z, f"{kind} {domain} {term}"


def _term(name, rng, z):
    """A term, and the same in cvxpy."""
    n, lam, mu = z.size, 10 ** rng.uniform(-4, 3), 10 ** rng.uniform(-3, 1)
    c, d = rng.standard_normal(n), rng.uniform(0, 1, n) * (rng.random(n) < 0.7)
    R = rng.standard_normal((n if name == "full" else 2, n))
    squares = {
        "quadratic": (QuadraticTerm(lam), [z]),
        "center": (QuadraticTerm(lam, c), [z - c]),
        "diagonal": (QuadraticTerm(lam, diagonal=d), [cp.multiply(np.sqrt(d), z)]),
        "low rank": (QuadraticTerm(lam, c, factor=R), [R @ (z - c)]),
        "full": (QuadraticTerm(lam, c, factor=R), [R @ (z - c)]),
        "elastic": (QuadraticTerm(lam), [z]),
        "weights": (QuadraticTerm(lam, c), [z - c]),
        "all": (QuadraticTerm(lam, c, d, R), [cp.multiply(np.sqrt(d), z - c), R @ (z - c)]),
    }
    weights = {"l1": mu, "elastic": mu, "weights": mu * d, "all": mu * d}
    terms, value = [], 0
    if name in squares:
        term, parts = squares[name]
        terms.append(term)
        value += lam / 2 * sum(cp.sum_squares(part) for part in parts)
    if name in weights:
        terms.append(L1Term(weights[name]))
        value += cp.norm1(cp.multiply(np.broadcast_to(weights[name], n), z))
    return (terms[0] if len(terms) == 1 else terms[0] + terms[1]), value
