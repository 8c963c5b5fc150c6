# cython: language_level=3
"""Which build of the compiled loops is imported.

The two builds differ in rounding only: fused multiply-adds, and the order of sums. The environment variable
ORACLE_OPT_BASELINE, set to anything before the import, asks for the plain one.
"""

import os

cdef extern from *:
    """
    #if defined(AVX2_BUILT) && defined(__GNUC__)
    static int runs_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    #else
    static int runs_avx2(void) { return 0; }
    #endif
    """
    int runs_avx2()

AVX2 = bool(runs_avx2()) and not os.environ.get("ORACLE_OPT_BASELINE")
