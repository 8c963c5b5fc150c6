"""The peer of end_to_end.py: l1-MKL by Kelley's cutting planes, put together of scikit-learn, BLAS and HiGHS.

Written to be as fast as such a program reasonably gets: kernels packed in one array, sum and quadratic forms in one
matrix-vector product each, one linear program that is kept warm and grows by a row a call. It takes the SVM's dual
objective for the value, which is a shade optimistic: there is no term for what the SVM leaves open.
"""

from time import perf_counter

import highspy
import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.svm import SVC

from oracle_opt._highs_model import silent_highs


def packed_kernels(X):
    """The 13 (d + 1) kernels, shape (p, n (n - 1) / 2 + n): the pairs in the order of `pdist`, then the diagonal."""
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    n, d = Z.shape
    pairs = np.triu_indices(n, 1)
    packed = np.empty((13 * (d + 1), pairs[0].size + n))
    rows = iter(packed)
    for part in (Z, *(Z[:, [f]] for f in range(d))):
        squares = pdist(part, "sqeuclidean")
        inner = part @ part.T
        products = 1.0 + np.concatenate([inner[pairs], inner.diagonal()])
        low, high = np.quantile(np.sqrt(squares[squares > 0]), (0.1, 0.9))
        for width in np.geomspace(low, high, 10):
            row = next(rows)
            np.exp(squares / (-2 * width**2), out=row[: squares.size])
            row[squares.size :] = 1.0
            row /= n
        for degree in (1, 2, 3):
            row = next(rows)
            row[:] = products**degree
            row /= row[squares.size :].sum()
    return packed


def kelley(packed, y, C, rtol, skip_zeros):
    """Minimize over the simplex; return calls, lower and upper bound, seconds in the oracle and in the master.

    With `skip_zeros` the sum is over the kernels of positive weight alone, which copies them first.
    """
    p, n = packed.shape[0], y.size
    n_pairs = n * (n - 1) // 2
    master = silent_highs()()
    master.setOptionValue("output_flag", False)
    master.setOptionValue("presolve", "off")  # it would throw the basis away
    master.addVars(p + 1, np.append(np.zeros(p), -highspy.kHighsInf), np.append(np.ones(p), highspy.kHighsInf))
    master.changeColCost(p, 1.0)
    columns = np.arange(p + 1, dtype=np.int32)
    master.addRow(1.0, 1.0, p, columns[:p], np.ones(p))
    svm = SVC(C=C, kernel="precomputed", tol=0.1 * rtol, cache_size=1000)
    point, lower, upper = np.full(p, 1 / p), -np.inf, np.inf
    seconds = {"oracle": 0.0, "master": 0.0}
    calls = 0
    while calls == 0 or upper - lower > rtol * upper:
        clock = perf_counter()
        used = np.flatnonzero(point) if skip_zeros else slice(None)
        combined = point[used] @ packed[used]
        K = squareform(combined[:n_pairs], checks=False)
        np.fill_diagonal(K, combined[n_pairs:])
        svm.fit(K, y)
        v = np.zeros(n)
        v[svm.support_] = svm.dual_coef_[0]
        forms = packed @ np.concatenate([squareform(np.multiply.outer(2 * v, v), checks=False), v**2])
        total = np.abs(v).sum()
        upper = min(upper, total - 0.5 * float(point @ forms))
        calls += 1
        seconds["oracle"] += perf_counter() - clock

        clock = perf_counter()
        master.addRow(float(total), highspy.kHighsInf, p + 1, columns, np.append(0.5 * forms, 1.0))
        master.run()
        solution = np.maximum(master.getSolution().col_value, [*np.zeros(p), -np.inf])
        point, lower = solution[:p] / solution[:p].sum(), float(solution[p])
        seconds["master"] += perf_counter() - clock
    return calls, lower, upper, seconds
