"""Straight beams and bars, and rings, as bodies: geometry, section and supports in one call."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, check_choice, shown
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import COMPONENTS, PLANAR, SPATIAL, DofMap
from assembly.elements.bar import BarFamily
from assembly.elements.beam import BeamFamily
from assembly.elements.beam_shapes import LineRule, Stations, gauss
from assembly.elements.family import ElementFamily
from assembly.elements.section_inertia import SectionInertia
from assembly.errors import InputError
from assembly.kinematics import as_vector, unit_axis
from assembly.magnitudes import AREA, LENGTH, MOST_ELEMENTS, POSITION, check_count
from assembly.materials.materials import Material, check_is_material
from assembly.materials.plausibility import check_mass, check_slenderness
from assembly.materials.sections import (
    Section,
    check_is_section,
    section_axes,
    section_mu,
    turned,
    viscous_compliance,
)
from assembly.types import Array, Index

End = Literal["start", "end", "both"] | None
Theory = Literal["timoshenko", "euler-bernoulli"]

# Straight uniform elements have polynomial integrands, up to degree 6; curved and twisted ones
# have not: arc length and turn.
POINTS_UNIFORM, POINTS_TWISTED = 4, 7


@described
def beam(
    length: float,
    section: Section,
    material: Material,
    elements: int,
    *,
    clamped: End = None,
    pinned: End = None,
    pin_axis: Literal["x", "y", "z"] | None = None,
    offset: float = 0.0,
    theory: Theory = "timoshenko",
    planar: bool = False,
    rotary_inertia: bool = True,
    start: ArrayLike = (0.0, 0.0, 0.0),
    direction: ArrayLike = (1.0, 0.0, 0.0),
    section_y: ArrayLike = (0.0, 1.0, 0.0),
    pitch: float | tuple[float, float] = 0.0,
    end_offsets: tuple[ArrayLike, ArrayLike] | None = None,
    mu: ArrayLike = 0.0,
    wagner: bool = True,
    name: str = "beam",
) -> Body:
    """A straight beam as a body of equal two-node elements.

    Parameters
    ----------
    length : float
        Length of the axis, m.
    section : Section
        Cross-section, the same all along.
    material : Material
        Isotropic material.
    elements : int
        Number of elements.
    clamped, pinned : {"start", "end", "both", None}
        Supported ends. A pin holds the displacements: in space it is a ball joint, or a hinge
        about `pin_axis`. A torque at the pin balances the load of the rigid motion.
    pin_axis : {"x", "y", "z", None}
        Body axis of the hinges of pinned ends.
    offset : float
        Distance from `start` to the root along the axis, m: the hub radius.
    theory : {"timoshenko", "euler-bernoulli"}
        With or without shear strain.
    planar : bool
        Degrees of freedom ux, uy, rz only: bending about z.
    rotary_inertia : bool
        False neglects the inertia of section rotations, except about the beam's own axis.
    start : array_like, shape (3,)
        Point from which the axis is laid out, body axes, m.
    direction : array_like, shape (3,)
        Direction of the axis, body axes.
    section_y : array_like, shape (3,)
        The section's y axis is the part of this vector normal to the axis.
    pitch : float or tuple of float
        Angle of the section about the axis, rad; a pair is the angle at root and tip, linear in
        between (pretwist).
    end_offsets : tuple of two array_like, shape (3,), optional
        Rigid arms, m, body axes: from the first node to the start of the axis and from the last
        node to its end. `length` and `start` describe the axis.
    mu : array_like, shape (6,)
        Damping of the sections in proportion to their stiffness, s: of stretch, shear along y and
        z, twist, and bending about y and z. A number stands for six equal ones.
    wagner : bool
        False leaves out the stiffness against twist that an axial force gives the fibres about
        the axis (Wagner).
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
    MaterialError
        For an orthotropic material: sections of beams are isotropic.

    Examples
    --------
    >>> import assembly
    >>> section = assembly.rectangle(0.05, 0.02)
    >>> body = assembly.beam(1.0, section, assembly.steel, 20, clamped="start", offset=0.1)
    >>> body.freeze(omega=(0, 0, 100.0)).n
    120
    """
    check_is_section(section)
    check_is_material(material)
    nodes, tangent = _axis(length, elements, offset, start, direction)
    check_slenderness(length, section.depth)
    check_mass(material.rho * section.A * length, "length", length)
    if planar and (abs(tangent[2]) > 1e-12 or np.any(nodes[:, 2] != 0.0)):
        raise InputError("planar: the beam must lie in the x-y plane of the body")
    pitches = as_numbers(pitch, "pitch")
    if pitches.shape not in ((), (2,)) or not np.all(np.isfinite(pitches)):
        raise InputError(f"pitch: expected a finite angle in rad, or two, got {shown(pitch)}")
    angles = np.broadcast_to(pitches, (2,))
    rule = gauss(POINTS_UNIFORM if angles[0] == angles[1] else POINTS_TWISTED)
    where = (np.arange(elements)[:, None] + rule.points) / elements
    frames = section_axes(tangent, section_y, angles[0] + (angles[1] - angles[0]) * where)
    ends = np.stack([nodes[:-1], nodes[1:]], axis=1)
    stations = uniform_stations(
        *straight(ends, rule), frames, rule, section, material, theory, rotary_inertia, mu, wagner
    )
    arms = None
    if end_offsets is not None:
        offsets = [as_vector(arm, "end_offsets") for arm in end_offsets]
        if len(offsets) != 2 or (planar and any(arm[2] for arm in offsets)):
            raise InputError(
                "end_offsets: expected two arms, in the x-y plane if the beam is planar"
            )
        arms = np.zeros((elements, 2, 3))
        arms[0, 0], arms[-1, 1] = offsets
        nodes[[0, -1]] -= offsets
    dofs = DofMap.regular(nodes, PLANAR if planar else SPATIAL)
    family = BeamFamily(dofs, chain(elements), stations, arms)
    return supported(dofs, family, clamped, pinned, pin_axis, name)


@described
def bar(
    length: float,
    section: Section | float,
    material: Material,
    elements: int,
    *,
    clamped: End = None,
    offset: float = 0.0,
    lumped: bool = False,
    name: str = "bar",
) -> Body:
    """A straight bar along body x that moves along itself only: linear two-node elements.

    Parameters
    ----------
    length : float
        Length, m.
    section : Section or float
        Cross-section, or its area, m².
    material : Material
        Isotropic material.
    elements : int
        Number of elements.
    clamped : {"start", "end", "both", None}
        Ends that do not move.
    offset : float
        Coordinate x of the start, m.
    lumped : bool
        Half of each element's mass at each of its nodes instead of the consistent mass.
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
    """
    check_is_material(material)
    nodes, _ = _axis(length, elements, offset, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    area = section.A if isinstance(section, Section) else AREA.number(section, "section")
    check_slenderness(length, float(np.sqrt(area)))
    check_mass(material.rho * area * length, "length", length)
    dofs = DofMap.regular(nodes, (0,))
    family = BarFamily(dofs, chain(elements), material.E * area, material.rho * area, lumped)
    return supported(dofs, family, clamped, None, None, name)


def straight(ends: Array, rule: LineRule) -> tuple[Array, Array]:
    """The axis X (E, Q, 3) and its slope dX/dξ of straight elements between ends (E, 2, 3)."""
    span = ends[:, 1] - ends[:, 0]
    X = ends[:, None, 0] + rule.points[:, None] * span[:, None]
    return X, np.broadcast_to(span[:, None], X.shape)


def uniform_stations(
    X: Array,
    slope: Array,
    frames: Array,
    rule: LineRule,
    section: Section,
    material: Material,
    theory: Theory,
    rotary_inertia: bool = True,
    mu: ArrayLike = 0.0,
    wagner: bool = True,
) -> Stations:
    """One section all along an axis X (E, Q, 3) of slope dX/dξ, with axes frames (E, Q, 3, 3)."""
    check_theory(theory)
    damping, C = section_mu(mu), section.compliance(material, theory == "timoshenko")
    shape = frames.shape[:2]
    t = frames[..., :, 0]
    alone = t[..., :, None] * t[..., None, :]
    inertia = SectionInertia(
        m=np.full(shape, material.rho * section.A),
        eta=np.zeros((*shape, 3)),
        J=material.rho * (frames @ section.second_moments @ frames.swapaxes(-1, -2)),
        turning=np.broadcast_to(np.eye(3), alone.shape) if rotary_inertia else alone,
    )
    return Stations(
        rule,
        X=X,
        slope=slope,
        compliance=turned(C, frames),
        inertia=inertia,
        tension_centre=np.zeros((*shape, 3)),
        radius2=np.full(shape, section.polar_radius_squared if wagner else 0.0),
        viscous=turned(viscous_compliance(C, damping), frames) if damping.any() else None,
    )


def check_theory(theory: str) -> None:
    """InputError unless the theory is one there is."""
    check_choice(theory, ("timoshenko", "euler-bernoulli"), "theory")


def chain(elements: int) -> Index:
    """Connectivity (elements, 2) of nodes in a row."""
    first = np.arange(elements)
    return np.stack([first, first + 1], axis=1)


def supported(
    dofs: DofMap,
    family: ElementFamily,
    clamped: End,
    pinned: End,
    pin_axis: Literal["x", "y", "z"] | None,
    name: str,
) -> Body:
    """The body of a chain of elements whose first node is its start and whose last is its end."""
    last = len(dofs.coordinates) - 1
    ends = {None: [], "start": [0], "end": [last], "both": [0, last]}
    for argument, value in (("clamped", clamped), ("pinned", pinned)):
        check_choice(value, ("start", "end", "both", None), argument)
    if set(ends[clamped]) & set(ends[pinned]):
        raise InputError(f"clamped={clamped!r} and pinned={pinned!r} hold the same end")
    check_choice(pin_axis, ("x", "y", "z", None), "pin_axis")
    if pin_axis is not None and pinned is None:
        raise InputError(f"pin_axis = {pin_axis!r}: no end is pinned; give pinned as well")
    turning = (3, 4, 5) if pin_axis is None else (COMPONENTS.index("r" + pin_axis),)
    fixed = np.isin(dofs.node, ends[clamped])
    at_pin = np.isin(dofs.node, ends[pinned])
    fixed |= at_pin & ~np.isin(dofs.component, turning)
    sets = {"start": np.array([0], dtype=np.intp), "end": np.array([last], dtype=np.intp)}
    return Body(dofs, (family,), fixed, np.flatnonzero(at_pin & ~fixed), name=name, sets=sets)


def _axis(
    length: float, elements: int, offset: float, start: ArrayLike, direction: ArrayLike
) -> tuple[Array, Array]:
    """Nodes (elements + 1, 3) and the unit tangent of a straight axis."""
    LENGTH.number(length, "length")
    check_count(elements, "elements", largest=MOST_ELEMENTS)
    POSITION.number(offset, "offset")
    tangent = unit_axis(direction, "direction")
    along = offset + length * np.linspace(0.0, 1.0, elements + 1)
    return as_vector(start, "start") + along[:, None] * tangent, tangent


@described
def ring(
    radius: float,
    section: Section,
    material: Material,
    elements: int,
    *,
    theory: Theory = "timoshenko",
    planar: bool = False,
    rotary_inertia: bool = True,
    mu: ArrayLike = 0.0,
    wagner: bool = True,
    name: str = "ring",
) -> Body:
    """A free ring of circular beam elements about body z, centred on the origin.

    Parameters
    ----------
    radius : float
        Radius of the section's centroid, m.
    section : Section
        Its width (y) is radial, its height (z) along the ring's axis.
    material : Material
        Isotropic material.
    elements : int
        Number of elements, at least 3.
    theory : {"timoshenko", "euler-bernoulli"}
        With or without shear strain.
    planar : bool
        Degrees of freedom ux, uy, rz only.
    rotary_inertia : bool
        False neglects the inertia of section rotations, except about the beam's own axis.
    mu : array_like, shape (6,)
        Damping of the sections in proportion to their stiffness, s, as for `beam`.
    wagner : bool
        False leaves out the twist of fibres under an axial force, as for `beam`.
    name : str
        Name of the body.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a value that cannot be used.
    """
    check_is_section(section)
    check_is_material(material)
    LENGTH.number(radius, "radius")
    check_count(elements, "elements", 3, MOST_ELEMENTS)
    rule = gauss(POINTS_TWISTED)
    step = 2.0 * np.pi / elements
    angle = step * (np.arange(elements)[:, None] + rule.points)
    frames = _frames(angle)
    X, slope = -radius * frames[..., :, 1], radius * step * frames[..., :, 0]
    stations = uniform_stations(
        X, slope, frames, rule, section, material, theory, rotary_inertia, mu, wagner
    )
    nodes = -radius * _frames(step * np.arange(elements))[..., :, 1]
    dofs = DofMap.regular(nodes, PLANAR if planar else SPATIAL)
    family = BeamFamily(dofs, chain(elements) % elements, stations)
    return Body(dofs, (family,), np.zeros(len(dofs), dtype=bool), name=name)


def _frames(angle: Array) -> Array:
    """Section axes (..., 3, 3): tangent, inward (y), along the ring's axis (z)."""
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    tangent = np.stack([-s, c, zero], axis=-1)
    inward = np.stack([-c, -s, zero], axis=-1)
    axial = np.stack([zero, zero, zero + 1.0], axis=-1)
    return np.stack([tangent, inward, axial], axis=-1)
