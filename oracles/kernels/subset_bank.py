"""RBF kernels on random sets of features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.points import checked_points
from oracle_opt.oracles.kernels.rbf import RBFBank
from oracle_opt.words import shown


class SubsetBank(RBFBank):
    """Kernels ``scale * exp(-D / (2 s**2))``, D the squared distances on features of the kernel's own, s its width.

    An `RBFBank` with one width for each set of features, which may be drawn at random.

    Parameters
    ----------
    X : array_like or sparse array of shape (n, columns)
        The points, finite.
    features : sequence of p array_like of int, or array_like of bool, shape (p, columns)
        Columns a kernel looks at, at least one, none twice.
    widths : float or array_like of shape (p,)
        Widths s, positive, in units of X.
    scale : float, optional
        Factor of all kernels. Default: 1 / n, for unit trace.

    Raises
    ------
    InvalidArgument
        Points, features or widths that cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import SubsetBank
    >>> bank = SubsetBank(np.array([[0.0, 1.0], [1.0, 1.0]]), [[0, 1], [1]], [1.0, 2.0], scale=1.0)
    >>> bank.entries([0], [1]).round(3).tolist()
    [[[0.607, 1.0]]]
    """

    def __init__(
        self,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        features: Sequence[ArrayLike] | NDArray[np.bool_],
        widths: ArrayLike,
        *,
        scale: float | None = None,
    ) -> None:
        if not isinstance(features, Sequence | np.ndarray):
            raise InvalidArgument(f"`features` must be a set of columns for each kernel, got {shown(features)}")
        masks = isinstance(features, np.ndarray) and features.dtype == bool
        sets: list[ArrayLike] = [np.flatnonzero(one) if masks else one for one in features]
        s = floats("widths", widths)
        s = np.full(len(sets), s) if s.ndim == 0 else s
        if s.shape != (len(sets),):
            raise InvalidArgument(f"`widths` must be a number for each of `features`, {len(sets)}, got shape {s.shape}")
        super().__init__(X, sets, s[:, None].tolist(), scale=scale)

    @classmethod
    def random(
        cls,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        n_kernels: int,
        *,
        largest: int | None = None,
        widths: tuple[float, float] = (0.3, 2.0),
        seed: int = 0,
        scale: float | None = None,
    ) -> SubsetBank:
        """Draw `n_kernels` kernels on random subsets of the features of `X` that are not constant, by `seed`.

        The number of features of a kernel is drawn evenly from 1 to `largest`; default: half of those that are not
        constant, rounded up. A width is drawn evenly between these multiples, `widths`, of the root of the mean squared
        distance of two points on the kernel's features. `scale` is as for the class.
        """
        points = checked_points(X, "X")
        points = points.toarray() if sparse.issparse(points) else np.asarray(points)
        spread, rng = 2.0 * points.var(axis=0), np.random.default_rng(whole("seed", seed, 0))
        varied = np.flatnonzero(points.max(axis=0) > points.min(axis=0))
        most = whole("largest", (varied.size + 1) // 2 if largest is None else largest, 0)
        if not 1 <= most <= varied.size:
            raise InvalidArgument(
                f"`largest` must be from 1 to {varied.size}, the number of columns that vary, got {most}"
            )
        ends = floats("widths", widths)
        if ends.shape != (2,) or not 0.0 < ends[0] <= ends[1] < np.inf:
            raise InvalidArgument(f"`widths` must be two positive numbers in order, got {shown(widths)}")
        count = whole("n_kernels", n_kernels)
        chosen = [np.sort(rng.choice(varied, rng.integers(1, most + 1), replace=False)) for _ in range(count)]
        s = [rng.uniform(*ends) * np.sqrt(spread[of].sum()) for of in chosen]
        return cls(X, chosen, s, scale=scale)
