"""Rigid bodies: one node at the origin of the frame, with three or six degrees of freedom."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.bodies.attachments import attach_mass
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.kinematics import as_vector
from assembly.magnitudes import MASS
from assembly.materials.plausibility import check_mass


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
