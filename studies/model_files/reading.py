"""Reading a model file: TOML, checked against the schema, every fault one line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from assembly.errors import ModelFileError
from assembly.mesh.text_files import read_text
from studies.model_files.schema import ModelSpec
from studies.reporting.ranges import nearest


def read_model_file(path: str | Path) -> ModelSpec:
    """The checked content of a model file.

    Raises ModelFileError with one line: file, key, value, and what would be accepted.
    """
    path = Path(path)
    text = read_text(path, ModelFileError, replace=False)
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise ModelFileError(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as fault:  # of TOML, and of integers with thousands of digits
        raise ModelFileError(f"{path}: not valid TOML: {fault}") from None
    try:
        spec = ModelSpec.model_validate(content)
    except ValidationError as fault:
        raise ModelFileError(f"{path}: {_explain(fault, content)}") from None
    _check_names(spec, path)
    return spec


def _explain(fault: ValidationError, content: dict[str, Any]) -> str:
    """The first fault as key, value and what would be accepted."""
    first = min(fault.errors(), key=lambda e: e["type"] != "extra_forbidden")
    place = _written_place(first["loc"], content)
    key = ".".join(place)
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key; {nearest(place[-1], _known_keys(first['loc']))}"
    if first["type"] == "missing":
        return f"{key}: missing"
    if first["type"] == "union_tag_not_found":
        which = str(first["ctx"]["discriminator"]).strip("'")
        return f"{key}: needs {which!r}"
    if first["type"] == "union_tag_invalid":
        which = str(first["ctx"]["discriminator"]).strip("'")
        tag, expected = _shown(first["ctx"]["tag"]), first["ctx"]["expected_tags"]
        return f"{key}.{which} = {tag}: expected {expected}"
    message = first["msg"].removeprefix("Input ").replace("should be", "expected")
    return f"{key} = {_shown(first['input'])}: {message}"


def _shown(value: Any) -> str:
    """A value as it is shown in one line."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge integer"
    return text if len(text) <= 80 else f"{text[:60]} … ({len(text)} characters)"


def _written_place(loc: tuple[Any, ...], content: Any) -> list[str]:
    """The location without the union tags that pydantic puts in, which nobody wrote."""
    place: list[str] = []
    for i, step in enumerate(loc):
        last = i == len(loc) - 1
        if isinstance(content, dict) and step not in content and not last:
            continue
        place.append(str(step))
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            content = None
    return place


def _known_keys(loc: tuple[Any, ...]) -> list[str]:
    """The keys that the table at a location may have."""
    known: Any = ModelSpec
    for step in loc[:-1]:
        known = _step_into(known, str(step))
    return list(known.model_fields) if known is not None else list(ModelSpec.model_fields)


def _step_into(known: Any, step: str) -> Any:
    """One step down: a field of a model, an entry of a table, or a member of a tagged union."""
    import typing

    if isinstance(known, type) and issubclass(known, BaseModel):
        return known.model_fields[step].annotation
    arguments = [a for a in typing.get_args(known) if a is not type(None)]
    if typing.get_origin(known) is dict:
        return _plain(arguments[1])
    for member in arguments:
        member = _plain(member)
        fields = getattr(member, "model_fields", {})
        for tag in ("kind", "shape"):
            if tag in fields and step in typing.get_args(fields[tag].annotation):
                return member
    return _step_into(_plain(arguments[0]), step) if len(arguments) == 1 else None


def _plain(annotation: Any) -> Any:
    """The annotation without its Annotated wrapping."""
    return (
        getattr(annotation, "__origin__", annotation)
        if hasattr(annotation, "__metadata__")
        else annotation
    )


def _check_names(spec: ModelSpec, path: Path) -> None:
    """Every material, body and joint that is named must exist; a motion and joints exclude each
    other.
    """
    for name, body in spec.body.items():
        material = getattr(body, "material", None)
        if material is not None and material not in spec.material:
            known = nearest(material, spec.material) if spec.material else "no materials are given"
            key = f"body.{name}.material"
            raise ModelFileError(f"{path}: {key} = {_shown(material)}: unknown; {known}")
    bodies = ("ground", *spec.body)
    ties = {f"joint.{name}": joint.bodies for name, joint in spec.joint.items()}
    ties |= {f"bushing.{name}": bushing.bodies for name, bushing in spec.bushing.items()}
    for label, pair in ties.items():
        for body_name in pair:
            if body_name not in bodies:
                hint = nearest(body_name, bodies)
                key = f"{label}.bodies"
                raise ModelFileError(f"{path}: {key}: no body {_shown(body_name)}; {hint}")
    for name, driver in spec.driver.items():
        if driver.joint not in spec.joint:
            hint = nearest(driver.joint, spec.joint) if spec.joint else "no joints are given"
            key = f"driver.{name}.joint"
            raise ModelFileError(f"{path}: {key}: no joint {_shown(driver.joint)}; {hint}")
    if spec.motion is not None and spec.is_mechanism:
        raise ModelFileError(
            f"{path}: motion: a mechanism's motion comes from its drivers; remove it"
        )
    if not spec.is_mechanism and len(spec.body) > 1:
        raise ModelFileError(
            f"{path}: body: several bodies need joints; got {', '.join(spec.body)}"
        )
    if spec.joint and not spec.driver:
        raise ModelFileError(f"{path}: driver: a mechanism needs at least one driver")
