"""The compiled loops over kernels that are computed on the fly, in the build for this processor."""

from typing import TYPE_CHECKING

from oracle_opt.oracles._processor import AVX2, AVX512

if TYPE_CHECKING or not AVX2:
    from oracle_opt.oracles.kernels._rbf import (
        add_combined,
        barycentric,
        exp2_of,
        forms,
        products,
        products_across,
        write_entries,
    )
elif AVX512:
    from oracle_opt.oracles.kernels._rbf_avx512 import (
        add_combined,
        barycentric,
        exp2_of,
        forms,
        products,
        products_across,
        write_entries,
    )
else:
    from oracle_opt.oracles.kernels._rbf_avx2 import (
        add_combined,
        barycentric,
        exp2_of,
        forms,
        products,
        products_across,
        write_entries,
    )

__all__ = [
    "add_combined",
    "barycentric",
    "exp2_of",
    "forms",
    "products",
    "products_across",
    "write_entries",
]
