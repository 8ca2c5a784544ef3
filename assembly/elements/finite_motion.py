"""Families whose elements have one law for all their forces in finite motion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.elements.beam_shapes import symmetric
from assembly.elements.family import Beyond, ElementFamily, Passage, Rates, Wanted, along
from assembly.elements.large_rotation import STEP, value_and_jacobian
from assembly.elements.scatter import ElementMap
from assembly.types import AnyArray, Array


class FiniteMotion(ElementFamily):
    """A family of E elements of n DOFs each, evaluated in one pass.

    Coefficients, angular velocities and damping are those of the body, or have a first axis of
    elements.
    """

    resists_rigid_motions = False
    stacked = True
    map: ElementMap
    _forms: Array  # (E, 10, n, n) of the linear elements: mass, six of ω_iω_j, three of w
    _unit_loads: Array  # (E, n, 12)
    _damping: Any = 0.0  # (E, n, n), linear

    @abstractmethod
    def element_forces(
        self, state: AnyArray, coefficients: Array, rates: Rates | None = None, static: bool = True
    ) -> AnyArray:
        """All forces (..., E, n).

        state (..., E, n): displacements; with rates, velocities and accelerations too,
        (..., E, 3 n). static: without it only what rates cause.
        """

    def _forces_of(self, passage: Passage, rates: Rates) -> AnyArray:
        return self.element_forces(self.map.path(passage), passage.coefficients, rates)

    def foreseen(self, before: Array, after: Array, c: Array) -> Callable[..., AnyArray]:
        """`element_forces` for the derivative of `linearized`, with the stresses that a step
        between displacements (E, n) foresees under coefficients c."""
        return self.element_forces

    # The linear matrices.

    def mass(self) -> sp.csr_matrix:
        return self.map.matrix(symmetric(self._forms[:, 0]))

    def frame_inertia(self) -> tuple[sp.csr_matrix, ...]:
        forms = self._forms.swapaxes(0, 1)
        skew = (0.5 * (G - G.transpose(0, 2, 1)) for G in forms[7:])
        return tuple(self.map.matrix(A) for A in (*symmetric(forms[1:7]), *skew))

    def inertia_loads(self) -> Array:
        return self.map.vector(self._unit_loads)

    def damping(self) -> sp.csr_matrix:
        return self.map.matrix(np.broadcast_to(self._damping, self._forms[:, 0].shape))

    # In finite motion.

    def check_range(self, d: Array) -> None:
        """Raise ConvergenceError for displacements (E, n) beyond the range of the law."""

    def _resistance(self, b: float | Array) -> Array | None:
        return None

    def _strain_rates(self, passage: Passage) -> Array:
        """What the resistance (E, r, r) acts against, (..., E, r)."""
        return np.zeros((len(self._forms), 0))

    def dissipation(self, passage: Passage) -> Any:
        v, own = self.map.gather(passage.v), (-3, -2, -1)
        power = -np.sum(v[..., :, None] * self._damping * v[..., None, :], axis=own)
        resistance = self._resistance(passage.rayleigh[1])
        if resistance is not None:
            rates = self._strain_rates(passage)
            power += np.sum(rates[..., :, None] * resistance * rates[..., None, :], axis=own)
        return power

    # What the body itself counts, linear in all DOFs.

    def _linear_inertia(self, coefficients: Array) -> Array:
        """Stiffness of inertia (E, n, n)."""
        forms = self._forms[:, 1:]
        c = np.broadcast_to(coefficients[..., :9], (*coefficients.shape[:-2], len(forms), 9))
        return np.asarray(np.einsum("ekij,...ek->...eij", forms, c))

    def _linear(self, d: Array, coefficients: Array) -> Array:
        load = self._unit_loads @ coefficients[..., None]
        return np.asarray((self._linear_inertia(coefficients) @ d[..., None] - load)[..., 0])

    def _linear_rates(self, omega: Array) -> tuple[Array, Array]:
        """M and 2G(ω) (E, n, n)."""
        forms = self._forms[:, 7:]
        rates = np.broadcast_to(2.0 * omega, (*omega.shape[:-2], len(forms), 3))
        G = np.einsum("ekij,...ek->...eij", forms, rates)
        return symmetric(self._forms[:, 0]), 0.5 * (G - G.swapaxes(-1, -2))

    # What is beyond that.

    def _derivative(
        self, forces: Callable[[AnyArray], AnyArray], y: Array, by: Wanted = True
    ) -> tuple[Array, Array]:
        """Forces (E, n) and their derivative by y (E, m n), where the elements have DOFs, by their
        rates at those of `by`."""
        n, own = self._forms.shape[-1], self.map.columns
        chosen = by if isinstance(by, np.ndarray) else own
        columns = np.concatenate([own, n + chosen, 2 * n + chosen])
        return value_and_jacobian(forces, y, columns[columns < y.shape[-1]])

    def _rate_slopes(self, d: Array, coefficients: Array, b: float) -> tuple[Array, Array | None]:
        """The derivatives (E, n, n) by s at s d of M and of the damping of strain rates, s = 0."""
        E, n = d.shape
        bent = np.broadcast_to(1j * STEP * d, (n, E, n))
        c: Any = 1j * STEP * coefficients
        units, still = np.eye(n)[:, None] + 0.0 * bent, np.zeros((3, 3))

        def slope(v: AnyArray, a: AnyArray, resistance: Array | None) -> Array:
            state = np.concatenate([bent, v, a], axis=-1)
            forces = self.element_forces(state, c, (still, resistance), static=False)
            return symmetric(np.moveaxis(forces.imag, 0, -1) / STEP)

        mass, resistance = slope(0.0 * bent, units, None), self._resistance(b)
        if resistance is None:
            return mass, None
        drag = slope(units, 0.0 * bent, resistance) - slope(units, 0.0 * bent, None)
        return mass, drag

    def forces_at(self, passage: Passage) -> Array:
        return np.stack([self.map.vector(own) for own in self._forces(passage)])

    def force(self, passage: Passage) -> Array:
        return self.map.vector(self._forces(passage))

    def _forces(self, passage: Passage) -> Array:
        """Of the elements, (..., E, n)."""
        state, c = self.map.path(passage), passage.coefficients
        d, v, a = np.split(state, 3, axis=-1)
        self.check_range(d)
        if not (np.any(v) or np.any(a)):
            forces = self.element_forces(d, c)
        else:
            M, C = self._linear_rates(passage.omega)
            rates = passage.drag, self._resistance(passage.rayleigh[1])
            forces = self._forces_of(passage, rates)
            forces = forces - (M @ a[..., None] + (C + self._damping) @ v[..., None])[..., 0]
        return np.asarray(forces - self._linear(d, c))

    def linearized_at(self, passage: Passage, by: Wanted) -> tuple[Array, list[list[Any]]]:
        force, changes = self._linearized(passage, by)
        matrices = [[self.map.matrix(A[n]) for A in changes] for n in range(len(force))]
        return np.stack([self.map.vector(own) for own in force]), matrices

    def linearized(self, passage: Passage, by: Wanted) -> tuple[Array, list[Any]]:
        force, changes = self._linearized(passage, by)
        return self.map.vector(force), [self.map.matrix(A) for A in changes]

    def _linearized(self, passage: Passage, by: Wanted) -> tuple[Array, list[Array]]:
        """Forces (..., E, n) of the elements and their derivatives (..., E, n, n)."""
        state, c = self.map.path(passage), passage.coefficients
        d, v, a = np.split(state, 3, axis=-1)
        self.check_range(d)
        M, C = self._linear_rates(passage.omega)
        drag = passage.drag, self._resistance(passage.rayleigh[1])
        by_u = by is False or isinstance(by, tuple)
        by_v, by_a = by if isinstance(by, tuple) else (0.0, 0.0)
        rests, law = by is False and not (np.any(v) or np.any(a)), self.element_forces
        if passage.step is not None:
            before, after = self.map.gather(passage.step)
            law = self.foreseen(before, after, c)

        def forces(at: AnyArray) -> AnyArray:
            if rests:
                return law(at, c)
            if by_u:
                at = np.concatenate([at, v + by_v * (at - d), a + by_a * (at - d)], axis=-1)
            return law(at, c, drag)

        value, found = self._derivative(forces, d if by_u else state, by)
        linear = [self._linear_inertia(c), C + self._damping, M]
        for A, x in zip(linear, (d, v, a), strict=True):
            value = value - (A @ x[..., None])[..., 0]
        blocks = np.split(found, found.shape[-1] // d.shape[-1], axis=-1)
        changes = [A - B for A, B in zip(blocks, along(linear, by), strict=False)]
        return value + (self._unit_loads @ c[..., None])[..., 0], changes

    def tangents(self, passage: Passage) -> tuple[Beyond, sp.csr_matrix]:
        state, c = self.map.path(passage), passage.coefficients
        n = state.shape[-1] // 3
        M, C = self._linear_rates(passage.omega)
        resistance = self._resistance(passage.rayleigh[1])
        undamped = replace(passage, rayleigh=(0.0, 0.0)).drag, None
        _, whole = self._derivative(lambda at: self.element_forces(at, c, undamped), state)
        by_d, by_v, by_a = np.split(whole, 3, axis=-1)
        D, K, static = np.zeros_like(M), np.zeros_like(M), by_d
        if passage.rests:
            by_v = 0.5 * (by_v - by_v.transpose(0, 2, 1))
        else:
            _, static = self._derivative(lambda d: self.element_forces(d, c), state[:, :n])
            K = by_d - static
        if resistance is not None or np.any(passage.rayleigh[0]):
            mass_damping = replace(passage, omega=0.0 * passage.omega).drag

            def damping(at: Array) -> Array:
                at = np.concatenate([at, 0.0 * at[..., :n]], axis=-1)
                drag = self.element_forces(at, c, (mass_damping, resistance), static=False)
                inertia = self.element_forces(at, c, (0.0 * mass_damping, None), static=False)
                return np.asarray(drag - inertia)

            _, by_both = self._derivative(damping, state[:, : 2 * n])
            D, K = symmetric(by_both[..., n:]), K + by_both[..., :n]
        matrices = (symmetric(by_a) - M, by_v - C, D - self._damping, K)
        beyond = Beyond(*(self.map.matrix(matrix) for matrix in matrices))
        own = static - self._linear_inertia(c)
        return beyond, self.map.matrix(own if np.any(c[..., 6:9]) else symmetric(own))
