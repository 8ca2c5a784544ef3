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
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.beam_shapes import BeamShapes, Stations, beyond, over, symmetric
from assembly.elements.family import Displaced, ElementFamily, Passage
from assembly.elements.finite_motion import FiniteMotion
from assembly.elements.large_beam import LargeBeam
from assembly.elements.scatter import ElementMap
from assembly.kinematics import UNIT_COUNT, skew
from assembly.types import AnyArray, Array, Index


class BeamFamily(FiniteMotion):
    """Beam elements between nodes connectivity (E, 2) of a body with DOFs `dofs`."""

    def __init__(self, dofs: DofMap, connectivity: Index, stations: Stations) -> None:
        self.size, self.stations = len(dofs), stations
        self.map = ElementMap(dofs, connectivity, (0, 1, 2, 3, 4, 5))
        self.shapes = BeamShapes(stations, dofs.coordinates[connectivity])

    @cached_property
    def _forms(self) -> Array:  # type: ignore[override]
        N, lengths = self.shapes.N, self.shapes.lengths
        E, Q = lengths.shape
        H = self.stations.inertia.forms() @ N[:, :, None]
        H = (lengths[..., None, None, None] * H).transpose(0, 1, 3, 2, 4)
        rows = N.reshape(E, Q * 6, 12).transpose(0, 2, 1)
        forms = (rows @ H.reshape(E, Q * 6, 120)).reshape(E, 12, 10, 12)
        return np.asarray(forms.transpose(0, 2, 1, 3))

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
        return self.map.matrix(self.shapes.stiffness)

    @cached_property
    def _damping(self) -> Array:
        """D of the sections (E, 12, 12)."""
        relative, resistance = self.shapes.relative, self.shapes.resistance
        if resistance is None:
            return np.zeros_like(self.shapes.stiffness)
        return symmetric(relative.transpose(0, 2, 1) @ resistance @ relative)

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

    def resultants(self, u: Array, coefficients: Array) -> tuple[Array, Array]:
        """F and Mo (E, Q, 3), N and N·m in body axes, under u (size,) and the inertia load of a
        motion (12,).

        Exact: from the forces at the far end and the load between there and the section.
        """
        st = self.stations
        ends = (self.shapes.stiffness @ self.map.gather(u)[..., None])[..., 0]
        ends = ends - self.shapes.loads @ coefficients
        density = (self.shapes.load_density @ coefficients)[..., None]
        F = ends[:, None, 6:9, None] + beyond(st.rule, density[..., :3, :])
        moment_rate = density[..., 3:, :] + skew(st.slope) @ F
        Mo = ends[:, None, 9:, None] + beyond(st.rule, moment_rate)
        return F[..., 0], Mo[..., 0]

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        c = np.zeros(UNIT_COUNT) if unit is None else np.eye(UNIT_COUNT)[unit]
        return self._geometric(u, c)

    def _geometric(self, u: Array, coefficients: Array) -> sp.csr_matrix:
        return self.geometric_of_resultants(*self.resultants(u, coefficients), coefficients)

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
        half = over(st.rule, phi.swapaxes(-1, -2) @ inner)
        # N of the shear strain across the axis and of the twist about it, per ξ.
        axial = 0.5 * st.rule.weights * dot / jacobian**2
        twist = np.einsum("eqi,eqij->eqj", shapes.tangent, dphi)
        half += np.einsum("eq,eqi,eqj->eij", axial * st.radius2, twist, twist)
        half += np.einsum("eq,eqki,eqkj->eij", axial, shapes.shear, shapes.shear)
        return self.map.matrix(half + half.transpose(0, 2, 1))

    @cached_property
    def _large(self) -> LargeBeam:
        return LargeBeam(self.shapes)

    @property
    def _unit_loads(self) -> Array:  # type: ignore[override]
        return self.shapes.loads

    def check_range(self, d: Array) -> None:
        self._large.check_range(d)

    @property
    def element_forces(self) -> Callable[..., AnyArray]:
        return self._large.forces

    def joined(self, families: list[ElementFamily], dofs: DofMap, first: Index) -> ElementFamily:
        stations = [f.stations for f in families]  # type: ignore[attr-defined]
        nodes = [f.map.connectivity + k for f, k in zip(families, first, strict=True)]  # type: ignore[attr-defined]
        return BeamFamily(dofs, np.concatenate(nodes), Stations.joined(stations))

    @property
    def kind(self) -> tuple[object, ...]:
        st = self.stations
        return BeamFamily, st.X.shape[1], len(st.inertia.parts), st.viscous is None

    def displaced(self, passage: Passage) -> Displaced:
        """Of the elements' own tangent, less what `geometric` has, and M and D of bent elements."""
        (a, b), c = passage.rayleigh, passage.coefficients
        d = self.map.gather(passage.u)
        K = self._large.tangent_slope(d, c) - self._linear_inertia(c)
        mass, drag = self._large.rate_slopes(d, c, self._resistance(b))
        M = self.map.matrix(symmetric(mass))
        D = a * M + self.map.matrix(symmetric(drag)) if a or np.any(drag) else None
        return Displaced(sp.csr_matrix(self.map.matrix(K) - self._geometric(passage.u, c)), M, D)

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

    def strain_energy(self, passage: Passage) -> float:
        return self._large.strain_energy(self.map.gather(passage.u), passage.coefficients)

    def inertia_moments(self, passage: Passage) -> Array:
        d, v = self.map.gather(passage.u), self.map.gather(passage.v)
        return self._large.moments(d, v, passage.coefficients)
