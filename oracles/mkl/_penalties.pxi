# Regularizers as the dual sees them: kernel weights, their derivative, and the exact step along a line.


cdef class Penalty:
    """A smooth convex regularizer of the kernel weights, through its conjugate."""

    # The weights d at the quadratic forms S; their derivative is diag(psi) + sigma d d', sigma being returned.
    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        return 0.0

    # Maximizer over 0 <= t <= most of t * lead - ridge t^2 / 2 - rho(S + 2 t c + t^2 e), concave with a slope > 0 at 0:
    # Newton's method on the slope, kept inside the interval known to hold its root.
    # The slope is lead - ridge t - sum_k d_k w_k, w = c + t e, that is minus
    # ridge + d @ e + 2 (psi @ w^2 + sigma (d @ w)^2) times dt.
    cdef double step(
        self, Py_ssize_t p, const double* S, const double* c, const double* e, double lead, double ridge, double most,
        double* trial, double* d, double* psi,
    ) noexcept nogil:
        cdef double low = 0.0, high = most, t = 0.0, first = 0.0, following, slope, bend, along, sigma, w
        cdef bint untried = True        # whether the end of the interval is still `most`
        cdef Py_ssize_t attempt, k
        for attempt in range(NEWTON_STEPS):
            for k in range(p):
                trial[k] = max(S[k] + t * (2.0 * c[k] + t * e[k]), 0.0)
            sigma = self.weights(p, trial, d, psi)
            along = 0.0
            bend = ridge
            for k in range(p):
                w = c[k] + t * e[k]
                along += d[k] * w
                bend += d[k] * e[k] + 2.0 * psi[k] * w * w
            slope = lead - ridge * t - along
            bend += 2.0 * sigma * along * along
            if attempt == 0:
                first = slope
            elif fabs(slope) <= EXACT * first or (t >= most and slope >= 0.0):
                return t
            if slope > 0.0:
                low = t
            else:
                high = t
                untried = False
            following = t + slope / bend if bend > SMALL else FAR
            if untried and following >= most:
                following = most
            elif following <= low or following >= high:
                following = 0.5 * (low + high)
            if following == t:
                return t
            t = following
        return t


cdef class LpNorm(Penalty):
    """``lam / 2 norm(d, p)**2``; rho(S) = norm(S, q)^2 / (8 lam)."""

    cdef double lam, q

    def __init__(self, double p, double lam):
        self.lam = lam
        self.q = p / (p - 1.0)

    # d = S r^(q-2) / (2 lam), psi = (q - 1) r^(q-2) / (2 lam), r = S / norm; sigma = (2 - q) 2 lam / norm^2.
    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        cdef double largest = 0.0, total = 0.0, norm, r, half = 0.5 / self.lam
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
            psi[k] = pow(r, self.q - 2.0)
            total += psi[k] * r * r
        norm = pow(total, 1.0 / self.q)     # over the largest
        half *= pow(norm, 2.0 - self.q)
        for k in range(p):
            d[k] = half * psi[k] * S[k]
            psi[k] *= half * (self.q - 1.0)
        norm *= largest
        return 2.0 * self.lam * (2.0 - self.q) / (norm * norm)


cdef class SquaredNorm(Penalty):
    """``lam / 2 norm(d, 2)**2``; rho(S) = norm(S)^2 / (8 lam), and a step is the root of a cubic."""

    cdef double lam

    def __init__(self, double lam):
        self.lam = lam

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        cdef double half = 0.5 / self.lam
        cdef Py_ssize_t k
        for k in range(p):
            d[k] = half * S[k]
            psi[k] = half
        return 0.0

    # 2 lam * slope = -(a3 t^3 + a2 t^2 + a1 t + a0), increasing in brackets: one real root. With t = s - a2 / (3 a3)
    # it is s^3 + 3 u s + 2 w = 0, u >= 0, whose root is -2 sqrt(u) sinh(asinh(w / u^(3/2)) / 3). Two Newton steps
    # mend what the shift cancels.
    cdef double step(
        self, Py_ssize_t p, const double* S, const double* c, const double* e, double lead, double ridge, double most,
        double* trial, double* d, double* psi,
    ) noexcept nogil:
        cdef double a0 = -2.0 * self.lam * lead, a1 = 2.0 * self.lam * ridge, a2 = 0.0, a3 = 0.0
        cdef double shift, u, w, root, t, slope
        cdef Py_ssize_t k, attempt
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
        for attempt in range(2):
            slope = a1 + t * (2.0 * a2 + 3.0 * t * a3)
            if slope > SMALL:
                t -= (a0 + t * (a1 + t * (a2 + t * a3))) / slope
                t = min(max(t, 0.0), most)
        return t


cdef class Entropy(Penalty):
    """``lam sum_k d_k log(d_k / d0_k) - d_k + d0_k``; rho(S) = lam sum_k d0_k (exp(S_k / (2 lam)) - 1)."""

    cdef double lam
    cdef const double[::1] reference

    def __init__(self, const double[::1] reference, double lam):
        self.lam = lam
        self.reference = reference

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        cdef double half = 0.5 / self.lam
        cdef Py_ssize_t k
        for k in range(p):
            d[k] = self.reference[k] * exp(min(half * S[k], LARGEST))
            psi[k] = half * d[k]
        return 0.0


cdef class Elastic(Penalty):
    """``linear sum(d) + quadratic / 2 sum(d^2)``; rho(S) = sum_k max(0, S_k / 2 - linear)^2 / (2 quadratic)."""

    cdef double linear, quadratic

    def __init__(self, double linear, double quadratic):
        self.linear = linear
        self.quadratic = quadratic

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        cdef double beyond, share = 1.0 / self.quadratic
        cdef Py_ssize_t k
        for k in range(p):
            beyond = 0.5 * S[k] - self.linear
            d[k] = share * beyond if beyond > 0.0 else 0.0
            psi[k] = 0.5 * share if beyond > 0.0 else 0.0
        return 0.0
