"""Beams along a curved and twisted axis whose sections are 6×6 stiffness and mass matrices.

The matrices are what VABS, BECAS, ANBA and BeamDyn write: (F, Mo) = stiffness (γ, κ) and the mass
form of (u̇, φ̇), both about the reference axis, here ordered x (along the axis), y, z,
displacements before rotations. `assembly.blade_files` reads tables of other programs into this
order.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline, PPoly

from assembly.arguments import as_numbers, check_kind
from assembly.bodies.beams import POINTS_TWISTED, End, Theory, chain, check_theory, supported
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import DofMap
from assembly.elements.beam import BeamFamily
from assembly.elements.beam_shapes import Stations, gauss
from assembly.elements.section_inertia import SectionInertia
from assembly.errors import InputError, SectionError
from assembly.magnitudes import ENTRY, EQUAL, POSITION, check_count
from assembly.materials.sections import section_axes, section_mu, turned, viscous_compliance
from assembly.types import Array


@dataclass(frozen=True)
class BladeTable:
    """Sections at n stations of a reference axis, SI units.

    Between stations the axis and the twist are cubic splines and the matrices are linear, as in
    BeamDyn. Two stations at the same s and position are a kink: splines and matrices of both sides
    end there, and the sections of both sides are rigidly joined.

    Parameters
    ----------
    s : array_like, shape (n,)
        Coordinate along the axis, increasing; twice the same at a kink.
    axis : array_like, shape (n, 3)
        Positions of the axis, body axes, m.
    twist : array_like, shape (n,)
        Angle of the section's y axis about the tangent, rad.
    stiffness : array_like, shape (n, 6, 6)
        (F, M) = stiffness (γ, κ), section axes: x along the axis, displacements before rotations.
    mass : array_like, shape (n, 6, 6)
        Mass per length in the same order.
    section_y : array_like, shape (3,)
        At zero twist the section's y axis is the part of this vector normal to the tangent.
    mu : array_like, shape (6,)
        Damping of the sections in proportion to their stiffness, s, in the order of `stiffness`
        (BeamDyn's mu). A number stands for six equal ones.

    Raises
    ------
    InputError, SectionError
        For values that cannot be used; the message names the station.
    """

    s: Array
    axis: Array
    twist: Array
    stiffness: Array
    mass: Array
    section_y: tuple[float, float, float] = (0.0, 1.0, 0.0)
    mu: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            values = as_numbers(getattr(self, entry.name), f"blade table: {entry.name}")
            object.__setattr__(self, entry.name, values)
        object.__setattr__(self, "mu", section_mu(self.mu))
        n = self.s.size
        shapes = dict(s=(n,), axis=(n, 3), twist=(n,), stiffness=(n, 6, 6), mass=(n, 6, 6))
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value.shape != shape or n < 2:
                raise InputError(f"blade table: {name} has shape {value.shape}, expected {shape}")
            limit = ENTRY if name in ("stiffness", "mass") else POSITION
            bad = ~(np.abs(value.reshape(n, -1)) <= limit.largest).all(axis=1)
            if bad.any():
                raise InputError(
                    f"blade table: {name} is not finite at station {bad.argmax()}, or larger than"
                    f" {limit.largest:g}"
                )
        self._check_order()
        for name in ("stiffness", "mass"):
            _check_matrices(getattr(self, name), name)
        _check_rigid_sections(self.mass)

    def _check_order(self) -> None:
        """InputError unless s increases, apart from kinks, which are at one position."""
        step = np.diff(self.s)
        behind = (step < 0.0) | ((step == 0.0) & np.append(False, step[:-1] == 0.0))
        if behind.any():
            at = int(behind.argmax()) + 1
            raise InputError(
                f"blade table: s must increase, or be the same twice at a kink; station {at} is at"
                f" {float(self.s[at])!r}"
            )
        apart = np.linalg.norm(np.diff(self.axis, axis=0), axis=1)
        torn = (step == 0.0) & (apart > EQUAL * np.ptp(self.axis, axis=0).max())
        if torn.any():
            at = int(torn.argmax()) + 1
            raise InputError(
                f"blade table: s must increase; station {at} has the s of the one before it, as at"
                f" a kink, but is {apart[at - 1]:g} m away from it"
            )
        if step[0] == 0.0 or step[-1] == 0.0:
            raise InputError("blade table: a kink at an end joins nothing: leave its station out")

    @property
    def smooth_parts(self) -> list[slice]:
        """The stations between kinks."""
        ends = np.flatnonzero(np.diff(self.s) == 0.0) + 1
        return [slice(a, b) for a, b in pairwise([0, *ends.tolist(), len(self.s)])]

    def _spline(self, values: Array) -> PPoly:
        """Cubic splines through values (n, ...), one for each smooth part."""
        parts = [CubicSpline(self.s[part], values[part]) for part in self.smooth_parts]
        s = np.append(0.0, np.concatenate([spline.x[1:] for spline in parts]))
        s[0] = self.s[0]
        return PPoly(np.concatenate([spline.c for spline in parts], axis=1), s)

    def curve(self) -> PPoly:
        """The axis X(s), a spline with values (..., 3), m."""
        return self._spline(self.axis)

    def turn(self, s: Array) -> Array:
        """The twist (...,), rad, at s (...,)."""
        return np.asarray(self._spline(self.twist)(s))

    def matrices(self, name: str, s: Array) -> Array:
        """Section matrices between stations.

        Parameters
        ----------
        name : {"stiffness", "mass"}
        s : ndarray, shape (...,)

        Returns
        -------
        ndarray, shape (..., 6, 6)
        """
        values, step = getattr(self, name), np.diff(self.s)
        inside = np.flatnonzero(step)
        slope = np.diff(values, axis=0)[inside] / step[inside, None, None]
        line = PPoly(np.stack([slope, values[inside]]), np.unique(self.s))
        return np.asarray(line(s))


@described
def blade(
    table: BladeTable,
    *,
    refine: int = 1,
    clamped: End = None,
    pinned: End = None,
    theory: Theory = "timoshenko",
    rotary_inertia: bool = True,
    wagner: bool = True,
    name: str = "blade",
) -> Body:
    """A body of beam elements along a table's axis.

    Parameters
    ----------
    table : BladeTable
        Axis and sections.
    refine : int
        Number of elements between two stations.
    clamped, pinned : {"start", "end", "both", None}
        Supported ends; a pin is a ball joint.
    theory : {"timoshenko", "euler-bernoulli"}
        With or without shear strain.
    rotary_inertia : bool
        False neglects the inertia of section rotations about the mass centre, except torsion.
    wagner : bool
        False leaves out the stiffness against twist that an axial force gives the fibres about
        the tension centre (Wagner).
    name : str
        Name of the body.

    Returns
    -------
    Body
        With the node sets "start" and "end".

    Raises
    ------
    InputError
        For a value that cannot be used.

    Notes
    -----
    Tension centre and Wagner's r² follow from the stiffness: the axial force at the tension centre
    causes no bending, and r² is (EIy + EIz)/EA about it.

    Examples
    --------
    >>> import numpy as np
    >>> import assembly
    >>> s = np.array([0.0, 0.5, 1.0])
    >>> axis = s[:, None] * np.array([1.0, 0.0, 0.0])
    >>> stiffness = np.diag([2e8, 7e7, 7e7, 1e4, 7e3, 4e4]) * np.ones((3, 1, 1))
    >>> mass = np.diag([8.0, 8.0, 8.0, 2e-3, 3e-4, 1.7e-3]) * np.ones((3, 1, 1))
    >>> table = assembly.BladeTable(s, axis, 0.1 * s, stiffness, mass)
    >>> body = assembly.blade(table, refine=4, clamped="start")
    >>> body.freeze(omega=(0, 0, 50.0)).n
    48
    """
    expected = "a table such as assembly.beamdyn_blade(path)"
    check_kind(table, BladeTable, "table", expected)
    check_count(refine, "refine")
    parts = np.arange(refine) / refine
    ends = np.unique(table.s)
    nodes = np.append((ends[:-1, None] + np.diff(ends)[:, None] * parts).ravel(), ends[-1])
    dofs = DofMap.regular(table.curve()(nodes), (0, 1, 2, 3, 4, 5))
    stations = blade_stations(table, nodes, theory, rotary_inertia, wagner)
    family = BeamFamily(dofs, chain(len(nodes) - 1), stations)
    return supported(dofs, family, clamped, pinned, None, name)


def blade_stations(
    table: BladeTable,
    nodes: Array,
    theory: Theory,
    rotary_inertia: bool = True,
    wagner: bool = True,
) -> Stations:
    """The sections at the quadrature points of elements between nodes s (E + 1,)."""
    check_theory(theory)
    rule, span = gauss(POINTS_TWISTED), np.diff(nodes)
    s = nodes[:-1, None] + span[:, None] * rule.points
    curve = table.curve()
    slope = curve(s, 1) * span[:, None, None]
    tangent = slope / np.linalg.norm(slope, axis=-1, keepdims=True)
    frames = section_axes(tangent, table.section_y, table.turn(s))
    stiffness = table.matrices("stiffness", s)
    EA = stiffness[..., 0, 0]
    centre = np.stack([0.0 * EA, -stiffness[..., 0, 5] / EA, stiffness[..., 0, 4] / EA], axis=-1)
    radius2 = (stiffness[..., 4, 4] + stiffness[..., 5, 5]) / EA - (centre**2).sum(axis=-1)
    C, mu = compliance(stiffness, theory), np.asarray(table.mu)
    return Stations(
        rule,
        X=curve(s),
        slope=slope,
        compliance=turned(C, frames),
        inertia=section_inertia(table.matrices("mass", s), frames, rotary_inertia),
        tension_centre=(frames @ centre[..., None])[..., 0],
        radius2=radius2 if wagner else 0.0 * radius2,
        viscous=turned(viscous_compliance(C, mu), frames) if mu.any() else None,
    )


def compliance(stiffness: Array, theory: Theory) -> Array:
    """Inverse of section stiffness (..., 6, 6); without shear strains for Euler–Bernoulli."""
    if theory == "timoshenko":
        return np.asarray(np.linalg.inv(stiffness))
    strains = np.array([0, 3, 4, 5])
    C = np.zeros_like(stiffness)
    C[..., strains[:, None], strains] = np.linalg.inv(stiffness[..., strains[:, None], strains])
    return C


def section_inertia(mass: Array, frames: Array, rotary_inertia: bool = True) -> SectionInertia:
    """m, η and J in body axes of section mass matrices (..., 6, 6) in section axes."""
    m = mass[..., 0, 0]
    eta = np.stack([mass[..., 1, 5], -mass[..., 0, 5], mass[..., 0, 4]], axis=-1)
    inertia = mass[..., 3:, 3:]
    trace = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    J = 0.5 * trace * np.eye(3) - inertia
    t = frames[..., :, 0]
    along = t[..., :, None] * t[..., None, :]
    return SectionInertia(
        m=m,
        eta=(frames @ eta[..., None])[..., 0],
        J=frames @ J @ frames.swapaxes(-1, -2),
        turning=np.broadcast_to(np.eye(3), along.shape) if rotary_inertia else along,
    )


def uncoupled_stiffness(
    EA: ArrayLike, GAy: ArrayLike, GAz: ArrayLike, GJ: ArrayLike, EIy: ArrayLike, EIz: ArrayLike
) -> Array:
    """Diagonal section stiffnesses (n, 6, 6) from columns of a table, N and N·m²."""
    columns = np.broadcast_arrays(*(np.atleast_1d(c) for c in (EA, GAy, GAz, GJ, EIy, EIz)))
    return np.asarray(np.stack(columns, axis=-1, dtype=float)[..., None] * np.eye(6))


def rigid_section_mass(m: ArrayLike, cy: ArrayLike, cz: ArrayLike, J: ArrayLike) -> Array:
    """Section mass matrices (n, 6, 6): m, kg/m; centre (cy, cz), m; J = ∫ρ s sᵀ (n, 3, 3), kg·m.

    J is about the reference axis, so it includes m c cᵀ.
    """
    m, cy, cz = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, float)) for v in (m, cy, cz)))
    J = np.broadcast_to(np.asarray(J, dtype=float), (len(m), 3, 3))
    M = np.zeros((len(m), 6, 6))
    M[:, :3, :3] = m[:, None, None] * np.eye(3)
    M[:, 0, 4], M[:, 0, 5], M[:, 1, 3], M[:, 2, 3] = m * cz, -m * cy, -m * cz, m * cy
    M[:, 3:, :3] = M[:, :3, 3:].swapaxes(1, 2)
    M[:, 3:, 3:] = np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J
    return M


def _check_matrices(matrices: Array, name: str) -> None:
    size = abs(matrices).max(axis=(1, 2))
    uneven = abs(matrices - matrices.swapaxes(1, 2)).max(axis=(1, 2)) > 1e-6 * size
    if uneven.any():
        raise SectionError(f"blade table: {name} is not symmetric at station {uneven.argmax()}")
    # Scaled to a unit diagonal: displacements and rotations have different units.
    diagonal = np.einsum("nii->ni", matrices)
    low = (diagonal <= 0.0).any(axis=1)
    if not low.any():
        scale = 1.0 / np.sqrt(diagonal)
        low = np.linalg.eigvalsh(matrices * scale[:, :, None] * scale[:, None, :])[:, 0] < 1e-12
    if low.any():
        raise SectionError(
            f"blade table: {name} is not positive definite at station {low.argmax()}"
        )


def _check_rigid_sections(mass: Array) -> None:
    """A mass matrix must be that of a rigid section: [[m, −η̃], [η̃, I]]."""
    for k, M in enumerate(mass):
        off = M[:3, 3:]
        whole = abs(M[:3, :3] - M[0, 0] * np.eye(3)).max() <= 1e-6 * M[0, 0]
        arms = abs(off + off.T).max() <= 1e-6 * max(abs(off).max(), 1e-12 * M[0, 0])
        if not (whole and arms):
            raise SectionError(
                f"blade table: mass at station {k} is not that of a rigid section, "
                f"[[m, -c m], [c m, I]] with c skew"
            )
