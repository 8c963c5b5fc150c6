"""Assignments of jobs to agents: by regret, by shifts and swaps, by a small integer program; and proofs of bounds.

Each proof stands once: that jobs fit agents, who serves customers, and that no relaxed solution is better. The numbers
of a certificate are counted in floats with all rounding, or in fractions.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, pairs_of
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.exact_sums import exact
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions

Counts = NDArray[np.int64]
_NEAR = 4  # agents of a job that the integer program may choose from, beside those of the relaxed solutions
_SOME = 1e-9  # shares below this are rounding

Agents = NDArray[np.intp]


def cheap_assignment(
    costs: Matrix, uses: NDArray[np.int64], capacities: NDArray[np.int64], shares: Matrix, prices: Vector, nodes: int
) -> Agents | None:
    """Agent of each job in the cheapest assignment found, which is feasible; None if none was."""
    reduced = costs + prices
    fill = uses / np.maximum(capacities, 1)[:, None]
    unit = float(np.abs(costs).mean()) or 1.0
    # several orders of preference (Martello & Toth 1981); shares weigh most where they are 1
    measures = [costs - 2.0 * unit * shares, costs, costs * fill, fill, costs + unit * fill]
    found = [_by_regret(measure, uses, capacities) for measure in measures]
    found = [_improved(costs, uses, capacities, agents) for agents in found if agents is not None]
    if nodes:
        near = np.zeros(costs.shape, dtype=bool)
        least = np.argsort(reduced, axis=0, kind="stable")[:_NEAR]
        np.put_along_axis(near, least, True, axis=0)
        near |= shares > _SOME
        for agents in found:
            near[agents, np.arange(len(prices))] = True
        agents = _program(costs, uses, capacities, near, nodes)
        if agents is not None:
            found.append(_improved(costs, uses, capacities, agents))
    jobs = np.arange(len(prices))
    return min(found, key=lambda agents: float(costs[agents, jobs].sum()), default=None)


def loads(uses: NDArray[np.int64], agents: Agents) -> NDArray[np.int64]:
    """Resource used of each agent."""
    used = np.zeros(len(uses), dtype=np.int64)
    np.add.at(used, agents, uses[agents, np.arange(len(agents))])
    return used


def _by_regret(measure: Matrix, uses: NDArray[np.int64], capacities: NDArray[np.int64]) -> Agents | None:
    """Assign next the job whose second choice is worst compared with its first, of the agents that have room."""
    m, n = measure.shape
    left, agents = capacities.copy(), np.full(n, -1, dtype=np.intp)
    waiting = np.arange(n)
    while len(waiting):
        fits = uses[:, waiting] <= left[:, None]
        if not fits.any(axis=0).all():
            return None
        open_ones = np.where(fits, measure[:, waiting], np.inf)
        first = open_ones.argmin(axis=0)
        two = np.partition(open_ones, min(1, m - 1), axis=0)[: min(2, m)]
        regret = two[-1] - two[0] if m > 1 else np.zeros(len(waiting))
        k = int(regret.argmax())
        job, agent = waiting[k], first[k]
        agents[job] = agent
        left[agent] -= uses[agent, job]
        waiting = np.delete(waiting, k)
    return agents


def _improved(costs: Matrix, uses: NDArray[np.int64], capacities: NDArray[np.int64], agents: Agents) -> Agents:
    """The best shift of a job or swap of two, as long as one gains."""
    agents, jobs = agents.copy(), np.arange(len(agents))
    tolerance = 1e-12 * float(np.abs(costs).max()) * len(agents)
    while True:
        room = capacities - loads(uses, agents)
        now, used = costs[agents, jobs], uses[agents, jobs]
        shift = np.where(uses <= room[:, None], costs - now, np.inf)
        # job j to the agent of job k, and k to that of j
        there, need = costs[agents], uses[agents]  # entry [k, j]: job j on the agent of k
        swap = (there - now).T + (there - now)
        fits = need - used[:, None] <= room[agents][:, None]
        swap = np.where(fits & fits.T & (agents[:, None] != agents), swap, np.inf)
        if min(shift.min(), swap.min()) >= -tolerance:
            return agents
        if shift.min() <= swap.min():
            i, j = np.unravel_index(shift.argmin(), shift.shape)
            agents[j] = i
        else:
            j, k = np.unravel_index(swap.argmin(), swap.shape)
            agents[j], agents[k] = agents[k], agents[j]


def _program(
    costs: Matrix, uses: NDArray[np.int64], capacities: NDArray[np.int64], near: NDArray[np.bool_], nodes: int
) -> Agents | None:
    """The assignment problem over some pairs, by HiGHS within a number of nodes, which makes it repeatable."""
    from scipy import sparse  # only here: the imports take time
    from scipy.optimize import LinearConstraint, milp

    m, n = costs.shape
    agent, job = np.nonzero(near & (uses <= capacities[:, None]))
    count = len(agent)
    once = sparse.csr_array((np.ones(count), (job, np.arange(count))), shape=(n, count))
    load = sparse.csr_array((uses[agent, job].astype(float), (agent, np.arange(count))), shape=(m, count))
    done = milp(
        costs[agent, job],
        constraints=[LinearConstraint(once, 1.0, 1.0), LinearConstraint(load, ub=capacities.astype(float))],
        integrality=1,
        bounds=(0, 1),
        options={"node_limit": nodes},
    )
    if done.x is None:
        return None
    table = np.zeros((m, n))
    table[agent, job] = done.x
    agents = table.argmax(axis=0)
    return agents if (loads(uses, agents) <= capacities).all() else None


def jobs_of(
    costs: Matrix, uses: Counts, capacities: Counts, witness: Mapping[str, Any], agent: int | None, in_fractions: bool
) -> Examined | None:
    """Cost of jobs that agents do, and how often each is done; of one agent, or of all.

    That agent i does job j is number ``i * n + j`` of the witness. A relaxed solution keeps the capacities.
    """
    m, n = costs.shape
    chosen = pairs_of(witness, (m, n), "agents of jobs", agent)
    if chosen is None:
        return None
    i, j = chosen
    load = np.zeros(m, dtype=np.int64)
    np.add.at(load, i, uses[i, j])
    if (load > capacities).any():
        full = int((load > capacities).argmax())
        raise Refuted(f"agent {full} has the capacity {capacities[full]}, and its jobs use {load[full]}")
    return Examined.paid(costs[i, j], np.bincount(j, minlength=n), in_fractions)


def most_worth(costs: Matrix, uses: Counts, capacities: Counts, u: Vector, sign: int, in_fractions: bool) -> Fraction:
    """Upper bound on ``-sign costs - u`` summed over jobs that fit their agents, by dynamic programming.

    ``best[c]`` is the largest worth of jobs of sizes that add up to at most c; each job is looked at once:
    ``best[c] = max(best[c], best[c - size] + worth)``. In floats worths are rounded up, and a sum of n positive ones is
    too small by at most n - 1 roundings of its own size; fractions are counted in whole numbers of their unit.
    """
    total, rounding = Fraction(0), Fraction(0) if in_fractions else exact(EPS) * (len(u) + 2)
    worths = ((Fractions if in_fractions else Floats).of(-sign * costs) - u).above()
    for row, sizes, capacity in zip(worths, uses, capacities.tolist(), strict=True):
        unit = max(one.denominator for one in row) if in_fractions else 1  # all are powers of two
        wanted = (row > 0) & (sizes <= capacity)
        worth = np.array([int(one * unit) for one in row[wanted]], dtype=object) if in_fractions else row[wanted]
        total += Fraction(_best(worth, sizes[wanted].tolist(), capacity)) / unit
    return total * (1 + rounding)


def _best(worth: NDArray[Any], sizes: list[int], capacity: int) -> Any:
    """The largest worth, in the arithmetic of the worths; sums of floats by additions alone."""
    capacity = min(capacity, sum(sizes))
    best = np.zeros(capacity + 1, dtype=worth.dtype)
    for w, s in zip(worth, sizes, strict=True):
        best[s:] = np.maximum(best[s:], best[: len(best) - s] + w)
    return best[-1]


def customers_of(
    opening: Vector, costs: Matrix, witness: Mapping[str, Any], facility: int | None, in_fractions: bool
) -> Examined | None:
    """Cost of facilities that serve customers, and how often each is served; of one facility, or of all.

    That facility i serves customer j is number ``i * n + j`` of the witness. Any choice is a relaxed solution: a
    facility that serves somebody is open.
    """
    served = pairs_of(witness, costs.shape, "facilities of customers", facility)
    if served is None:
        return None
    i, j = served
    paid = np.r_[costs[i, j], opening[np.unique(i)]]
    return Examined.paid(paid, np.bincount(j, minlength=costs.shape[1]), in_fractions)


def least_cost(opening: Vector, costs: Matrix, u: Vector, in_fractions: bool) -> Bound:
    """Lower bound on the cost of any relaxed solution with prices u: ``sum_i min(0, f_i + sum_j min(0, c_ij + u_j))``.

    A facility serves those who pay for it and opens if that earns its opening cost: this is the optimum itself, in
    floats less what its sums may have been rounded.
    """
    numbers = Fractions if in_fractions else Floats
    earned = (numbers.of(costs) + u).minimum(0.0).sum(axis=1)
    bound: Bound = (earned + opening).minimum(0.0).sum().below()
    return bound
