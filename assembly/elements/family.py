"""What every element family offers a body, and a body in motion relative to its frame: what the
forces beyond the linear ones depend on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.moments import SIZE as MOMENTS
from assembly.kinematics import UNIT_COUNT, skew
from assembly.types import Array, Index, Mask

Rates = tuple[Array, Array | None]  # `Passage.drag`, and the resistance of elements to strain rates
# Which derivatives of forces: by u alone (False), or by u, v and a (True, or of elements that have
# the DOFs with these numbers).
Wanted = bool | Index


Found = TypeVar("Found")


@dataclass(frozen=True)
class Passage:
    """Displacements u, velocities v and accelerations a (size,) of all DOFs relative to the frame.

    omega (3,): of the frame, rad/s. coefficients (12,): of what the inertia load comes from.
    rayleigh (a, b): internal damping in proportion to mass (1/s) and to stiffness (s). Of elements
    of several bodies, each of these has a first axis of elements. step (2, 3, size): u, v and a
    before the last step of Newton's method and after it, for the derivative (`linearized`).

    At several instants (P,) all have a first axis of these, and rates and coefficients one of
    elements, or of length 1, after it.
    """

    u: Array
    v: Array
    a: Array
    omega: Array
    coefficients: Array
    rayleigh: tuple[Any, Any] = (0.0, 0.0)
    step: Array | None = None
    _found: dict[object, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, family: object, find: Callable[[], Found]) -> Found:
        """What a family finds of its motion first, and then takes again."""
        if family not in self._found:
            self._found[family] = find()
        found: Found = self._found[family]
        return found

    @classmethod
    def at_rest(
        cls, u: Array, coefficients: Array, rayleigh: tuple[float, float] = (0.0, 0.0)
    ) -> Passage:
        """Displacements that rest relative to the frame; its angular velocity does not count."""
        return cls(u, 0.0 * u, 0.0 * u, np.zeros(3), coefficients, rayleigh)

    @property
    def drag(self) -> Array:
        """2ω̃ + a I (..., 3, 3): the acceleration by the velocity relative to the frame."""
        share = np.asarray(self.rayleigh[0])[..., None, None]
        return np.asarray(2.0 * skew(self.omega) + share * np.eye(3))

    @property
    def rests(self) -> bool:
        """Whether nothing moves relative to the frame."""
        return not (np.any(self.v) or np.any(self.a))

    def at(self, n: int) -> Passage:
        """That of one of several instants, for a family of one body."""
        step = None if self.step is None else self.step[:, :, n]
        rates = self.omega[n, 0], self.coefficients[n, 0]
        return Passage(self.u[n], self.v[n], self.a[n], *rates, self.rayleigh, step)

    def of_part(
        self, B: sp.csr_matrix, R: Array, P: Array, rayleigh: tuple[float, float]
    ) -> Passage:
        """That of a part whose DOFs are B u in axes R, with its own damping on top."""
        a, b = (x + y for x, y in zip(self.rayleigh, rayleigh, strict=True))
        motion = B @ self.u, B @ self.v, B @ self.a, R.T @ self.omega, P @ self.coefficients
        return Passage(*motion, (a, b), None if self.step is None else self.step @ B.T)


class Beyond(NamedTuple):
    """What a family adds to the linear matrices (size, size) about a displaced state in motion.

    M, C (Coriolis), D (damping) by a, v and v; K by u, of the forces that v and a cause.
    """

    M: sp.csr_matrix
    C: sp.csr_matrix
    D: sp.csr_matrix
    K: sp.csr_matrix


class Displaced(NamedTuple):
    """The derivatives (size, size), by a displacement and its load, of a family's matrices at rest.

    K: of the tangent, beyond what `geometric` has of the stress. M, D: of mass and damping. Each is
    None where it does not change.
    """

    K: Any = None
    M: Any = None
    D: Any = None


class ElementFamily:
    """Base of the families: every contribution is zero by default, forces in motion are linear.

    All matrices are (size, size) over all DOFs of the body, before supports. A matrix is
    any object with `shape`, `@` and `tocsr()`. A unit number counts the unit
    kinematics of `assembly.kinematics.acceleration_units`: 0–5 ω_iω_j in PAIRS order, 6–8 ε_i,
    9–11 a_O,i.
    """

    size: int
    # Whether `geometric` depends on the displacement.
    stress_from_displacement: bool = True
    # Whether K may resist rigid motions; false where the elements strain in none.
    resists_rigid_motions: bool = True
    # Whether forces, energies, powers and moments take several instants: a first axis of these.
    stacked: bool = False
    # Damping of the family alone in proportion to its mass, 1/s.
    mass_damping: float = 0.0

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        """Cells to draw: their kind in meshio's names, and the nodes (E, a) of each."""
        return ()

    def drawing_sections(self) -> Array:
        """Half sides (E, 2, 3), m, of a rectangle that stands for each section of the line cells.

        In body axes, and as many as there are line cells; zero where the section is unknown.
        """
        return np.zeros((sum(len(n) for kind, n in self.drawing_cells() if kind == "line"), 2, 3))

    def zero(self) -> sp.csr_matrix:
        """The matrix of what the family does not contribute."""
        return self._nothing

    @cached_property
    def _nothing(self) -> sp.csr_matrix:
        return sp.csr_matrix((self.size, self.size))

    def mass(self) -> Any:
        """M = ∫ρ NᵀN."""
        return self.zero()

    def stiffness(self) -> Any:
        """K, elastic."""
        return self.zero()

    def frame_inertia(self) -> tuple[Any, ...]:
        """∫ρ Nᵀ A N of the nine A of `assembly.kinematics.FRAME_UNITS`.

        The six S_ij with K(ω²) = Σ_{i≤j} ω_iω_j S_ij = ∫ρ Nᵀ ω̃ω̃ N, and G_x, G_y, G_z with G(w) =
        Σ w_i G_i = ∫ρ Nᵀ w̃ N.
        """
        return (self.zero(),) * 9

    def inertia_loads(self) -> Array:
        """Generalised forces (size, 12) of the unit kinematics.

        They are −∫ρ Nᵀ (acceleration of the unit).
        """
        return np.zeros((self.size, UNIT_COUNT))

    def geometric(self, u: Array, coefficients: Array | None) -> sp.csr_matrix:
        """K_G of the stress under displacement u (size,), the linear response to a load.

        coefficients (12,): of the unit kinematics whose inertia load acts, so that the stress
        inside an element, and the load's own second-order work, can be exact; None for loads at
        nodes only.
        """
        return self.zero()

    def damping(self) -> Any:
        """D of internal dampers, between points of the body."""
        return self.zero()

    def external_damping(self) -> Any:
        """d of dampers against the fixed surroundings.

        Their force −d(u̇ + ω̃u) gives D = d and K_D = d ω̃.
        """
        return self.zero()

    def balance(self, loads: Array) -> Array | None:
        """Forces (size, k) by which a hub balances loads (size, k) on the body; None without."""
        return None

    def balance_stiffness(self, loads: Array) -> Any:
        """K_G of the second-order work of the forces of `balance` against loads (size,)."""
        return self.zero()

    def of_each(self, law: Callable[[Passage], Any], passage: Passage) -> Array:
        """Forces, energies, powers or moments (P, ...) of several instants, by a law of it."""
        if self.stacked:
            return np.asarray(law(passage))
        return np.stack([law(passage.at(n)) for n in range(len(passage.u))])

    def strain_energy(self, passage: Passage) -> Any:
        """The energy, J, of the strains, without that of the inertia load."""
        return 0.5 * np.sum(passage.u * (self.stiffness() @ passage.u.T).T, axis=-1)

    def dissipation(self, passage: Passage) -> Any:
        """The power, W, of v on the forces of strain rates, less that on its linear `damping`."""
        power = np.sum(passage.v * (self.stiffness() @ passage.v.T).T, axis=-1)
        return passage.rayleigh[1] * power

    def inertia_moments(self, passage: Passage) -> Array:
        """Second moments (E, 7, 7) of the mass.

        See `assembly.elements.moments`. E: the elements, where each can belong to another body, or
        one for all.
        """
        return np.zeros((1, MOMENTS, MOMENTS))

    @property
    def kind(self) -> object:
        """Families of equal kinds are evaluated as one (`joined`); by default each by itself."""
        return id(self)

    def joined(self, families: list[ElementFamily], dofs: DofMap, first: Index) -> ElementFamily:
        """One family of the elements of several of its kind, on the DOFs of all their bodies.

        first: number of the first node of each family's body. Its laws take an `omega`,
        coefficients and damping for each element.
        """
        raise NotImplementedError

    def apart(self, dofs: Mask) -> list[tuple[ElementFamily, Any, bool]]:
        """Families that together are this one, or itself, to linearize some by other means.

        Each with the numbers of its elements, and whether these have DOFs that are chosen (size,):
        `by` of `linearized`.
        """
        return [(self, slice(None), True)]

    def linearized_at(self, passage: Passage, by: Wanted) -> tuple[Array, list[tuple[Any, Any]]]:
        """`linearized` at one instant or several: forces (..., size), and derivatives.

        Each with the numbers of its instants: matrices at one, or `Entries`.
        """
        if passage.u.ndim == 1:
            force, changes = self.linearized(passage, by)
            return force, [(..., changes)]
        each = [self.linearized(passage.at(n), by) for n in range(len(passage.u))]
        return np.stack([force for force, _ in each]), [(n, A) for n, (_, A) in enumerate(each)]

    def force(self, passage: Passage) -> Array:
        """Forces (size,) at a large displacement in motion, beyond the linear ones of the inertia.

        Beyond M a + 2G(ω) v, the family's `damping` and the stiffness and loads of the inertia of
        the frame. The damping of `passage.rayleigh` is all here. By default the linear law.
        """
        a, b = passage.rayleigh
        elastic = self.stiffness() @ (passage.u + b * passage.v)
        return np.asarray(elastic + a * (self.mass() @ passage.v))

    def linearized(self, passage: Passage, by: Wanted) -> tuple[Array, list[Any]]:
        """`force` and the derivatives by u, v and a that are wanted.

        By u alone forces of rates may be left out of it, for Newton's method.
        With `passage.step` the stresses in both may be those that the step foresees: linear in it,
        they leave out what a slender part stretches by turning along straight lines, and Newton's
        method takes larger and fewer steps (Magisano, Leonetti & Garcea, Comput. Methods Appl.
        Mech. Eng. 313, 2017).
        """
        at = passage if by else replace(passage, rayleigh=(0.0, 0.0))
        (M, C, D, K), own = self.tangents(at)
        return self.force(passage), [K + own, C + D, M] if by else [own]

    def tangents(self, passage: Passage) -> tuple[Beyond, Any]:
        """The derivatives of `force`: what the rates cause, and that of the other forces by u."""
        a, b = passage.rayleigh
        K = sp.csr_matrix(self.stiffness().tocsr())
        D = sp.csr_matrix(a * self.mass().tocsr() + b * K)
        return Beyond(self.zero(), self.zero(), D, self.zero()), K

    def displaced(self, passage: Passage) -> Displaced:
        """The derivatives of the matrices by s at the displacement s u, s = 0.

        The inertia load is that of s coefficients, the damping that of `rayleigh`. For
        prestress="first-order".
        """
        return Displaced()

    def strain_square(self, passage: Passage) -> Displaced:
        """What makes the stiffness with `displaced` a square of strains again: K and D, quadratic.

        With the strain Bv of small motions v about s u, B₀ + s B₁ + O(s²), `displaced` has B₀ᵀHB₁ +
        B₁ᵀHB₀ of the elastic stiffness B₀ᵀHB₀; this is B₁ᵀHB₁.
        """
        return Displaced()

    def section_resultants(self, passage: Passage) -> Array:
        """Position, force and moment (S, 9) of the sections of beams at a large displacement."""
        return np.zeros((0, 9))
