"""A whole model file: one body with a motion, a rotor, or a mechanism; TOML that is checked against
the schema, every fault one line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from assembly.errors import ModelFileError
from assembly.mesh.text_files import read_text
from studies.model_files import bodies
from studies.model_files.joints import (
    BushingSpec,
    DriverSpec,
    JointSpec,
    LoadSpec,
    MechanismSpec,
)
from studies.model_files.materials import BUILT_IN, MaterialSpec
from studies.model_files.motions import MotionSpec, Turning
from studies.model_files.quantities import Angle, Force, Place, Position, Strict, UnbalanceSize
from studies.model_files.rotors import RotorSpec
from studies.reporting.ranges import nearest

Component = Literal["ux", "uy", "uz", "rx", "ry", "rz"]
BodySpec = Annotated[
    bodies.BeamSpec
    | bodies.BarSpec
    | bodies.RingSpec
    | bodies.BladeSpec
    | bodies.SolidSpec
    | bodies.PlaneSpec
    | bodies.MatricesSpec
    | bodies.RigidSpec
    | bodies.FrameSpec
    | RotorSpec,
    Field(discriminator="kind"),
]


class AnalysisSpec(Strict):
    """How to analyse."""

    modes: Annotated[int, Field(ge=1)] = 6
    """Number of modes."""
    prestress: Literal["linear", "first-order", "nonlinear", "none"] = "linear"
    """Stiffness of the stress ("linear"), and of the deflection to first order or in full."""
    transport: bool = True
    """Whether the time derivatives of a mechanism's constraints count."""

    @property
    def prestress_argument(self) -> Literal["linear", "first-order", "nonlinear"] | None:
        """The value the library's `prestress` argument takes."""
        return None if self.prestress == "none" else self.prestress

    @property
    def freezing(self) -> dict[str, Any]:
        """The options of `Mechanism.freeze`."""
        return dict(transport=self.transport, prestress=self.prestress_argument)


class ProbeSpec(Strict):
    """Where a response is read."""

    body: str | None = None
    """Body of a mechanism."""
    at: Place
    """Named set of one node, node number, or position of a node, m."""
    component: Component
    """Direction: displacement or rotation in the model's axes."""


class ForceSpec(ProbeSpec):
    """A harmonic force of `frozen-motion response`."""

    amplitude: Force = 1.0
    """Amplitude, N or N·m."""
    phase: Angle = 0.0
    """Phase, rad."""


class UnbalanceSpec(Strict):
    """An unbalance of a rotor."""

    at: Position
    """Position on the shaft, m."""
    size: UnbalanceSize
    """Mass times eccentricity, kg m."""
    phase: Angle = 0.0
    """Angle from y towards z at t = 0, rad."""


class ResponseSpec(Strict):
    """What `frozen-motion response` computes."""

    frequencies: str | None = None
    """Frequencies, Hz, as START:STOP:COUNT."""
    speeds_rpm: str | None = None
    """Speeds of an unbalance response, rpm, as START:STOP:COUNT."""
    force: list[ForceSpec] = []
    """Harmonic forces."""
    unbalance: list[UnbalanceSpec] = []
    """Unbalances of a rotor."""
    probe: list[ProbeSpec] = []
    """Where the response is read; by default where the forces act."""


class ModelSpec(Strict):
    """A whole model file."""

    material: dict[str, MaterialSpec] = {}
    """Materials by name."""
    body: Annotated[dict[str, BodySpec], Field(min_length=1)]
    """Bodies by name."""
    motion: MotionSpec | None = None
    """Motion of the one body."""
    joint: dict[str, JointSpec] = {}
    """Joints of a mechanism by name."""
    driver: dict[str, DriverSpec] = {}
    """Drivers of joints by name."""
    bushing: dict[str, BushingSpec] = {}
    """Bushings by name."""
    load: dict[str, LoadSpec] = {}
    """Forces on the bodies of a mechanism by name."""
    mechanism: MechanismSpec = MechanismSpec()
    """What concerns the whole mechanism."""
    analysis: AnalysisSpec = AnalysisSpec()
    """How to analyse."""
    response: ResponseSpec = ResponseSpec()
    """What `frozen-motion response` computes."""

    @property
    def is_mechanism(self) -> bool:
        """Whether joints or bushings connect the bodies."""
        return bool(self.joint or self.bushing)

    @property
    def members(self) -> set[str]:
        """Names of the bodies that are only members of frames."""
        frames = [body for body in self.body.values() if isinstance(body, bodies.FrameSpec)]
        return {member.body for frame in frames for member in frame.members}

    @property
    def bodies(self) -> dict[str, BodySpec]:
        """The bodies of the model, without those that are members of frames."""
        return {name: body for name, body in self.body.items() if name not in self.members}

    @property
    def rotor(self) -> str | None:
        """Name of the rotor, when the model is one."""
        rotors = [name for name, body in self.bodies.items() if isinstance(body, RotorSpec)]
        return rotors[0] if rotors else None


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
        if isinstance(body, bodies.FrameSpec):
            others = [n for n, one in spec.body.items() if n != name and one.kind != "rotor"]
            for number, member in enumerate(body.members, start=1):
                _check(f"body.{name}.members.{number}.body", "body", member.body, others)
    connected = ("ground", *spec.bodies)
    ties = {f"joint.{name}": joint.bodies for name, joint in spec.joint.items()}
    ties |= {f"bushing.{name}": bushing.bodies for name, bushing in spec.bushing.items()}
    for label, pair in ties.items():
        for body_name in pair:
            _check(f"{label}.bodies", "body", body_name, connected)
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
