"""The compiled loops over stacks of packed kernels, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.kernels._packed import (
        combine_halves,
        pack,
        packed_forms,
        piece_count,
        row_products,
        support_pairs,
        thread_count,
        transpose,
        weighted_rows,
    )
else:
    from oracle_opt.oracles.kernels._packed_avx2 import (
        combine_halves,
        pack,
        packed_forms,
        piece_count,
        row_products,
        support_pairs,
        thread_count,
        transpose,
        weighted_rows,
    )

__all__ = [
    "combine_halves",
    "pack",
    "packed_forms",
    "piece_count",
    "row_products",
    "support_pairs",
    "thread_count",
    "transpose",
    "weighted_rows",
]
