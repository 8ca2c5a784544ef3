"""Nodes of a loaded model by set, number or position: where forces act and responses are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.dofs import COMPONENTS, DofMap
from assembly.errors import InputError, ModelFileError
from assembly.magnitudes import WRITTEN
from studies.model_files.loading import LoadedModel
from studies.model_files.schema import ForceSpec, ProbeSpec
from studies.reporting.ranges import nearest


class Points:
    """The nodes of a model's bodies, in the numbers of its frozen system.

    dofs: all degrees of freedom, before constraints.
    """

    def __init__(self, model: LoadedModel) -> None:
        self.model = model
        self.mechanism = model.body is None and model.rotor is None
        if self.mechanism:
            self.bodies: dict[str, Body] = dict(model.drawn.bodies)
            self.dofs: DofMap = model.drawn.dofs
        else:
            body = model.drawn if model.rotor is None else model.rotor.body
            self.bodies = {next(iter(model.spec.bodies)): body}
            self.dofs = body.dofs
        counts = [len(body.dofs.coordinates) for body in self.bodies.values()]
        self.first = dict(zip(self.bodies, np.cumsum([0, *counts]).tolist(), strict=False))

    def nodes(self, place: ForceSpec | ProbeSpec, key: str) -> list[int]:
        """Numbers of the nodes. Raises ModelFileError naming the key."""
        where = f"{self.model.path}: {key}"
        if place.body is None and len(self.bodies) > 1:
            raise ModelFileError(f"{where}: give body, one of {', '.join(self.bodies)}")
        name = place.body or next(iter(self.bodies))
        if name not in self.bodies:
            raise ModelFileError(f"{where}.body: no body {name!r}; {nearest(name, self.bodies)}")
        return [self.first[name] + n for n in _nodes(self.bodies[name], place.at, f"{where}.at")]

    def force(self, forces: list[ForceSpec], t: float) -> NDArray[np.complex128]:
        """Load (n,) on the degrees of freedom of the frozen system at time t (s).

        The nodes of a set share the force equally.
        """
        dofs = self.dofs
        full = np.zeros(len(dofs), dtype=complex)
        for number, force in enumerate(forces, start=1):
            key = f"response.force.{number}"
            nodes = self.nodes(force, key)
            for node in nodes:
                k = self._number(dofs, node, force.component, key)
                full[k] += force.amplitude * np.exp(1j * force.phase) / len(nodes)
        if self.mechanism:
            return np.asarray(self.model.drawn.transformation(t)[0].T @ full)
        return np.asarray(full[self.model.drawn.free])

    def probes(self, probes: list[ProbeSpec], free: DofMap) -> list[tuple[str, int, str]] | None:
        """(body, node, component) of every probe; None where the file has none.

        Raises ModelFileError for one that supports or joints constrain.
        """
        out = []
        for number, probe in enumerate(probes, start=1):
            key = f"response.probe.{number}"
            for node in self.nodes(probe, key):
                self._number(free, node, probe.component, key)
                body = probe.body or next(iter(self.bodies))
                out.append((body, node - self.first[body], str(probe.component)))
        return out or None

    def _number(self, dofs: DofMap, node: int, component: str, key: str) -> int:
        number = dofs.numbers.get((node, COMPONENTS.index(component)))
        if number is None:
            there = [COMPONENTS[c] for n, c in dofs.numbers if n == node]
            what = f"it has {', '.join(there)}" if there else "it is held"
            raise ModelFileError(
                f"{self.model.path}: {key}.component = {component!r}: node {node} has no such "
                f"degree of freedom of its own; {what}"
            )
        return number


def _nodes(body: Body, at: Any, key: str) -> list[int]:
    coordinates = body.dofs.coordinates
    if isinstance(at, str):
        if at == "end" and "end" not in body.sets:
            return [len(coordinates) - 1]
        if at not in body.sets:
            hint = nearest(at, body.sets) if body.sets else "it has no named sets"
            raise ModelFileError(f"{key} = {at!r}: no such set; {hint}")
        return [int(node) for node in body.sets[at]]
    if isinstance(at, int):
        if at >= len(coordinates):
            raise ModelFileError(f"{key} = {at}: nodes are 0 to {len(coordinates) - 1}")
        return [at]
    distances = np.linalg.norm(coordinates - np.array([*at, 0.0][:3]), axis=1)
    node = int(distances.argmin())
    if distances[node] > WRITTEN * max(float(np.ptp(coordinates, axis=0).max()), 1e-12):
        x = ", ".join(f"{v:.6g}" for v in coordinates[node])
        raise ModelFileError(f"{key} = {at}: no node there; the nearest is node {node} at [{x}]")
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
