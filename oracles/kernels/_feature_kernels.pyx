# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lower halves of the kernels of `uci_bank`, written straight into a kernel-major stack.

A half is the vector with entry (i, j), j <= i, at ``i (i + 1) / 2 + j``. A group of kernels looks at the same features:
first the Gaussians, ``exp(-D / (2 s^2))`` of squared distances D, then the powers ``(1 + P)^k``, k = 1, 2, .., of inner
products P. Every entry is computed by itself, so the number of threads moves no bit of it.

Exponentials are powers of two: ``exp(-D / (2 s^2)) = 2^t`` with ``t = -D log2(e) / (2 s^2)``, which is n + r with n whole
and abs(r) <= 1/2; 2^r is a polynomial of degree 11, wrong by 2e-17 at most. An entry is at most 1, and what counts is
its error as compared with 1, the entry of a point with itself. With u = 2^-53, t is wrong by at most 2 u abs(t), hence 2^t
by ``2 u abs(t) log(2) 2^t <= 0.74 u``; r = t - n is exact; the polynomial, q(r) r + 1 with abs(q(r) r) <= 0.42, is wrong by
at most 3 u relative to itself. All that is below 4 u = 4.5e-16, and at D = 0 the value is exactly 1. Exponents below -900
count as -900: an entry of 1e-271 stands for 0.
"""

from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t
from libc.string cimport memcpy

# The loops over exponentials are compiled once more for processors with AVX-512: the same operations on each number,
# hence the same bits as with AVX2, in half the time.
cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define ROUNDER 6755399441055744.0  /* 1.5 * 2^52: adding it rounds to whole numbers, which are the low bits then */

    #ifdef __GNUC__
    #define ALWAYS_INLINE static inline __attribute__((always_inline))
    #else
    #define ALWAYS_INLINE static inline
    #endif

    /* 2^t times what the coefficients were multiplied by, for t <= 0 */
    ALWAYS_INLINE double two_to_the(double t, const double *c) {
        double moved, r, square, even, odd, power;
        uint64_t bits, whole;
        t = t < -900.0 ? -900.0 : t;
        moved = t + ROUNDER;
        r = t - (moved - ROUNDER);
        square = r * r;
        even = c[10];                  odd = c[11];
        even = even * square + c[8];   odd = odd * square + c[9];
        even = even * square + c[6];   odd = odd * square + c[7];
        even = even * square + c[4];   odd = odd * square + c[5];
        even = even * square + c[2];   odd = odd * square + c[3];
        even = even * square + c[0];   odd = odd * square + c[1];
        power = odd * r + even;
        memcpy(&bits, &power, sizeof bits);
        memcpy(&whole, &moved, sizeof whole);
        bits += whole << 52;
        memcpy(&power, &bits, sizeof power);
        return power;
    }

    #define GAUSSIANS(name, target, type) \\
    target static void name(const double *D, double rate, const double *coefficients, type *out, Py_ssize_t count) { \\
        double c[12]; \\
        Py_ssize_t e; \\
        memcpy(c, coefficients, sizeof c); \\
        for (e = 0; e < count; e++) out[e] = (type) two_to_the(D[e] * rate, c); \\
    }

    GAUSSIANS(gaussians_double, , double)
    GAUSSIANS(gaussians_float, , float)

    #if defined(__GNUC__) && defined(__AVX2__) && defined(__FMA__)
    #define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
    GAUSSIANS(wide_gaussians_double, AVX512, double)
    GAUSSIANS(wide_gaussians_float, AVX512, float)
    static int runs_avx512(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
            && __builtin_cpu_supports("avx512vl");
    }
    #else
    #define wide_gaussians_double gaussians_double
    #define wide_gaussians_float gaussians_float
    static int runs_avx512(void) { return 0; }
    #endif
    """
    void gaussians_double(const double*, double, const double*, double*, Py_ssize_t) noexcept nogil
    void gaussians_float(const double*, double, const double*, float*, Py_ssize_t) noexcept nogil
    void wide_gaussians_double(const double*, double, const double*, double*, Py_ssize_t) noexcept nogil
    void wide_gaussians_float(const double*, double, const double*, float*, Py_ssize_t) noexcept nogil
    int runs_avx512()

ctypedef fused stored:
    float
    double

cdef bint WIDE = runs_avx512()

# Of 2^r on [-1/2, 1/2]: 1 + r q(r), q through (2^r - 1) / r at the 11 Chebyshev nodes.
cdef double[12] TWO_TO_THE = [
    1.0, 0.6931471805599453, 0.24022650695910097, 0.0555041086648216, 0.009618129107606888, 0.0013333558146416936,
    0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06, 1.0178062445845774e-07, 7.072585949269223e-09,
    4.4549605981865186e-10,
]


