"""What is drawn of the rotor of six equations: its hub and its rigid blades."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assembly
import modal
from studies.helicopter.machine import BLADE_MASS, FIRST_MOMENT, HINGE

LENGTH = 2.0 * FIRST_MOMENT / BLADE_MASS  # m, of a uniform blade
SECTION = assembly.rectangle(0.35, 0.06)  # as it is drawn; the blades are rigid


def geometry(
    family: modal.MultibladeFamily,
) -> Callable[[Mapping[str, float], NDArray[Any]], list[modal.PlacedBody]]:
    """The placed bodies at a speed, with multiblade vectors, for `modal.explorer_view`.

    Parameters
    ----------
    family : MultibladeFamily
        Of the six equations: hub displacements x and y, then the lag angles.
    """
    hub = assembly.rigid_body(1.0, 1.0, planar=True, name="hub")
    blade = assembly.beam(LENGTH, SECTION, assembly.aluminium, 2, planar=True)
    place = blade.dofs.coordinates[blade.dofs.node, 0]

    def bodies(point: Mapping[str, float], vectors: NDArray[Any]) -> list[modal.PlacedBody]:
        q = family.at(point["omega"]).physical(0.0, vectors)
        count = len(q) - 2
        azimuths = 2.0 * np.pi * np.arange(count) / count
        along = np.stack([np.cos(azimuths), np.sin(azimuths), 0.0 * azimuths], axis=1)
        hub_moves = np.vstack([q[:2], 0.0 * q[:1]])
        arms = tuple(HINGE * along)
        placed = [modal.PlacedBody("hub", hub, hub_moves, np.zeros(3), np.eye(3), arms)]
        for b, e in enumerate(along):
            R = np.array([[e[0], -e[1], 0.0], [e[1], e[0], 0.0], [0.0, 0.0, 1.0]])
            components = [R[:2, 0] @ q[:2], R[:2, 1] @ q[:2], 0.0 * q[0]]
            turned = [0.0, place, 1.0]
            own = np.array([0, 1, 5]).searchsorted(blade.dofs.component)
            moves = np.array(components)[own]
            lag = np.choose(own, turned)
            name = f"blade {b + 1}"
            moved = moves + lag[:, None] * q[2 + b]
            placed.append(modal.PlacedBody(name, blade, moved, HINGE * e, R))
        return placed

    return bodies
