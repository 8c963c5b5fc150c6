"""Kernels on the fly: nanoseconds an entry of the sums that oracles ask for, and the error that is proven.

    python benchmarks/entries_on_the_fly.py [--quick]

Prints a Markdown table; progress goes to stderr. Standard normal points of 122 features, of which the sparse ones have
14 each; half of the points have a weight in the products. "One distance" is 50 widths over all features, a factor of 3
between the first and the last; "own distances" 10 random halves of the features with a width each; polynomials are of
degrees 1 to 3. An entry is one number of one kernel that takes part: points times weights times kernels for
products of all rows, half as many for forms (pairs are visited once) and for a symmetric block of the sum. Processor
time of one thread, the least of 5 runs.
"""

from time import thread_time

import numpy as np
from _shared import parser, say, table
from scipy import sparse
from threadpoolctl import threadpool_limits

from oracle_opt.oracles import PolynomialBank, RBFBank

N_FEATURES, N_ENTRIES, RUNS = 122, 14, 5
HEADINGS = ("kernels", "points", "entries in", "products, ns", "forms, ns", "block, ns", "proven error")


def least(call):
    """Least processor seconds of some runs."""
    seconds = []
    for _ in range(RUNS):
        start = thread_time()
        call()
        seconds.append(thread_time() - start)
    return min(seconds)


def banks(n):
    """What is measured: kernels, points, precision, bank."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(n, N_FEATURES))
    few = np.argsort(rng.random(dense.shape), axis=1)[:, :N_ENTRIES]
    thin = np.zeros_like(dense)
    np.put_along_axis(thin, few, np.take_along_axis(dense, few, axis=1), axis=1)
    halves = [rng.permutation(N_FEATURES)[: N_FEATURES // 2] for _ in range(10)]
    for form, X, typical in (("dense", dense, 15.0), ("CSR", sparse.csr_array(thin), 5.0)):
        one = [range(N_FEATURES)], [np.geomspace(0.5 * typical, 1.5 * typical, 50)]
        own = halves, [[0.7 * typical]] * len(halves)
        for name, kernels in (("one distance", one), ("own distances", own)):
            for dtype in (np.float64, np.float32):
                yield name, form, np.dtype(dtype).name, RBFBank(X, *kernels, dtype=dtype)
        yield "polynomials", form, "float64", PolynomialBank(X, [range(N_FEATURES)], [[1, 2, 3]])


def measured(bank):
    """Nanoseconds an entry of products, forms and blocks."""
    n, p, rng = bank.n_points, bank.n_kernels, np.random.default_rng(1)
    v, d, every = np.where(rng.random(n) < 0.5, rng.normal(size=n), 0.0), np.full(p, 1.0 / p), np.arange(n)
    m = np.count_nonzero(v)
    products = least(lambda: bank.row_products(every, v)) / (n * m * p)
    forms = least(lambda: bank.quadratic_forms(v)) / (m * m / 2 * p)
    block = least(lambda: bank.block(d, every, every)) / (n * n / 2 * p)
    return [1e9 * seconds for seconds in (products, forms, block)]


def main():
    """Print the table."""
    quick = parser(__doc__.splitlines()[0]).parse_args().quick
    rows = []
    for *names, bank in banks(300 if quick else 3000):
        cells = (*names, *(f"{ns:.2f}" for ns in measured(bank)), f"{bank.exactness:.0e}")
        say(" | ".join(cells))
        rows.append(cells)
    table(HEADINGS, rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
