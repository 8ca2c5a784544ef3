"""Placed bodies: moved and rotated in their frame, with all that belongs to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, shown
from assembly.bodies.body_data import BodyData
from assembly.dofs import PLANAR, DofMap
from assembly.elements.placed import PlacedFamily
from assembly.errors import InputError
from assembly.kinematics import as_vector
from assembly.magnitudes import EQUAL
from assembly.types import Array, Mask


def is_planar(body: BodyData) -> bool:
    """Whether the body has DOFs of the plane only."""
    return set(body.dofs.component.tolist()) <= set(PLANAR)


def placed_fields(body: BodyData, r: ArrayLike, R: ArrayLike | None) -> dict[str, Any]:
    """What changes of a body moved by r and rotated by R; see `Body.placed`."""
    origin = as_vector([*np.ravel(r), 0.0] if np.size(r) == 2 else r, "r")
    rotation = _rotation(R)
    if is_planar(body) and (origin[2] != 0.0 or abs(rotation[2, 2] - 1.0) > EQUAL):
        raise InputError(f"placed: the planar body {body.name!r} must stay in the x-y plane")
    dofs = replace(body.dofs, coordinates=origin + body.dofs.coordinates @ rotation.T)
    own = _own_axes(dofs, rotation)
    nodes = np.arange(len(dofs.coordinates))
    held = np.zeros(len(dofs), dtype=bool)
    held[body.hold] = True
    return dict(
        dofs=dofs,
        families=tuple(PlacedFamily(f, own, origin, rotation, nodes) for f in body.families),
        fixed=_rotated_support(body, body.fixed, own),
        hold=np.flatnonzero(_rotated_support(body, held, own)),
    )


def _rotation(R: ArrayLike | None) -> Array:
    """A rotation (3, 3) from nothing, an angle about z or a matrix; InputError otherwise."""
    if R is None:
        return np.eye(3)
    values = as_numbers(R, "R")
    if values.ndim == 0 and np.isfinite(values):
        c, s = np.cos(values), np.sin(values)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    if values.shape != (3, 3) or not np.all(np.isfinite(values)):
        raise InputError(
            f"R: expected a rotation (3, 3) or an angle about z in rad, got {shown(R)}"
        )
    if np.abs(values.T @ values - np.eye(3)).max() > EQUAL or np.linalg.det(values) < 0.0:
        raise InputError(f"R: must be a rotation (RᵀR = I, det R = 1), got {values.tolist()}")
    return values


def _own_axes(dofs: DofMap, R: Array) -> sp.csr_matrix:
    """The DOFs (n, n) in axes rotated by R, from those in the frame's: components times Rᵀ.

    Raises InputError where a rotation mixes a component with one that the node lacks.
    """
    own = dofs.turning(np.where(np.abs(R) < 1e-15, 0.0, R).T, rotations=True)
    whole = np.asarray(own.multiply(own).sum(axis=1)).ravel() > 1.0 - EQUAL
    if not whole.all():
        node = dofs.node[whole.argmin()]
        raise InputError(f"placed: node {node} lacks a DOF that the rotation mixes in")
    return own


def _rotated_support(body: BodyData, held: Mask, own: sp.csr_matrix) -> Mask:
    """The held DOFs in the new axes; InputError where a support is in some of mixed directions."""
    mixed = abs(own).sign()
    touched = np.asarray(mixed.T @ held.astype(float)) > 0.0
    if np.any((np.asarray(mixed @ touched.astype(float)) > 0.0) & ~held):
        raise InputError(
            f"placed: body {body.name!r} is held in some directions only, which are not those of "
            "the new axes; support it after it is placed"
        )
    return np.asarray(touched)
