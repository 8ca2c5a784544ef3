"""The schema of a whole model file: one body with a motion, a rotor, or a mechanism."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from studies.model_files import bodies
from studies.model_files.joints import (
    BushingSpec,
    DriverSpec,
    JointSpec,
    LoadSpec,
    MechanismSpec,
)
from studies.model_files.materials import MaterialSpec
from studies.model_files.motions import MotionSpec
from studies.model_files.quantities import Angle, Force, Place, Position, Strict, UnbalanceSize
from studies.model_files.rotors import RotorSpec

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
