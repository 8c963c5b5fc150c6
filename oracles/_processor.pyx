# cython: language_level=3
"""Which build of the compiled loops is imported.

The builds differ in rounding only: fused multiply-adds, and the order of sums. The environment variable
ORACLE_OPT_BASELINE, set to anything before the import, asks for the plain one. Loops that were compiled for the
processor at hand (`HERE`) have the plain names and no other build.
"""

import os

cdef extern from *:
    """
    #if defined(AVX2_BUILT) && defined(__GNUC__)
    static int runs_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    static int runs_avx512(void) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    }
    #else
    static int runs_avx2(void) { return 0; }
    static int runs_avx512(void) { return 0; }
    #endif
    #ifndef BUILT_HERE
    #define BUILT_HERE 0
    #endif
    """
    int BUILT_HERE
    int runs_avx2()
    int runs_avx512()

HERE = bool(BUILT_HERE)
AVX2 = bool(runs_avx2()) and not os.environ.get("ORACLE_OPT_BASELINE")
AVX512 = AVX2 and bool(runs_avx512())
