"""The parts of a mechanism: checks before they are put together, and their names in words."""

from __future__ import annotations

import numpy as np

from assembly.arguments import check_kind
from assembly.bodies.body import Body
from assembly.errors import MechanismError
from assembly.mechanisms.drivers import Driver
from assembly.mechanisms.joints import GROUND, Bushing, Joint


def check_bodies(bodies: dict[str, Body]) -> bool:
    """Whether all bodies are planar; MechanismError for mixtures and supported bodies."""
    if not bodies:
        raise MechanismError("bodies: a mechanism needs at least one")
    kinds = set()
    for name, body in bodies.items():
        if name == GROUND:
            raise MechanismError(f"bodies: {GROUND!r} is the fixed frame and needs no body")
        expected = "a body such as assembly.beam(…)"
        check_kind(body, Body, f"body {name!r}", expected, MechanismError)
        if body.fixed.any() or len(body.hold):
            raise MechanismError(
                f"body {name!r}: is clamped or pinned; leave supports out, joints hold it"
            )
        kinds.add(bool(np.isin(body.dofs.component, (0, 1, 5)).all()))
    if len(kinds) > 1:
        raise MechanismError("bodies: all must be planar, or all in space")
    return kinds.pop()


def check_names(
    bodies: dict[str, Body],
    joints: tuple[Joint, ...],
    bushings: tuple[Bushing, ...],
    drivers: tuple[Driver, ...],
) -> None:
    """MechanismError for names that are missing, occur twice or are of the wrong kind."""
    ties = [("joint", joint.name, joint.bodies) for joint in joints]
    ties += [("bushing", bushing.name, bushing.bodies) for bushing in bushings]
    if not ties:
        raise MechanismError(
            "joints: a mechanism needs at least one, to the ground or between bodies"
        )
    names = [name for _, name, _ in ties]
    for kind, name, pair in ties:
        if names.count(name) > 1:
            raise MechanismError(f"{kind} {name}: two joints or bushings have this name")
        for body in pair:
            if body != GROUND and body not in bodies:
                raise MechanismError(
                    f"{kind} {name}: no body {body!r}; there are {GROUND}, {', '.join(bodies)}"
                )
    driven = [joint.name for joint in joints]
    for motor in drivers:
        if motor.joint not in driven:
            raise MechanismError(
                f"driver: no joint {motor.joint!r}; joints are {', '.join(driven) or 'none'}"
            )
