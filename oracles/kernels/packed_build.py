"""The compiled loops over stacks of packed kernels, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.kernels._packed import (
        combine_block,
        combine_halves,
        pack,
        packed_forms,
        row_products,
        thread_count,
    )
    from oracle_opt.oracles.kernels._pair_rows import (
        pair_products,
        piece_count,
        row_pairs,
        support_pairs,
        weighted_rows,
    )
else:
    from oracle_opt.oracles.kernels._packed_avx2 import (
        combine_block,
        combine_halves,
        pack,
        packed_forms,
        row_products,
        thread_count,
    )
    from oracle_opt.oracles.kernels._pair_rows_avx2 import (
        pair_products,
        piece_count,
        row_pairs,
        support_pairs,
        weighted_rows,
    )

__all__ = [
    "combine_block",
    "combine_halves",
    "pack",
    "packed_forms",
    "pair_products",
    "piece_count",
    "row_pairs",
    "row_products",
    "support_pairs",
    "thread_count",
    "weighted_rows",
]
