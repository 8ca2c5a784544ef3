"""Finite rotations R = exp(φ̃), and the inertia of sections that make them.

Everything takes stacks of vectors (..., 3), real or complex: tangents are taken by complex step.
The rotations themselves take `Taylor` stacks too, and then have their velocities and accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, factorial
from typing import Any

import numpy as np
from scipy.special import zeta

from assembly.elements.section_inertia import SectionInertia
from assembly.elements.taylor import cross, polynomial, value_of
from assembly.kinematics import FRAME_UNITS, SKEW_UNITS, axial
from assembly.types import AnyArray, Array

_TERMS = 14  # of the series in θ²: exact to round-off for turns up to π
_SERIES = np.array(
    [[(-1.0) ** k / factorial(2 * k + shift) for k in range(_TERMS)] for shift in (1, 2, 3)]
)
_SLOPES = _SERIES[:, 1:] * np.arange(1.0, _TERMS)
# θ² up to which 4, 5, … terms are exact to round-off, with two to spare for derivatives.
_REACH = np.array([(1e-18 * factorial(2 * n + 1)) ** (1.0 / n) for n in range(2, _TERMS - 2)])
_FORMS = np.stack(FRAME_UNITS)
_SKEWS = np.stack(SKEW_UNITS)
# cos θ and sin θ/θ in θ²; asin x/x in x²; (1 − ½θ cot ½θ)/θ² = Σ 2ζ(2k)/(2π)²ᵏ θ^(2k−2) in θ².
_HALF_TURN = np.array([[(-1.0) ** k / factorial(2 * k) for k in range(_TERMS)], _SERIES[0]])
_ARCSINE = np.array([comb(2 * k, k) / 4.0**k / (2 * k + 1) for k in range(28)])
_COTANGENT = np.array([2.0 * zeta(2 * k) / (2.0 * np.pi) ** (2 * k) for k in range(1, 33)])
STEP = 1e-30


def _series(rows: Array, phi: Any) -> Any:
    """Σ c_k θ^(2k) (..., 1) of each row of coefficients."""
    q: Any = np.sum(phi * phi, axis=-1, keepdims=True)
    largest = np.abs(value_of(q)).max(initial=0.0)
    return polynomial(rows[:, : 4 + int(_REACH.searchsorted(largest))], q)


def moved_by(phi: AnyArray, v: AnyArray) -> AnyArray:
    """exp(φ̃) v − v, without cancellation."""
    f1, f2 = _series(_SERIES[:2], phi)
    across = cross(phi, v)
    moved: AnyArray = f1 * across + f2 * cross(phi, across)
    return moved


def rotation(phi: Any) -> Any:
    """R = exp(φ̃) (..., 3, 3)."""
    f1, f2 = _series(_SERIES[:2], phi)
    wide: Any = np.einsum("kij,...k->...ij", _SKEWS, f1 * phi)
    cosine: Any = 1.0 - f2 * np.sum(phi * phi, axis=-1, keepdims=True)
    return cosine[..., None] * np.eye(3) + wide + (f2 * phi)[..., None] * phi[..., None, :]


def spin_matrix(phi: Any) -> Any:
    """T (..., 3, 3) of `spin_of`."""
    f2, f3 = _series(_SERIES[1:], phi)
    wide: Any = np.einsum("kij,...k->...ij", _SKEWS, phi)
    return np.eye(3) - f2[..., None] * wide + f3[..., None] * np.matmul(wide, wide)


def turned_by(phi: AnyArray, v: AnyArray) -> AnyArray:
    """exp(φ̃) v."""
    return v + moved_by(phi, v)


def spin_of(phi: AnyArray, rate: AnyArray) -> AnyArray:
    """T φ̇ = axial(Rᵀ Ṙ) = φ̇ − f₂ φ × φ̇ + f₃ φ × (φ × φ̇), in the rotated axes."""
    f2, f3 = _series(_SERIES[1:], phi)
    across = cross(phi, rate)
    spin: AnyArray = rate - f2 * across + f3 * cross(phi, across)
    return spin


def spin_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """Tᵀ m: T(φ)ᵀ = T(−φ)."""
    return spin_of(-phi, moment)


def spin_rate_transposed(phi: AnyArray, rate: AnyArray, moment: AnyArray) -> AnyArray:
    """(dT/ds)ᵀ m where dφ/ds = rate."""
    f2, f3 = _series(_SERIES[1:], phi)
    g2, g3 = _series(_SLOPES[1:], phi)
    grow = 2.0 * np.sum(phi * rate, axis=-1, keepdims=True)
    across = cross(phi, moment)
    by_factor = grow * (g2 * across + g3 * cross(phi, across))
    double = cross(phi, cross(rate, moment)) + cross(rate, across)
    transposed: AnyArray = by_factor + f2 * cross(rate, moment) + f3 * double
    return transposed


def spin_inverse_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """T⁻ᵀ m, with T⁻¹ = 1 + ½ φ̃ + g φ̃φ̃, g = (1 − ½θ cot ½θ)/θ² by its series, θ up to π."""
    g, across = _cotangent(phi), cross(phi, moment)
    out: AnyArray = moment - 0.5 * across + g * cross(phi, across)
    return out


def spin_inverse_matrix(phi: Any) -> Any:
    """T⁻¹ (..., 3, 3)."""
    wide: Any = np.einsum("kij,...k->...ij", _SKEWS, phi)
    return np.eye(3) + 0.5 * wide + _cotangent(phi)[..., None] * np.matmul(wide, wide)


def _cotangent(phi: Any) -> Any:
    """g (..., 1) of `spin_inverse_transposed`."""
    q: Any = np.sum(phi * phi, axis=-1, keepdims=True)
    (g,) = _geometric(_COTANGENT, q, 4.0 * np.pi**2)
    return g


def _geometric(coefficients: Array, q: Any, radius: float) -> Any:
    """A power series in q that converges up to a radius, down to round-off for half of it."""
    largest = np.abs(value_of(q)).max(initial=0.0) / radius
    count = 4 + int(-40.0 / np.log(np.clip(largest, 1e-30, 0.5)))
    return polynomial(coefficients[None, :count], q)


def relative_turn(frame: AnyArray, phi: AnyArray) -> AnyArray:
    """The rotation vector of exp(−frame) exp(phi), by quaternions; for turns below 1 rad."""
    (a, b), (c, d) = _quaternion(-frame), _quaternion(phi)
    v = a * d + c * b + cross(b, d)
    square: Any = np.sum(v * v, axis=-1, keepdims=True)
    (half,) = _geometric(_ARCSINE, square, 1.0)
    turn: AnyArray = 2.0 * half * v
    return turn


def _quaternion(phi: AnyArray) -> tuple[AnyArray, AnyArray]:
    q = 0.25 * np.sum(phi * phi, axis=-1, keepdims=True)
    cosine, sine = polynomial(_HALF_TURN, q)
    return cosine, 0.5 * sine * phi


def inertia_gradient(
    inertia: SectionInertia,
    x: Any,
    turns: Sequence[Any],
    coefficients: Array | None,
    drag: Array | None = None,
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ ((ε̃ + ω̃ω̃) x + a_O + ẍ + W ẋ) dm of points x + R s, (..., 3) for x and each φ.

    R = exp(φ̃₁) exp(φ̃₂) … of the parts of the rotation vectors `turns` that move mass
    (`SectionInertia.parts`). coefficients (..., 12): of the motion; None without its terms. drag
    (..., 3, 3): W, 2ω̃ and the damping in proportion to mass (1/s) times I; with it x and the turns
    are `Taylor`, without it there are no rates.
    """
    form: AnyArray | None = None
    a: Any = 0.0
    if coefficients is not None:
        form = np.tensordot(coefficients[..., :9], _FORMS, 1)
        a = np.matmul(form, value_of(x)[..., None])[..., 0] + coefficients[..., 9:]
    if drag is not None:
        a = a + x.second + np.matmul(drag, x.rate[..., None])[..., 0]
    works = [_inertia_work(part, turns, a, form, drag) for part in inertia.parts]
    forces, moments = zip(*works, strict=True)
    return sum(forces), [sum(of_turn) for of_turn in zip(*moments, strict=True)]


