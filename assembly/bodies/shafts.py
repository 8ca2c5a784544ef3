"""Stepped shafts with discs and bearings: `assembly.rotor`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from assembly.arguments import as_list, as_number
from assembly.bodies.attachments import attach_mass
from assembly.bodies.beams import POINTS_UNIFORM, Theory, chain, straight_stations
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.bodies.rotor_parts import Bearing, Disc, segment_lengths
from assembly.bodies.rotors import Rotor
from assembly.dofs import COMPONENTS, SPATIAL, DofMap
from assembly.elements.beam import BeamFamily
from assembly.elements.beam_shapes import gauss
from assembly.errors import InputError
from assembly.magnitudes import EQUAL, MOST_ELEMENTS, check_count
from assembly.materials.materials import Material, check_is_material
from assembly.materials.sections import Section
from assembly.types import Array

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
        stations = straight_stations(ends, frames, rule, section, material, theory, rotary_inertia)
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