cdef void gaussians(
    const double* squares, double rate, const double* coefficients, stored* out, Py_ssize_t count,
) noexcept nogil:
    if stored is double:
        if WIDE:
            wide_gaussians_double(squares, rate, coefficients, out, count)
        else:
            gaussians_double(squares, rate, coefficients, out, count)
    else:
        if WIDE:
            wide_gaussians_float(squares, rate, coefficients, out, count)
        else:
            gaussians_float(squares, rate, coefficients, out, count)


cdef void powers(const double* bases, int degree, double scale, stored* out, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t e
    cdef double base, power
    cdef int k
    if degree == 1:
        for e in range(count):
            out[e] = <stored> (scale * bases[e])
    elif degree == 2:
        for e in range(count):
            out[e] = <stored> (scale * (bases[e] * bases[e]))
    elif degree == 3:
        for e in range(count):
            out[e] = <stored> (scale * (bases[e] * bases[e] * bases[e]))
    else:
        for e in range(count):
            base = bases[e]
            power = base
            for k in range(1, degree):
                power *= base
            out[e] = <stored> (scale * power)


# One kernel: a Gaussian of this rate, or the power of this degree. Of a row whose point equals an earlier one, its twin,
# all entries but the last ones are those of the earlier row.
cdef void fill_half(
    const double* terms, double rate, int degree, double scale, const int32_t* twins, Py_ssize_t n, stored* half,
) noexcept nogil:
    cdef double[12] coefficients
    cdef Py_ssize_t i, c, first, known, start = 0, size = n * (n + 1) // 2
    for c in range(12):
        coefficients[c] = scale * TWO_TO_THE[c]
    for i in range(n + 1):
        first = i * (i + 1) // 2
        if i == n or twins[i] >= 0:
            if degree:
                powers(terms + start, degree, scale, half + start, first - start)
            else:
                gaussians(terms + start, rate, coefficients, half + start, first - start)
            if i < n:
                known = twins[i] + 1
                memcpy(half + first, half + (known - 1) * known // 2, known * sizeof(stored))
                start = first + known


# All kernels of a group.
cdef void fill_group(
    const double* squares, const double* bases, const double* rates, Py_ssize_t n_rates, const double* scales,
    const int32_t* twins, Py_ssize_t n, Py_ssize_t n_kernels, stored* halves,
) noexcept nogil:
    cdef Py_ssize_t k, size = n * (n + 1) // 2
    for k in range(n_kernels):
        if k < n_rates:
            fill_half(squares, rates[k], 0, scales[k], twins, n, halves + k * size)
        else:
            fill_half(bases, 0.0, <int> (k - n_rates + 1), scales[k], twins, n, halves + k * size)


# Squared distances and 1 + products of one feature.
cdef void pair_terms(const double* x, Py_ssize_t n, double* squares, double* bases) noexcept nogil:
    cdef Py_ssize_t i, j, first
    cdef double value, difference
    for i in range(n):
        first = i * (i + 1) // 2
        value = x[i]
        for j in range(i + 1):
            difference = value - x[j]
            squares[first + j] = difference * difference
            bases[first + j] = 1.0 + value * x[j]


def pair_sums(const double[:, ::1] features, double[::1] squares, double[::1] bases):
    """Squared distances of all pairs of points, and one plus their inner products, added up feature by feature.

    NumPy: i, j = np.tril_indices(n); squares[:] = sum((x[i] - x[j])**2 for x in features)
           bases[:] = 1 + sum(x[i] * x[j] for x in features)
    """
    cdef Py_ssize_t n = features.shape[1], i, j, f, first
    cdef double value, difference
    cdef double* row
    cdef double* other
    with nogil:
        for i in range(n):
            first = i * (i + 1) // 2
            row = &squares[first]
            other = &bases[first]
            for j in range(i + 1):
                row[j] = 0.0
                other[j] = 1.0
            for f in range(features.shape[0]):
                value = features[f, i]
                for j in range(i + 1):
                    difference = value - features[f, j]
                    row[j] += difference * difference
                    other[j] += value * features[f, j]


def fill_of_pairs(
    const double[::1] squares, const double[::1] bases, const double[::1] rates, const double[::1] scales,
    const int32_t[::1] twins, stored[:, ::1] halves,
):
    """Write a group of kernels that are functions of given terms of the pairs of points.

    NumPy: halves[k] = scales[k] * 2**(rates[k] * squares), then scales[k] * bases**1, scales[k] * bases**2, ..
    """
    with nogil:
        fill_group(
            &squares[0], &bases[0], &rates[0], rates.shape[0], &scales[0], &twins[0], twins.shape[0], scales.shape[0],
            &halves[0, 0],
        )


def fill_of_features(
    const double[:, ::1] features, const double[:, ::1] rates, const double[:, ::1] scales, const int32_t[:, ::1] twins,
    stored[:, ::1] halves, double[:, :, ::1] room, int threads,
):
    """Write the groups of kernels of single features; `room` is of shape (threads, 2, size of a half).

    NumPy: for each feature, fill_of_pairs of its pairs
    """
    cdef Py_ssize_t f, n = features.shape[1], per_group = scales.shape[1], t
    for f in prange(features.shape[0], nogil=True, num_threads=threads, schedule="static"):
        t = threadid()
        pair_terms(&features[f, 0], n, &room[t, 0, 0], &room[t, 1, 0])
        fill_group(
            &room[t, 0, 0], &room[t, 1, 0], &rates[f, 0], rates.shape[1], &scales[f, 0], &twins[f, 0], n, per_group,
            &halves[f * per_group, 0],
        )


def earlier_twins(const double[:, ::1] features, const Py_ssize_t[:, ::1] order, int32_t[:, ::1] twins):
    """Write, for each point and feature, the last point before it of the same value, or -1; `order` sorts stably.

    NumPy: for each feature and i, twins[i] = max(np.flatnonzero(x[:i] == x[i]), default=-1)
    """
    cdef Py_ssize_t f, a, i, before
    with nogil:
        for f in range(features.shape[0]):
            before = order[f, 0]
            twins[f, before] = -1
            for a in range(1, features.shape[1]):
                i = order[f, a]
                twins[f, i] = <int32_t> before if features[f, i] == features[f, before] else -1
                before = i


# Of the differences of pairs of sorted values: how many are at most `bound`, the largest of these and the least other.
# Rounded differences grow with the larger value and fall with the smaller one.
cdef Py_ssize_t split(
    const double* values, Py_ssize_t n, double bound, double* largest, double* least,
) noexcept nogil:
    cdef Py_ssize_t i, j = 0, count = 0
    largest[0] = 0.0
    least[0] = values[n - 1] - values[0]
    for i in range(n):
        while values[i] - values[j] > bound:
            j += 1
        count += i - j
        largest[0] = max(largest[0], values[i] - values[j])
        if j:
            least[0] = min(least[0], values[i] - values[j - 1])
    return count


# Two of the differences above `floor` that are next to each other when they are sorted, the first one at the whole part
# of ``quantile * (number - 1)``; returns the number.
cdef Py_ssize_t differences_at(
    const double* values, Py_ssize_t n, double floor, double quantile, double* low, double* high,
) noexcept nogil:
    cdef Py_ssize_t below, above = n * (n - 1) // 2, total, wanted, inside
    cdef double middle, largest, least, share
    cdef bint halve = False
    below = split(values, n, floor, &largest, low)
    high[0] = values[n - 1] - values[0]
    total = above - below
    wanted = below + <Py_ssize_t> (quantile * (total - 1)) + 1
    # The first one sought and, unless it is the last of all, the second one are between these two differences. The next
    # place to look is where they would be if the differences were spread evenly, or every other time half way.
    while low[0] < high[0]:
        share = 0.5 if halve else (<double> (wanted - below)) / (above - below)
        halve = not halve
        middle = low[0] + share * (high[0] - low[0])
        if not middle < high[0]:
            middle = low[0]
        inside = split(values, n, middle, &largest, &least)
        if inside == wanted:
            low[0] = largest
            high[0] = least
        elif inside > wanted:
            high[0] = largest
            above = inside
            continue
        else:
            low[0] = least
            below = inside
            continue
        break
    return total


def quantiles_of_differences(
    const double[:, ::1] features, double floor, const double[::1] quantiles, double[:, ::1] found,
):
    """Find quantiles of the differences above `floor` of pairs of sorted values, one row of them a feature.

    NumPy: for each row, i, j = np.tril_indices(n, -1); D = values[i] - values[j]; np.quantile(D[D > floor], quantiles)
    """
    cdef Py_ssize_t f, q, number
    cdef double first, second, at, part
    with nogil:
        for f in range(features.shape[0]):
            for q in range(quantiles.shape[0]):
                number = differences_at(&features[f, 0], features.shape[1], floor, quantiles[q], &first, &second)
                at = quantiles[q] * (number - 1)
                part = at - <Py_ssize_t> at
                if part < 0.5:  # as NumPy interpolates
                    found[f, q] = first + (second - first) * part
                else:
                    found[f, q] = second - (second - first) * (1 - part)
