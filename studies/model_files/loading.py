"""A model file made into something that can be frozen: over time, or over parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import assembly
import modal
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from assembly.mesh.text_files import opened_files
from assembly.motion.moving import check_support
from assembly.system.frozen import FrozenSeries
from studies.model_files.bodies import build_body
from studies.model_files.joints import speed_of
from studies.model_files.mechanisms import build_mechanism
from studies.model_files.motions import AXIS, RPM, RampSpec, SpinSpec, motion_of
from studies.model_files.rotors import RotorSpec, build_rotor
from studies.model_files.schema import ModelSpec, read_model_file
from studies.reporting.output import OutputFolder
from studies.reporting.ranges import nearest
from studies.reporting.records import Record, sha256


@dataclass(frozen=True)
class LoadedModel:
    """A model and its file. `motion` has freeze(t); mode shapes are drawn on `drawn`: the body, the
    rotor or the mechanism. text: of the file; files: those it names, with their SHA-256."""

    path: Path
    spec: ModelSpec
    motion: Any
    drawn: assembly.Body | assembly.Rotor | assembly.Mechanism
    text: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def folder(self, out: Path, force: bool, command: str, **options: Any) -> OutputFolder:
        """The folder of a command; its datasets hold what `frozen-motion rerun` needs."""
        folder = OutputFolder(out, f"{command} {self.path.name}", force)
        record = Record(command, options, str(self.path), self.text, self.files)
        folder.record = record.attributes
        return folder

    @property
    def period(self) -> float | None:
        """The time (s) after which the motion repeats, or None."""
        return getattr(self.motion, "period", None)

    @property
    def rotor(self) -> assembly.Rotor | None:
        """The rotor of a model that is one."""
        return self.drawn if isinstance(self.drawn, assembly.Rotor) else None

    def geometry(
        self, point: Mapping[str, float], vectors: NDArray[Any]
    ) -> tuple[modal.PlacedBody, ...]:
        """The placed bodies at a point of a track or map, for `modal.explorer_view`."""
        if isinstance(self.motion, FrozenMechanism):
            values = {("t" if name == "time" else name): v for name, v in point.items()}
            mechanism, t = self.motion.at(**values)
            return modal.placed_bodies(mechanism, {"time": t}, vectors)
        model = self.motion if "time" in point and self.rotor is None else self.drawn
        return modal.placed_bodies(model, point, vectors)

    def family(self, names: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
        """What to freeze over the named parameters, and the values of the others.

        One body or rotor: omega or speed_rpm, epsilon (along the motion's axis). A mechanism:
        speed_rpm of its driver, or NAME_rpm of driver NAME, and turn (a fraction of the period) or
        t. ModelFileError otherwise.
        """
        parameters = self._parameters()
        for name in names:
            if name not in parameters:
                raise ModelFileError(
                    f"{self.path}: no parameter {name!r}; {nearest(name, parameters)}"
                )
        if isinstance(self.motion, FrozenMechanism):
            return self.motion, {}
        if {"omega", "speed_rpm"} <= set(names):
            raise ModelFileError(f"{self.path}: omega and speed_rpm are the same parameter")
        constant: dict[str, Any] = {}
        if isinstance(self.drawn, assembly.Body):
            axis = getattr(self.spec.motion, "axis", None) or AXIS
            with located(f"{self.path}: body.{next(iter(self.spec.bodies))}."):
                check_support(self.drawn, np.asarray(axis))
            prestress = self.spec.analysis.prestress_argument
            constant = dict(axis=list(axis), prestress=prestress)
        family: Any = self.drawn
        parameters.pop("speed_rpm")
        if "speed_rpm" in names:
            parameters.pop("omega")
            family = InRpm(family)
        return family, {k: v for k, v in parameters.items() if k not in names} | constant

    def freeze(self, **settings: float) -> assembly.FrozenSystem:
        """The frozen system of one state: at time t (s), or at parameters of `family`.

        Without settings it is that of the file, at t = 0. ModelFileError for another parameter.
        """
        if not settings or set(settings) == {"t"}:
            frozen: assembly.FrozenSystem = self.motion.freeze(settings.get("t", 0.0))
            return frozen
        if "t" in settings and not self.spec.is_mechanism:
            raise ModelFileError(f"{self.path}: t and other parameters exclude each other")
        family, fixed = self.family(tuple(settings))
        system: assembly.FrozenSystem = family.freeze(**settings, **fixed)
        return system

    def _parameters(self) -> dict[str, float]:
        if self.spec.is_mechanism:
            drivers = {f"{name}_rpm": speed_of(d) for name, d in self.spec.driver.items()}
            if len(drivers) == 1:
                drivers["speed_rpm"] = next(iter(drivers.values()))
            return drivers | dict(t=0.0, turn=0.0)
        motion = self.spec.motion
        rate, epsilon = 0.0, 0.0
        if isinstance(motion, SpinSpec | RampSpec):
            rate, epsilon = motion.rate, motion.epsilon
        return dict(omega=rate, speed_rpm=rate / RPM, epsilon=epsilon)


@dataclass(frozen=True)
class InRpm:
    """A body or a rotor whose speed is a parameter in rpm."""

    model: Any

    @property
    def whirl_axis(self) -> Any:
        """The axis about which tracks count the direction of whirl, where the model has one."""
        return getattr(self.model, "whirl_axis", None)

    @property
    def made_from(self) -> str:
        """What the model was made from, in one line."""
        return str(self.model.made_from)

    def freeze(self, speed_rpm: float, **others: Any) -> assembly.FrozenSystem:
        """The frozen system at a speed, rpm."""
        system: assembly.FrozenSystem = self.model.freeze(omega=speed_rpm * RPM, **others)
        return system


class FrozenMechanism:
    """A mechanism with the analysis settings of its model file.

    Parameters of freeze() are the time, or a fraction of the period, and the driver speeds.
    """

    def __init__(self, spec: ModelSpec, path: Path, folder: Path) -> None:
        self.spec, self.path, self.folder = spec, path, folder
        self._at_speeds = lru_cache(maxsize=8)(self._build)
        self.period = self._mechanism({}).period

    def _build(self, speeds: tuple[tuple[str, float], ...]) -> assembly.Mechanism:
        with located(f"{self.path}: "):
            return build_mechanism(self.spec, self.folder, dict(speeds))

    def _mechanism(self, changed: Mapping[str, float]) -> assembly.Mechanism:
        """The mechanism at the speeds of its file, but for those that are changed."""
        speeds = {
            name: changed.get(f"{name}_rpm", changed.get("speed_rpm", speed_of(motor)))
            for name, motor in self.spec.driver.items()
        }
        return self._at_speeds(tuple(speeds.items()))

    def freeze(
        self, t: float = 0.0, turn: float | None = None, **speeds: float
    ) -> assembly.FrozenSystem:
        """The frozen system at t (s), or at a fraction `turn` of the period.

        speeds: `speed_rpm`, or NAME_rpm of driver NAME, rpm.
        """
        mechanism, t = self.at(t, turn, **speeds)
        return mechanism.freeze(t, **self.spec.analysis.freezing)

    def at(
        self, t: float = 0.0, turn: float | None = None, **speeds: float
    ) -> tuple[assembly.Mechanism, float]:
        """The mechanism at the speeds, and the time (s); arguments as of `freeze`."""
        mechanism = self._mechanism(speeds)
        if turn is None:
            return mechanism, t
        if mechanism.period is None:
            raise InputError("turn: the motion does not repeat; use t (s)")
        return mechanism, turn * mechanism.period

    def freeze_many(self, times: ArrayLike, **speeds: float) -> FrozenSeries:
        """The frozen systems at several times (s), in one batch of array operations."""
        return self._mechanism(speeds).freeze_many(times, **self.spec.analysis.freezing)

    @property
    def matrix_period(self) -> float | None:
        """The time (s) after which the frozen systems repeat at the speeds of the file, or None."""
        return self._mechanism({}).matrix_period


def load_model(path: str | Path, folder: Path | None = None) -> LoadedModel:
    """Read, check and build a model file. Raises ModelFileError with one line.

    folder: where the files are that it names; by default that of the model file.
    """
    path = Path(path)
    with opened_files() as opened:
        spec, text = read_model_file(path)
        try:
            model = _built(path, spec, folder or path.parent)
        except InputError as fault:
            if str(fault).startswith(str(path)):
                raise
            raise ModelFileError(f"{path}: {fault}") from None
    others = [file for file in dict.fromkeys(opened) if file != path]
    files = {os.path.relpath(file, folder or path.parent): sha256(file) for file in others}
    return replace(model, text=text, files=files)


def _built(path: Path, spec: ModelSpec, folder: Path) -> LoadedModel:
    if spec.is_mechanism:
        mechanism = FrozenMechanism(spec, path, folder)
        return LoadedModel(path, spec, mechanism, mechanism.at()[0])
    name = next(iter(spec.bodies))
    with located(f"{path}: "):
        if isinstance(shaft := spec.body[name], RotorSpec):
            spinning = build_rotor(name, shaft, spec.motion, spec.material, folder)
            return LoadedModel(path, spec, spinning, spinning.rotor)
        body = build_body(name, spec.body, spec.material, folder)
        motion = motion_of(spec.motion, folder)
        with located("motion.", clamped=f"body.{name}."):
            moving = assembly.moving(body, motion, spec.analysis.prestress_argument)
        return LoadedModel(path, spec, moving, body)
