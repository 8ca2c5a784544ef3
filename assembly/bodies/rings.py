"""Rings: closed circular beams, free in space or in their plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.bodies.beams import POINTS_TWISTED, Theory, uniform_stations
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import PLANAR, SPATIAL, DofMap
from assembly.elements.beam import BeamFamily
from assembly.elements.beam_shapes import gauss
from assembly.magnitudes import LENGTH, MOST_ELEMENTS, check_count
from assembly.materials.materials import Material, check_is_material
from assembly.materials.sections import Section, check_is_section
from assembly.types import Array


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
    first = np.arange(elements)
    pairs = np.stack([first, (first + 1) % elements], axis=1)
    nodes = -radius * _frames(step * first)[..., :, 1]
    dofs = DofMap.regular(nodes, PLANAR if planar else SPATIAL)
    family = BeamFamily(dofs, pairs, stations)
    return Body(dofs, (family,), np.zeros(len(dofs), dtype=bool), name=name)


def _frames(angle: Array) -> Array:
    """Section axes (..., 3, 3): tangent, inward (y), along the ring's axis (z)."""
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    tangent = np.stack([-s, c, zero], axis=-1)
    inward = np.stack([-c, -s, zero], axis=-1)
    axial = np.stack([zero, zero, zero + 1.0], axis=-1)
    return np.stack([tangent, inward, axial], axis=-1)
