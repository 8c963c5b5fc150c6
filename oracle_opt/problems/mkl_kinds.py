"""Multiple kernel learning of other kinds: other losses on the simplex, and regularizers on the orthant."""

from oracle_opt.oracles import ElasticNet, LpRegularizer, Regularizer
from oracle_opt.oracles.svm import EpsilonInsensitive, Loss, OneClass, SquaredHinge
from oracle_opt.problems.instance import Problem
from oracle_opt.problems.mkl import mkl_problem, uci_sets
from oracle_opt.problems.problem_family import Family

SETS = ("sonar", "bupa", "heart")
LOSSES: dict[str, Loss] = {
    "squared-hinge": SquaredHinge(C=100.0),
    "regression": EpsilonInsensitive(C=100.0, epsilon=0.1),
    "one-class": OneClass(nu=0.5),
}
REGULARIZERS: dict[str, Regularizer] = {
    "p1.33": LpRegularizer(1.33),
    "p2": LpRegularizer(2.0),
    "elastic-net": ElasticNet(),
}


def _at_hand() -> list[Problem]:
    found = []
    for row in uci_sets():
        if row.name in SETS and row.here:
            name = f"mkl-kinds/{row.name}"
            found += [mkl_problem(row.name, loss=loss, name=f"{name}-{kind}") for kind, loss in LOSSES.items()]
            found += [mkl_problem(row.name, regularizer=r, name=f"{name}-{kind}") for kind, r in REGULARIZERS.items()]
    return found


def _missing() -> dict[str, str]:
    return {
        f"mkl-kinds/{row.name}-{kind}": f"mkl-kinds/{row.name}-{kind} needs a data set that is not here: "
        f"oracle_opt.datasets.load({row.name!r}) says what to do"
        for row in uci_sets()
        if row.name in SETS and not row.here
        for kind in (*LOSSES, *REGULARIZERS)
    }


FAMILY = Family(
    "mkl-kinds",
    "multiple kernel learning with other losses, or regularizers in place of the simplex",
    _at_hand,
    _missing,
)
