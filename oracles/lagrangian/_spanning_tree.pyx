# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Minimum spanning trees of complete graphs whose costs have a potential at each node."""

from libc.math cimport INFINITY


def spanning_tree(
    const double[:, ::1] costs,
    const double[::1] potentials,
    Py_ssize_t without,
    double[::1] near,
    Py_ssize_t[::1] parents,
    Py_ssize_t[::1] order,
):
    """Edges ``parents[j], j`` for the j of `order`, of the tree on all nodes but one (Prim 1957).

    The edge between i and j costs ``(costs[i, j] + potentials[i]) + potentials[j]``. It takes O(n^2) steps; of several
    nodes as near the first one joins the tree.

    Parameters
    ----------
    costs : ndarray of shape (n, n)
        Symmetric.
    potentials : ndarray of shape (n,)
        Finite.
    without : int
        The node that is left out.
    near : ndarray of shape (n,)
        Is written: room to work in.
    parents : ndarray of int, shape (n,)
        Is written: where each node of `order` hangs.
    order : ndarray of int, shape (n - 2,)
        Is written: the nodes as they join the tree, but the first one.
    """
    cdef Py_ssize_t n = costs.shape[0], i, j, k
    cdef Py_ssize_t first = 1 if without == 0 else 0
    cdef double cost, least
    with nogil:
        for i in range(n):
            near[i] = (costs[first, i] + potentials[first]) + potentials[i]
            parents[i] = first
        # a node of the tree has no distance to it
        near[first] = near[without] = INFINITY
        parents[first] = parents[without] = -1
        for k in range(n - 2):
            j, least = -1, INFINITY
            for i in range(n):
                if near[i] < least:
                    j, least = i, near[i]
            order[k] = j
            near[j] = INFINITY
            for i in range(n):
                cost = (costs[j, i] + potentials[j]) + potentials[i]
                # where the distance is infinite, the node is in the tree
                if cost < near[i] and near[i] < INFINITY:
                    near[i] = cost
                    parents[i] = j
