"""The compiled steps of SMO-MKL, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.mkl._lpmkl import ColumnCache, Elastic, Entropy, LpNorm, Penalty, SquaredNorm, take_steps
else:
    from oracle_opt.oracles.avx2._lpmkl import (
        ColumnCache,
        Elastic,
        Entropy,
        LpNorm,
        Penalty,
        SquaredNorm,
        take_steps,
    )

__all__ = ["ColumnCache", "Elastic", "Entropy", "LpNorm", "Penalty", "SquaredNorm", "take_steps"]
