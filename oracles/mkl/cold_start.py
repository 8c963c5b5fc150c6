"""Where a support vector machine on many points starts: at what one on some of them tells."""

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.oracles.mkl.weighted_kernel import WeightedKernel
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable

# Share of the points, and at least how many, on which a machine is solved first; seed of their choice.
SHARE, LEAST_SAMPLE, SEED = 0.1, 1_000, 0
# Relative gap of that machine.
ROUGH = 1e-4
# Share of the sum of its dual variables that is at bounds from which its decision values tell the others.
BOUNDED = 0.5


def cold_start(dual: Separable, pieces: Pieces, kernel: WeightedKernel, most_points: int, max_steps: int) -> Vector:
    """Feasible signed dual variables, ndarray of shape (n,): see docs/theory_machines.md, "The start"."""
    n = pieces.n_points
    m = min(max(LEAST_SAMPLE, int(SHARE * n)), most_points)
    if n < 2 * m:
        return pieces.start()
    chosen = np.sort(np.random.default_rng(SEED).permutation(n)[:m])
    K, b = kernel.block(chosen), np.zeros(n)
    if dual.ridge is None:
        part = dual.part(chosen, n / m)
        found = part.solve(K, start=Pieces(part).start(), accuracy=ROUGH, max_steps=max_steps).signed_dual
        free = part.free(found)
        if np.abs(found[free]).sum() <= (1.0 - BOUNDED) * np.abs(found).sum():
            b[chosen] = found
            return pieces.best_response(kernel.product(b))
    if dual.total != 0.0:
        return pieces.start()
    part = dual.part(chosen)
    b[chosen] = part.solve(part.add_ridge(K), accuracy=ROUGH, max_steps=max_steps).signed_dual
    return b
