"""Second derivatives of an SVM's optimal value in the weights of its kernels."""

import numpy as np
from scipy.linalg.blas import dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf

from oracle_opt.arrays import Matrix

# Least squared pivot of the Cholesky factor, relative to the largest diagonal entry, that is more than rounding.
SINGULAR = 1e-13


def curvature_factor(K_FF: Matrix, U: Matrix) -> Matrix | None:
    """Factor R of the Hessian of ``max over a of sum(a) - 1/2 sum_k b_k S_k(a)`` in b: ``R = P L^-1 U``.

    ``K_FF = L L'``, P projects off ``L^-1 1``; see docs/theory_machines.md, "Second derivatives of the SVM's value".
    """
    if U.shape[0] == 0:
        return None
    # Called directly: the functions of scipy.linalg around these take longer than the work.
    L, failed = dpotrf(K_FF, lower=1)
    if failed or L.diagonal().min() ** 2 <= SINGULAR * K_FF.diagonal().max():
        return None
    R: Matrix = dtrsm(1.0, L, U.T, side=1, lower=1, trans_a=1).T
    q = dtrsv(L, np.ones(U.shape[0]), lower=1)
    q /= np.linalg.norm(q)
    R -= np.outer(q, q @ R)
    return R
