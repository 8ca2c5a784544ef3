"""Nodes of a loaded model by set, number or position: where forces act and responses are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from assembly.bodies.body import Body
from assembly.bodies.rotors import Rotor
from assembly.dofs import DofMap
from assembly.errors import InputError, ModelFileError
from assembly.magnitudes import WRITTEN
from assembly.mechanisms.mechanism import Mechanism
from modal.types import Complex
from studies.model_files.loading import LoadedModel
from studies.model_files.schema import ForceSpec, ProbeSpec
from studies.reporting.ranges import nearest

Place = tuple[str, int, str]  # body, its node, component


def force_of(model: LoadedModel, t: float) -> Complex:
    """The forces of the file, (n,), on the degrees of freedom of the frozen system at time t (s).

    The nodes of a set share a force equally.
    """
    drawn = model.drawn
    ((name, body), *_) = _bodies(model).items()
    dofs = drawn.dofs if isinstance(drawn, Mechanism) else body.dofs.named(name)
    full = np.zeros(len(dofs), dtype=complex)
    for number, force in enumerate(model.spec.response.force, start=1):
        places = _places(model, force, f"response.force.{number}", dofs)
        for place in places:
            full[dofs.at(*place)] += force.amplitude * np.exp(1j * force.phase) / len(places)
    if isinstance(drawn, Mechanism):
        return np.asarray(drawn.transformation(t)[0].T @ full)
    return np.asarray(full[drawn.free])


def probes_of(model: LoadedModel, free: DofMap) -> list[Place] | None:
    """Every probe of the file; None where it has none.

    Raises ModelFileError for one that supports or joints constrain.
    """
    out: list[Place] = []
    for number, probe in enumerate(model.spec.response.probe, start=1):
        out += _places(model, probe, f"response.probe.{number}", free)
    return out or None


def _bodies(model: LoadedModel) -> dict[str, Body]:
    """The bodies that have nodes, by their names in the file."""
    if isinstance(model.drawn, Mechanism):
        return dict(model.drawn.bodies)
    body = model.drawn.body if isinstance(model.drawn, Rotor) else model.drawn
    return {next(iter(model.spec.bodies)): body}


def _places(model: LoadedModel, of: ForceSpec | ProbeSpec, key: str, dofs: DofMap) -> list[Place]:
    """The degrees of freedom of a force or a probe. Raises ModelFileError naming the key."""
    bodies, where = _bodies(model), f"{model.path}: {key}"
    if of.body is None and len(bodies) > 1:
        raise ModelFileError(f"{where}: give body, one of {', '.join(bodies)}")
    name = of.body or next(iter(bodies))
    places = [(name, node, str(of.component)) for node in _nodes(bodies[name], of.at, where)]
    try:
        for place in places:
            dofs.at(*place)
    except InputError as fault:
        raise ModelFileError(f"{where}.component = {of.component!r}: {fault}") from None
    return places


def _nodes(body: Body, at: Any, where: str) -> list[int]:
    coordinates = body.dofs.coordinates
    if isinstance(at, str):
        if at == "end" and "end" not in body.sets:
            return [len(coordinates) - 1]
        if at not in body.sets:
            hint = nearest(at, body.sets) if body.sets else "it has no named sets"
            raise ModelFileError(f"{where}.at = {at!r}: no such set; {hint}")
        return [int(node) for node in body.sets[at]]
    if isinstance(at, int):
        if at >= len(coordinates):
            raise ModelFileError(f"{where}.at = {at}: nodes are 0 to {len(coordinates) - 1}")
        return [at]
    distances = np.linalg.norm(coordinates - np.array([*at, 0.0][:3]), axis=1)
    node = int(distances.argmin())
    if distances[node] > WRITTEN * max(float(np.ptp(coordinates, axis=0).max()), 1e-12):
        x = ", ".join(f"{v:.6g}" for v in coordinates[node])
        raise ModelFileError(
            f"{where}.at = {at}: no node there; the nearest is node {node} at [{x}]"
        )
    return [node]


def parameters_of(model: LoadedModel, settings: tuple[str, ...]) -> dict[str, float]:
    """Parameters of one state from `NAME=VALUE` texts. Raises InputError."""
    out = {}
    for text in settings:
        name, equals, value = text.partition("=")
        try:
            number = float(value)
            if not equals or not abs(number) <= 1e24:
                raise ValueError
        except ValueError:
            message = f"--set {text}: expected NAME=NUMBER, as in speed_rpm=1500"
            raise InputError(message) from None
        out[name.strip()] = number
    return out
