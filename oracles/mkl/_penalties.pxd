# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Regularizers as the dual sees them: kernel weights d at the quadratic forms S, whose derivative is
# diag(psi) + sigma d d', sigma being returned; and the exact step along a line where it has a closed form.

from libc.math cimport asinh, exp, fabs, pow, sinh, sqrt

cdef extern from *:
    """
    #define FAR 1e300
    #define SMALL 1e-300
    #define LEAST 1e-12     /* quadratic form over the norm of all: below, p > 2 has no second derivative to speak of */
    #define LARGEST 300.0   /* exponent of a kernel weight; larger ones could overflow in sums */
    """
    const double FAR
    const double SMALL
    const double LEAST
    const double LARGEST


# lam / 2 norm(d, p)^2
# d = S r^(q-2) / (2 lam), psi = (q - 1) r^(q-2) / (2 lam), r = S / norm; sigma = (2 - q) 2 lam / norm^2.
cdef inline double lp_weights(
    Py_ssize_t p, const double* S, double q, double lam, double* d, double* psi,
) noexcept nogil:
    cdef double largest = 0.0, total = 0.0, norm, r, half = 0.5 / lam
    cdef Py_ssize_t k
    for k in range(p):
        largest = max(largest, S[k])
    if largest <= SMALL:
        for k in range(p):
            d[k] = 0.0
            psi[k] = 0.0
        return 0.0
    for k in range(p):
        r = max(S[k] / largest, LEAST)
        psi[k] = pow(r, q - 2.0)
        total += psi[k] * r * r
    norm = pow(total, 1.0 / q)     # over the largest
    half *= pow(norm, 2.0 - q)
    for k in range(p):
        d[k] = half * psi[k] * S[k]
        psi[k] *= half * (q - 1.0)
    norm *= largest
    return 2.0 * lam * (2.0 - q) / (norm * norm)


# lam / 2 norm(d, 2)^2
cdef inline double squared_weights(
    Py_ssize_t p, const double* S, double lam, double* d, double* psi,
) noexcept nogil:
    cdef double half = 0.5 / lam
    cdef Py_ssize_t k
    for k in range(p):
        d[k] = half * S[k]
        psi[k] = half
    return 0.0


# 2 lam * slope = -(a3 t^3 + a2 t^2 + a1 t + a0), increasing in brackets: one real root. With t = s - a2 / (3 a3)
# it is s^3 + 3 u s + 2 w = 0, u >= 0, whose root is -2 sqrt(u) sinh(asinh(w / u^(3/2)) / 3). Two Newton steps
# mend what the shift cancels.
cdef inline double squared_step(
    Py_ssize_t p, const double* S, double lam, const double* c, const double* e, double lead, double ridge, double most,
) noexcept nogil:
    cdef double a0 = -2.0 * lam * lead, a1 = 2.0 * lam * ridge, a2 = 0.0, a3 = 0.0
    cdef double shift, u, w, root, t, slope
    cdef Py_ssize_t k, _attempt
    for k in range(p):
        a0 += S[k] * c[k]
        a1 += S[k] * e[k] + 2.0 * c[k] * c[k]
        a2 += 3.0 * c[k] * e[k]
        a3 += e[k] * e[k]
    if a0 + most * (a1 + most * (a2 + most * a3)) <= 0.0:
        return most
    t = 0.0
    if a3 > SMALL:
        shift = a2 / (3.0 * a3)
        u = max(a1 / (3.0 * a3) - shift * shift, 0.0)
        w = 0.5 * (a0 / a3 + shift * (2.0 * shift * shift - a1 / a3))
        root = sqrt(u)
        if u * root > 1e-12 * fabs(w):
            t = -2.0 * root * sinh(asinh(w / (u * root)) / 3.0) - shift
        else:
            t = (pow(2.0 * fabs(w), 1.0 / 3.0) if w < 0.0 else -pow(2.0 * w, 1.0 / 3.0)) - shift
    t = min(max(t, 0.0), most)
    for _attempt in range(2):
        slope = a1 + t * (2.0 * a2 + 3.0 * t * a3)
        if slope > SMALL:
            t -= (a0 + t * (a1 + t * (a2 + t * a3))) / slope
            t = min(max(t, 0.0), most)
    return t


# lam sum_k d_k log(d_k / reference_k) - d_k + reference_k
cdef inline double entropy_weights(
    Py_ssize_t p, const double* S, const double* reference, double lam, double* d, double* psi,
) noexcept nogil:
    cdef double half = 0.5 / lam
    cdef Py_ssize_t k
    for k in range(p):
        d[k] = reference[k] * exp(min(half * S[k], LARGEST))
        psi[k] = half * d[k]
    return 0.0


# linear sum(d) + quadratic / 2 sum(d^2)
cdef inline double elastic_weights(
    Py_ssize_t p, const double* S, double linear, double quadratic, double* d, double* psi,
) noexcept nogil:
    cdef double beyond, share = 1.0 / quadratic
    cdef Py_ssize_t k
    for k in range(p):
        beyond = 0.5 * S[k] - linear
        d[k] = share * beyond if beyond > 0.0 else 0.0
        psi[k] = 0.5 * share if beyond > 0.0 else 0.0
    return 0.0
