"""Random kernels in long double, and the same kernels as banks of each kind and precision."""

from dataclasses import dataclass

import numpy as np

from oracle_opt.oracles import GramBank, JoinedBank, KernelBank, PolynomialBank, RBFBank, ShardedBank


@dataclass
class Kernels:
    """A bank, and what its kernels are.

    Attributes
    ----------
    name : str
        What the bank is.
    bank : KernelBank
        p kernels on n points.
    meant : ndarray of long double, shape (p, n, n)
        The kernels.
    stored : ndarray of long double, shape (p, n, n)
        The kernels that a store in single precision holds; else those that are meant.
    """

    name: str
    bank: KernelBank
    meant: np.ndarray
    stored: np.ndarray


def points(rng):
    """Random points: some twice, of few values, or far from the origin; and how far."""
    n, d = int(rng.integers(4, 22)), int(rng.integers(1, 6))
    if rng.random() < 0.1:
        n = int(rng.integers(66, 80))  # more than banks keep tables of
    X = rng.normal(size=(n, d))
    if rng.random() < 0.2:
        X = np.round(X)
    if rng.random() < 0.2:
        X[n // 2 :] = X[: n - n // 2]
    far = float(rng.choice([0.0, 0.0, 1e3, 1e6]))
    X = X * 10.0 ** rng.choice([0.0, 0.0, -3.0, 3.0]) + far
    X[0] = X[1] + X.std() + 1e-3 * abs(far)
    return X, far


def squares(X, features):
    """Squared distances on some columns, in long double."""
    Z = X[:, features].astype(np.longdouble)
    return ((Z[:, None] - Z[None]) ** 2).sum(axis=2)


def gaussians(X, features, widths, scale):
    """Gaussian kernels of lists of columns, each with its widths, in long double."""
    found = []
    for some, of in zip(features, widths, strict=True):
        D = squares(X, some)
        found += [scale * np.exp(-D / (2 * np.longdouble(s) ** 2)) for s in of]
    return np.array(found)


def columns(rng, d):
    """All columns, and some of them alone."""
    return [list(range(d)), *([k] for k in range(min(d, int(rng.integers(0, 3)))))]


def widths_of(rng, X, features):
    """Widths around the spread of the points, perhaps many."""
    spread = np.sqrt(np.mean(squares(X, features).astype(float))) + 1e-300
    return spread * np.sort(10.0 ** rng.uniform(-1, 1, int(rng.choice([1, 2, 3, 12]))))


def rbf(rng, X):
    """`RBFBank`, in either precision."""
    features = columns(rng, X.shape[1])
    widths = [widths_of(rng, X, some) for some in features]
    dtype = np.float32 if rng.random() < 0.5 else np.float64
    scale = float(rng.choice([1.0, 1.0 / len(X)]))
    K = gaussians(X, features, widths, scale)
    return Kernels(f"rbf {np.dtype(dtype)}", RBFBank(X, features, widths, dtype=dtype, scale=scale), K, K)


def polynomials(rng, X):
    """`PolynomialBank`, scaled by the trace."""
    features, degrees = columns(rng, X.shape[1]), [1, 2, 3][: int(rng.integers(1, 4))]
    K = []
    for some in features:
        Z = X[:, some].astype(np.longdouble)
        K += [(1 + Z @ Z.T) ** t for t in degrees]
    scales = np.array([len(X) / float(np.trace(one)) for one in K])
    K = np.array([one * np.longdouble(s) for one, s in zip(K, scales, strict=True)])
    return Kernels("polynomials", PolynomialBank(X, features, [degrees] * len(features), scale=scales), K, K)


def matrices(rng, X):
    """Matrices of all kinds: of rank one, of low rank, the identity, Gaussians, of different sizes."""
    n, found = len(X), []
    Z = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-300)
    while len(found) < int(rng.integers(2, 6)):
        v = rng.normal(size=(n, 1))
        kinds = {
            "one": lambda v=v: v @ v.T,
            "column": lambda: np.outer(Z[:, 0], Z[:, 0]),
            "raw": lambda: X @ X.T,
            "identity": lambda: np.eye(n),
            "constant": lambda: np.ones((n, n)),
            "blocks": lambda: np.kron(np.eye(n), np.ones((3, 3)))[:n, :n],
            "rbf": lambda: np.exp(-squares(Z, slice(None)).astype(float) * 10.0 ** rng.uniform(-2, 1)),
        }
        K = kinds[str(rng.choice(list(kinds)))]()
        if np.trace(K) > 0:
            found.append(K * 10.0 ** rng.choice([0.0, 0.0, 0.0, -3.0, 3.0]) / np.abs(K).max())
    return np.array(found)


def grams(rng, X):
    """`GramBank` of matrices in either precision, as given and as kept, perhaps normalized."""
    K = matrices(rng, X)
    given, kept = (np.float32 if rng.random() < 0.4 else np.float64 for _ in range(2))
    normalize = bool(rng.random() < 0.3)
    bank = GramBank(K.astype(given), dtype=kept, normalize=normalize)
    meant = K.astype(np.longdouble) * bank.scales.astype(np.longdouble)[:, None, None]
    stored = np.moveaxis(bank.entries(np.arange(len(X)), np.arange(len(X))), 2, 0).astype(np.longdouble)
    return Kernels(f"gram {np.dtype(given)} in {np.dtype(kept)}", bank, meant, stored)


BANKS = (grams, grams, rbf, polynomials)


def joined(one, two):
    """Two banks as one."""
    return Kernels(
        f"{one.name} and {two.name}",
        JoinedBank([one.bank, two.bank]),
        np.concatenate([one.meant, two.meant]),
        np.concatenate([one.stored, two.stored]),
    )


def some_points(rng, of):
    """A view of some of the points, in another order; the first two stay."""
    n = of.bank.n_points
    chosen = np.r_[0, 1, 2 + rng.permutation(n - 2)[: max(2, (n - 2) // 2)]]
    grid = np.ix_(range(of.bank.n_kernels), chosen, chosen)
    return Kernels(f"{of.name}, some points", of.bank.on(chosen), of.meant[grid], of.stored[grid])


def some_kernels(rng, of):
    """A view of some of the kernels, in another order."""
    p = of.bank.n_kernels
    chosen = rng.permutation(p)[: max(1, p // 2)]
    return Kernels(f"{of.name}, some kernels", of.bank.subset(chosen), of.meant[chosen], of.stored[chosen])


def sharded(of):
    """The same, priced in parts."""
    if of.bank.n_kernels < 2:
        return of
    return Kernels(f"{of.name}, sharded", ShardedBank(of.bank, parts=2), of.meant, of.stored)


def kernels(rng):
    """Random kernels as a random bank, and the points."""
    X, far = points(rng)
    made = BANKS[rng.integers(len(BANKS))](rng, X)
    if rng.random() < 0.2:
        made = joined(made, BANKS[rng.integers(len(BANKS))](rng, X))
    if rng.random() < 0.15:
        made = some_points(rng, made)
    if rng.random() < 0.15:
        made = some_kernels(rng, made)
    if rng.random() < 0.1:
        made = sharded(made)
    return made, f"{made.name}, {far:g} from 0"
