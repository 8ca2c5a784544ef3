"""Beam elements along any axis: two nodes, any section, all elements in one batch.

Interpolation: `assembly.elements.beam_shapes`. Geometric stiffness: second-order strain work of the
geometrically exact beam (Simo, Comput. Methods Appl. Mech. Eng. 49, 1985) with R = exp(φ̃), per
length
    W = F·(−φ × u′ + ½ φ × (φ × X′)) − ½ Mo·(φ × φ′) + ½ N |γ⊥ + κ × c|² + ½ N r² (t·κ)².
The third term makes N the force along the deformed line of tension centres c, which works on its
stretch |r′| − 1, as the literature of rotating Timoshenko beams has it (½ N w′²; it is nought
without shear strain there). The last is the twist of fibres about that line (Wagner), r² = (Iy +
Iz)/A. The second-order work of the inertia load on the section's turn comes on top
(`SectionInertia.load_work`).

The ends of the elements may be at rigid arms r from their nodes. They move by u + φ × r +
½ φ × (φ × r); the second order lets the force g that an arm passes to the element work on it: g rᵀ,
made symmetric, less (g·r) I, on φ.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.beam_shapes import BeamShapes, Stations, beyond, symmetric
from assembly.elements.family import Displaced, ElementFamily, Passage, Rates
from assembly.elements.finite_motion import FiniteMotion
from assembly.elements.large_beam import BeamMotion, LargeBeam
from assembly.elements.large_rotation import stepped
from assembly.elements.scatter import ElementMap
from assembly.elements.section_inertia import joined
from assembly.kinematics import UNIT_COUNT, skew
from assembly.types import AnyArray, Array, Index, Mask


class BeamFamily(FiniteMotion):
    """Beam elements between nodes connectivity (E, 2) of a body with DOFs `dofs`.

    arms (E, 2, 3), m: from the nodes to the ends of the elements; None where these are the nodes.
    """

    def __init__(
        self, dofs: DofMap, connectivity: Index, stations: Stations, arms: Array | None = None
    ) -> None:
        self.size, self.stations, self.arms = len(dofs), stations, arms
        self._dofs = dofs
        self.map = ElementMap(dofs, connectivity, (0, 1, 2, 3, 4, 5))
        nodes = dofs.coordinates[connectivity]
        self.shapes = BeamShapes(stations, nodes if arms is None else nodes + arms)

    @cached_property
    def _arm_map(self) -> Array | None:
        """Motion of the ends by that of the nodes, linear, (E, 12, 12)."""
        if self.arms is None:
            return None
        B = np.tile(np.eye(12), (len(self.arms), 1, 1))
        B[:, :3, 3:6], B[:, 6:9, 9:] = -skew(self.arms[:, 0]), -skew(self.arms[:, 1])
        return B

    def _at_nodes(self, A: Array) -> Array:
        """Matrices (E, ..., 12, 12) on the nodes, of those on the ends."""
        B = self._arm_map
        if B is None:
            return A
        B = B.reshape(len(B), *(1,) * (A.ndim - 3), 12, 12)
        return np.asarray(B.swapaxes(-1, -2) @ A @ B)

    @cached_property
    def _forms(self) -> Array:  # type: ignore[override]
        N, lengths = self.shapes.N, self.shapes.lengths
        E, Q = lengths.shape
        H = self.stations.inertia.forms() @ N[:, :, None]
        H = (lengths[..., None, None, None] * H).transpose(0, 1, 3, 2, 4)
        rows = N.reshape(E, Q * 6, 12).transpose(0, 2, 1)
        forms = (rows @ H.reshape(E, Q * 6, 120)).reshape(E, 12, 10, 12)
        return self._at_nodes(forms.transpose(0, 2, 1, 3))

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return (("line", self.map.connectivity),)

    def drawing_sections(self) -> Array:
        """Of the rectangle with the middle section's bending stiffness per axial stiffness."""
        middle = self.stations.compliance.shape[1] // 2
        compliance, t = self.stations.compliance[:, middle], self.shapes.tangent[:, middle]
        across = np.eye(3) - t[:, :, None] * t[:, None, :]
        bending, axes = np.linalg.eigh(across @ compliance[:, 3:, 3:] @ across)
        axial = np.einsum("ei,eij,ej->e", t, compliance[:, :3, :3], t)
        half = np.sqrt(3.0 * axial[:, None] / bending[:, 1:])
        return np.asarray(half[..., None] * np.cross(t[:, None], axes[:, :, 1:].swapaxes(1, 2)))

    def stiffness(self) -> sp.csr_matrix:
        return self.map.matrix(self._at_nodes(self.shapes.stiffness))

    @cached_property
    def _damping(self) -> Array:
        """D of the sections (E, 12, 12)."""
        relative, resistance = self.shapes.relative, self.shapes.resistance
        if resistance is None:
            return np.zeros_like(self.shapes.stiffness)
        return symmetric(self._at_nodes(relative.transpose(0, 2, 1) @ resistance @ relative))

    def _resistance(self, b: float | Array) -> Array | None:
        """Of the sections' damping and of b times their stiffness, (E, 6, 6); None without."""
        own = self.shapes.resistance
        if not np.any(b):
            return own
        stiff = np.asarray(b)[..., None, None] * self.shapes.rigidity
        return np.asarray(stiff + (0.0 if own is None else own))

    def spin_gyroscopic(self) -> sp.csr_matrix:
        """𝒢 per unit of spin about the elements' own axis, in a frame that does not spin."""
        N, spin = self.shapes.N, self.stations.inertia.spin(self.shapes.tangent)
        H = self.shapes.lengths[..., None, None] * spin
        return self.map.matrix((N.swapaxes(-1, -2) @ H @ N).sum(axis=1))

    def _end_forces(self, u: Array, coefficients: Array) -> Array:
        """Forces (E, 12) on the ends of the elements."""
        d = self.map.gather(u)[..., None]
        d = d if self._arm_map is None else self._arm_map @ d
        return np.asarray((self.shapes.stiffness @ d)[..., 0] - self.shapes.loads @ coefficients)

    def resultants(self, u: Array, coefficients: Array) -> tuple[Array, Array]:
        """F and Mo (E, Q, 3), N and N·m in body axes, under u (size,) and the inertia load of a
        motion (12,).

        Exact: from the forces at the far end and the load between there and the section.
        """
        st, ends = self.stations, self._end_forces(u, coefficients)
        density = (self.shapes.load_density @ coefficients)[..., None]
        F = ends[:, None, 6:9, None] + beyond(st.rule, density[..., :3, :])
        moment_rate = density[..., 3:, :] + skew(st.slope) @ F
        Mo = ends[:, None, 9:, None] + beyond(st.rule, moment_rate)
        return F[..., 0], Mo[..., 0]

    def geometric(self, u: Array, coefficients: Array | None) -> sp.csr_matrix:
        coefficients = np.zeros(UNIT_COUNT) if coefficients is None else coefficients
        total = self.geometric_of_resultants(*self.resultants(u, coefficients), coefficients)
        if self.arms is None:
            return total
        g, work = self._end_forces(u, coefficients), np.zeros((len(self.arms), 12, 12))
        for k in range(2):
            force, arm = g[:, 6 * k : 6 * k + 3], self.arms[:, k]
            turn, dot = slice(6 * k + 3, 6 * k + 6), np.einsum("ei,ei->e", force, arm)
            outer = symmetric(force[:, :, None] * arm[:, None])
            work[:, turn, turn] = outer - dot[:, None, None] * np.eye(3)
        return sp.csr_matrix(total + self.map.matrix(work))

    def geometric_of_resultants(
        self, F: Array, Mo: Array, coefficients: Array | None = None
    ) -> sp.csr_matrix:
        """K_G of section forces F and moments Mo (E, Q, 3), N and N·m in body axes: what the part
        beyond a section exerts on the part before it. coefficients (12,): of the motion whose
        inertia load makes them."""
        st, shapes = self.stations, self.shapes
        phi, dphi, jacobian = shapes.N[..., 3:, :], shapes.dphi, shapes.jacobian
        outer = F[..., :, None] * st.slope[..., None, :]
        dot = np.einsum("eqi,eqi->eq", F, st.slope)
        on_phi = symmetric(outer) - dot[..., None, None] * np.eye(3)
        if coefficients is not None and np.any(coefficients):
            on_phi += jacobian[..., None, None] * st.inertia.load_work(st.X, coefficients)
        # φᵀ(F̃ u′ + ½ M̃o φ′ + ½ H φ), and its transpose.
        inner = skew(F) @ shapes.du + 0.5 * (skew(Mo) @ dphi + on_phi @ phi)
        weights = np.broadcast_to(st.rule.weights, dot.shape)
        # N of the shear strain across the axis and of the twist about it, per ξ.
        axial, twist = 0.5 * weights * dot / jacobian**2, shapes.tangent[..., None, :] @ dphi
        shares, rows = (weights, axial * st.radius2, axial), (inner, twist, shapes.shear)
        terms = [c[..., None, None] * row for c, row in zip(shares, rows, strict=True)]
        by, of = (
            np.concatenate(parts, axis=-2).reshape(len(F), -1, phi.shape[-1])
            for parts in ((phi, twist, shapes.shear), terms)
        )
        half = by.swapaxes(-1, -2) @ of
        return self.map.matrix(self._at_nodes(half + half.transpose(0, 2, 1)))

    @cached_property
    def _large(self) -> LargeBeam:
        return LargeBeam(self.shapes, self.arms)

    @cached_property
    def _unit_loads(self) -> Array:  # type: ignore[override]
        B, loads = self._arm_map, self.shapes.loads
        return loads if B is None else np.asarray(B.swapaxes(-1, -2) @ loads)

    def check_range(self, d: Array) -> None:
        self._large.check_range(d)

    def element_forces(
        self,
        state: AnyArray,
        coefficients: Array,
        rates: Rates | None = None,
        static: bool = True,
        foreseen: Array | None = None,
    ) -> AnyArray:
        motion = self._large.moved(state, coefficients, rates is not None)
        return self._large.forces(motion, rates, static, foreseen)

    def element_tangents(
        self, state: Array, coefficients: Array, rates: Rates, by_rates: bool = True, **law: Any
    ) -> tuple[Array, list[Array]]:
        moves = self._moves(state)
        motion = self._large.moved(stepped(state, self.map.columns), coefficients, moves)
        forces = self._large.forces(motion, rates if moves else None, **law)
        return self._with_slopes(forces, self._large.rate_slopes(motion, rates) if by_rates else [])

    def _moved(self, passage: Passage) -> BeamMotion:
        return passage.once(
            self, lambda: self._large.moved(self.map.path(passage), passage.coefficients)
        )

    def _forces_of(self, passage: Passage, rates: Rates) -> AnyArray:
        return self._large.forces(self._moved(passage), rates)

    def apart(self, dofs: Mask) -> list[tuple[ElementFamily, Any, bool]]:
        having = (dofs[self.map.index] & (self.map.index >= 0)).any(axis=1)
        return [(self._some(E), E, by) for E, by in ((having, True), (~having, False)) if E.any()]

    def _some(self, chosen: Mask) -> BeamFamily:
        arms = None if self.arms is None else self.arms[chosen]
        stations = joined([self.stations], chosen)
        return BeamFamily(self._dofs, self.map.connectivity[chosen], stations, arms)

    def foreseen(self, before: Array, after: Array, c: Array, resistance: Any) -> dict[str, Any]:
        return {"foreseen": self._large.foreseen(before, after, c, resistance)}

    def joined(self, families: list[ElementFamily], dofs: DofMap, first: Index) -> ElementFamily:
        stations = [f.stations for f in families]  # type: ignore[attr-defined]
        arms = None
        if self.arms is not None:
            arms = np.concatenate([f.arms for f in families])  # type: ignore[attr-defined]
        nodes = [f.map.connectivity + k for f, k in zip(families, first, strict=True)]  # type: ignore[attr-defined]
        return BeamFamily(dofs, np.concatenate(nodes), joined(stations), arms)

    @property
    def kind(self) -> tuple[object, ...]:
        st = self.stations
        without = st.viscous is None, self.arms is None
        return BeamFamily, st.X.shape[1], len(st.inertia.parts), *without

    def displaced(self, passage: Passage) -> Displaced:
        """Of the elements' own tangent, less what `geometric` has, and M and D of bent elements."""
        (a, b), c = passage.rayleigh, passage.coefficients
        d = self.map.gather(passage.u)
        K = self._large.tangent_slope(d, c) - self._linear_inertia(c)
        mass, drag = self._rate_slopes(d, c, b)
        M = self.map.matrix(mass)
        D = a * M if a else None
        if drag is not None:
            D = a * M + self.map.matrix(drag)
        return Displaced(sp.csr_matrix(self.map.matrix(K) - self.geometric(passage.u, c)), M, D)

    def strain_square(self, passage: Passage) -> Displaced:
        B1 = self._large.strain_slope(self.map.gather(passage.u), passage.coefficients)
        resistance = self._resistance(passage.rayleigh[1])

        def square(H: Array) -> sp.csr_matrix:
            return self.map.matrix(symmetric(B1.transpose(0, 2, 1) @ H @ B1))

        return Displaced(
            square(self.shapes.rigidity), None, None if resistance is None else square(resistance)
        )

    def section_resultants(self, passage: Passage) -> Array:
        F = self._large.resultants(self.map.gather(passage.u), passage.coefficients)
        return np.asarray(np.concatenate([self.stations.X, F], axis=-1).reshape(-1, 9))

    def strain_energy(self, passage: Passage) -> Any:
        return self._large.strain_energy(self._moved(passage))

    def _strain_rates(self, passage: Passage) -> Array:
        motion = self._moved(passage)
        return np.asarray(motion.last(motion.deformation.rate)[..., 0, :])

    def inertia_moments(self, passage: Passage) -> Array:
        return self._large.moments(self._moved(passage))
