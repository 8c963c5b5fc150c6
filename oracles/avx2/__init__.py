"""Compiled loops for processors with AVX2 and FMA: others are refused before such a module is loaded.

The initialization of a module is compiled for these instructions, too, and would end the process by a signal.
"""

from oracle_opt.oracles._processor import AVX2

if not AVX2:
    raise ImportError(
        "this processor has no AVX2 and FMA, or ORACLE_OPT_BASELINE asks for the plain loops; import those"
    )
