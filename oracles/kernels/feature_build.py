"""The compiled loops that write the kernels of `uci_bank`, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2, AVX512

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.kernels._feature_kernels import (
        fill_of_features,
        fill_of_pairs,
        pair_sums,
        quantiles_of_differences,
    )
elif AVX512:
    from oracle_opt.oracles.kernels._feature_kernels_avx512 import (
        fill_of_features,
        fill_of_pairs,
        pair_sums,
        quantiles_of_differences,
    )
else:
    from oracle_opt.oracles.kernels._feature_kernels_avx2 import (
        fill_of_features,
        fill_of_pairs,
        pair_sums,
        quantiles_of_differences,
    )

__all__ = ["fill_of_features", "fill_of_pairs", "pair_sums", "quantiles_of_differences"]
