"""Names in a model file that refer to other parts of it, and parts that exclude each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from assembly.errors import ModelFileError
from studies.model_files.schema import ModelSpec
from studies.model_files.schema_bodies import FrameSpec
from studies.model_files.schema_materials import BUILT_IN
from studies.model_files.schema_motions import Turning
from studies.model_files.schema_rotors import RotorSpec
from studies.reporting.ranges import nearest


def check_names(spec: ModelSpec) -> None:
    """Every part that is named must exist, and the parts must make one model.

    Raises ModelFileError with key, value and what would be accepted.
    """
    for name, body in spec.body.items():
        for key, material in _materials(body):
            _check(f"body.{name}.{key}", "material", material, (*spec.material, *BUILT_IN))
        if isinstance(body, FrameSpec):
            others = [other for other in spec.body if other != name]
            for number, member in enumerate(body.members, start=1):
                _check(f"body.{name}.members.{number}.body", "body", member.body, others)
    bodies = ("ground", *spec.bodies)
    ties = {f"joint.{name}": joint.bodies for name, joint in spec.joint.items()}
    ties |= {f"bushing.{name}": bushing.bodies for name, bushing in spec.bushing.items()}
    for label, pair in ties.items():
        for body_name in pair:
            _check(f"{label}.bodies", "body", body_name, bodies)
    for name, load in spec.load.items():
        _check(f"load.{name}.body", "body", load.body, spec.bodies)
    for name, driver in spec.driver.items():
        _check(f"driver.{name}.joint", "joint", driver.joint, spec.joint)
    named = [("force", force.body) for force in spec.response.force]
    named += [("probe", probe.body) for probe in spec.response.probe]
    for key, owner in named:
        if owner is not None:
            _check(f"response.{key}.body", "body", owner, spec.bodies)
    _check_kinds(spec)


def _check_kinds(spec: ModelSpec) -> None:
    """One body with a motion, one rotor, or a mechanism."""
    if isinstance(spec.motion, Turning) and None not in (spec.motion.omega, spec.motion.speed_rpm):
        raise ModelFileError("motion: omega and speed_rpm exclude each other: give one of them")
    if not spec.bodies:
        raise ModelFileError("body: every body is a member of a frame; frames exclude each other")
    if spec.is_mechanism:
        if spec.motion is not None:
            raise ModelFileError("motion: a mechanism's motion comes from its drivers; remove it")
        if spec.rotor is not None:
            raise ModelFileError(
                f"body.{spec.rotor}.kind = 'rotor': a rotor has bearings, not joints"
            )
        if spec.joint and not spec.driver:
            raise ModelFileError("driver: a mechanism needs at least one driver")
        return
    if len(spec.bodies) > 1:
        raise ModelFileError(f"body: several bodies need joints; got {', '.join(spec.bodies)}")
    for key in ("load", "driver", "mechanism"):
        if key in spec.model_fields_set:
            raise ModelFileError(f"{key}: is for mechanisms, and there are no joints or bushings")


def _materials(body: Any) -> Iterator[tuple[str, str]]:
    """Key and name of every material of a body."""
    named = getattr(body, "material", None)
    if isinstance(named, str):
        yield "material", named
    elif named is not None:
        yield from ((f"material.{cells}", name) for cells, name in named.items())
    if isinstance(body, RotorSpec):
        for number, disc in enumerate(body.disc, start=1):
            if disc.material is not None:
                yield f"disc.{number}.material", disc.material


def _check(key: str, what: str, name: str, candidates: Iterable[str]) -> None:
    names = list(candidates)
    if name not in names:
        hint = nearest(name, names) if names else f"no {what} is given"
        raise ModelFileError(f"{key}: no {what} {short(name)}; {hint}")


def short(value: Any) -> str:
    """A value as it is shown in one line."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge integer"
    return text if len(text) <= 80 else f"{text[:60]} … ({len(text)} characters)"
