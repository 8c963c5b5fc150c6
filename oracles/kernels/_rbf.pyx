# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums over RBF and polynomial kernels that are computed from the points while they are added up.

Pairs of points are worked on in tiles: 32 points of one side, the lanes, whose features lie next to each other, and 32
of the other. A tile of squared distances (of inner products for polynomial kernels) is made in the first-level cache,
then one tile of entries for each kernel, which goes into the sum at once. Nothing else of the kernels is ever in
memory.

Distances of dense points are sums of squared differences, in float or double, added up in eights; those of sparse
points are differences of norms and inner products, in double. Entries are float or double, sums over them always
double.

A task is one panel of 32 lanes, or a fixed number of them, and what tasks add to one number is added up in their order:
the number of threads moves no bit of a result. NaN and infinity mean nothing here, the caller checks its data before.
"""

import numpy as np

from cython.parallel cimport prange
from libc.string cimport memset

from _exp2 cimport exp2_double, exp2_single
from _pair_sums cimport across_panel, combined_panel, entries_of_panel, forms_of_panel, products_of_panel
from _pair_tiles cimport Family, LANES, Side, dist

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static int omp_get_thread_num(void) { return 0; }
    #endif
    """
    int omp_get_thread_num() noexcept nogil

cdef enum:
    PANELS = 32         # of a piece of a sum over lanes


cdef Side side_of(points) except *:
    """A side from a matrix, or from the CSR arrays and the squared norms, and the number of columns."""
    cdef Side side
    cdef const float[:, ::1] single
    cdef const double[:, ::1] double_
    cdef const int[::1] starts, columns
    cdef const double[::1] data, norms
    memset(&side, 0, sizeof(Side))
    if isinstance(points, tuple):
        starts, columns, data, norms, side.d = points
        side.sparse = True
        side.count = norms.shape[0]
        side.starts = &starts[0]
        side.columns = &columns[0] if columns.shape[0] else NULL
        side.data = &data[0] if data.shape[0] else NULL
        side.norms = &norms[0] if side.count else NULL
        return side
    side.count, side.d = points.shape
    side.single = points.dtype == np.float32
    if side.count and side.single:
        single = points
        side.rows = &single[0, 0]
    elif side.count:
        double_ = points
        side.rows = &double_[0, 0]
    return side


cdef Family family_of(const double[::1] rates, bint single, bint polynomial) noexcept:
    cdef Family family
    family.single, family.polynomial = single, polynomial
    family.size = rates.shape[0]
    family.rates = &rates[0]
    return family


cdef Py_ssize_t panel_size(const Side* lanes) noexcept nogil:
    """Numbers of a panel of these points, at most."""
    cdef Py_ssize_t panel, most = 0
    if not lanes.sparse:
        return lanes.d * LANES
    for panel in range((lanes.count + LANES - 1) // LANES):
        most = max(most, lanes.starts[min((panel + 1) * LANES, lanes.count)] - lanes.starts[panel * LANES])
    return (min(most, lanes.d) + 1) * LANES


cdef bint same_kind(const Side* left, const Side* right) noexcept:
    return left.sparse == right.sparse and left.single == right.single and left.d == right.d


def products(
    lanes, others, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, int threads,
):
    """Sums of kernels between the lanes and the others over the others, ndarray of shape (lanes, kernels).

    Points are a matrix, float32 or float64, or ``(indptr, indices, data, squared norms, columns)`` of CSR; both sides
    are of the same kind. Rates are those of ``exp2(-rate * D)``, taken in float if `single`, or degrees of polynomials.

    NumPy: for each k, out[:, k] = K_k(lanes, others) @ weights
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t
    found = np.zeros((a.count, rates.shape[0]))
    if a.count == 0 or b.count == 0:
        return found
    cdef double[:, ::1] out = found
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a))), totals = np.empty((threads, family.size * LANES))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b) and weights.shape[0] == b.count
    for t in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        some_products(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0],
            &totals[omp_get_thread_num(), 0], t * LANES, &weights[0], &out[0, 0],
        )
    return found


cdef void some_products(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, double* totals, Py_ssize_t lane,
    const double* weights, double* out,
) noexcept nogil:
    if a.single:
        products_of_panel[float, float](a, b, family, slots, <float*> panel, totals, lane, weights, out, 0)
    elif family.single:
        products_of_panel[double, float](a, b, family, slots, panel, totals, lane, weights, out, 0)
    else:
        products_of_panel[double, double](a, b, family, slots, panel, totals, lane, weights, out, 0)


def products_across(
    lanes, others, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, int threads,
):
    """The same summed over the lanes, ndarray of shape (others, kernels): for few others.

    NumPy: for each k, out[:, k] = K_k(others, lanes) @ weights
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t
    if a.count == 0 or b.count == 0:
        return np.zeros((b.count, rates.shape[0]))
    pieces = np.zeros(((panels + PANELS - 1) // PANELS, b.count, rates.shape[0]))
    cdef double[:, :, ::1] shares = pieces
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a)))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b) and weights.shape[0] == a.count
    for t in prange(shares.shape[0], nogil=True, num_threads=threads, schedule="static"):
        some_across(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0], t * PANELS,
            min((t + 1) * PANELS, panels), &weights[0], &shares[t, 0, 0],
        )
    return pieces[0] if pieces.shape[0] == 1 else pieces.sum(axis=0)


