"""The compiled loops over kernels, in the builds for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2, AVX512

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.kernels import _feature_kernels as feature_loops
    from oracle_opt.oracles.kernels import _packed as packed_loops
    from oracle_opt.oracles.kernels import _pair_rows as pair_loops
    from oracle_opt.oracles.kernels import _rbf as rbf_loops
else:
    from oracle_opt.oracles.avx2 import _packed as packed_loops
    from oracle_opt.oracles.avx2 import _pair_rows as pair_loops

    if AVX512:
        from oracle_opt.oracles.avx512 import _feature_kernels as feature_loops
        from oracle_opt.oracles.avx512 import _rbf as rbf_loops
    else:
        from oracle_opt.oracles.avx2 import _feature_kernels as feature_loops
        from oracle_opt.oracles.avx2 import _rbf as rbf_loops

thread_count = packed_loops.thread_count

__all__ = ["feature_loops", "packed_loops", "pair_loops", "rbf_loops", "thread_count"]
