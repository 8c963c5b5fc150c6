"""The meaning of `norm=`: the oracle of the problem, and its default generator."""

from collections.abc import Sequence
from copy import deepcopy
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from oracle_opt import QueryPointGenerator
from oracle_opt.arguments import instance, real
from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.generators import SPG, choose_generator
from oracle_opt.oracle import Oracle
from oracle_opt.oracles import (
    GMKLOracle,
    LpRegularizer,
    MixedNormOracle,
    MKLOracle,
    NewtonMKL,
    ProductBank,
    Regularizer,
    SharedWeightsOracle,
)
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights
from oracle_opt.oracles.svm import Loss
from oracle_opt.words import shown

Norm = float | str | Regularizer
NAMES = ("mixed", "product")
INWARDS = 0.2  # of 0, 0.01, 0.1, 0.3, 0.6 the values around it took the fewest calls on paths in C on three sets


def checked_norm(norm: Any) -> Norm:
    """Return the norm: a number of at least 1, one of the names, or a regularizer."""
    if isinstance(norm, Regularizer):
        return norm
    if isinstance(norm, str):
        if norm in NAMES:
            return norm
        near = get_close_matches(norm, NAMES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument(
            f"`norm` must be a number of at least 1, 'mixed', 'product' or a Regularizer, got {norm!r}{hint}"
        )
    if not isinstance(norm, Real) or isinstance(norm, bool):
        called = f"; call it: {norm.__name__}()" if isinstance(norm, type) and issubclass(norm, Regularizer) else ""
        raise InvalidArgument(
            "`norm` must be a number of at least 1, 'mixed', 'product' or a Regularizer such as ElasticNet(), got "
            f"{shown(norm)}{called}"
        )
    return real("norm", norm, least=1.0)


def make_oracle(
    norm: Norm, bank: KernelBank | ProductBank, y: Vector | None, loss: Loss, memory_budget: int
) -> KernelWeightsOracle:
    """Return the oracle of one machine."""
    if isinstance(bank, ProductBank):
        return GMKLOracle(bank, y, LpRegularizer(1.0, power=1.0), loss=loss, memory_budget=memory_budget)
    if isinstance(norm, Regularizer):
        return GMKLOracle(bank, y, norm, loss=loss, memory_budget=memory_budget)
    if norm == "mixed":
        return MixedNormOracle(bank, y, loss, groups=numbers_of_groups(bank.groups), memory_budget=memory_budget)
    if norm == 1.0:
        return MKLOracle(bank, y, loss, memory_budget=memory_budget)
    assert isinstance(norm, float)
    return GMKLOracle(bank, y, LpRegularizer(norm), loss=loss, memory_budget=memory_budget)


def check_shared(norm: Norm) -> None:
    """Raise `InvalidArgument` where machines cannot share the weights of their kernels under a norm."""
    if isinstance(norm, str):
        why = {
            "mixed": "with mixed norms the machine of each class has weights of its groups of its own",
            "product": "the kernel of a product is no sum, and no bound would be proven",
        }[norm]
        raise InvalidArgument(
            f"`shared_weights` must be False with norm={norm!r}: {why}; take norm=1.0, "
            "a number above 1 or a Regularizer"
        )


def make_shared_oracle(norm: Norm, machines: Sequence[MKLOracle]) -> SharedWeightsOracle:
    """Return the oracle of machines that share the weights of their kernels."""
    assert not isinstance(norm, str)
    regularizer = norm if isinstance(norm, Regularizer) else None if norm == 1.0 else LpRegularizer(norm)
    return SharedWeightsOracle(machines, regularizer)


def numbers_of_groups(groups: Sequence[str]) -> list[list[int]]:
    """Numbers of the kernels of each group, groups in the order of their first kernels."""
    found: dict[str, list[int]] = {}
    for k, group in enumerate(groups):
        found.setdefault(group, []).append(k)
    return list(found.values())


def kernel_weights(oracle: Oracle, cut: ObjectiveCut) -> Vector:
    """Weights of the kernels in the machine that answered a cut, ndarray of shape (p,)."""
    weights = cut.extras["kernel_weights"] if isinstance(oracle, MixedNormOracle) else cut.point
    positive: Vector = np.maximum(np.asarray(weights, dtype=float), 0.0)
    return positive


def own_generator(generator: Any, oracle: Oracle, rtol: float) -> QueryPointGenerator:
    """Return the generator of a run: a copy of the one given, or the one that suits the oracle.

    `NewtonMKL` for smooth duals, `SPG` for mixed norms and for shared weights under a regularizer, whose sum is smooth;
    else that of `choose_generator`.
    """
    if generator is not None:
        return deepcopy(checked_generator(generator))
    problem = oracle.domain.problem if isinstance(oracle.domain, KernelWeights) else None
    if problem is None:
        shared = isinstance(oracle, SharedWeightsOracle) and oracle.regularizer is not None
        return SPG() if shared or isinstance(oracle, MixedNormOracle) else choose_generator(oracle)
    solver = NewtonMKL()
    if solver.refusal_of(problem):  # the user's own regularizer has no penalty that its fallback knows
        solver = NewtonMKL(fallback=None)
    solver.rtol = rtol
    return solver


def checked_generator(generator: Any) -> QueryPointGenerator:
    """Return a generator, made of words where these are given, or raise `InvalidArgument` if it is none."""
    if isinstance(generator, str):
        from oracle_opt.study.methods import generator_of

        return generator_of(generator)
    kind: type[Any] = QueryPointGenerator
    return instance("generator", generator, kind, "a generator such as LevelSet(), or None")  # type: ignore[no-any-return]


def start_of(oracle: Oracle, previous: Vector | None) -> Vector | None:
    """Where to start: where the problem says, or near the end of the last run, mixed with `INWARDS` equal weights."""
    domain = oracle.domain
    if previous is not None and previous.shape == (domain.dimension,) and domain.contains(previous):
        if domain.simplices() is None:
            return previous
        return (1.0 - INWARDS) * previous + INWARDS * domain.interior_point()
    problem = domain.problem if isinstance(domain, KernelWeights) else None
    return None if problem is None else problem.dual.start()
