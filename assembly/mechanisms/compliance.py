"""Springs and dampers of elastic drives and bushings: their steady forces and their matrices.

Row k of the conditions has the gradient g_k. A spring S and a damper c on a group G of rows act
with −Gᵀ(S x + c ẋ) on the degrees of freedom; with x = x₀(t) + G δ + ½ δᵀHδ the terms of first
order are

    Gᵀ S G,   Gᵀ c G δ̇ + Gᵀ c Ġ δ,   Σ w_k H_k,

w = S x₀ + c ẋ₀ the steady force. The last belongs to all conditions alike, w their multipliers.

The deflection of a bushing is x = (p, φ): p = R_aᵀ(x_b − x_a) the displacement of the second point
from the first in the axes of the first point, φ = log ρ the rotation vector of ρ = R_ab Nᵀ, N the
relative rotation R_ab at zero deflection (docs/theory.md, "Joints that give"). Rotations θ_a, θ_b
of the two points make R_ab into exp(−θ̃_a) R_ab exp(θ̃_b), that is exp(ψ̃) R_ab with

    ψ = −θ_a + R_ab θ_b − ½ θ_a × R_ab θ_b + …,

and φ becomes φ + A ψ + ½ A′[A ψ] ψ + …, with A = I − ½ φ̃ + c φ̃² the inverse of the left Jacobian of
the rotation vector, c = (1 − ½θ cot ½θ)/θ², and A′[η] its derivative along η.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from assembly.elements.large_rotation import (
    spin_inverse_matrix,
    value_and_jacobian,
)
from assembly.elements.taylor import Taylor, matrix_product
from assembly.errors import MechanismError
from assembly.kinematics import skew
from assembly.magnitudes import DIFFERENCE
from assembly.mechanisms.drivers import Driver
from assembly.mechanisms.joint_rows import Condition, Evaluated, Frames, JointRows, triads
from assembly.mechanisms.joints import Bushing
from assembly.types import Array, Index, Mask


class Deflections:
    """The deflections of bushings as rows that follow those of the joints.

    pairs (b, 2), levers (b, 2, 3): as for `JointRows`, one for every bushing.
    """

    def __init__(
        self, bushings: tuple[Bushing, ...], pairs: Index, levers: Array, planar: bool
    ) -> None:
        self.bushings, self.planar = bushings, planar
        self.size = 3 if planar else 6
        self.turns = [2] if planar else [0, 1, 2]  # components of φ that count
        self.moves = self.size - len(self.turns)
        axes = np.eye(3)[: self.moves]
        each = np.repeat(np.arange(len(bushings)), self.moves)
        conditions = [Condition(b.name, e, carried=True) for b in bushings for e in axes]
        self.translation = JointRows(conditions, pairs[each], levers[each])
        triples = (triads(bushing.joint()) for bushing in bushings)
        self._N = np.array([A @ B.T for A, B in triples]).reshape(-1, 3, 3)
        # Rows of x in the order of bushings: displacements, then rotations, of each.
        count = len(bushings) * self.size
        place = np.arange(count).reshape(len(bushings), self.size)
        self._moving, self._turning = place[:, : self.moves], place[:, self.moves :]

    def __len__(self) -> int:
        return len(self.bushings) * self.size

    def evaluate(self, frames: Frames, t: ArrayLike) -> tuple[Array, Array]:
        """All deflections of moving frames at times t (...), (3, ..., rows), and their gradients by
        the motions of the two frames in their axes, (3, ..., rows, 12); without second rates.

        MechanismError beyond half a turn.
        """
        e = self.translation.evaluate(frames, t)
        R, phi = self._turned(e)
        self._check(phi, t)
        spin = R.rate @ R.value.swapaxes(-1, -2)
        omega = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
        dphi = (omega[..., None, :] @ spin_inverse_matrix(phi))[..., 0, :]
        A = spin_inverse_matrix(Taylor.of(phi, dphi, 0.0 * phi)).transposed
        x = np.zeros((3, *phi.shape[:-2], len(self)))
        gradient = np.zeros((*x.shape, 12))
        moving = self._moving.ravel()
        x[:2, ..., moving] = e.value.data[:2]
        gradient[:2, ..., moving, :] = self.translation.gradient(e).data[:2]
        x[0][..., self._turning] = phi[..., self.turns]
        x[1][..., self._turning] = dphi[..., self.turns]
        turning = np.zeros((2, *phi.shape, 12))
        turning[..., 3:6], turning[..., 9:] = -A.data[:2], matrix_product(A, R).data[:2]
        gradient[:2, ..., self._turning, :] = turning[..., self.turns, :]
        return x, gradient

    def _turned(self, e: Evaluated) -> tuple[Taylor, Array]:
        """R_ab (..., b, 3, 3) and φ (..., b, 3)."""
        R = Taylor(e.relative.data[:, ..., :: self.moves, :, :])
        turned = (R.value @ self._N.swapaxes(-1, -2)).reshape(-1, 3, 3)
        return R, Rotation.from_matrix(turned).as_rotvec().reshape(R.value.shape[:-1])

    def hessian(self, frames: Frames, t: ArrayLike) -> Array:
        """∂²x by displacements and rotation vectors of the two frames, (..., rows, 12, 12)."""
        e = self.translation.evaluate(frames.values, t)
        relative, phi = self._turned(e)
        A, R = spin_inverse_matrix(phi).swapaxes(-1, -2), relative.value[..., None, :, :]
        change = value_and_jacobian(spin_inverse_matrix, phi)[1]
        twice = np.einsum("...jkl,...li->...kij", change, A)
        twice = 0.5 * (twice + twice.swapaxes(-1, -2))
        H = np.zeros((*phi.shape, 12, 12))
        H[..., 3:6, 3:6] = twice
        H[..., 3:6, 9:] = (0.5 * skew(A) - twice) @ R
        H[..., 9:, 3:6] = H[..., 3:6, 9:].swapaxes(-1, -2)
        H[..., 9:, 9:] = R.swapaxes(-1, -2) @ twice @ R
        out = np.zeros((*phi.shape[:-2], len(self), 12, 12))
        out[..., self._moving.ravel(), :, :] = self.translation.hessian(e)
        out[..., self._turning, :, :] = H[..., self.turns, :, :]
        return out

    def _check(self, phi: Array, t: ArrayLike, most: float = 3.0) -> None:
        """most: rad; a bushing with rotational stiffness must turn less than half a turn."""
        angle = np.linalg.norm(phi, axis=-1)
        for *when, number in np.argwhere(angle > most).tolist():
            bushing = self.bushings[number]
            turning = bushing.carries(self.size) if self.planar else bushing.acts(self.size)
            if np.any(turning[self.moves :]):
                raise MechanismError(
                    f"bushing {bushing.name} is turned by {angle[(*when, number)]:.3g} rad at "
                    f"t = {np.asarray(t)[tuple(when)]:.6g} s: one with rotational stiffness takes "
                    "less than half a turn; use the stiffness and damping of a driver"
                )


OverTime = Callable[[Array], Array]
Spring = tuple[Index, OverTime, OverTime]  # rows, and their stiffness and damping over time


class Compliance:
    """Elastic drives and bushings of a mechanism, on its rows: conditions, then deflections.

    drives: drivers and their rows. count: number of conditions. mean_rows: for each bushing, the
    conditions that keep its mean deflection at zero; none where joints determine it. carried
    (rows,): whose steady force a spring transmits, so that they deflect under it. beside (rows,):
    of bushings beside joints.
    """

    def __init__(
        self,
        drives: list[tuple[int, Driver]],
        bushings: tuple[Bushing, ...],
        deflections: Deflections | None,
        mean_rows: list[Index],
        count: int,
    ) -> None:
        self.deflections, self.count = deflections, count
        self.bushings, self._mean_rows = bushings, mean_rows
        self.size = count + (0 if deflections is None else len(deflections))
        self._drives = [(row, d) for row, d in drives if d.gives or d.damping != 0.0]
        self.carried, self.beside = np.zeros((2, self.size), dtype=bool)
        self._preload = np.zeros(self.size)
        self._springs = [_spring(np.array([row]), drive) for row, drive in self._drives]
        for row, drive in self._drives:
            self.carried[row] = drive.carries
        for number, (bushing, mean) in enumerate(zip(bushings, mean_rows, strict=True)):
            rows = self.rows(number)
            self._springs.append(_spring(rows, bushing, size=len(rows)))
            self.beside[rows] = len(mean) == 0
            self.carried[rows] = bushing.carries(len(rows)) | self.beside[rows]
            self._preload[rows] = bushing.preload_of(len(rows))

    @property
    def varies(self) -> bool:
        """Whether a stiffness or damping is a function of time."""
        parts: list[Driver | Bushing] = [drive for _, drive in self._drives]
        parts += self.bushings
        return any(callable(part.stiffness) or callable(part.damping) for part in parts)

    def read(self) -> Mask:
        """Which of the 12 entries of the gradient of each deflection count, (rows, 12).

        Deflections that nothing resists are left out, unless they keep bodies in place.
        """
        if self.deflections is None:
            return np.zeros((0, 12), dtype=bool)
        moves, size = self.deflections.moves, self.deflections.size
        read = np.zeros((len(self.bushings), size, 12), dtype=bool)
        read[:, :moves] = self.deflections.translation.read.reshape(-1, moves, 12)
        read[:, moves:, [3, 4, 5, 9, 10, 11]] = True
        for number, bushing in enumerate(self.bushings):
            if not len(self._mean_rows[number]):
                read[number, ~bushing.acts(size)] = False
        return read.reshape(-1, 12)

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an elastic drive, nor a damper, nor a bushing."""
        return not self._springs

    def rows(self, number: int) -> Index:
        """The rows of a bushing's deflection."""
        assert self.deflections is not None
        size = self.deflections.size
        return self.count + number * size + np.arange(size)

    def forces(self, t: ArrayLike, x: Array, rate: Array) -> Array:
        """Forces (..., rows) of springs, dampers and preloads at times t (...), s.

        x, rate (..., rows): elastic deflections of drives beyond their laws, whole deflections of
        bushings, and their rates.
        """
        total = rate + self._driven(t)
        out = self.elastic(t, x) + self._preload
        for rows, _, c in self._springs:
            out[..., rows] += _product(c, t, total[..., rows])
        return out

    def elastic(self, t: ArrayLike, x: Array) -> Array:
        """Forces S x (..., rows) of the springs alone at times t (...), s."""
        out = np.zeros(x.shape)
        for rows, S, _ in self._springs:
            if np.any(x[..., rows]):
                out[..., rows] = _product(S, t, x[..., rows])
        return out

    def over_time(self, times: Array) -> list[Array]:
        """Stiffness and damping of every spring at times (P,), s, (P, r, r) each."""
        return [part(times) for _, S, c in self._springs for part in (S, c)]

    def _driven(self, t: ArrayLike) -> Array:
        """Rates (..., rows) of the drives' laws."""
        out = np.zeros((*np.shape(t), self.size))
        for row, drive in self._drives:
            out[..., row] = _sampled(drive.rate_at, np.asarray(t, dtype=float))[..., 0, 0]
        return out

    def energy(self, t: ArrayLike, x: Array) -> Any:
        """½ xᵀS x of all springs and the work of preloads on deflections x (..., rows), J."""
        return np.sum((0.5 * self.elastic(t, x) + self._preload) * x, axis=-1)

    def parametric_power(self, t: Any, x: Array) -> Any:
        """½ xᵀ(dS/dt) x of springs whose stiffness is a function of time, W."""
        if not self.varies:
            return 0.0
        h = DIFFERENCE * np.maximum(1.0, np.abs(t))
        rest = self.energy(t - h, x), self.energy(t + h, x)
        return (rest[1] - rest[0]) / (2.0 * h)

    def dissipation(self, t: ArrayLike, rate: Array) -> Any:
        """What the dampers of drives and bushings take at rates (..., rows) of deflections, W."""
        total = rate + self._driven(t)
        each = ((total[..., rows], c) for rows, _, c in self._springs)
        return sum(np.sum(own * _product(c, t, own), axis=-1) for own, c in each)

    def total(self, multipliers: Array, steady: Array, wrench: Array) -> Array:
        """Force (..., rows) of every row.

        multipliers (..., m): of the conditions. Those that keep the mean of a bushing are turned
        into the force that the bushing exerts on its second body. wrench (..., rows, 12): gradients
        by the motions of the points.
        """
        out = steady.copy()
        out[..., : self.count] = multipliers
        for number, mean in enumerate(self._mean_rows):
            if len(mean):
                rows = self.rows(number)
                entries = [6, 7, 11] if len(rows) == 3 else list(range(6, 12))
                of_mean, own = (wrench[..., chosen, :][..., entries] for chosen in (mean, rows))
                exerted = multipliers[..., None, mean] @ of_mean
                transposed = own.swapaxes(-1, -2)
                out[..., rows] += np.linalg.solve(transposed, exerted.swapaxes(-1, -2))[..., 0]
                out[..., mean] = 0.0
        return out

    def terms(self, times: Array, gradient: Array) -> tuple[Array, Array, Array]:
        """Stiffness, damping and Gᵀ c Ġ (P, J, J) over the constrained DOFs at times (P,), s.

        gradient (≥ 2, P, rows, J): with its first rate.
        """
        G, dG = gradient[:2]
        forces = np.zeros((3, *G.shape))
        for rows, S, c in self._springs:
            g, rate, damping = G[..., rows, :], dG[..., rows, :], c(times)
            for out, part in zip(forces, (S(times) @ g, damping @ g, damping @ rate), strict=True):
                out[..., rows, :] = part
        K, D, transport = G.swapaxes(-1, -2) @ forces
        return K, D, transport


def _spring(rows: Index, part: Driver | Bushing, **size: int) -> Spring:
    """Stiffness and damping (..., r, r) over times (...); constant ones are evaluated once."""

    def over_time(value: Callable[..., ArrayLike], varies: bool) -> OverTime:
        given = partial(value, **size)
        if varies:
            return partial(_sampled, given)
        constant = np.atleast_2d(np.asarray(given(0.0), dtype=float))
        return lambda times: np.broadcast_to(constant, (*np.shape(times), *constant.shape))

    return (
        rows,
        over_time(part.stiffness_at, callable(part.stiffness)),
        over_time(part.damping_at, callable(part.damping)),
    )


def _sampled(value: Callable[[float], ArrayLike], times: Array) -> Array:
    """A matrix over times (...), (..., r, r)."""
    values = np.array([np.atleast_2d(value(float(t))) for t in np.ravel(times)])
    return np.asarray(values.reshape((*np.shape(times), *values.shape[1:])))


def _product(matrix: OverTime, t: ArrayLike, x: Array) -> Array:
    return np.asarray((matrix(np.asarray(t, dtype=float)) @ x[..., None])[..., 0])
