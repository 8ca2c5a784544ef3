"""Finite rotations R = exp(φ̃), and the inertia of sections that make them.

Everything takes stacks of vectors (..., 3), real or complex: tangents are taken by complex step.
The rotations themselves take `Taylor` stacks too, and then have their velocities and accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import comb, factorial
from typing import Any

import numpy as np
from scipy.special import zeta

from assembly.elements.section_inertia import SectionInertia
from assembly.elements.taylor import Jets, cross, polynomial, value_of
from assembly.kinematics import FRAME_UNITS, SKEW_UNITS, axial
from assembly.types import AnyArray, Array

_TERMS = 14  # of the series in θ²: exact to round-off for turns up to π
_SERIES = np.array(
    [[(-1.0) ** k / factorial(2 * k + shift) for k in range(_TERMS)] for shift in (1, 2, 3)]
)
_SLOPES = _SERIES[1:, 1:] * np.arange(1.0, _TERMS)  # of the last two
# θ² up to which 4, 5, … terms are exact to round-off, with two to spare for derivatives.
_REACH = np.array([(1e-18 * factorial(2 * n + 1)) ** (1.0 / n) for n in range(2, _TERMS - 2)])
_FORMS = np.stack(FRAME_UNITS)
_SKEWS = np.stack(SKEW_UNITS)
# cos θ and sin θ/θ in θ²; asin x/x in x²; (1 − ½θ cot ½θ)/θ² = Σ 2ζ(2k)/(2π)²ᵏ θ^(2k−2) in θ².
_HALF_TURN = np.array([[(-1.0) ** k / factorial(2 * k) for k in range(_TERMS)], _SERIES[0]])
_ARCSINE = np.array([comb(2 * k, k) / 4.0**k / (2 * k + 1) for k in range(28)])
_COTANGENT = np.array([2.0 * zeta(2 * k) / (2.0 * np.pi) ** (2 * k) for k in range(1, 33)])
STEP = 1e-30


class Turn(Jets):
    """Rotations R = exp(φ̃) of vectors φ (..., 3).

    T: the matrix of axial(RᵀṘ) = T φ̇, the spin in the rotated axes.
    """

    def __init__(self, phi: Any) -> None:
        self.phi = phi
        self.square: Any = np.sum(phi * phi, axis=-1, keepdims=True)  # θ²
        # Σ c_k θ^(2k) (..., 1): sin θ/θ, (1 − cos θ)/θ² and (θ − sin θ)/θ³.
        self.series = self._evaluated(_SERIES)

    def _evaluated(self, rows: Array) -> Any:
        largest = np.abs(value_of(self.square)).max(initial=0.0)
        return polynomial(rows[:, : 4 + int(_REACH.searchsorted(largest))], self.square)

    @cached_property
    def back(self) -> Turn:
        """That of −φ: Rᵀ, and Tᵀ in the place of T."""
        out = object.__new__(Turn)
        out.phi, out.square, out.series = -self.phi, self.square, self.series
        return out

    def moved(self, v: Any) -> Any:
        """R v − v, without cancellation."""
        across = cross(self.phi, v)
        return self.series[0] * across + self.series[1] * cross(self.phi, across)

    def turned(self, v: Any) -> Any:
        """R v."""
        return v + self.moved(v)

    @cached_property
    def matrix(self) -> Any:
        """R (..., 3, 3)."""
        phi, f1, f2 = self.phi, self.series[0], self.series[1]
        wide: Any = np.einsum("kij,...k->...ij", _SKEWS, f1 * phi)
        cosine = 1.0 - f2 * self.square
        return cosine[..., None] * np.eye(3) + wide + (f2 * phi)[..., None] * phi[..., None, :]

    def spin(self, rate: Any) -> Any:
        """T φ̇ = φ̇ − f₂ φ × φ̇ + f₃ φ × (φ × φ̇), of the last two series f."""
        across = cross(self.phi, rate)
        return rate - self.series[1] * across + self.series[2] * cross(self.phi, across)

    @cached_property
    def spin_matrix(self) -> Any:
        """T (..., 3, 3)."""
        wide: Any = np.einsum("kij,...k->...ij", _SKEWS, self.phi)
        once, twice = self.series[1], self.series[2]
        return np.eye(3) - once[..., None] * wide + twice[..., None] * np.matmul(wide, wide)

    def spin_rate_transposed(self, rate: Any, moment: Any) -> Any:
        """(dT/ds)ᵀ m where dφ/ds = rate."""
        phi, slopes = self.phi, self._evaluated(_SLOPES)
        grow = 2.0 * np.sum(phi * rate, axis=-1, keepdims=True)
        across, turning = cross(phi, moment), cross(rate, moment)
        by_factor = grow * (slopes[0] * across + slopes[1] * cross(phi, across))
        double = cross(phi, turning) + cross(rate, across)
        return by_factor + self.series[1] * turning + self.series[2] * double


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


def relative_turns(frame: AnyArray, phi: AnyArray) -> AnyArray:
    """The rotation vectors of exp(−frame) exp(phi), by quaternions; for turns below 1 rad.

    frame (..., 1, 3), phi (..., N, 3).
    """
    both: Any = np.concatenate([-frame, phi], axis=-2)
    square: Any = 0.25 * np.sum(both * both, axis=-1, keepdims=True)
    cosine, sine = polynomial(_HALF_TURN, square)
    half = 0.5 * sine * both
    a, b, c, d = cosine[..., :1, :], half[..., :1, :], cosine[..., 1:, :], half[..., 1:, :]
    v = a * d + c * b + cross(b, d)
    small: Any = np.sum(v * v, axis=-1, keepdims=True)
    (factor,) = _geometric(_ARCSINE, small, 1.0)
    turn: AnyArray = 2.0 * factor * v
    return turn


def inertia_gradient(
    inertia: SectionInertia,
    x: Any,
    turns: Sequence[Turn],
    coefficients: Array | None,
    drag: Array | None = None,
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ ((ε̃ + ω̃ω̃) x + a_O + ẍ + W ẋ) dm of points x + R s, (..., 3) for x and each φ.

    R is the product of the parts of `turns` that move mass (`SectionInertia.parts`). coefficients
    (..., 12): of the motion; None without its terms. drag (..., 3, 3): W, 2ω̃ and the damping in
    proportion to mass (1/s) times I; with it x and the turns are of `Taylor`, without it there are
    no rates.
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
    turns: Sequence[Turn],
    a: AnyArray,
    form: AnyArray | None,
    drag: Array | None,
) -> tuple[AnyArray, list[AnyArray]]:
    """∫ (∂x/∂(u, φ))ᵀ ẍ dm, (..., 3) for u and each φ, of sections whose points have the
    accelerations a (..., 3); form (..., 3, 3): (ε̃ + ω̃ω̃) of `inertia_gradient`."""
    moving = _turning_parts(inertia, turns)
    rates: Any = _product(moving)
    R = value_of(rates)
    back = R.swapaxes(-1, -2)  # no conjugate, so that complex steps pass
    # Of the section's unit vectors: a vector of it has the acceleration `moved` times itself.
    moved: Any = 0.0 if form is None else form @ R
    if drag is not None:
        moved = moved + rates.second + np.matmul(drag, rates.rate)
    force = inertia.m[..., None] * a + (moved @ inertia.eta[..., None])[..., 0]
    couple = axial(back @ moved @ inertia.J) + cross(inertia.eta, (back @ a[..., None])[..., 0])
    moments: list[AnyArray] = []
    for part in reversed(moving):
        moment = part.still.back.spin(couple)
        moments.insert(0, moment if inertia.turns_whole else _moving_part(inertia, moment))
        couple = part.still.turned(couple)
    return force, moments


def _moving_part(inertia: SectionInertia, phi: Any) -> Any:
    """The parts of rotation vectors, or of moments, that move mass."""
    return np.einsum("...ij,...j->...i", inertia.turning, phi)


def _turning_parts(inertia: SectionInertia, turns: Sequence[Turn]) -> list[Turn]:
    """The parts of rotations that move mass."""
    if inertia.turns_whole:
        return list(turns)
    return [Turn(_moving_part(inertia, turn.phi)) for turn in turns]


def section_rotation(inertia: SectionInertia, turns: Sequence[Turn]) -> Any:
    """R (..., 3, 3) of sections, of the parts of the rotations that move mass."""
    return _product(_turning_parts(inertia, turns))


def _product(turns: Sequence[Turn]) -> Any:
    """R₁ R₂ … (..., 3, 3)."""
    first, *others = (turn.matrix for turn in turns)
    for other in others:
        first = np.matmul(first, other)
    return first


def rate_slopes(
    inertia: SectionInertia, x: Any, turns: Sequence[Turn], drag: Array
) -> tuple[Array, Array]:
    """Derivatives (..., n, n) of the forces of `inertia_gradient` on n DOFs by the rates of these.

    x and turns are `Taylor`s with complex steps of the n displacements in their first axis. Along
    the motion ∂ẋ/∂q̇ = ∂x/∂q and ∂ẍ/∂q̇ = 2 ∂ẋ/∂q, so that with Z = ∂(x + R s)/∂q the forces
    ∫ Zᵀ(ẍ + W ẋ) dm have the derivatives ∫ Zᵀ(2 Ż + W Z) dm by q̇ and ∫ ZᵀZ dm by q̈.
    """
    by_v: Any = 0.0
    by_a: Any = 0.0
    for part in inertia.parts:
        R = section_rotation(part, turns).data[:2]
        both = np.concatenate([x.data[:2, ..., None], R], axis=-1).imag / STEP
        both = np.ascontiguousarray(np.moveaxis(both, 1, -2))  # (2, ..., 3, n, 4)
        shape = both.shape[1:]
        Z, rate = both
        turned = np.matmul(drag, Z.reshape(*shape[:-2], -1)).reshape(shape)
        loaded = Z.reshape(*shape[:-3], -1, 4) @ part.moments
        loaded = loaded.reshape(shape).swapaxes(-3, -2).reshape(*shape[:-3], shape[-2], 12)
        of_rates, of_accelerations = (
            each.transpose(*range(each.ndim - 3), -3, -1, -2).reshape(*shape[:-3], 12, -1)
            for each in (2.0 * rate + turned, Z)
        )
        by_v, by_a = by_v + loaded @ of_rates, by_a + loaded @ of_accelerations
    return by_v, by_a


def stepped(y: Array, columns: Any = slice(None)) -> AnyArray:
    """Copies of y (..., m), with a complex step of each of the columns, in a leading axis."""
    m = y.shape[-1]
    steps = 1j * STEP * np.eye(m)[columns]
    return np.asarray(y + steps.reshape(-1, *(1,) * (y.ndim - 1), m))


def value_and_jacobian(
    gradient: Callable[[AnyArray], AnyArray], y: Array, columns: Any = slice(None)
) -> tuple[Array, Array]:
    """An analytic function of y (..., m) and its derivative (..., n, m), by complex steps.

    gradient takes all shifted copies at once, in a leading axis. columns: of the derivative, that
    are wanted; the others are zero.
    """
    both = np.asarray(gradient(stepped(y, columns)))
    derivative = np.zeros((*both.shape[1:], y.shape[-1]))
    derivative[..., columns] = np.moveaxis(both.imag, 0, -1) / STEP
    return both[0].real, derivative
