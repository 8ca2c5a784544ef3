"""Reading a model file: TOML, checked against the schema, every fault one line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assembly.errors import ModelFileError
from assembly.mesh.text_files import read_text
from studies.model_files.bodies import FrameSpec
from studies.model_files.materials import BUILT_IN
from studies.model_files.motions import Turning
from studies.model_files.rotors import RotorSpec
from studies.model_files.schema import ModelSpec
from studies.reporting.ranges import nearest


def read_model_file(path: str | Path) -> tuple[ModelSpec, str]:
    """The checked content of a model file, and its text.

    Raises ModelFileError with one line: file, key, value, and what would be accepted.
    """
    path = Path(path)
    text = read_text(path, ModelFileError, replace=False)
    try:
        content = tomllib.loads(text)
    except (RecursionError, ValueError) as fault:  # ValueError: integers of thousands of digits too
        reason = "nested too deeply" if isinstance(fault, RecursionError) else fault
        raise ModelFileError(f"{path}: not valid TOML: {reason}") from None
    try:
        spec = ModelSpec.model_validate(content)
    except ValidationError as fault:
        raise ModelFileError(f"{path}: {_explain(fault, content)}") from None
    try:
        check_names(spec)
    except ModelFileError as fault:
        raise ModelFileError(f"{path}: {fault}") from None
    return spec, text


def _explain(fault: ValidationError, content: dict[str, Any]) -> str:
    """The first fault as key, value and what would be accepted."""
    first = min(
        fault.errors(), key=lambda e: (e["type"] != "unknown_key", e["type"].endswith("_type"))
    )
    place = _written_place(first["loc"], content, first["type"] == "missing")
    key = ".".join(place)
    if first["type"] == "unknown_key":
        return f"{'.'.join([*place, first['ctx']['key']])}: {first['msg']}"
    if first["type"] == "missing":
        return f"{key}: missing"
    if first["type"] == "union_tag_not_found":
        which = str(first["ctx"]["discriminator"]).strip("'")
        return f"{key}: needs {which!r}"
    if first["type"] == "union_tag_invalid":
        which = str(first["ctx"]["discriminator"]).strip("'")
        tag, expected = short(first["ctx"]["tag"]), first["ctx"]["expected_tags"]
        return f"{key}.{which} = {tag}: expected {expected}"
    message = first["msg"].removeprefix("Input ").replace("should be", "expected")
    return f"{key} = {short(first['input'])}: {message}"


def _written_place(loc: tuple[Any, ...], content: Any, keyed: bool) -> list[str]:
    """The location without the union tags that pydantic puts in, which nobody wrote.

    keyed: the last step is a key, which need not be in the file.
    """
    place: list[str] = []
    for i, step in enumerate(loc):
        written = isinstance(content, dict) and step in content
        written = written or (isinstance(content, list) and isinstance(step, int))
        if not written and not (keyed and i == len(loc) - 1):
            continue
        place.append(str(step + 1) if isinstance(step, int) else str(step))
        content = content[step] if written else None
    return place


def check_names(spec: ModelSpec) -> None:
    """Every part that is named must exist, and the parts must make one model.

    Raises ModelFileError with key, value and what would be accepted.
    """
    for name, body in spec.body.items():
        for key, material in _materials(body):
            _check(f"body.{name}.{key}", "material", material, (*spec.material, *BUILT_IN))
        if isinstance(body, FrameSpec):
            others = [n for n, one in spec.body.items() if n != name and one.kind != "rotor"]
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