cdef void some_across(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, Py_ssize_t start, Py_ssize_t stop,
    const double* weights, double* share,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, stop):
        if a.single:
            across_panel[float, float](a, b, family, slots, <float*> panel, i * LANES, weights, share, 0)
        elif family.single:
            across_panel[double, float](a, b, family, slots, panel, i * LANES, weights, share, 0)
        else:
            across_panel[double, double](a, b, family, slots, panel, i * LANES, weights, share, 0)


def forms(points, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, int threads):
    """Quadratic forms of the kernels of some points, ndarray of shape (kernels,): pairs are visited once.

    NumPy: for each k, out[k] = weights @ K_k(points, points) @ weights
    """
    cdef Side a = side_of(points)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t
    if a.count == 0:
        return np.zeros(rates.shape[0])
    pieces = np.empty((panels, rates.shape[0]))
    cdef double[:, ::1] shares = pieces
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a))), totals = np.empty((threads, family.size * LANES))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert weights.shape[0] == a.count
    # The last panels have most pairs: they go first.
    for t in prange(panels, nogil=True, num_threads=threads, schedule="dynamic"):
        some_forms(
            &a, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0],
            &totals[omp_get_thread_num(), 0], (panels - 1 - t) * LANES, &weights[0], &shares[panels - 1 - t, 0],
        )
    return pieces.sum(axis=0)


cdef void some_forms(
    const Side* a, const Family* family, int* slots, double* panel, double* totals, Py_ssize_t lane,
    const double* weights, double* share,
) noexcept nogil:
    if a.single:
        forms_of_panel[float, float](a, family, slots, <float*> panel, totals, lane, weights, share, 0)
    elif family.single:
        forms_of_panel[double, float](a, family, slots, panel, totals, lane, weights, share, 0)
    else:
        forms_of_panel[double, double](a, family, slots, panel, totals, lane, weights, share, 0)


def add_combined(
    lanes, others, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, out, int threads,
):
    """Add a weighted sum of the kernels to an array of shape (others, lanes) whose rows are contiguous.

    NumPy: out += sum(weights[k] * K_k(others, lanes))
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t, stride
    if a.count == 0 or b.count == 0:
        return
    cdef double[:, :] target = out
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a)))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b) and weights.shape[0] == family.size
    assert target.shape[0] == b.count and target.shape[1] == a.count
    assert a.count == 1 or target.strides[1] == sizeof(double)
    stride = target.strides[0] // <Py_ssize_t> sizeof(double)
    for t in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        some_combined(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0], t * LANES, &weights[0],
            &target[0, 0], stride,
        )


cdef void some_combined(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, Py_ssize_t lane,
    const double* weights, double* out, Py_ssize_t stride,
) noexcept nogil:
    if a.single:
        combined_panel[float, float](a, b, family, slots, <float*> panel, lane, weights, out, stride, 0)
    elif family.single:
        combined_panel[double, float](a, b, family, slots, panel, lane, weights, out, stride, 0)
    else:
        combined_panel[double, double](a, b, family, slots, panel, lane, weights, out, stride, 0)


def write_entries(
    lanes, others, const double[::1] rates, bint single, bint polynomial, double scale, out, int threads,
):
    """Write entries of the kernels to an array of shape (others, lanes, kernels), however it lies in memory.

    NumPy: for each k, out[:, :, k] = scale * K_k(others, lanes)
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t, i
    cdef Py_ssize_t[3] strides
    if a.count == 0 or b.count == 0:
        return
    cdef double[:, :, :] target = out
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a)))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b)
    assert target.shape[0] == b.count and target.shape[1] == a.count and target.shape[2] == family.size
    for i in range(3):
        strides[i] = target.strides[i] // <Py_ssize_t> sizeof(double)
    for t in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        some_entries(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0], t * LANES, scale,
            &target[0, 0, 0], strides,
        )


cdef void some_entries(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, Py_ssize_t lane, double scale,
    double* out, const Py_ssize_t* strides,
) noexcept nogil:
    if a.single:
        entries_of_panel[float, float](a, b, family, slots, <float*> panel, lane, scale, out, strides, 0)
    elif family.single:
        entries_of_panel[double, float](a, b, family, slots, panel, lane, scale, out, strides, 0)
    else:
        entries_of_panel[double, double](a, b, family, slots, panel, lane, scale, out, strides, 0)


def exp2_of(const dist[::1] t, dist[::1] out):
    """Powers of two of numbers that are not positive, as the sums above take them.

    NumPy: np.exp2(t, out=out)
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(t.shape[0]):
            if dist is float:
                out[i] = exp2_single(t[i])
            else:
                out[i] = exp2_double(t[i])


def barycentric(const double[::1] places, const double[::1] nodes, const double[::1] factors, double[:, ::1] out):
    """What values at the nodes are multiplied by to interpolate them at the places, shape (places, nodes).

    NumPy: terms = factors / (places[:, None] - nodes); out[:] = terms / terms.sum(axis=1, keepdims=True)
    """
    cdef Py_ssize_t i, j, m = nodes.shape[0]
    cdef double place, apart, total
    with nogil:
        for i in range(places.shape[0]):
            place = places[i]
            total = 0.0
            for j in range(m):
                apart = place - nodes[j]
                # At a node its term is all there is.
                apart = apart if apart != 0.0 else 1e-150
                out[i, j] = factors[j] / apart
                total += out[i, j]
            total = 1.0 / total
            for j in range(m):
                out[i, j] *= total
