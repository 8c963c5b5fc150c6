"""Cuts that hold something in every field, and whether two cuts hold the same."""

import dataclasses

import numpy as np
from scipy import sparse

from oracle_opt import AffineMatrix, Curvature, Eigenpairs, FeasibilityCut, ObjectiveCut


def full_objective_cut(rng: np.random.Generator, n: int = 4, depth: int = 1) -> ObjectiveCut:
    """All fields are other than by default, inner cuts have theirs down to the depth."""
    inner = tuple(full_objective_cut(rng, n, depth - 1) for _ in range(2)) if depth else ()
    root = rng.normal(size=(3, 3))
    A = [sparse.csr_array(np.diag(row)) for row in rng.normal(size=(n, 3))]
    matrix = AffineMatrix.of(sparse.csr_array(root + root.T), A)
    return ObjectiveCut(
        point=rng.normal(size=n),
        value=rng.normal(),
        subgradient=rng.normal(size=n),
        error=rng.uniform(),
        lower_bound=rng.normal(),
        summands=inner,
        extras={"a/b": rng.normal(size=(2, 2)), "n": 3, "on": True, "x.npy": 0.5, "words": np.array(["a", "bc"])},
        further=inner[::-1],
        answers=(
            Eigenpairs(matrix, rng.uniform(), rng.normal(size=n), rng.normal(size=2), rng.normal(size=(3, 2))),
            Curvature(rng.normal(size=(2, n))),
        ),
    )


def full_feasibility_cut(rng: np.random.Generator, n: int = 4, depth: int = 1) -> FeasibilityCut:
    """As for an objective cut."""
    inner = tuple(full_feasibility_cut(rng, n, depth - 1) for _ in range(2)) if depth else ()
    ray = {"ray": rng.normal(size=n)}
    return FeasibilityCut(rng.normal(size=n), rng.uniform(), rng.normal(size=n), inner, ray, rng.uniform())


def assert_same_cut(one, other) -> None:
    """Every field, bit by bit, of cuts, summands and whatever is in them."""
    assert type(one) is type(other)
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, tuple):
            assert len(a) == len(b), field.name
            for inner in zip(a, b, strict=True):
                assert_same_cut(*inner)
        elif dataclasses.is_dataclass(a):
            assert_same_cut(a, b)
        elif isinstance(a, AffineMatrix):
            for name, array in a.arrays().items():
                np.testing.assert_array_equal(b.arrays()[name], array)
            np.testing.assert_array_equal(
                a.at(np.ones(a.entries.shape[1])).toarray(), b.at(np.ones(a.entries.shape[1])).toarray()
            )
        elif field.name == "extras":
            assert list(a) == list(b)
            for name in a:
                np.testing.assert_array_equal(a[name], b[name])
                assert np.asarray(a[name]).dtype == np.asarray(b[name]).dtype
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)
