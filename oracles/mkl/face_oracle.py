"""A face model as an oracle of its own."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.domains import Simplex
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.svm.separable_dual import Separable

if TYPE_CHECKING:  # which makes these
    from oracle_opt.oracles.mkl.face_model import FaceModel

ACCURACY = 1e-10  # relative gap of the small machines


class FaceOracle(Oracle):
    """A face model as an oracle in the weights of some kernels: a support vector machine on the points of T.

    Parameters
    ----------
    face : FaceModel
    coordinates : ndarray of int, shape (k,)
        Which kernels.
    """

    stateless = True

    def __init__(self, face: FaceModel, coordinates: Indices) -> None:
        self.face, self.coordinates = face, coordinates
        self.domain = Simplex(coordinates.size)

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the machine on T."""
        face, data, w = self.face, self.face.data, query.point
        T, old = face.points, data.b[face.points]
        kernels, U = face.kernels(self.coordinates), face.products[:, self.coordinates]
        K = np.tensordot(w, kernels, 1)
        # about b = 0 on T, the rest as it is: linear - (K b)_T without T's own part
        linear = face.linear - U @ w + K @ old
        lower, upper = face.box
        dual = Separable(linear, lower, upper, total=fsum([data.dual.total, *(-data.b).tolist(), *old.tolist()]))
        solved = dual.solve(K + np.diag(face.ridge), start=old, accuracy=ACCURACY)
        b = face.whole(solved.signed_dual)
        d = b[T] - old
        S = data.forms[self.coordinates] + d @ (2.0 * U + (kernels @ d).T)
        value = data.dual.value(b) - 0.5 * float(w @ S)
        return ObjectiveCut(w, value, -0.5 * S, error=max(solved.gap, 0.0))
