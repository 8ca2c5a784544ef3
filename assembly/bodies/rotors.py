"""Axisymmetric rotors in a frame that does not spin: shafts, discs and bearings.

The shaft lies along x. Its spin Ω enters as the gyroscopic matrix Ω 𝒢 alone (docs/theory.md):
a section's spin I_p Ω t turns with it, d(I_p Ω φ × t)/dt = −I_p Ω t̃ φ̇. Supports that differ in y
and z, and bearings with cross coefficients, stay constant. Internal damping turns with the shaft:
force −b K (q̇ − Ω t × q), circulatory in this frame (Genta, Dynamics of Rotating Systems, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import as_list, as_number, real_array, shown
from assembly.bodies.attachments import attach_mass
from assembly.bodies.beams import POINTS_UNIFORM, Theory, chain, straight, uniform_stations
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.bodies.rotor_parts import Bearing, Disc, segment_lengths
from assembly.dofs import COMPONENTS, SPATIAL, DofMap
from assembly.elements.beam import BeamFamily
from assembly.elements.beam_shapes import gauss
from assembly.elements.rigid import RigidFamily
from assembly.errors import InputError
from assembly.kinematics import SKEW_UNITS, unit_axis
from assembly.linalg.combination import Combination
from assembly.magnitudes import EQUAL, MOST_ELEMENTS, RATE, check_count
from assembly.materials.materials import Material, check_is_material
from assembly.materials.sections import Section
from assembly.system.frozen import FrozenSystem
from assembly.system.supports import unresisted
from assembly.types import Array, Index, Inexact

Terms: TypeAlias = tuple[tuple[float, sp.csr_matrix], ...]


@dataclass(frozen=True)
class Support:
    """What bearings add at one spin, as factors and matrices (n, n), and the rigid motions (n, m)
    that no stiffness of theirs, cross-coupled or not, resists."""

    stiffness: Terms
    skew_stiffness: Terms
    damping: Terms
    skew_damping: Terms
    rigid: Array

    @property
    def summed(self) -> Support:
        """The same with each sum in one matrix."""
        n = len(self.rigid)
        terms = (self.stiffness, self.skew_stiffness, self.damping, self.skew_damping)
        one = [((1.0, _sum(n, *each).tocsr()),) for each in terms]
        return Support(one[0], one[1], one[2], one[3], self.rigid)


@dataclass(frozen=True)
class Rotor:
    """A shaft with discs in bearings. Made by `rotor`.

    Parameters
    ----------
    body : Body
        Shaft and discs without bearings, free of supports.
    bearings : tuple of (int, Bearing)
        Each bearing with its node.
    internal_damping : float
        Coefficient b (s) of the damping b K that rotates with the shaft.
    axial_load : float
        Tension of the whole shaft, N; negative for a thrust.
    drive : int
        Node where the torque that accelerates the rotor enters.
    discs : tuple of (int, Disc)
        Each disc with its node; those with a skew angle excite the rotor.
    """

    body: Body
    bearings: tuple[tuple[int, Bearing], ...] = ()
    internal_damping: float = 0.0
    axial_load: float = 0.0
    drive: int = 0
    discs: tuple[tuple[int, Disc], ...] = ()

    @property
    def whirl_axis(self) -> tuple[float, float, float]:
        """The shaft, about which tracks count the direction of whirl."""
        return 1.0, 0.0, 0.0

    @property
    def made_from(self) -> str:
        """What the rotor was made from, in one line."""
        return self.body.made_from

    def __str__(self) -> str:
        head, *others = str(self.body).splitlines()
        lines = [head.replace("body", "rotor", 1), *others]
        lines += [f"  bearing at {bearing.at:g} m, node {node}" for node, bearing in self.bearings]
        return "\n".join(line for line in lines if line != "  supports: none")

    def freeze(
        self, omega: float = 0.0, axis: ArrayLike | None = None, epsilon: float = 0.0
    ) -> FrozenSystem:
        """The frozen system at one spin, in the frame that does not spin.

        Parameters
        ----------
        omega : float
            Spin about the shaft, rad/s.
        axis : array_like, shape (3,), optional
            Accepted when it is the shaft's, x: parameter sweeps pass it on.
        epsilon : float
            Acceleration of the spin, rad/s².

        Returns
        -------
        FrozenSystem
            C is Ω 𝒢 and the skew part of the bearings' damping. K_D is the skew stiffness of the
            internal damping and of cross-coupled bearings. K_epsilon is ½ ε 𝒢, K_G that of the
            axial load and of the torque that accelerates the shaft.

        Raises
        ------
        InputError
            For a spin or an acceleration that is not one finite number, or another axis.
        """
        for name, value in (("omega", omega), ("epsilon", epsilon)):
            number = real_array(value)
            if number is None or number.ndim or not abs(number) <= RATE.largest:
                raise InputError(
                    f"{name}: expected one finite number of the spin, got {shown(value)}"
                )
        if axis is not None and not np.allclose(np.abs(unit_axis(axis)), [1.0, 0.0, 0.0]):
            raise InputError(f"axis: a rotor spins about its shaft, (1, 0, 0), got {axis!r}")
        n, spin = len(self.free), float(omega)
        support = self._support_at(spin) if self.varies else self._steady_support
        terms = self._terms(spin, float(epsilon), support)
        parts: dict[str, Any] = {name: _sum(n, *part) for name, part in terms.items()}
        return FrozenSystem(
            **parts,
            rigid=support.rigid,
            dofs=self.body.dofs.select(self.free).named(self.body.name),
            frame="fixed",
            parameters=dict(omega=spin) | (dict(epsilon=float(epsilon)) if epsilon else {}),
        )

    def terms(self, omega: Array, epsilon: Array) -> dict[str, list[tuple[Any, Any]]]:
        """The fixed matrices of `freeze` and their multipliers, where no bearing `varies`.

        Parameters
        ----------
        omega, epsilon : ndarray, shape (P,)
            Spins, rad/s, and their rates, rad/s².

        Returns
        -------
        dict of str to list of (ndarray, scipy.sparse.csr_matrix)
            For each part of the frozen system multipliers (P,) and matrices.
        """
        parts = self._terms(omega, epsilon, self._steady_support)
        return {name: [(c, A) for c, A in part if A.nnz] for name, part in parts.items()}

    def _terms(self, spin: Any, epsilon: Any, support: Support) -> dict[str, list[tuple[Any, Any]]]:
        """Of one spin, or of several of one support."""
        b, (M, K, G, turning) = self.internal_damping, self._matrices
        stress = [(self.axial_load, self._tension)] if self.axial_load else []
        if np.any(epsilon):
            stress.append((epsilon, self._torque))
        parts = dict(
            M=[(1.0, M)],
            C=[(spin, G), *support.skew_damping],
            D=[(b, K), *support.damping],
            K=[(1.0, K), *support.stiffness],
            K_epsilon=[(0.5 * epsilon, G)],
            K_G=stress,
            K_D=[(-b * spin, turning), *support.skew_stiffness],
        )
        one = np.ones_like(spin)
        return {name: [(c * one, A) for c, A in part] for name, part in parts.items()}

    def excitation(self, omega: float, epsilon: float = 0.0) -> Inexact:
        """Force of the discs' skew on the degrees of freedom of `freeze`, Re F e^{iψ}.

        Parameters
        ----------
        omega : float
            Spin, rad/s.
        epsilon : float
            Its acceleration, rad/s².

        Returns
        -------
        ndarray of complex, shape (n,)
            F, N·m: with the skew τ at the angle α, M_y + i M_z = (I_d − I_p)(ε + iΩ²) τ e^{i(ψ+α)}.
        """
        force = np.zeros(self.body.size, dtype=complex)
        for node, disc in self.discs:
            moment = (disc.diametral - disc.polar) * (epsilon + 1j * omega**2) * disc.skew
            moment = moment * np.exp(1j * disc.skew_angle)
            force[self.body.dofs.index(node, 4)] += moment
            force[self.body.dofs.index(node, 5)] += -1j * moment
        return np.asarray(force[self.free])

    @cached_property
    def _tension(self) -> sp.csr_matrix:
        """K_G per unit of tension, on the free DOFs."""
        return self._geometric(lambda x: np.ones_like(x), moment=False)

    @cached_property
    def _torque(self) -> sp.csr_matrix:
        """K_G per unit of acceleration: of the torque that turns what lies beyond a section, seen
        from the drive."""
        marks, before = self._polar_inertia
        at = self.body.dofs.coordinates[self.drive, 0]

        def torque(x: Array) -> Array:
            return np.asarray(np.interp(x, marks, before) - np.where(x > at, before[-1], 0.0))

        return self._geometric(torque, moment=True)

    @cached_property
    def _polar_inertia(self) -> tuple[Array, Array]:
        """Places along the shaft, each node twice, and the polar inertia before them, kg m²."""
        x = self.body.dofs.coordinates[:, 0]
        nodes = np.zeros(len(x))
        spans = np.zeros(len(x) - 1)
        for family in self.body.families:
            if isinstance(family, RigidFamily):
                J = family.inertia.J
                own = np.trace(J, axis1=-2, axis2=-1) - J[:, 0, 0]
                np.add.at(nodes, np.searchsorted(x, family.points[:, 0] - 1e-9 * x[-1]), own)
            elif isinstance(family, BeamFamily):
                J = family.stations.inertia.J
                per_length = np.trace(J, axis1=-2, axis2=-1) - J[..., 0, 0]
                first = np.searchsorted(x, family.stations.X[:, 0, 0]) - 1
                np.add.at(spans, first, (per_length * family.shapes.lengths).sum(axis=1))
        steps = np.zeros(2 * len(x))
        steps[1::2] = nodes
        steps[2::2] = spans
        return np.repeat(x, 2), np.cumsum(steps)

    def _geometric(self, resultant: Callable[[Array], Array], moment: bool) -> sp.csr_matrix:
        """K_G on the free DOFs of an axial force or torque over the shaft, (E, Q) of x (E, Q)."""
        total = sp.csr_matrix((self.body.size, self.body.size))
        for family in self.body.families:
            if isinstance(family, BeamFamily):
                X = family.stations.X
                along = np.zeros(X.shape)
                along[..., 0] = resultant(X[..., 0])
                F, Mo = (0.0 * along, along) if moment else (along, 0.0 * along)
                total = total + family.geometric_of_resultants(F, Mo)
        return sp.csr_matrix(total[self.free][:, self.free])

    @cached_property
    def free(self) -> Index:
        """Numbers of the degrees of freedom that rigid bearings leave."""
        rigid_nodes = [node for node, bearing in self.bearings if bearing.is_rigid]
        dofs = self.body.dofs
        lateral = (dofs.component == 1) | (dofs.component == 2)
        return np.flatnonzero(~(np.isin(dofs.node, rigid_nodes) & lateral))

    @cached_property
    def _matrices(self) -> tuple[sp.csr_matrix, ...]:
        """M, K, 𝒢 and K times the turn about the shaft, on the free DOFs."""
        body, keep = self.body, self.free
        K = body.operators.K.tocsr()
        spinning = [f for f in body.families if isinstance(f, BeamFamily | RigidFamily)]
        G = sp.csr_matrix(K.shape)
        for family in spinning:
            G = G + family.spin_gyroscopic()
        turned = K @ body.dofs.turning(SKEW_UNITS[0], rotations=True)
        every = body.operators.M.tocsr(), K, G, turned
        return tuple(sp.csr_matrix(A[keep][:, keep]) for A in every)

    @property
    def varies(self) -> bool:
        """Whether bearings depend on the spin."""
        return any(callable(b.stiffness) or callable(b.damping) for _, b in self.bearings)

    @cached_property
    def _steady_support(self) -> Support:
        """Of bearings that do not depend on the spin."""
        return self._support(0.0).summed

    def _support_at(self, spin: float, most: int = 256) -> Support:
        """That of a spin; of the last ones it is known: maps have many points of one spin."""
        if spin not in self._supports:
            if len(self._supports) >= most:
                self._supports.clear()
            self._supports[spin] = self._support(spin)
        return self._supports[spin]

    @cached_property
    def _supports(self) -> dict[float, Support]:
        return {}

    def _support(self, spin: float) -> Support:
        """The bearings' symmetric and skew parts on the free DOFs: at most spins the same matrices
        with other factors. Where they leave motions free, as films without whirl, matrices of their
        own: zero eigenvalues are no modes of a space that spins share."""
        each = np.array([bearing.matrices(spin) for _, bearing in self.bearings])
        even, odd = self._of_bearings
        found: list[Terms] = []
        for yy, yz, zy, zz in each.reshape(-1, 2, 4).transpose(1, 2, 0):
            symmetric = np.stack([yy, 0.5 * (yz + zy), zz], axis=1).ravel()
            found += (
                tuple(zip(values.tolist(), matrices, strict=True))
                for values, matrices in ((symmetric, even), (0.5 * (yz - zy), odd))
            )
        stiffness, skew_stiffness, damping, skew_damping = found
        rigid = self._left_free(stiffness + skew_stiffness)
        support = Support(stiffness, skew_stiffness, damping, skew_damping, rigid)
        return support if rigid.shape[1] == self._least_free else support.summed

    def _left_free(self, stiffness: Terms) -> Array:
        """Rigid motions (free, m) that a stiffness of the bearings does not resist."""
        return unresisted(self._allowed, _sum(len(self.free), *stiffness).tocsr())

    @cached_property
    def _least_free(self) -> int:
        """The number of motions that bearings stiff in y and z do not resist."""
        even = self._of_bearings[0]
        return int(self._left_free(tuple((1.0, A) for A in even[::3] + even[2::3])).shape[1])

    @cached_property
    def _of_bearings(self) -> tuple[list[sp.csr_matrix], list[sp.csr_matrix]]:
        """On the free DOFs, of each bearing: yy, yz + zy and zz; yz − zy."""
        n, table, keep = self.body.size, self.body.dofs.table, self.free
        even: list[sp.csr_matrix] = []
        odd: list[sp.csr_matrix] = []
        for node, _ in self.bearings:
            y, z = table[node, 1:3]
            for values in ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0),
                           (0.0, 1.0, -1.0, 0.0)):  # fmt: skip
                A = sp.csr_matrix((values, ([y, y, z, z], [y, z, y, z])), (n, n))[keep][:, keep]
                A.eliminate_zeros()
                (odd if min(values) < 0.0 else even).append(sp.csr_matrix(A))
        return even, odd

    @cached_property
    def _allowed(self) -> Array:
        """Rigid motions (free, m) that rigid bearings, supports and springs of the shaft allow."""
        held = np.ones(self.body.size, dtype=bool)
        held[self.free] = False
        return self.body.unresisted(held)[self.free]


def _sum(n: int, *terms: tuple[float, sp.csr_matrix]) -> Combination:
    return Combination((n, n), tuple((c, A) for c, A in terms if c != 0.0 and A.nnz))


LATERAL = tuple(map(COMPONENTS.index, ("uy", "uz", "ry", "rz")))


@described
def rotor(
    segments: Sequence[tuple[float, Section]],
    material: Material,
    elements: int,
    *,
    discs: Sequence[Disc] = (),
    bearings: Sequence[Bearing] = (),
    theory: Theory = "timoshenko",
    rotary_inertia: bool = True,
    internal_damping: float = 0.0,
    axial_load: float = 0.0,
    drive_at: float = 0.0,
    lateral: bool = True,
    name: str = "rotor",
) -> Rotor:
    """A stepped shaft along x from 0, with discs and bearings, in a frame that does not spin.

    Parameters
    ----------
    segments : sequence of (float, Section)
        Length (m) and axisymmetric section of each piece, from left to right.
    material : Material
        Isotropic material of the shaft.
    elements : int
        Number of elements of about equal length over the whole shaft. Every step, disc and bearing
        gets a node, so there may be a few more.
    discs : sequence of Disc
        Rigid discs.
    bearings : sequence of Bearing
        Bearings to the ground.
    theory : {"timoshenko", "euler-bernoulli"}
        With or without shear strain.
    rotary_inertia : bool
        False neglects the inertia of section rotations, except about the shaft.
    internal_damping : float
        Coefficient b (s) of the damping b K that rotates with the shaft.
    axial_load : float
        Tension of the whole shaft, N; negative for a thrust.
    drive_at : float
        Position where the torque that accelerates the rotor enters, m.
    lateral : bool
        Degrees of freedom uy, uz, ry, rz only; False adds extension and torsion.
    name : str
        Name of the body.

    Returns
    -------
    Rotor

    Raises
    ------
    InputError
        For a value that cannot be used.

    Notes
    -----
    The spin Ω enters as C = Ω 𝒢; internal damping is b (K q̇ − Ω K (t × q)) (Genta, Dynamics of
    Rotating Systems, 2005).

    Examples
    --------
    >>> import assembly
    >>> shaft = assembly.rotor(
    ...     [(1.0, assembly.circle(0.05))],
    ...     assembly.steel,
    ...     8,
    ...     discs=[assembly.Disc.solid(0.5, 0.3, 0.05, 0.04, assembly.steel)],
    ...     bearings=[assembly.Bearing(0.0, 1e7), assembly.Bearing(1.0, 1e7, 500.0)],
    ... )
    >>> shaft.freeze(omega=300.0).n
    36
    """
    segments = as_list(segments, tuple | list, "segments", "(length, section) pairs")
    discs = as_list(discs, Disc, "discs", "assembly.Disc(…)")
    bearings = as_list(bearings, Bearing, "bearings", "assembly.Bearing(…)")
    check_is_material(material)
    lengths = segment_lengths(segments)
    check_count(elements, "elements", largest=MOST_ELEMENTS)
    as_number(internal_damping, "internal_damping")
    if not (np.isfinite(internal_damping) and internal_damping >= 0.0):
        raise InputError(f"internal_damping: must not be negative, got {internal_damping!r}")
    for given, value in (("axial_load", axial_load), ("drive_at", drive_at)):
        if isinstance(value, bool) or np.ndim(value) != 0 or not np.isfinite(value):
            raise InputError(f"{given}: expected one finite number, got {value!r}")
    steps = np.concatenate([[0.0], np.cumsum(lengths)])
    parts = [("disc", disc.at) for disc in discs] + [("bearing", b.at) for b in bearings]
    x = _nodes(steps, [*parts, ("drive", float(drive_at))], elements)
    middle = 0.5 * (x[1:] + x[:-1])
    owner = np.searchsorted(steps, middle) - 1
    dofs = DofMap.regular(x[:, None] * np.eye(3)[0], LATERAL if lateral else SPATIAL)
    families = []
    for k, (_, section) in enumerate(segments):
        mine = np.flatnonzero(owner == k)
        pairs = chain(len(x) - 1)[mine]
        ends, rule = dofs.coordinates[pairs], gauss(POINTS_UNIFORM)
        frames = np.broadcast_to(np.eye(3), (len(pairs), len(rule.points), 3, 3))
        stations = uniform_stations(
            *straight(ends, rule), frames, rule, section, material, theory, rotary_inertia
        )
        families.append(BeamFamily(dofs, pairs, stations))
    body = Body(dofs, tuple(families), np.zeros(len(dofs), dtype=bool), name=name)
    for disc in discs:
        inertia = (disc.polar, disc.diametral, disc.diametral)
        body = attach_mass(body, _at(x, disc.at), disc.mass, inertia)
    placed = tuple((_at(x, bearing.at), bearing) for bearing in bearings)
    at_nodes = tuple((_at(x, disc.at), disc) for disc in discs)
    drive = _at(x, drive_at)
    return Rotor(body, placed, float(internal_damping), float(axial_load), drive, at_nodes)


def _nodes(steps: Array, parts: Sequence[tuple[str, float]], elements: int) -> Array:
    """Node positions: all steps and parts, and equal elements between them."""
    total = steps[-1]
    for kind, at in parts:
        # A sum of segment lengths differs from the written position by round-off.
        if not -EQUAL * total <= at <= (1.0 + EQUAL) * total:
            raise InputError(f"{kind} at {at!r}: the shaft reaches from 0 to {total:.6g} m")
    marks = np.unique(np.clip(np.concatenate([steps, [at for _, at in parts]]), 0.0, total))
    marks = marks[np.concatenate([[True], np.diff(marks) > EQUAL * total])]
    pieces = [
        np.linspace(a, b, max(1, round((b - a) / total * elements)) + 1)[:-1]
        for a, b in pairwise(marks)
    ]
    return np.append(np.concatenate(pieces), marks[-1])


def _at(x: Array, where: float) -> int:
    return int(np.argmin(abs(x - where)))