def _inertia_work(
    inertia: SectionInertia,
    turns: Sequence[Any],
    a: AnyArray,
    form: AnyArray | None,
    drag: Array | None,
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ ẍ dm, (..., 3) for u and each φ, of sections whose points have the
    accelerations a (..., 3); form (..., 3, 3): (ε̃ + ω̃ω̃) of `inertia_gradient`."""
    moving = _turning_parts(inertia, turns)
    rates: Any = _product(moving)
    R, parts = value_of(rates), [value_of(part) for part in moving]
    back = R.swapaxes(-1, -2)  # no conjugate, so that complex steps pass
    # Of the section's unit vectors: a vector of it has the acceleration `moved` times itself.
    moved: Any = 0.0 if form is None else form @ R
    if drag is not None:
        moved = moved + rates.second + np.matmul(drag, rates.rate)
    force = inertia.m[..., None] * a + (moved @ inertia.eta[..., None])[..., 0]
    couple = axial(back @ moved @ inertia.J) + cross(inertia.eta, (back @ a[..., None])[..., 0])
    moments: list[AnyArray] = []
    for part in reversed(parts):
        (moment,) = _turning_parts(inertia, [spin_transposed(part, couple)])
        moments.insert(0, moment)
        couple = turned_by(part, couple)
    return force, moments


def _turning_parts(inertia: SectionInertia, turns: Sequence[Any]) -> list[Any]:
    """The parts of rotation vectors that move mass; all moments do where all parts do."""
    if inertia.turns_whole:
        return list(turns)
    return [np.einsum("...ij,...j->...i", inertia.turning, phi) for phi in turns]


def section_rotation(inertia: SectionInertia, turns: Sequence[Any]) -> Any:
    """R (..., 3, 3) of sections, of the parts of the rotation vectors that move mass."""
    return _product(_turning_parts(inertia, turns))


def _product(turns: Sequence[Any]) -> Any:
    """exp(φ̃₁) exp(φ̃₂) … (..., 3, 3)."""
    first, *others = (rotation(turn) for turn in turns)
    for other in others:
        first = np.matmul(first, other)
    return first


def value_and_jacobian(
    gradient: Callable[[AnyArray], AnyArray], y: Array, columns: Any = slice(None)
) -> tuple[Array, Array]:
    """An analytic function of y (..., m) and its derivative (..., n, m), by complex steps.

    gradient takes all shifted copies at once, in a leading axis. columns: of the derivative, that
    are wanted; the others are zero.
    """
    m = y.shape[-1]
    steps = 1j * STEP * np.eye(m)[columns]
    both = np.asarray(gradient(y + steps.reshape(-1, *(1,) * (y.ndim - 1), m)))
    derivative = np.zeros((*both.shape[1:], m))
    derivative[..., columns] = np.moveaxis(both.imag, 0, -1) / STEP
    return both[0].real, derivative
