"""Finite rotations R = exp(φ̃), and the inertia of sections that make them.

Everything takes stacks of vectors (3, ...), real or complex: tangents are taken by complex step.
The components come first, so that products run over long rows of elements, steps and instants.
The rotations themselves take `Taylor` stacks too, and then have their velocities and accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from math import comb, factorial
from typing import Any

import numpy as np
from scipy.special import zeta

from assembly.elements.section_inertia import SectionInertia
from assembly.elements.taylor import Jets, Taylor, cross, polynomial, value_of
from assembly.kinematics import FRAME_UNITS, SKEW_UNITS
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
    """Rotations R = exp(φ̃) of vectors φ (3, ...).

    T: the matrix of axial(RᵀṘ) = T φ̇, the spin in the rotated axes.
    """

    def __init__(self, phi: Any) -> None:
        self.phi = phi
        self.square: Any = np.sum(phi * phi, axis=0, keepdims=True)  # θ²
        # Σ c_k θ^(2k) (1, ...): sin θ/θ, (1 − cos θ)/θ² and (θ − sin θ)/θ³.
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
        return applied(self.matrix, v)

    def turned_back(self, v: Any) -> Any:
        """Rᵀ v."""
        return applied(self.matrix.swapaxes(0, 1), v)

    @cached_property
    def matrix(self) -> Any:
        """R (3, 3, ...)."""
        return self._matrix(self.series[0], self.series[1])

    @property
    def spin_matrix(self) -> Any:
        """T (3, 3, ...)."""
        return self._matrix(-self.series[1], self.series[2])

    def _matrix(self, once: Any, twice: Any) -> Any:
        """1 + once φ̃ + twice φ̃φ̃ (3, 3, ...)."""
        phi, v = self.phi, once * self.phi
        parts = np.concatenate([1.0 - twice * self.square, v, -v], axis=0)
        skew_and_diagonal: Any = np.take(parts, [[0, 6, 2], [3, 0, 4], [5, 1, 0]], axis=0)
        return skew_and_diagonal + (twice * phi)[:, None] * phi[None]

    def spin(self, rate: Any) -> Any:
        """T φ̇ = φ̇ − f₂ φ × φ̇ + f₃ φ × (φ × φ̇), of the last two series f."""
        across = cross(self.phi, rate)
        return rate - self.series[1] * across + self.series[2] * cross(self.phi, across)

    def spin_rate_transposed(self, rate: Any, moment: Any) -> Any:
        """(dT/ds)ᵀ m where dφ/ds = rate."""
        phi, slopes = self.phi, self._evaluated(_SLOPES)
        grow = 2.0 * np.sum(phi * rate, axis=0, keepdims=True)
        across, turning = cross(phi, moment), cross(rate, moment)
        by_factor = grow * (slopes[0] * across + slopes[1] * cross(phi, across))
        double = cross(phi, turning) + cross(rate, across)
        return by_factor + self.series[1] * turning + self.series[2] * double


def spin_inverse_transposed(phi: AnyArray, moment: AnyArray) -> AnyArray:
    """T⁻ᵀ m, with T⁻¹ = 1 + ½ φ̃ + g φ̃φ̃, g = (1 − ½θ cot ½θ)/θ² by its series, θ up to π."""
    g, across = _cotangent(np.sum(phi * phi, axis=0, keepdims=True)), cross(phi, moment)
    out: AnyArray = moment - 0.5 * across + g * cross(phi, across)
    return out


def spin_inverse_matrix(phi: Any) -> Any:
    """T⁻¹ (..., 3, 3) of φ (..., 3)."""
    wide: Any = np.einsum("kij,...k->...ij", _SKEWS, phi)
    g = _cotangent(np.sum(phi * phi, axis=-1, keepdims=True))
    return np.eye(3) + 0.5 * wide + g[..., None] * np.matmul(wide, wide)


def _cotangent(q: Any) -> Any:
    """g of `spin_inverse_transposed`, of θ²."""
    (g,) = _geometric(_COTANGENT, q, 4.0 * np.pi**2)
    return g


def _geometric(coefficients: Array, q: Any, radius: float) -> Any:
    """A power series in q that converges up to a radius, down to round-off for half of it."""
    largest = np.abs(value_of(q)).max(initial=0.0) / radius
    count = 4 + int(-40.0 / np.log(np.clip(largest, 1e-30, 0.5)))
    return polynomial(coefficients[None, :count], q)


def relative_turns(frame: AnyArray, phi: AnyArray) -> AnyArray:
    """The rotation vectors of exp(−frame) exp(phi), by quaternions; for turns below 1 rad.

    frame (3, 1, 1, ...), phi (3, 1, N, ...).
    """
    both: Any = np.concatenate([-frame, phi], axis=2)
    square: Any = 0.25 * np.sum(both * both, axis=0, keepdims=True)
    cosine, sine = polynomial(_HALF_TURN, square)
    half = 0.5 * sine * both
    a, b, c, d = cosine[:, :, :1], half[:, :, :1], cosine[:, :, 1:], half[:, :, 1:]
    v = a * d + c * b + cross(b, d)
    small: Any = np.sum(v * v, axis=0, keepdims=True)
    (factor,) = _geometric(_ARCSINE, small, 1.0)
    turn: AnyArray = 2.0 * factor * v
    return turn


class Masses:
    """The inertia of sections (S, E), as masses with m, η and J = Σ λ_k b_k b_kᵀ.

    All have the axes of components, of vectors b, S, E, steps and instants.
    """

    def __init__(self, inertia: SectionInertia) -> None:
        m = inertia.m.reshape(len(inertia.m), -1)
        eta, J, turning = (
            A.reshape(*m.shape, *A.shape[inertia.m.ndim :])
            for A in (inertia.eta[..., None, :], inertia.J, inertia.turning)
        )
        moments, b = np.linalg.eigh(J)
        sizes, least = np.abs(moments), 64.0 * np.finfo(float).eps
        # Sections are flat: no vector b along their normal.
        used = sizes > least * sizes.max(axis=-1, keepdims=True)
        used |= np.abs(eta @ b)[..., 0, :] > least * np.linalg.norm(eta, axis=-1)
        chosen = used.reshape(-1, 3).any(axis=0)
        self.b = rows_first(b.swapaxes(-1, -2)[..., chosen, :], 2)
        self.moments = rows_first(moments[..., chosen, None], 2)
        self.first = np.sum(self.b * rows_first(eta, 2), axis=0)[None]
        self.m = rows_first(m[..., None, None], 2)
        self.turning = None if inertia.turns_whole else rows_first(turning, 2)

    def on_turning(self, phi: Any) -> Any:
        """The parts of rotation vectors, or of moments, that move mass."""
        if self.turning is None:
            return phi
        return np.sum(self.turning[:, :, None] * phi[:, None], axis=0)

    def moved(self, x: Any, turns: Sequence[Turn]) -> tuple[Any, list[Turn]]:
        """x and R b, (3, 1 + K, ...), and the parts of the turns that move mass, of product R."""
        moving = list(turns)
        if self.turning is not None:
            moving = [Turn(self.on_turning(turn.phi)) for turn in turns]
        vectors = reduce(lambda v, turn: turn.turned(v), reversed(moving), self.b)
        return np.concatenate([x, vectors], axis=1), moving

    def loads(self, a: Any) -> Any:
        """∫ (1, s_k) a dm (3, 1 + K, ...) of vectors with the accelerations a, s_k along b_k."""
        whole, each = a[:, :1], a[:, 1:]
        on_x = self.m * whole + np.sum(self.first * each, axis=1, keepdims=True)
        return np.concatenate([on_x, self.first * whole + self.moments * each], axis=1)


def rows_first(a: AnyArray, axes: int = 1) -> AnyArray:
    """Arrays (instants, elements, S, ..., 3) as (3, ..., S, elements, 1, instants).

    axes: how many there are after S; one of length 1 is added to a single one. Axes of length 1
    stand for those that are missing in front.
    """
    a = a.reshape(*(1,) * (axes + 3 - a.ndim), *a.shape)
    out = a.transpose(*reversed(range(a.ndim)))[..., None, :]
    return np.ascontiguousarray(out if axes > 1 else out[:, None])


def motion_of(state: AnyArray, coefficients: AnyArray, rates: bool) -> Any:
    """Displacements (n, 1, 1, E, steps, instants) of elements that have (..., E, n), under
    coefficients of the motion; with rates their jets, of (..., E, 3 n)."""
    E, n = state.shape[-2], state.shape[-1] // (3 if rates else 1)
    instants = len(coefficients) if coefficients.ndim == 3 else 1
    jets = state.reshape(-1, instants, E, state.shape[-1] // n, n).transpose(3, 4, 2, 0, 1)
    jets = np.ascontiguousarray(jets)[:, :, None, None]
    return Taylor(jets) if rates else jets[0]


def rows_last(a: Any, leading: tuple[int, ...]) -> Any:
    """Arrays (n, 1, S, E, steps, instants), or their jets, as (leading, E, S, n)."""
    if isinstance(a, Taylor):
        return Taylor(np.stack([rows_last(each, leading) for each in a.data]))
    return a[:, 0].transpose(3, 4, 2, 1, 0).reshape(*leading, *a.shape[3:1:-1], len(a))


def inertia_gradient(
    masses: Sequence[Masses],
    moved: Sequence[tuple[Any, list[Turn]]],
    coefficients: Array | None,
    drag: Array | None = None,
    weights: Any = 1.0,
) -> tuple[Any, list[Any]]:
    """∫ (∂x/∂(u, φ))ᵀ ((ε̃ + ω̃ω̃) x + a_O + ẍ + W ẋ) dm of masses and how they have `moved`,
    (3, 1, ...) for x and each φ.

    coefficients (..., 12): of the motion; None without its terms. drag (..., 3, 3): W, 2ω̃ and the
    damping in proportion to mass (1/s) times I; with it what has moved is of `Taylor`, without it
    there are no rates. weights: of the sections; moments of a turn common to them are summed.
    """
    form: Any = None
    if coefficients is not None:
        forms = np.tensordot(coefficients[..., :9], _FORMS.swapaxes(-1, -2), 1)
        form = rows_first(forms[..., None, :, :], 2)[:, :, None]
    rates = None if drag is None else _drag(drag)
    force: Any = 0.0
    moments: list[list[Any]] = [[] for _ in moved[0][1]]
    for part, (V, turns) in zip(masses, moved, strict=True):
        value, a = value_of(V), np.zeros(1)
        if coefficients is not None:
            a = applied(form, value)
            a[:, :1] += rows_first(coefficients[..., None, 9:])
        if rates is not None:
            a = a + V.second + applied(rates, V.rate)
        loads = weights * part.loads(a)
        force = force + loads[:, :1]
        couple = np.sum(cross(value[:, 1:], loads[:, 1:]), axis=1, keepdims=True)
        for k, still in enumerate(turn.still for turn in turns):
            if k:
                couple = turns[k - 1].still.turned_back(couple)
            common = still.phi.shape[2] < couple.shape[2]
            own = couple.sum(axis=2, keepdims=True) if common else couple
            moments[k].append(part.on_turning(still.spin(own)))
    return force, [_of_all(each) for each in moments]


def _of_all(moments: list[Any]) -> Any:
    """The sum of moments of which some are summed over the sections already."""
    least = min(moment.shape[2] for moment in moments)
    each = (x if x.shape[2] == least else x.sum(axis=2, keepdims=True) for x in moments)
    return sum(each)


def _drag(drag: Array) -> AnyArray:
    return rows_first(drag.swapaxes(-1, -2)[..., None, :, :], 2)[:, :, None]


def applied(A: Any, v: Any) -> Any:
    """A v, A (3, 3, 1, ...), of vectors v (3, K, ...)."""
    return A[:, 0] * v[:1] + A[:, 1] * v[1:2] + A[:, 2] * v[2:]


def rate_slopes(
    masses: Sequence[Masses],
    moved: Sequence[tuple[Any, list[Turn]]],
    drag: Array,
    weights: Any = 1.0,
) -> list[Array]:
    """Derivatives (P, E, n, n) of the forces of `inertia_gradient` on n DOFs by the rates of these,
    velocities and accelerations, of what has moved with complex steps of the n displacements.

    Along the motion ∂ẋ/∂q̇ = ∂x/∂q and ∂ẍ/∂q̇ = 2 ∂ẋ/∂q, so that with Z = ∂(x + R s)/∂q the forces
    ∫ Zᵀ(ẍ + W ẋ) dm have the derivatives ∫ Zᵀ(2 Ż + W Z) dm by q̇ and ∫ ZᵀZ dm by q̈.
    """
    slopes: list[Any] = [0.0, 0.0]
    for part, (V, _) in zip(masses, moved, strict=True):
        Z, rate = (V.data[:2] if isinstance(V, Taylor) else np.stack([V, 0.0 * V])).imag / STEP
        loads, *changes = (
            x.transpose(5, 3, 4, 0, 1, 2).reshape(x.shape[5], x.shape[3], x.shape[4], -1)
            for x in (weights * part.loads(Z), 2.0 * rate + applied(_drag(drag), Z), Z)
        )
        slopes = [
            total + loads @ change.swapaxes(-1, -2)
            for total, change in zip(slopes, changes, strict=True)
        ]
    return slopes


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
