"""Names under which results of a mechanism are given, and its description in words."""

from __future__ import annotations

import numpy as np

from assembly.bodies.made_from import in_words
from assembly.mechanisms.deflections import Deflected
from assembly.mechanisms.topology import Topology
from assembly.types import Array


def drive_names(topology: Topology) -> list[str]:
    """Names of the drives: the joint's, with the motion where a joint has two."""
    joints = [driver.joint for driver in topology.drivers]
    return [
        driver.joint if joints.count(driver.joint) == 1 else f"{driver.joint} {driver.of}"
        for driver in topology.drivers
    ]


def deflections_by_name(
    topology: Topology, moved: Array, mean: Deflected | None
) -> dict[str, Array]:
    """Deflections of elastic drives and bushings.

    moved (rows,): what the elastic DOFs add to every row; mean: the bushings' without these.
    """
    drives = zip(
        drive_names(topology), topology.drivers, np.flatnonzero(topology.rows.driven), strict=True
    )
    out = {name: moved[k : k + 1] for name, drive, k in drives if drive.gives}
    for number, bushing in enumerate(topology.bushings):
        assert mean is not None
        rows = topology.compliance.rows(number)
        out[bushing.name] = mean.x[rows - len(topology.rows)] + moved[rows]
    return out


def described(name: str, topology: Topology) -> str:
    """The parts of a mechanism, a line each."""
    count = int(topology.offsets[-1])
    lines = [f"mechanism {name}: {len(topology.bodies)} bodies, {count} DOFs"]
    lines += [f"  {body}: {b.size} DOFs" for body, b in topology.bodies.items()]
    lines += [f"  joint {j.name}: {j.kind}, {' – '.join(j.bodies)}" for j in topology.joints]
    for drive in topology.drivers:
        kind = "elastic" if drive.gives else "held" if drive.held else "not held"
        lines.append(f"  driver of {drive.joint}: {kind}")
    lines += [f"  bushing {b.name}: {' – '.join(b.bodies)}" for b in topology.bushings]
    return "\n".join(lines)


def parts_in_words(topology: Topology, gravity: Array) -> str:
    """The parts of a mechanism with all their values, in one line."""
    parts = dict(bodies=topology.bodies, joints=topology.joints, drivers=topology.drivers)
    parts |= dict(bushings=topology.bushings, loads=topology.applied.loads, gravity=gravity)
    words = [f"{key}={in_words(value)}" for key, value in parts.items()]
    return f"Mechanism({', '.join(words)})"
