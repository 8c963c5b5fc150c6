# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lower halves of the kernels of `uci_bank`, written straight into a kernel-major stack.

A half is the vector with entry (i, j), j <= i, at ``i (i + 1) / 2 + j``. A group of kernels looks at the same features:
first the Gaussians, ``exp(-D / (2 s^2))`` of squared distances D, then the powers ``(1 + P)^k``, k = 1, 2, .., of inner
products P. Every entry is computed by itself, and the sum of all kernels is added up group by group, so the number of
threads moves no bit.

Exponentials are powers of two: ``exp(-D / (2 s^2)) = 2^t`` with ``t = -D log2(e) / (2 s^2)``, which is n + r with n
whole and abs(r) <= 1/2; 2^r is a polynomial of degree 11, wrong by 2e-17 at most. An entry is at most 1, and what
counts is its error as compared with 1, the entry of a point with itself. With u = 2^-53, t is wrong by at most 2 u
abs(t), hence 2^t by ``2 u abs(t) log(2) 2^t <= 0.74 u``; r = t - n is exact; the polynomial, q(r) r + 1 with abs(q(r)
r) <= 0.42, is wrong by at most 3 u relative to itself. All that is below 4 u = 4.5e-16, and at D = 0 the value is
exactly 1. Exponents below -900 count as -900: an entry of 1e-271 stands for 0.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define ROUNDER 6755399441055744.0  /* 1.5 * 2^52: adding it rounds to whole numbers, which are the low bits then */

    /* 2^t times what the coefficients were multiplied by, for t <= 0 */
    static inline double two_to_the(double t, const double *c) {
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
    """
    double two_to_the(double t, const double* coefficients) noexcept nogil

cdef enum:
    TILE = 4096         # entries of a half that are written at a time: their terms stay in a cache

ctypedef fused stored:
    float
    double

# Of 2^r on [-1/2, 1/2]: 1 + r q(r), q through (2^r - 1) / r at the 11 Chebyshev nodes.
cdef double[12] TWO_TO_THE = [
    1.0, 0.6931471805599453, 0.24022650695910097, 0.0555041086648216, 0.009618129107606888, 0.0013333558146416936,
    0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06, 1.0178062445845774e-07, 7.072585949269223e-09,
    4.4549605981865186e-10,
]


# Two Gaussians of these rates, also added to the sum; two at a time, as the sum is read and written each time.
cdef void two_gaussians(
    const double* squares, const double* rates, const double* scales, stored* out, stored* other, double* total,
    Py_ssize_t count,
) noexcept nogil:
    cdef double[12] first, second
    cdef double rate0 = rates[0], rate1 = rates[1]
    cdef Py_ssize_t e
    cdef stored one, two
    for e in range(12):
        first[e] = scales[0] * TWO_TO_THE[e]
        second[e] = scales[1] * TWO_TO_THE[e]
    for e in range(count):
        one = <stored> two_to_the(rate0 * squares[e], first)
        two = <stored> two_to_the(rate1 * squares[e], second)
        out[e] = one
        other[e] = two
        total[e] += <double> one + <double> two


# The next power of the bases, which replaces the last one and is also added to the sum.
cdef void next_powers(
    const double* bases, double* powers, double scale, stored* out, double* total, Py_ssize_t count,
) noexcept nogil:
    cdef Py_ssize_t e
    cdef stored value
    for e in range(count):
        powers[e] *= bases[e]
        value = <stored> (scale * powers[e])
        out[e] = value
        total[e] += value


# Some entries of all kernels of a group.
cdef void fill_tile(
    const double* squares, const double* bases, const double* rates, Py_ssize_t n_rates, const double* scales,
    Py_ssize_t n_kernels, stored* out, Py_ssize_t size, double* total, Py_ssize_t count,
) noexcept nogil:
    cdef double[TILE] part, powers
    cdef Py_ssize_t k, e
    for e in range(count):
        part[e] = 0.0
        powers[e] = 1.0
    for k in range(0, n_rates, 2):
        two_gaussians(squares, rates + k, scales + k, out + k * size, out + (k + 1) * size, part, count)
    for k in range(n_rates, n_kernels):
        next_powers(bases, powers, scales[k], out + k * size, part, count)
    for e in range(count):
        total[e] += part[e]


# Some entries of all kernels of one feature.
cdef void fill_feature(
    const double* x, const double* rates, Py_ssize_t n_rates, const double* scales, Py_ssize_t n_kernels, stored* out,
    Py_ssize_t size, double* total, Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil:
    cdef double[TILE] squares, bases
    cdef Py_ssize_t i, j, first, e = start, end
    cdef double value, difference
    i = <Py_ssize_t> ((sqrt(8.0 * start + 1.0) - 1.0) / 2.0)
    while i * (i + 1) // 2 > start:
        i -= 1
    while (i + 1) * (i + 2) // 2 <= start:
        i += 1
    while e < stop:
        first = i * (i + 1) // 2
        end = min(first + i + 1, stop)
        value = x[i]
        for j in range(e - first, end - first):
            difference = value - x[j]
            squares[first - start + j] = difference * difference
            bases[first - start + j] = 1.0 + value * x[j]
        e = end
        i += 1
    fill_tile(squares, bases, rates, n_rates, scales, n_kernels, out + start, size, total + start, stop - start)


def pair_sums(const double[:, ::1] features, double constant, double[::1] squares, double[::1] bases):
    """Squared distances of all pairs of points, and a constant plus their inner products, added up feature by feature.

    NumPy: i, j = np.tril_indices(n); squares[:] = sum((x[i] - x[j])**2 for x in features)
           bases[:] = constant + sum(x[i] * x[j] for x in features)
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
                other[j] = constant
            for f in range(features.shape[0]):
                value = features[f, i]
                for j in range(i + 1):
                    difference = value - features[f, j]
                    row[j] += difference * difference
                    other[j] += value * features[f, j]


def fill_of_pairs(
    const double[::1] squares, const double[::1] bases, const double[::1] rates, const double[::1] scales,
    stored[:, ::1] halves, double[::1] total, int threads,
):
    """Write a group of kernels that are functions of given terms of the pairs of points, and add them to their sum.

    The number of rates is even.

    NumPy: halves[k] = scales[k] * 2**(rates[k] * squares), then scales[k] * bases**1, scales[k] * bases**2, ..
           total += halves.sum(axis=0)
    """
    cdef Py_ssize_t size = squares.shape[0], n_rates = rates.shape[0], n_kernels = scales.shape[0], tile, start
    for tile in prange((size + TILE - 1) // TILE, nogil=True, num_threads=threads, schedule="static"):
        start = tile * TILE
        fill_tile(
            &squares[start], &bases[start], &rates[0], n_rates, &scales[0], n_kernels, &halves[0, start], size,
            &total[start], min(TILE, size - start),
        )


def fill_of_features(
    const double[:, ::1] features, const double[:, ::1] rates, const double[:, ::1] scales, stored[:, ::1] halves,
    double[::1] total, int threads,
):
    """Write the groups of kernels of single features, and add them to their sum.

    NumPy: for each feature, fill_of_pairs of its pairs
    """
    cdef Py_ssize_t f, tile, start, size = total.shape[0], per_group = scales.shape[1], n_rates = rates.shape[1]
    for tile in prange((size + TILE - 1) // TILE, nogil=True, num_threads=threads, schedule="static"):
        start = tile * TILE
        for f in range(features.shape[0]):
            fill_feature(
                &features[f, 0], &rates[f, 0], n_rates, &scales[f, 0], per_group, &halves[f * per_group, 0], size,
                &total[0], start, min(start + TILE, size),
            )


# Of the differences of pairs of sorted values: the weight of those that are at most `bound`, the largest of these and
# the least other; sums[i] is the weight of the first i values. Rounded differences grow with the larger value and fall
# with the smaller one.
cdef double split(
    const double* values, const double* sums, Py_ssize_t n, double bound, double* largest, double* least,
) noexcept nogil:
    cdef Py_ssize_t i, j = 0
    cdef double weight = 0.0
    largest[0] = 0.0
    least[0] = values[n - 1] - values[0]
    for i in range(n):
        while values[i] - values[j] > bound:
            j += 1
        weight += (sums[i + 1] - sums[i]) * (sums[i] - sums[j])
        largest[0] = max(largest[0], values[i] - values[j])
        if j:
            least[0] = min(least[0], values[i] - values[j - 1])
    return weight


# The least of the differences from `low` on at or below which there is as much weight as wanted. The next place to look
# is where it would be if the weight were spread evenly, or every other time half way.
cdef double difference_at(
    const double* values, const double* sums, Py_ssize_t n, double low, double below, double above, double wanted,
) noexcept nogil:
    cdef double high = values[n - 1] - values[0], middle, inside, largest, least
    cdef bint halve = False
    while low < high:
        middle = low + (0.5 if halve else (wanted - below) / (above - below)) * (high - low)
        halve = not halve
        if not middle < high:
            middle = low
        inside = split(values, sums, n, middle, &largest, &least)
        if inside >= wanted:
            high = largest
            above = inside
        else:
            low = least
            below = inside
    return low


def quantiles_of_differences(
    const double[:, ::1] features, const double[:, ::1] sums, double floor, const double[::1] quantiles,
    bint weighted, double[:, ::1] found,
):
    """Find quantiles of the differences above `floor` of pairs of sorted values, one row of them a feature.

    A pair counts by the product of the weights of its values, all 1 unless `weighted`; given are sums of the weights of
    the first 0, 1, .. values.

    NumPy: for each row, i, j = np.tril_indices(n, -1); D = values[i] - values[j]; np.quantile(D[D > floor], quantiles)
           weighted: D repeated w[i] * w[j] times, method="inverted_cdf"
    """
    cdef Py_ssize_t f, q, n = features.shape[1]
    cdef double below, above, low, first, second, at, part, wanted, largest
    with nogil:
        for f in range(features.shape[0]):
            above = split(&features[f, 0], &sums[f, 0], n, INFINITY, &largest, &low)
            below = split(&features[f, 0], &sums[f, 0], n, floor, &largest, &low)
            for q in range(quantiles.shape[0]):
                at = quantiles[q] * (above - below - 1)
                part = 0 if weighted else at - <Py_ssize_t> at
                # A share that is reached but for rounding is reached.
                wanted = quantiles[q] * (above - below) * (1 - 2e-15 * n) if weighted else at - part + 1
                first = difference_at(&features[f, 0], &sums[f, 0], n, low, below, above, below + wanted)
                if split(&features[f, 0], &sums[f, 0], n, first, &largest, &second) > below + wanted:
                    second = first
                if part < 0.5:  # as NumPy interpolates
                    found[f, q] = first + (second - first) * part
                else:
                    found[f, q] = second - (second - first) * (1 - part)
