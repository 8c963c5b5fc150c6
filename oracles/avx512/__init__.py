"""Compiled loops for processors with AVX-512: others are refused before such a module is loaded.

The initialization of a module is compiled for these instructions, too, and would end the process by a signal.
"""

from oracle_opt.oracles._processor import AVX512

if not AVX512:
    raise ImportError("this processor has no AVX-512, or ORACLE_OPT_BASELINE asks for the plain loops; import those")
