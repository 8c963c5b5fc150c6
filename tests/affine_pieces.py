"""The function that most tests minimize: the largest of affine pieces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def largest(slopes: np.ndarray, heights: np.ndarray | float = 0.0) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """``max(slopes @ z + heights)`` and the slope of the first piece that attains it."""

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        values = slopes @ z + heights
        i = int(values.argmax())
        return float(values[i]), slopes[i].copy()

    return function
