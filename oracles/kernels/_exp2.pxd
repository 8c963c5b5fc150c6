# Powers of two of numbers that are not positive: what RBF kernels are made of.
#
# t is split into a whole number i, the nearest, and f = t - i, which is exact and at most 1/2 in size. 2^f = 1 + f q(f)
# with q of degree 5 (float) or 10 (double), of least error relative to 2^f (float: 2.6e-9, that is 0.05 u, u = 2^-24
# the unit roundoff; interpolated at Chebyshev points in double: 0.2 u, u = 2^-53). Then i is added to the exponent.
#
# Error. Horner's rule errs by at most 1.4 u |q|, so f q, at most 0.30 (f < 0) or 0.42 (f > 0) in size, by 2.5 u of
# itself, and the last sum by u: at most (2.5 * 0.293 + 0.2 + 0.707) / 0.707 < 2.4 u relative to 2^f. With or without
# fused multiply-adds: they leave roundings out. t = 0 gives exactly 1. Below -125 (-1021) the result is 2^-125
# (2^-1021), and so for NaN. A test compares every float of [-126, 0].

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

cdef inline float exp2_single(float t) noexcept nogil:
    cdef float x = t if t > <float> -125.0 else <float> -125.0
    cdef int32_t i = <int32_t> (x - <float> 0.5), bits
    cdef float f = x - <float> i
    cdef float p = <float> 0.0013406643 + f * <float> 0.00015594678
    p = <float> 0.009617693 + f * p
    p = <float> 0.055503104 + f * p
    p = <float> 0.24022652 + f * p
    p = <float> 0.69314724 + f * p
    p = <float> 1.0 + f * p
    memcpy(&bits, &p, sizeof(float))
    bits += i * (1 << 23)
    memcpy(&p, &bits, sizeof(float))
    return p


cdef inline double exp2_double(double t) noexcept nogil:
    cdef double x = t if t > -1021.0 else -1021.0
    cdef int32_t i = <int32_t> (x - 0.5)
    cdef int64_t bits
    cdef double f = x - <double> i
    cdef double p = 7.072586232005752e-09 + f * 4.4548988848885947e-10
    p = 1.0178062818167215e-07 + f * p
    p = 1.3215442587530811e-06 + f * p
    p = 1.5252733829057703e-05 + f * p
    p = 0.0001540353044173054 + f * p
    p = 0.0013333558146417603 + f * p
    p = 0.009618129107606904 + f * p
    p = 0.05550410866482159 + f * p
    p = 0.24022650695910097 + f * p
    p = 0.6931471805599453 + f * p
    p = 1.0 + f * p
    memcpy(&bits, &p, sizeof(double))
    bits += <int64_t> i * (<int64_t> 1 << 52)
    memcpy(&p, &bits, sizeof(double))
    return p
