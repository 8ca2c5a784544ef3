"""Finite rotations R = exp(φ̃), and the inertia of sections that make them.

Everything takes stacks of vectors (..., 3), real or complex: tangents are taken by complex step.
The rotations themselves take `Taylor` stacks too, and then have their velocities and accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, factorial
from typing import Any

import numpy as np
from scipy.special import bernoulli

from assembly.elements.section_inertia import SectionInertia
from assembly.elements.taylor import Taylor, cross
from assembly.kinematics import CENTRIPETAL_UNITS, SKEW_UNITS
from assembly.types import AnyArray, Array

_TERMS = 14  # of the series in θ²: exact to round-off for turns up to π
_SERIES = np.array(
    [[(-1.0) ** k / factorial(2 * k + shift) for k in range(_TERMS)] for shift in (1, 2, 3)]
)
_SLOPES = _SERIES[:, 1:] * np.arange(1.0, _TERMS)
# θ² up to which 4, 5, … terms are exact to round-off, with two to spare for derivatives.
_REACH = np.array([(1e-18 * factorial(2 * n + 1)) ** (1.0 / n) for n in range(2, _TERMS - 2)])
_FORMS = np.stack([*CENTRIPETAL_UNITS, *SKEW_UNITS])
# cos θ in θ²; asin x/x in x²; (1 − ½θ cot ½θ)/θ² = Σ |B_2k|/(2k)! θ^(2k−2) in θ².
_COSINE = np.array([(-1.0) ** k / factorial(2 * k) for k in range(_TERMS)])
_ARCSINE = np.array([comb(2 * k, k) / 4.0**k / (2 * k + 1) for k in range(28)])
_COTANGENT = np.array([abs(bernoulli(24)[2 * k]) / factorial(2 * k) for k in range(1, 12)])
STEP = 1e-30


def series(phi: AnyArray, derivative: bool = False) -> tuple[AnyArray, ...]:
    """sin θ/θ, (1 − cos θ)/θ² and (θ − sin θ)/θ³, or their derivatives by θ², (..., 1) each."""
    q, count = _square(phi)
    coefficients = _SLOPES if derivative else _SERIES
    return tuple(_horner(row[:count], q) for row in coefficients)


def _square(phi: Any) -> tuple[Any, int]:
    """θ² (..., 1), and how many terms of the series it needs."""
    q: Any = np.sum(phi * phi, axis=-1, keepdims=True)
    largest = np.abs(q.value if isinstance(q, Taylor) else q).max(initial=0.0)
    return q, 4 + int(np.searchsorted(_REACH, largest))


def _horner(row: Array, q: Any) -> Any:
    if isinstance(q, Taylor):
        return q.polynomial(row.tolist())
    total = np.zeros_like(q)
    for c in row[::-1]:
        total *= q
        total += c
    return total


def moved_by(phi: AnyArray, v: AnyArray) -> AnyArray:
    """exp(φ̃) v − v, without cancellation."""
    q, count = _square(phi)
    f1, f2 = (_horner(row[:count], q) for row in _SERIES[:2])
    across = cross(phi, v)
    moved: AnyArray = f1 * across + f2 * cross(phi, across)
    return moved


def turned_by(phi: AnyArray, v: AnyArray) -> AnyArray:
    """exp(φ̃) v."""
    return v + moved_by(phi, v)


def spin_of(phi: AnyArray, rate: AnyArray) -> AnyArray:
    """T φ̇ = axial(Rᵀ Ṙ) = φ̇ − f₂ φ × φ̇ + f₃ φ × (φ × φ̇), in the rotated axes."""
    _, f2, f3 = series(phi)
    across = cross(phi, rate)
    spin: AnyArray = rate - f2 * across + f3 * cross(phi, across)
    return spin


def spin_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """Tᵀ m: T(φ)ᵀ = T(−φ)."""
    return spin_of(-phi, moment)


def spin_rate_transposed(phi: AnyArray, rate: AnyArray, moment: AnyArray) -> AnyArray:
    """(dT/ds)ᵀ m where dφ/ds = rate."""
    _, f2, f3 = series(phi)
    _, g2, g3 = series(phi, derivative=True)
    grow = 2.0 * np.sum(phi * rate, axis=-1, keepdims=True)
    across = cross(phi, moment)
    by_factor = grow * (g2 * across + g3 * cross(phi, across))
    double = cross(phi, cross(rate, moment)) + cross(rate, across)
    return np.asarray(by_factor + f2 * cross(rate, moment) + f3 * double)


def spin_inverse_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """T⁻ᵀ m, with T⁻¹ = 1 + ½ φ̃ + g φ̃φ̃, g = (1 − ½θ cot ½θ)/θ² by its series: turns below 1."""
    g = _horner(_COTANGENT, np.sum(phi * phi, axis=-1, keepdims=True))
    across = cross(phi, moment)
    return np.asarray(moment - 0.5 * across + g * cross(phi, across))


def relative_turn(frame: AnyArray, phi: AnyArray) -> AnyArray:
    """The rotation vector of exp(−frame) exp(phi), by quaternions; for turns below 1 rad."""
    (a, b), (c, d) = _quaternion(-frame), _quaternion(phi)
    v = a * d + c * b + cross(b, d)
    square: Any = np.sum(v * v, axis=-1, keepdims=True)
    largest = np.abs(square.value if isinstance(square, Taylor) else square).max(initial=0.0)
    count = 4 + int(-40.0 / np.log(np.clip(largest, 1e-30, 0.5)))  # terms down to round-off
    turn: AnyArray = 2.0 * _horner(_ARCSINE[:count], square) * v
    return turn


def _quaternion(phi: AnyArray) -> tuple[AnyArray, AnyArray]:
    q = 0.25 * np.sum(phi * phi, axis=-1, keepdims=True)
    return _horner(_COSINE, q), 0.5 * _horner(_SERIES[0], q) * phi


def acceleration_form(coefficients: Array) -> tuple[AnyArray, AnyArray]:
    """ε̃ + ω̃ω̃ (3, 3) and a_O (3,) of the 12 coefficients of a motion."""
    return np.einsum("k,kij->ij", coefficients[:9], _FORMS), coefficients[9:]


def inertia_gradient(
    inertia: SectionInertia,
    X: AnyArray,
    u: AnyArray,
    turns: Sequence[AnyArray],
    coefficients: Array,
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ ((ε̃ + ω̃ω̃) x + a_O) dm of points x = X + u + R s, (..., 3) for u and each φ.

    R = exp(φ̃₁) exp(φ̃₂) … of the parts of the rotation vectors `turns` that move mass
    (`SectionInertia.turning`).
    """
    A, a_O = acceleration_form(coefficients)
    columns = np.stack([e @ A.T for e in rotated_axes(inertia, turns)], axis=-1)
    return inertia_work(inertia, turns, (X + u) @ A.T + a_O, columns)


