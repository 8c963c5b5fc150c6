"""The compiled loops over kernels on subsets of the features, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2, AVX512

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.kernels._subsets import SCRATCH, add_weighted_pairs, products, weighted_sum
elif AVX512:
    from oracle_opt.oracles.kernels._subsets_avx512 import SCRATCH, add_weighted_pairs, products, weighted_sum
else:
    from oracle_opt.oracles.kernels._subsets_avx2 import SCRATCH, add_weighted_pairs, products, weighted_sum

__all__ = ["SCRATCH", "add_weighted_pairs", "products", "weighted_sum"]
