"""From the checked specification of a motion to a model with freeze(t)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assembly
from assembly.errors import MotionError
from assembly.materials.plausibility import located
from assembly.mesh.text_files import read_text, shown
from studies.model_files.schema import ModelSpec
from studies.model_files.schema_motions import (
    MarkersSpec,
    RampSpec,
    SampledSpec,
    SpinSpec,
    SwingSpec,
)

AXIS = (0.0, 0.0, 1.0)
SAMPLED_COLUMNS = "t, x, y, z, qx, qy, qz, qw"


def build_motion(body: assembly.Body, spec: ModelSpec, folder: Path) -> assembly.MovingBody:
    """The body with the motion of its file; at rest when none is given. Raises MotionError."""
    motion = _motion(spec.motion, folder)
    with located("motion.", clamped=f"body.{next(iter(spec.body))}."):
        return assembly.moving(body, motion, spec.analysis.prestress_argument)


def _motion(motion: Any, folder: Path) -> assembly.Motion:
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
