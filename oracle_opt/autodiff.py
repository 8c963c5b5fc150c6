"""Values and gradients of functions that another library differentiates, in double precision."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from oracle_opt.arguments import callback
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidCut
from oracle_opt.optional import require

Differentiated = Callable[[Vector], tuple[float, Vector]]


def of_jax(name: str, function: Any) -> Differentiated:
    """Return a function of JAX as one that returns value and gradient, compiled at its first call."""
    callback(name, function, "a function of a JAX array")
    jax = require("jax", "jax", "functions of JAX")
    compiled = jax.jit(jax.value_and_grad(function))

    @wraps(function)
    def evaluated(point: Vector) -> tuple[float, Vector]:
        with jax.enable_x64(True):
            value, gradient = compiled(jax.numpy.asarray(point))
        return _doubles(name, value, np.asarray(value), np.asarray(gradient))

    return evaluated


def of_torch(name: str, function: Any) -> Differentiated:
    """Return a function of PyTorch as one that returns value and gradient."""
    callback(name, function, "a function of a tensor")
    torch = require("torch", "torch", "functions of PyTorch")

    @wraps(function)
    def evaluated(point: Vector) -> tuple[float, Vector]:
        at = torch.tensor(point, dtype=torch.float64, requires_grad=True)
        value = function(at)
        (gradient,) = torch.autograd.grad(value, at)
        return _doubles(name, value, value.detach().numpy(), gradient.numpy())

    return evaluated


def _doubles(name: str, answer: Any, value: Any, gradient: Any) -> tuple[float, Vector]:
    """Value and gradient, refused in single precision: cuts would be wrong by what rounding takes, and not say so."""
    if value.dtype != np.float64:
        raise InvalidCut(
            f"`{name}` must be computed in double precision, got {value.dtype}: {answer!r}; "
            "make the arrays that it uses of float64"
        )
    return float(value), np.array(gradient, dtype=float)
