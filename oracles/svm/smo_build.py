"""The compiled solver of support vector machines, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.svm._smo import signed_box, solve_signed
else:
    from oracle_opt.oracles.avx2._smo import signed_box, solve_signed

__all__ = ["signed_box", "solve_signed"]
