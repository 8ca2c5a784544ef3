"""Rigid bodies, and what is attached to a body's nodes: lumped masses, springs and dampers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, check_kind
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import DofMap
from assembly.elements.bar import BarFamily
from assembly.elements.family import ElementFamily
from assembly.elements.rigid import RigidFamily
from assembly.elements.section_inertia import SectionInertia
from assembly.elements.spring import SpringFamily, SurroundingsDamperFamily
from assembly.errors import InputError
from assembly.kinematics import as_vector
from assembly.magnitudes import INERTIA_ENTRY, MASS
from assembly.materials.plausibility import check_mass
from assembly.types import Array


@described
def attach_mass(
    body: Body,
    node: int | str,
    mass: float,
    inertia: ArrayLike = 0.0,
    offset: ArrayLike = (0.0, 0.0, 0.0),
) -> Body:
    """The body with a rigid mass at a node.

    Parameters
    ----------
    body : Body
        The body; it is not changed.
    node : int or str
        Node number, or the name of a set of one node.
    mass : float
        Mass, kg.
    inertia : float or array_like, shape (3,) or (3, 3)
        Inertia about the mass's own centre, kg m²: a number, principal values or a tensor.
    offset : array_like, shape (3,)
        Position of that centre from the node, m, body axes.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For impossible values, or when inertia or offset need rotations that the node lacks.
    """
    MASS.number(mass, "mass")
    at = node_number(body, node)
    arm = as_vector(offset, "offset")
    about_centre = second_moments(inertia)
    turns = (body.dofs.component >= 3) & (body.dofs.node == at)
    if not turns.any() and (arm.any() or about_centre.any()):
        raise InputError(f"node {node} has no rotations: give a mass without inertia or offset")
    rigid = SectionInertia(
        m=np.array([float(mass)]),
        eta=mass * arm[None],
        J=(about_centre + mass * np.outer(arm, arm))[None],
        turning=np.eye(3)[None],
    )
    return _with(body, RigidFamily(body.dofs, np.array([at]), rigid))


@described
def attach_spring(
    body: Body,
    node: int | str,
    other: int | str | None = None,
    *,
    stiffness: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
) -> Body:
    """The body with a spring and a damper in parallel between two nodes, or a node and its frame.

    Parameters
    ----------
    body : Body
        The body; it is not changed.
    node : int or str
        Node number, or the name of a set of one node.
    other : int or str, optional
        The second node; None is a point fixed in the body's frame.
    stiffness : float or array_like, shape (3, 3) or (6, 6)
        A number, N/m: along the line between two nodes that are apart, otherwise the same in every
        direction. (3, 3): on displacements. (6, 6): on displacements and rotations. Two nodes
        that are apart take numbers only.
    damping : float or array_like, shape (3, 3) or (6, 6)
        Viscous damping in the same form, N·s/m. It is internal: the rigid motion does not act
        on it.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a node that does not exist, or values that are not finite, symmetric and positive
        semidefinite.

    Examples
    --------
    >>> import assembly
    >>> section = assembly.rectangle(0.05, 0.02)
    >>> body = assembly.beam(1.0, section, assembly.steel, 4, clamped="start")
    >>> held = assembly.attach_spring(body, "end", stiffness=1e4, damping=2.0)
    >>> node = held.dofs.index(4, 1) - 6  # the clamp removes six degrees of freedom
    >>> change = held.freeze().K - body.freeze().K
    >>> print(change[node, node])
    10000.0
    """
    k, d = _spring_values(stiffness, "stiffness"), _spring_values(damping, "damping")
    nodes = [node_number(body, node)] + ([] if other is None else [node_number(body, other)])
    if len(nodes) == 2 and nodes[0] == nodes[1]:
        raise InputError(f"other: is node {nodes[0]} itself; a spring connects two nodes")
    ends = np.array([nodes], dtype=np.intp)
    span = np.ptp(body.dofs.coordinates[nodes], axis=0)
    if not span.any():
        return _with(body, SpringFamily(body.dofs, ends, k[None], d[None]))
    if np.ndim(stiffness) or np.ndim(damping):
        raise InputError(
            f"stiffness, damping: nodes {node} and {other} are apart, so give single numbers, "
            f"along the line between them"
        )
    line = body.dofs.coordinates[nodes[1]] - body.dofs.coordinates[nodes[0]]
    length = float(np.linalg.norm(line))
    along = np.zeros((1, 6, 6))
    along[0, :3, :3] = d[0, 0] * np.outer(line, line) / length**2
    rod = BarFamily(body.dofs, ends, k[0, 0] * length, 0.0)
    return _with(body, rod, SpringFamily(body.dofs, ends, np.zeros((1, 6, 6)), along))


@described
def attach_damper(body: Body, node: int | str, damping: ArrayLike) -> Body:
    """The body with a damper between a node and the fixed surroundings.

    Parameters
    ----------
    body : Body
        The body; it is not changed.
    node : int or str
        Node number, or the name of a set of one node.
    damping : float or array_like, shape (3, 3)
        Viscous damping d, N·s/m, body axes. A matrix is constant in the body's frame and rotates
        with it.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a node that does not exist, or values that are not finite, symmetric and positive
        semidefinite.

    Notes
    -----
    The force −d(v_O + ω̃(X + u) + u̇) resists the steady motion too: D = d, K_D = d ω̃, which is
    circulatory, and −d(v_O + ω̃X) is part of the load and of the prestress.
    """
    d = _spring_values(damping, "damping")
    if np.shape(damping) == (6, 6):
        raise InputError("damping: a damper to the surroundings acts on displacements, give (3, 3)")
    at = np.array([node_number(body, node)], dtype=np.intp)
    return _with(body, SurroundingsDamperFamily(body.dofs, at, d[None, :3, :3]))


def node_number(body: Body, node: int | str) -> int:
    """The number of a node given by number or by the name of a one-node set; InputError if none."""
    check_kind(body, Body, "body", "a body such as assembly.beam(…)")
    check_kind(node, (str, int, np.integer), "node", "a node number or the name of a set")
    if isinstance(node, str):
        if node not in body.sets:
            known = ", ".join(body.sets) or "none"
            raise InputError(f"node: {body.name} has no set {node!r}; its sets are {known}")
        if len(body.sets[node]) != 1:
            raise InputError(f"node: set {node!r} has {len(body.sets[node])} nodes, expected one")
        return int(body.sets[node][0])
    if not 0 <= node < len(body.dofs.coordinates):
        last = len(body.dofs.coordinates) - 1
        raise InputError(f"node: {body.name} has nodes 0 to {last}, got {node!r}")
    return int(node)


def second_moments(inertia: ArrayLike) -> Array:
    """∫s sᵀ dm (3, 3) = ½ tr(I) 1 − I of an inertia tensor: a number, 3 principal values or (3, 3).

    Raises InputError when no distribution of mass has that tensor.
    """
    values = as_numbers(inertia, "inertia")
    if values.shape not in ((), (3,), (3, 3)):
        raise InputError(f"inertia: expected 1, 3 or 3×3 numbers, kg m², got shape {values.shape}")
    tensor = values if values.ndim == 2 else np.diag(np.broadcast_to(values, (3,)))
    INERTIA_ENTRY.check(tensor, "inertia")
    if not np.allclose(tensor, tensor.T, rtol=1e-10):
        raise InputError("inertia: the tensor must be symmetric")
    J = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    if np.linalg.eigvalsh(J)[0] < -1e-9 * abs(tensor).max():
        moments = np.linalg.eigvalsh(tensor).tolist()
        raise InputError(f"inertia: no mass has the principal moments {moments} (c ≤ a + b)")
    return np.asarray(J)


def _with(body: Body, *families: ElementFamily) -> Body:
    return replace(body, families=(*body.families, *families))


def _spring_values(value: ArrayLike, name: str) -> Array:
    """(6, 6) from a number, (3, 3) or (6, 6); InputError unless symmetric and not negative."""
    entries = as_numbers(value, name)
    if entries.shape not in ((), (3, 3), (6, 6)):
        raise InputError(f"{name}: expected a number, (3, 3) or (6, 6), got shape {entries.shape}")
    size = 6 if entries.shape == (6, 6) else 3
    full = np.zeros((6, 6))
    full[:size, :size] = entries if entries.ndim else entries * np.eye(size)
    if not np.all(np.isfinite(full)) or not np.array_equal(full, full.T):
        raise InputError(f"{name}: must be finite and symmetric, got {entries.tolist()}")
    if np.linalg.eigvalsh(full)[0] < -1e-12 * abs(full).max():
        raise InputError(f"{name}: must not be negative, got {entries.tolist()}")
    return full


@described
def rigid_body(
    mass: float,
    inertia: ArrayLike = 0.0,
    *,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    planar: bool = False,
    name: str = "rigid body",
) -> Body:
    """A rigid body as a body of one node at its frame's origin.

    Parameters
    ----------
    mass : float
        Mass, kg.
    inertia : float or array_like, shape (3,) or (3, 3)
        Inertia about the centre of mass, kg m²: a number (about z in the plane, about every axis
        in space), principal values or a tensor.
    centre : array_like, shape (3,)
        Centre of mass, m, body axes.
    planar : bool
        Degrees of freedom ux, uy, rz only.
    name : str
        Name of the body.

    Returns
    -------
    Body
        With the node set "origin".

    Raises
    ------
    InputError
        For a negative mass, or an inertia that no mass distribution has.
    """
    c = as_vector(centre, "centre")
    if planar and c[2] != 0.0:
        raise InputError(f"centre: a planar body's centre has no z, got {c.tolist()}")
    dofs = DofMap.regular(np.zeros((1, 3)), (0, 1, 5) if planar else (0, 1, 2, 3, 4, 5))
    sets = {"origin": np.zeros(1, dtype=np.intp)}
    check_mass(MASS.number(mass, "mass"), "mass", mass)
    body = Body(dofs, (), np.zeros(len(dofs), dtype=bool), name=name, sets=sets)
    return attach_mass(body, "origin", mass, inertia, c)
