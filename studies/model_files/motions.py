"""The prescribed motion of one body: its keys, and the model with freeze(t) made from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import assembly
from assembly.errors import MotionError
from assembly.mesh.text_files import read_text, shown
from studies.model_files.quantities import UNITS, Acceleration, Angle, Rate, Rpm, Strict, Vector

RPM = UNITS["rpm"][0]
AXIS = (0.0, 0.0, 1.0)
SAMPLED_COLUMNS = "t, x, y, z, qx, qy, qz, qw"


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


def motion_of(motion: Any, folder: Path) -> assembly.Motion:
    """The motion of a file; rest when none is given. Raises MotionError."""
    if motion is None:
        return assembly.Steady()
    if isinstance(motion, SpinSpec | RampSpec):
        rate, axis = motion.rate, assembly.unit_axis(motion.axis or AXIS)
        if isinstance(motion, RampSpec):
            return assembly.ramp(motion.epsilon, rate, axis)
        if motion.epsilon == 0.0 and rate != 0.0:
            return assembly.spin(rate, axis)
        return assembly.Steady(omega=rate * axis, epsilon=motion.epsilon * axis)
    if isinstance(motion, SwingSpec):
        return assembly.swing(motion.amplitude, motion.angular_frequency, motion.axis, motion.phase)
    if isinstance(motion, SampledSpec):
        record = _table(folder / motion.file, 8, SAMPLED_COLUMNS)
        return assembly.Sampled(record[:, 0], record[:, 1:4], record[:, 4:])
    assert isinstance(motion, MarkersSpec)
    reference = _table(folder / motion.reference, 3, "x, y, z, a line for each marker")
    columns = 1 + 3 * len(reference)
    record = _table(folder / motion.file, columns, f"t and x, y, z of {len(reference)} markers")
    markers = record[:, 1:].reshape(len(record), len(reference), 3)
    return assembly.fit_markers(record[:, 0], markers, reference)


def _table(path: Path, columns: int, what: str) -> NDArray[np.float64]:
    """Numbers of a CSV, one line of names allowed. Raises MotionError naming the file."""
    lines = read_text(path, MotionError).splitlines()
    rows = []
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.split(",")]
        if not line.strip() or line.startswith("#"):
            continue
        try:
            rows.append([float(field) for field in fields])
        except ValueError:
            if not rows:
                continue
            words = shown(line.strip())
            raise MotionError(f"{path}, line {number}: not a number in {words!r}") from None
        if len(fields) != columns:
            raise MotionError(
                f"{path}, line {number}: {len(fields)} columns; expected {columns}: {what}"
            )
    if not rows:
        raise MotionError(f"{path}: holds no numbers; expected {what}")
    return np.array(rows)
