"""Rigid bodies: three unknowns in the plane, six in space, at the origin of their frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.body import Body
from assembly.dofs import DofMap
from assembly.elements.rigid import RigidFamily
from assembly.elements.section_inertia import SectionInertia
from assembly.errors import InputError
from assembly.kinematics import as_vector


def rigid_body(
    mass: float,
    inertia: ArrayLike = 0.0,
    *,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    planar: bool = False,
    name: str = "rigid body",
) -> Body:
    """A rigid body as a body of one node at its frame's origin.

    mass: kg. inertia: about the centre of mass, kg m²: a number (about z in the plane, about every
    axis in space), three principal values, or a (3, 3) tensor. centre: m, body axes.
    Raises InputError for a negative mass or an inertia that no mass distribution has.
    """
    if not (np.isfinite(mass) and mass >= 0.0):
        raise InputError(f"mass: must be a finite number of at least 0, kg, got {mass!r}")
    c = as_vector(centre, "centre")
    if planar and c[2] != 0.0:
        raise InputError(f"centre: a planar body's centre has no z, got {c.tolist()}")
    tensor = _tensor(inertia, planar)
    about_centre = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    section = SectionInertia(
        m=np.array([float(mass)]),
        eta=mass * c[None],
        J=(about_centre + mass * np.outer(c, c))[None],
        turning=np.eye(3)[None],
    )
    dofs = DofMap.regular(np.zeros((1, 3)), (0, 1, 5) if planar else (0, 1, 2, 3, 4, 5))
    node = np.zeros(1, dtype=np.intp)
    sets = {"origin": node}
    return Body(
        dofs, (RigidFamily(dofs, node, section),), np.zeros(len(dofs), bool), name=name, sets=sets
    )


def _tensor(inertia: ArrayLike, planar: bool) -> np.ndarray:
    values = np.asarray(inertia, dtype=float)
    if values.ndim == 0:
        # A number in the plane is a disc's moment about z: ∫x² = ∫y² = I/2, ∫z² = 0.
        tensor = values * np.diag([0.5, 0.5, 1.0]) if planar else values * np.eye(3)
    elif values.shape == (3,):
        tensor = np.diag(values)
    elif values.shape == (3, 3):
        tensor = values
    else:
        raise InputError(f"inertia: expected 1, 3 or 3×3 numbers, kg m², got shape {values.shape}")
    if not np.all(np.isfinite(tensor)) or not np.allclose(tensor, tensor.T, rtol=1e-10):
        raise InputError("inertia: the tensor must be finite and symmetric")
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] < 0.0 or moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        raise InputError(
            f"inertia: principal moments {moments.tolist()} belong to no mass distribution "
            f"(each is at most the sum of the other two)"
        )
    return np.asarray(tensor)
