"""Finite rotations R = exp(φ̃), and the inertia of sections that make them.

Everything takes stacks of vectors (..., 3), real or complex: tangents are taken by complex step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, factorial

import numpy as np
from scipy.special import bernoulli

from assembly.elements.section_inertia import SectionInertia
from assembly.kinematics import CENTRIPETAL_UNITS, SKEW_UNITS
from assembly.types import AnyArray, Array

_TERMS = 14  # of the series in θ²: exact to round-off for turns up to π
_SERIES = np.array(
    [[(-1.0) ** k / factorial(2 * k + shift) for k in range(_TERMS)] for shift in (1, 2, 3)]
)
_FORMS = np.stack([*CENTRIPETAL_UNITS, *SKEW_UNITS])
# cos θ in θ²; asin x/x in x²; (1 − ½θ cot ½θ)/θ² = Σ |B_2k|/(2k)! θ^(2k−2) in θ².
_COSINE = np.array([(-1.0) ** k / factorial(2 * k) for k in range(_TERMS)])
_ARCSINE = np.array([comb(2 * k, k) / 4.0**k / (2 * k + 1) for k in range(28)])
_COTANGENT = np.array([abs(bernoulli(24)[2 * k]) / factorial(2 * k) for k in range(1, 12)])
STEP = 1e-30


def series(phi: AnyArray, derivative: bool = False) -> tuple[AnyArray, ...]:
    """sin θ/θ, (1 − cos θ)/θ² and (θ − sin θ)/θ³, or their derivatives by θ², (..., 1) each."""
    q = np.sum(phi * phi, axis=-1, keepdims=True)
    coefficients = _SERIES[:, 1:] * np.arange(1.0, _TERMS) if derivative else _SERIES
    return tuple(_horner(row, q) for row in coefficients)


def _horner(row: Array, q: AnyArray) -> AnyArray:
    total = np.zeros_like(q)
    for c in row[::-1]:
        total = total * q + c
    return total


def moved_by(phi: AnyArray, v: AnyArray) -> AnyArray:
    """exp(φ̃) v − v, without cancellation."""
    f1, f2, _ = series(phi)
    across = np.cross(phi, v)
    return np.asarray(f1 * across + f2 * np.cross(phi, across))


def turned_by(phi: AnyArray, v: AnyArray) -> AnyArray:
    """exp(φ̃) v."""
    return v + moved_by(phi, v)


def spin_of(phi: AnyArray, rate: AnyArray) -> AnyArray:
    """T φ̇ = axial(Rᵀ Ṙ) = φ̇ − f₂ φ × φ̇ + f₃ φ × (φ × φ̇), in the rotated axes."""
    _, f2, f3 = series(phi)
    across = np.cross(phi, rate)
    return np.asarray(rate - f2 * across + f3 * np.cross(phi, across))


def spin_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """Tᵀ m: T(φ)ᵀ = T(−φ)."""
    return spin_of(-phi, moment)


def spin_rate_transposed(phi: AnyArray, rate: AnyArray, moment: AnyArray) -> AnyArray:
    """(dT/ds)ᵀ m where dφ/ds = rate."""
    _, f2, f3 = series(phi)
    _, g2, g3 = series(phi, derivative=True)
    grow = 2.0 * np.sum(phi * rate, axis=-1, keepdims=True)
    across = np.cross(phi, moment)
    by_factor = grow * (g2 * across + g3 * np.cross(phi, across))
    double = np.cross(phi, np.cross(rate, moment)) + np.cross(rate, across)
    return np.asarray(by_factor + f2 * np.cross(rate, moment) + f3 * double)


def spin_inverse_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """T⁻ᵀ m, with T⁻¹ = 1 + ½ φ̃ + g φ̃φ̃, g = (1 − ½θ cot ½θ)/θ² by its series: turns below 1."""
    g = _horner(_COTANGENT, np.sum(phi * phi, axis=-1, keepdims=True))
    across = np.cross(phi, moment)
    return np.asarray(moment - 0.5 * across + g * np.cross(phi, across))


def relative_turn(frame: AnyArray, phi: AnyArray) -> AnyArray:
    """The rotation vector of exp(−frame) exp(phi), by quaternions; for turns below 1 rad."""
    (a, b), (c, d) = _quaternion(-frame), _quaternion(phi)
    v = a * d + c * b + np.cross(b, d)
    return np.asarray(2.0 * _horner(_ARCSINE, np.sum(v * v, axis=-1, keepdims=True)) * v)


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
    parts = [np.einsum("...ij,...j->...i", inertia.turning, phi) for phi in turns]

    def to_body(v: AnyArray) -> AnyArray:
        for part in reversed(parts):
            v = turned_by(part, v + 0.0 * part)
        return v

    def to_section(v: AnyArray) -> AnyArray:
        for part in parts:
            v = turned_by(-part, v + 0.0 * part)
        return v

    a = (X + u) @ A.T + a_O
    force = inertia.m[..., None] * a + to_body(inertia.eta) @ A.T
    # In the section's rotated axes: A becomes RᵀAR, column by column.
    columns = [to_section(to_body(e) @ A.T) for e in np.eye(3)]
    product = np.stack(columns, axis=-1) @ inertia.J
    couple = np.stack(
        [
            product[..., 2, 1] - product[..., 1, 2],
            product[..., 0, 2] - product[..., 2, 0],
            product[..., 1, 0] - product[..., 0, 1],
        ],
        axis=-1,
    )
    couple = couple + np.cross(inertia.eta, to_section(a))
    moments: list[AnyArray] = []
    for part in reversed(parts):
        moment = spin_transposed(part, couple)
        moments.insert(0, np.einsum("...ij,...j->...i", inertia.turning, moment))
        couple = turned_by(part, couple)
    return force, moments


def jacobian(gradient: Callable[[AnyArray], AnyArray], y: Array) -> Array:
    """∂gradient/∂y (..., m, m) of an analytic function of y (..., m), by complex steps.

    gradient takes all m shifted copies at once, in a leading axis.
    """
    m = y.shape[-1]
    steps = (1j * STEP * np.eye(m)).reshape(m, *(1,) * (y.ndim - 1), m)
    return np.moveaxis(np.asarray(gradient(y + steps).imag) / STEP, 0, -1)
