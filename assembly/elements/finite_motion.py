"""Families whose elements have one law for all their forces in finite motion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.elements.beam_shapes import symmetric
from assembly.elements.family import Beyond, ElementFamily, Passage, Rates, Wanted
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

    def _moves(self, state: AnyArray) -> bool:
        """Whether a state has velocities and accelerations."""
        return state.shape[-1] > self._unit_loads.shape[-2]

    def _forces_of(self, passage: Passage, rates: Rates) -> AnyArray:
        return self.element_forces(self.map.path(passage), passage.coefficients, rates)

    def element_tangents(
        self, state: Array, coefficients: Array, rates: Rates, by_rates: bool = True, **law: Any
    ) -> tuple[Array, list[Array]]:
        """Forces (..., E, n) and their derivatives (..., E, n, n) by displacements and, with
        by_rates, by velocities and accelerations; law: what else `element_forces` takes. A state
        without these two rests."""
        if by_rates and not self._moves(state):
            state = np.concatenate([state, 0.0 * state, 0.0 * state], axis=-1)
        acting = rates if self._moves(state) else None
        value, found = value_and_jacobian(
            lambda at: self.element_forces(at, coefficients, acting, **law),
            state,
            slice(None) if by_rates else self.map.columns,
        )
        count = found.shape[-1] // self._unit_loads.shape[-2]
        return value, np.split(found, count, axis=-1)[: 3 if by_rates else 1]

    def _with_slopes(
        self, forces: AnyArray, by_rates: Sequence[Array]
    ) -> tuple[Array, list[Array]]:
        """Forces and derivatives, of forces with complex steps of the displacements in their first
        axis, and of derivatives (P, E, ...) by rates over the DOFs that the elements have."""
        own, shape = self.map.columns, forces.shape[1:]
        changes = np.zeros((1 + len(by_rates), *shape, shape[-1]))
        changes[0][..., own] = np.moveaxis(forces.imag, 0, -1) / STEP
        for change, found in zip(changes[1:], by_rates, strict=True):
            change[..., own[:, None], own] = found.reshape(*shape[:-1], len(own), len(own))
        return forces[0].real, list(changes)

    def foreseen(self, before: Array, after: Array, c: Array, resistance: Any) -> dict[str, Any]:
        """What makes of `element_forces` that for the derivative of `linearized`, with the stresses
        that a step between states (..., E, 3 n) foresees under coefficients c."""
        return {}

    # The linear matrices.

    def mass(self) -> sp.csr_matrix:
        return self.map.matrix(symmetric(self._forms[:, 0]))

    def frame_inertia(self) -> tuple[sp.csr_matrix, ...]:
        forms = self._forms.swapaxes(0, 1)
        skew = (0.5 * (G - G.transpose(0, 2, 1)) for G in forms[7:])
        return tuple(self.map.matrix(A) for A in (*symmetric(forms[1:7]), *skew))

    def inertia_loads(self) -> Array:
        return self.map.vectors(np.moveaxis(self._unit_loads, -1, 0)).T.copy()

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

    def force(self, passage: Passage) -> Array:
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
        return self.map.vectors(forces - self._linear(d, c))

    def linearized_at(self, passage: Passage, by: Wanted) -> tuple[Array, list[tuple[Any, Any]]]:
        force, changes = self._linearized(passage, by)
        return self.map.vectors(force), [(..., [self.map.entries(A) for A in changes])]

    def linearized(self, passage: Passage, by: Wanted) -> tuple[Array, list[Any]]:
        force, changes = self._linearized(passage, by)
        return self.map.vectors(force), [self.map.matrix(A) for A in changes]

    def _linearized(self, passage: Passage, by: Wanted) -> tuple[Array, list[Array]]:
        """Forces (..., E, n) of the elements and their derivatives (..., E, n, n)."""
        state, c = self.map.path(passage), passage.coefficients
        d, v, a = np.split(state, 3, axis=-1)
        self.check_range(d)
        M, C = self._linear_rates(passage.omega)
        drag = passage.drag, self._resistance(passage.rayleigh[1])
        law: dict[str, Any] = {}
        rests = not (np.any(v) or np.any(a))
        if passage.step is not None:
            before, after = np.concatenate(list(self.map.gather(passage.step.swapaxes(0, 1))), -1)
            law = self.foreseen(before, after, c, None if rests else drag[1])
        at = d if rests else state
        value, blocks = self.element_tangents(at, c, drag, by is not False, **law)
        linear = [self._linear_inertia(c), C + self._damping, M]
        for A, x in zip(linear, (d, v, a), strict=True):
            value = value - (A @ x[..., None])[..., 0]
        changes = [A - B for A, B in zip(blocks, linear, strict=False)]
        return value + (self._unit_loads @ c[..., None])[..., 0], changes

    def tangents(self, passage: Passage) -> tuple[Beyond, sp.csr_matrix]:
        state, c = self.map.path(passage), passage.coefficients
        n = state.shape[-1] // 3
        M, C = self._linear_rates(passage.omega)
        resistance = self._resistance(passage.rayleigh[1])
        undamped = replace(passage, rayleigh=(0.0, 0.0)).drag, None
        _, (by_d, by_v, by_a) = self.element_tangents(state, c, undamped)
        D, K, static = np.zeros_like(M), np.zeros_like(M), by_d
        if passage.rests:
            by_v = 0.5 * (by_v - by_v.transpose(0, 2, 1))
        else:
            static = value_and_jacobian(
                lambda d: self.element_forces(d, c), state[:, :n], self.map.columns
            )[1]
            K = by_d - static
        if resistance is not None or np.any(passage.rayleigh[0]):
            mass_damping = replace(passage, omega=0.0 * passage.omega).drag
            at = np.concatenate([state[:, : 2 * n], 0.0 * state[:, :n]], axis=-1)
            drag, inertia = (
                self.element_tangents(at, c, rates, static=False)[1]
                for rates in ((mass_damping, resistance), (0.0 * mass_damping, None))
            )
            D, K = symmetric(drag[1] - inertia[1]), K + (drag[0] - inertia[0])
        matrices = (symmetric(by_a) - M, by_v - C, D - self._damping, K)
        beyond = Beyond(*(self.map.matrix(matrix) for matrix in matrices))
        own = static - self._linear_inertia(c)
        return beyond, self.map.matrix(own if np.any(c[..., 6:9]) else symmetric(own))
