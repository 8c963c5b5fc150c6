"""Risk measures of two-stage programs, as programs of the same form."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from oracle_opt.arguments import instance, real
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

VALUE, EXCESS = "value at risk", "excess of the value at risk"  # names of what is added


@dataclass(frozen=True)
class CVaR:
    """Conditional value at risk: the mean cost of the worst scenarios, those beyond `level`, and the mean of all.

    The second stage's cost Q counts as ``(1 - weight) * E[Q] + weight * CVaR(Q)`` with

        ``CVaR(Q) = min_t t + E[max(Q - t, 0)] / (1 - level)``.

    The first stage gets the variable t, "value at risk", and each scenario one for the excess, with the row ``excess >=
    Q - t``. Of a maximization it is the worst profits that count.

    Parameters
    ----------
    level : float
        Share of scenarios that are not the worst ones, between 0 and 1, such as 0.9.
    weight : float
        Of the risk beside the mean, above 0 and at most 1; default 1, the risk alone.

    Raises
    ------
    InvalidArgument
        Numbers out of range.

    References
    ----------
    Rockafellar & Uryasev (2000), "Optimization of conditional value-at-risk".

    Examples
    --------
    >>> from oracle_opt import minimize
    >>> from oracle_opt.oracles import BendersOracle, CVaR, RandomBlock, TwoStageProblem
    >>> demand = RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
    >>> shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -float("inf"), [0, 2], [demand], x_upper=10)
    >>> minimize(BendersOracle(shop, risk=CVaR(0.5))).point[0].round(6).item()
    2.0
    """

    level: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        real("level", self.level, above=0.0, below=1.0)
        real("weight", self.weight, above=0.0, most=1.0)

    def of(self, problem: TwoStageProblem) -> TwoStageProblem:
        """Return the program whose expected cost is this measure of another one's.

        Parameters
        ----------
        problem : TwoStageProblem
            Whose second stage is one, without sections.

        Returns
        -------
        TwoStageProblem
            With one variable more in each stage and one row more in the second.
        """
        instance("problem", problem, TwoStageProblem, "a TwoStageProblem")
        if problem.sections is not None:
            raise InvalidArgument("`risk` needs a second stage that is not cut into blocks, as it joins them all")
        m, mean = problem.T.shape[0], 1.0 - self.weight
        corner = sparse.csr_array(([1.0], ([0], [0])), shape=(1, 1))
        made = TwoStageProblem(
            np.r_[problem.c, self.weight],
            np.r_[mean * problem.q, self.weight / (1.0 - self.level)],
            sparse.csr_array(sparse.block_diag([problem.T, corner])),
            sparse.csr_array(sparse.bmat([[problem.W, None], [sparse.csr_array(-problem.q[None]), corner]])),
            np.r_[problem.row_lower, 0.0],
            np.r_[problem.row_upper, np.inf],
            [self._of_block(block, m, mean) for block in problem.blocks],
            A=sparse.csr_array(sparse.hstack([problem.A, np.zeros((problem.A.shape[0], 1))])),
            first_lower=problem.first_lower,
            first_upper=problem.first_upper,
            x_lower=np.r_[problem.x_lower, _least(problem)],
            x_upper=np.r_[problem.x_upper, np.inf],
            y_lower=np.r_[problem.y_lower, 0.0],
            y_upper=np.r_[problem.y_upper, np.inf],
            offset=problem.offset,
            names=[*problem.names, VALUE],
            row_names=[*problem.row_names, EXCESS],
            column_names=[*problem.column_names, EXCESS],
            first_row_names=problem.first_row_names,
            maximize=problem.maximize,
        )
        made.n_whole = problem.n_whole
        return made

    def _of_block(self, block: RandomBlock, row: int, mean: float) -> RandomBlock:
        """Costs that vary stand in the row of the excess, too."""
        assert block.cost is not None
        assert block.recourse is not None
        places = np.column_stack([np.full(len(block.cost_columns), row), block.cost_columns])
        return replace(
            block,
            cost=mean * block.cost,
            recourse_entries=np.concatenate([block.recourse_entries, places]),
            recourse=np.hstack([block.recourse, -block.cost]),
        )


def _least(problem: TwoStageProblem) -> float:
    """What the second stage costs at least, by the bounds of its variables alone."""
    costs: list[Vector] = [problem.q]
    for block in problem.blocks:
        for cost in np.asarray(block.cost):
            changed = problem.q.copy()
            changed[block.cost_columns] = cost
            costs.append(changed)
    each = np.array(costs)
    with np.errstate(invalid="ignore"):
        ends = np.array([each * problem.y_lower, each * problem.y_upper])
    ends[np.isnan(ends)] = 0.0
    return float(ends.min(axis=(0, 1)).sum())
