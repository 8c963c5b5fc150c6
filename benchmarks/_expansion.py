"""Two-stage programs of the kind that capacity expansion makes: plants and lines now, representative days later."""

import numpy as np
from scipy import sparse

from oracle_opt.oracles import RandomBlock, TwoStageProblem

SHORT = 30.0  # cost of a unit of demand that is not met
RAMP = 0.3  # share of its capacity by which a slow plant may rise in an hour


def expansion(nodes, plants, hours, days, seed):
    """Capacities of plants at nodes and of lines in a ring; each day is a scenario of demands and of sunshine.

    Parameters
    ----------
    nodes, plants : int
        Nodes, and kinds of plants at each: the first ones are cheap to build, and two of them slow; the last one is a
        renewable, whose availability varies.
    hours : int
        Hours of a day.
    days : int
        Scenarios.
    seed : int
        Of the random numbers.
    """
    rng = np.random.default_rng(seed)
    lines = [(i, (i + 1) % nodes) for i in range(nodes if nodes > 2 else 1)]
    G, L = nodes * plants, len(lines)
    build = np.r_[np.tile(np.linspace(4, 1, plants), nodes) * rng.uniform(0.8, 1.2, G), rng.uniform(0.3, 1, L)]
    run = np.tile(np.linspace(0.05, 1.2, plants), nodes) * rng.uniform(0.8, 1.2, G)
    each_hour = sparse.eye_array(hours)

    def block(entries, shape):
        """Entries (row, column, value) for each hour."""
        rows, columns, values = np.array(entries).T
        return sparse.kron(sparse.coo_array((values, (rows.astype(int), columns.astype(int))), shape), each_hour)

    # y: generation, flow along and against each line, shortage; each for every hour
    width = G + 2 * L + nodes
    used = block([(i, i, 1.0) for i in range(G + 2 * L)], (G + 2 * L, width))
    balance = [(g // plants, g, -1.0) for g in range(G)] + [(v, G + 2 * L + v, -1.0) for v in range(nodes)]
    for one, (a, b) in enumerate(lines):
        balance += [(a, G + one, 1.0), (b, G + one, -1.0), (b, G + L + one, 1.0), (a, G + L + one, -1.0)]
    slow = [g for g in range(G) if g % plants < 2]
    rise = sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(hours - 1, hours))
    pick = sparse.coo_array((np.ones(len(slow)), (range(len(slow)), slow)), (len(slow), width))
    W = sparse.vstack([used, block(balance, (nodes, width)), sparse.kron(pick, rise)]).tocsr()
    owner = np.r_[np.arange(G + L), G + np.arange(L)]  # whose capacity bounds generation and flows
    capacity = sparse.coo_array((-np.ones(len(owner)), (range(len(owner)), owner)), (len(owner), G + L))
    ramp = sparse.coo_array((np.full(len(slow), -RAMP), (range(len(slow)), slow)), (len(slow), G + L))
    T = sparse.vstack(
        [
            sparse.kron(capacity, np.ones((hours, 1))),
            sparse.coo_array((nodes * hours, G + L)),
            sparse.kron(ramp, np.ones((hours - 1, 1))),
        ]
    ).tocsr()
    first = (G + 2 * L) * hours  # of the rows of demand
    curve = 1 + 0.5 * np.sin(2 * np.pi * (np.arange(hours) / hours + rng.uniform()))
    mean = rng.uniform(5, 15, nodes)[:, None] * curve
    demand = rng.uniform(0.7, 1.3, (days, nodes, 1)) * rng.uniform(0.9, 1.1, (days, nodes, hours)) * mean
    renewable = np.flatnonzero(np.arange(G) % plants == plants - 1)
    entries = [(g * hours + h, g) for g in renewable for h in range(hours)]
    available = np.clip(rng.beta(1.5, 2.5, (days, len(entries))), 0.01, 1.0)
    day = RandomBlock(
        rng.dirichlet(np.full(days, 5.0)),
        rows=np.arange(first, first + nodes * hours),
        rhs=-demand.reshape(days, -1),
        technology_entries=entries,
        technology=-available,
        name="day",
    )
    cost = np.r_[np.repeat(run, hours), np.full(2 * L * hours, 0.01), np.full(nodes * hours, SHORT)]
    limit = np.r_[np.full(G, 60.0), np.full(L, 40.0)]
    return TwoStageProblem(build, cost, T, W, -np.inf, np.zeros(W.shape[0]), [day], x_upper=limit)


def transport(plants, towns, days, seed):
    """Capacities of plants for random demands, which are served from each plant at a cost."""
    rng = np.random.default_rng(seed)
    cost, demand = rng.uniform(1, 4, (plants, towns)), rng.uniform(5, 25, (days, towns))
    sent, served = np.kron(np.eye(plants), np.ones(towns)), np.kron(np.ones(plants), np.eye(towns))
    return TwoStageProblem(
        rng.uniform(0.8, 1.3, plants),
        np.r_[cost.ravel(), np.full(towns, 10.0)],
        np.vstack([-np.eye(plants), np.zeros((towns, plants))]),
        np.block([[sent, np.zeros((plants, towns))], [-served, -np.eye(towns)]]),
        -np.inf,
        np.zeros(plants + towns),
        [RandomBlock(np.full(days, 1 / days), rows=np.arange(plants, plants + towns), rhs=-demand)],
        x_upper=200.0,
    )