def rate_gradient(
    inertia: SectionInertia, moved: Any, turns: Sequence[Any], omega: Array, a: float = 0.0
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ (ẍ + 2 ω̃ẋ + a ẋ) dm of the same points in motion relative to the frame.

    moved, turns: X + u and the rotation vectors as `Taylor`. a: damping in proportion to mass, 1/s.
    """
    axes = rotated_axes(inertia, turns)
    first, *columns = (x.second + cross(2.0 * omega, x.rate) + a * x.rate for x in (moved, *axes))
    values = [turn.value for turn in turns]
    return inertia_work(inertia, values, first, np.stack(columns, axis=-1))


def inertia_work(
    inertia: SectionInertia, turns: Sequence[AnyArray], a: AnyArray, columns: AnyArray
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ ẍ dm, (..., 3) for u and each φ, of sections with given accelerations.

    a (..., 3): of the section's point; columns (..., 3, 3): of its rotated unit vectors.
    """
    parts = _turning_parts(inertia, turns)

    def to_section(v: AnyArray) -> AnyArray:
        for part in parts:
            v = turned_by(-part, v + 0.0 * part)
        return v

    force = inertia.m[..., None] * a + np.einsum("...ij,...j->...i", columns, inertia.eta)
    # In the section's rotated axes, column by column.
    turned = np.stack([to_section(column) for column in np.moveaxis(columns, -1, 0)], axis=-1)
    product = turned @ inertia.J
    couple = np.stack(
        [
            product[..., 2, 1] - product[..., 1, 2],
            product[..., 0, 2] - product[..., 2, 0],
            product[..., 1, 0] - product[..., 0, 1],
        ],
        axis=-1,
    )
    couple = couple + cross(inertia.eta, to_section(a))
    moments: list[AnyArray] = []
    for part in reversed(parts):
        moment = spin_transposed(part, couple)
        moments.insert(0, np.einsum("...ij,...j->...i", inertia.turning, moment))
        couple = turned_by(part, couple)
    return force, moments


def _turning_parts(inertia: SectionInertia, turns: Sequence[Any]) -> list[Any]:
    """The parts of rotation vectors that move mass."""
    return [np.einsum("...ij,...j->...i", inertia.turning, phi) for phi in turns]


def rotated_axes(inertia: SectionInertia, turns: Sequence[Any]) -> list[Any]:
    """R e_k for k = 1, 2, 3, (..., 3) each."""
    axes: list[Any] = []
    for e in np.eye(3):
        v: Any = e
        for part in reversed(_turning_parts(inertia, turns)):
            v = turned_by(part, v + 0.0 * part)
        axes.append(v)
    return axes


def jacobian(gradient: Callable[[AnyArray], AnyArray], y: Array) -> Array:
    """∂gradient/∂y (..., m, m) of an analytic function of y (..., m), by complex steps.

    gradient takes all m shifted copies at once, in a leading axis.
    """
    m = y.shape[-1]
    steps = (1j * STEP * np.eye(m)).reshape(m, *(1,) * (y.ndim - 1), m)
    return np.moveaxis(np.asarray(gradient(y + steps).imag) / STEP, 0, -1)
