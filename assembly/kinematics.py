"""Rigid-motion kinematics of one instant, and the coefficients of the affine matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, real_array, shown
from assembly.errors import InputError
from assembly.magnitudes import ACCELERATION, RATE
from assembly.types import Array

# The order in which the six products ω_i ω_j are counted everywhere.
PAIRS: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_FIRST, _SECOND = np.array(PAIRS).T

# The order in which unit inertia loads are counted: six ω_i ω_j, three ε_i, three a_O,i.
UNIT_COUNT = 12


def skew(w: ArrayLike) -> Array:
    """The matrices w̃ (..., 3, 3) of vectors (..., 3), with w̃ v = w × v."""
    w = np.asarray(w, dtype=float)
    out = np.zeros((*w.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = w[..., 2], -w[..., 1], w[..., 0]
    return out


def axial(M: Any) -> Any:
    """The axial vectors (..., 3) of M − Mᵀ, of matrices (..., 3, 3)."""
    pairs = (2, 1), (0, 2), (1, 0)
    return np.stack([M[..., i, j] - M[..., j, i] for i, j in pairs], axis=-1)


def centripetal_unit(pair: tuple[int, int]) -> Array:
    """The matrix P_ij (3, 3) of ω̃ω̃ = Σ_{i≤j} ω_i ω_j P_ij, from ω̃ω̃ = ωωᵀ − (ω·ω) I."""
    i, j = pair
    unit = np.zeros((3, 3))
    unit[i, j] = unit[j, i] = 1.0
    return unit - np.eye(3) if i == j else unit


SKEW_UNITS: tuple[Array, ...] = tuple(skew(e) for e in np.eye(3))
# A of the accelerations A X of the first nine unit kinematics: ω̃ω̃ = Σ ω_iω_j A and ε̃ = Σ ε_i A.
FRAME_UNITS: tuple[Array, ...] = (*(centripetal_unit(pair) for pair in PAIRS), *SKEW_UNITS)


def acceleration_units(X: ArrayLike) -> Array:
    """Rigid acceleration at points X for each of the 12 unit kinematics.

    X: (..., 3) positions in body axes, m. Returns (..., 3, 12): the columns of
    (ε̃ + ω̃ω̃) X + a_O for unit ω_iω_j (order PAIRS), unit ε_i, unit a_O,i.
    """
    X = np.asarray(X, dtype=float)
    out = np.empty((*X.shape, UNIT_COUNT))
    for k, unit in enumerate(FRAME_UNITS):
        out[..., k] = X @ unit.T
    out[..., 9:] = np.eye(3)
    return out


@dataclass(frozen=True)
class Kinematics:
    """Rigid motion of a body frame at one instant, in body axes.

    Parameters
    ----------
    omega : array_like, shape (3,)
        Angular velocity, rad/s.
    epsilon : array_like, shape (3,)
        Angular acceleration, rad/s².
    acceleration : array_like, shape (3,)
        Acceleration of the origin, m/s².
    velocity : array_like, shape (3,)
        Velocity of the origin, m/s. Only dampers against the surroundings depend on it.

    Raises
    ------
    InputError
        For values that are not finite, too large, or of the wrong shape.
    """

    omega: Array = field(default_factory=lambda: np.zeros(3))
    epsilon: Array = field(default_factory=lambda: np.zeros(3))
    acceleration: Array = field(default_factory=lambda: np.zeros(3))
    velocity: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for name in ("omega", "epsilon", "acceleration", "velocity"):
            value = as_vector(getattr(self, name), name)
            limit = ACCELERATION.largest if name in ("epsilon", "acceleration") else RATE.largest
            if np.abs(value).max() > limit:
                raise InputError(
                    f"{name}: components must be at most {limit:g}, got {value.tolist()}"
                )
            object.__setattr__(self, name, value)

    def coefficients(self) -> Array:
        """Multipliers (12,) of the unit kinematics: ω_iω_j in PAIRS order, ε, a_O."""
        return unit_coefficients(self.omega, self.epsilon, self.acceleration)

    def twist(self) -> Array:
        """Velocity of the origin and angular velocity, (6,)."""
        return np.concatenate([self.velocity, self.omega])

    def loads(self) -> Array:
        """Multipliers (18,) of the unit loads of a body: `coefficients`; of dampers, `twist`."""
        return np.concatenate([self.coefficients(), self.twist()])


def unit_coefficients(omega: Array, epsilon: Array, acceleration: Array) -> Array:
    """The multipliers (..., 12) of the unit kinematics of vectors (..., 3): ω_iω_j, ε, a_O."""
    products = omega[..., _FIRST] * omega[..., _SECOND]
    return np.concatenate([products, epsilon, acceleration], axis=-1)


def as_vector(value: ArrayLike, name: str, axis: ArrayLike | None = None) -> Array:
    """A finite (3,) vector from a vector, or from a scalar along `axis`; InputError otherwise."""
    array = as_numbers(value, name)
    if array.ndim == 0:
        if axis is None:
            if array == 0.0:
                return np.zeros(3)
            raise InputError(
                f"{name}: a scalar needs an axis; give three components or axis=(0, 0, 1)"
            )
        array = array * unit_axis(axis)
    if array.shape != (3,):
        raise InputError(f"{name}: expected 3 components in body axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name}: components must be finite, got {array.tolist()}")
    return array


def unit_axis(axis: ArrayLike | Sequence[float], name: str = "axis") -> Array:
    """The unit vector of an axis.

    Parameters
    ----------
    axis : array_like, shape (3,)
    name : str
        Name of the argument in messages.

    Returns
    -------
    ndarray, shape (3,)

    Raises
    ------
    InputError
        For a vector that is zero, not finite or of another shape.
    """
    a = real_array(axis)
    length = np.sqrt(a.dot(a)) if a is not None and a.shape == (3,) else 0.0
    if a is None or not np.isfinite(length) or length == 0.0:
        raise InputError(f"{name}: expected three numbers that are not all zero, got {shown(axis)}")
    return np.asarray(a / length)
