"""Periodic systems with known exponents, for the tests of Floquet analysis and cross-checks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import mathieu_a, mathieu_b

from assembly.system.frozen import FrozenSystem

Array = NDArray[Any]
Matrix = Callable[[float], Array]


def mathieu(a: float, q: float) -> Matrix:
    """y″ + (a − 2q cos 2t) y = 0, period π."""
    return lambda t: np.array([[0.0, 1.0], [-(a - 2.0 * q * np.cos(2.0 * t)), 0.0]])


def mathieu_tongues(a: Array, q: float) -> tuple[Array, Array]:
    """Whether each a lies in an unstable tongue of odd order, and in one of even order or below
    all, for a up to 5 (SciPy's characteristic values)."""
    odd = (mathieu_b(1, q) < a) & (a < mathieu_a(1, q))
    even = (mathieu_b(2, q) < a) & (a < mathieu_a(2, q))
    return odd, even | (a < mathieu_a(0, q))


def meissner(delta: float, eps: float) -> Matrix:
    """y″ + (δ + ε sgn sin t) y = 0, period 2π, with a jump at π."""
    return lambda t: np.array([[0.0, 1.0], [-(delta + eps * np.sign(np.sin(t))), 0.0]])


def markus_yamabe(t: float) -> Array:
    c, s = np.cos(t), np.sin(t)
    return np.array([[-1 + 1.5 * c * c, 1 - 1.5 * s * c], [-1 - 1.5 * s * c, -1 + 1.5 * s * s]])


def vinograd(t: float) -> Array:
    c, s = np.cos(6 * t), np.sin(6 * t)
    return np.array(
        [
            [-1 - 9 * c * c + 12 * s * c, 12 * c * c + 9 * s * c],
            [-12 * s * s + 9 * s * c, -1 - 9 * s * s - 12 * s * c],
        ]
    )


def wu(t: float) -> Array:
    c, s = 7.5 * np.cos(12 * t), 7.5 * np.sin(12 * t)
    return np.array([[-5.5 + s, c], [c, -5.5 - s]])


class TurningSprings:
    """q″ + R(Ωt) diag(a, b) R(Ωt)ᵀ q = 0: the springs of an asymmetric shaft seen from the
    ground."""

    def __init__(self, Omega: float, a: float, b: float) -> None:
        self.Omega, self.springs = Omega, np.diag([a, b])

    def freeze(self, t: float) -> FrozenSystem:
        c, s = np.cos(self.Omega * t), np.sin(self.Omega * t)
        R = np.array([[c, -s], [s, c]])
        return FrozenSystem(M=np.eye(2), K=R @ self.springs @ R.T)
