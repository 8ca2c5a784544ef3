"""The prescribed motion of one body."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from studies.model_files.quantities import UNITS, Acceleration, Angle, Rate, Rpm, Strict, Vector

RPM = UNITS["rpm"][0]


class Turning(Strict):
    """What motions at a speed have in common."""

    axis: Vector | None = None
    """Axis through the origin, body axes; (0, 0, 1) by default, the shaft (x) of a rotor."""
    omega: Rate | None = None
    """Speed, rad/s."""
    speed_rpm: Rpm | None = None
    """Speed, rpm, instead of `omega`."""

    @property
    def rate(self) -> float:
        """The speed, rad/s."""
        return self.speed_rpm * RPM if self.speed_rpm is not None else self.omega or 0.0


class SpinSpec(Turning):
    """Constant speed; with epsilon, the instant frozen is that of omega and epsilon."""

    kind: Literal["spin"]
    """Kind of the motion."""
    epsilon: Acceleration = 0.0
    """Acceleration, rad/s²."""


class RampSpec(Turning):
    """ω(t) = omega + epsilon t along the axis."""

    kind: Literal["ramp"]
    """Kind of the motion."""
    epsilon: Acceleration
    """Acceleration, rad/s²."""


class SwingSpec(Strict):
    """Harmonic rotation by amplitude · sin(angular_frequency t + phase)."""

    kind: Literal["swing"]
    """Kind of the motion."""
    axis: Vector = [0.0, 0.0, 1.0]
    """Axis through the origin, body axes."""
    amplitude: Angle
    """Amplitude, rad."""
    angular_frequency: Annotated[Rate, Field(gt=0.0)]
    """Angular frequency, rad/s."""
    phase: Angle = 0.0
    """Phase at t = 0, rad."""


class SampledSpec(Strict):
    """Positions and quaternions over time."""

    kind: Literal["sampled"]
    """Kind of the motion."""
    file: str
    """CSV file with t, x, y, z, qx, qy, qz, qw."""


class MarkersSpec(Strict):
    """Marker records over time."""

    kind: Literal["markers"]
    """Kind of the motion."""
    file: str
    """CSV file with t and x, y, z of each marker."""
    reference: str
    """CSV file with the markers' positions on the body, x, y, z."""


MotionSpec = Annotated[
    SpinSpec | RampSpec | SwingSpec | SampledSpec | MarkersSpec, Field(discriminator="kind")
]
