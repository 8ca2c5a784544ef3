"""How a mechanism hangs together: which node carries which joint, and which unknowns joints
touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from assembly.body import Body
from assembly.dofs import COMPONENTS
from assembly.errors import MechanismError
from assembly.joint_rows import JointRows
from assembly.joints import GROUND, Driver, Joint, Point, conditions, driving_condition
from assembly.rigid_state import Pose

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ON_NODE = 1e-6  # of the body's size: how near to a node a joint's point must be


@dataclass(frozen=True)
class Marker:
    """A point of a body: number of the body, node that carries it, position and lever (3,), m."""

    body: int
    node: int
    point: Array
    lever: Array


@dataclass(frozen=True)
class Topology:
    """Bodies, joints, drivers, and the numbers that connect them."""

    bodies: dict[str, Body]
    joints: tuple[Joint, ...]
    drivers: tuple[Driver, ...]
    planar: bool
    rows: JointRows
    columns: Index  # (m, 12) number among all unknowns, −1 where a body has none

    @classmethod
    def of(
        cls, bodies: dict[str, Body], joints: tuple[Joint, ...], drivers: tuple[Driver, ...]
    ) -> Topology:
        planar = _check_bodies(bodies)
        _check_names(bodies, joints, drivers)
        named = {joint.name: joint for joint in joints}
        found = [(c, joint) for joint in joints for c in conditions(joint, planar)]
        found += [(driving_condition(d, named[d.joint], planar), named[d.joint]) for d in drivers]
        markers = {joint.name: _markers(joint, bodies) for joint in joints}
        pairs = [markers[joint.name] for _, joint in found]
        rows = JointRows(
            [c for c, _ in found],
            np.array([[m.body for m in pair] for pair in pairs], dtype=np.intp),
            np.array([[m.point for m in pair] for pair in pairs]),
            np.array([[m.lever for m in pair] for pair in pairs]),
        )
        offsets = _offsets(bodies)
        columns = np.array([_columns(pair, bodies, offsets) for pair in pairs], dtype=np.intp)
        topology = cls(bodies, joints, drivers, planar, rows, columns)
        topology.check_unknowns()
        return topology

    def check_unknowns(self) -> None:
        """MechanismError when a joint's node lacks an unknown that the joint ties."""
        ground = self.rows.bodies == len(self.bodies)
        tied = self._read & ~np.repeat(ground, 6, axis=1)
        if self.planar:
            tied[:, [2, 3, 4, 8, 9, 10]] = False
        missing = np.argwhere(tied & (self.columns < 0))
        if len(missing):
            row, entry = missing[0]
            body = list(self.bodies)[self.rows.bodies[row, entry // 6]]
            what = "rotations" if entry % 6 >= 3 else COMPONENTS[entry % 6]
            raise MechanismError(
                f"{self.rows.labels[row]}: the node of body {body!r} has no {what}, which it ties; "
                f"use another joint, or a body whose nodes have them"
            )

    @cached_property
    def offsets(self) -> Index:
        """First unknown of each body among all, and their number at the end."""
        return _offsets(self.bodies)

    @cached_property
    def touched(self) -> Index:
        """Unknowns (J,) that some condition reads."""
        return np.unique(self.columns[(self.columns >= 0) & self._read])

    @cached_property
    def own(self) -> list[Index]:
        """For each body, which of the touched unknowns are its own."""
        owner = np.searchsorted(self.offsets, self.touched, side="right") - 1
        return [np.flatnonzero(owner == i) for i in range(len(self.bodies))]

    @cached_property
    def _read(self) -> NDArray[np.bool_]:
        """Which of the 12 entries of a condition's gradient may differ from zero."""
        read = np.ones(self.columns.shape, dtype=bool)
        direction = self.rows.distance[:, 0] == 0.0
        read[np.ix_(direction, [0, 1, 2, 6, 7, 8])] = False
        still = ~direction & ~self.rows.carried & ~np.any(self.rows.node_levers[0], axis=1)
        read[np.ix_(still, [3, 4, 5])] = False
        still = ~direction & ~np.any(self.rows.node_levers[1], axis=1)
        read[np.ix_(still, [9, 10, 11])] = False
        return read

    @cached_property
    def _slots(self) -> Index:
        """Place of each gradient entry among the touched unknowns, −1 for none, (m, 12)."""
        slots = np.searchsorted(self.touched, self.columns)
        return np.where((self.columns >= 0) & self._read, slots, -1)

    def spread(self, gradient: Array) -> Array:
        """Gradients (..., m, 12) over the touched unknowns, (..., m, J)."""
        rows, entries = np.nonzero(self._slots >= 0)
        out = np.zeros((*gradient.shape[:-1], len(self.touched)))
        out[..., rows, self._slots[rows, entries]] = gradient[..., rows, entries]
        return out

    def gather_hessian(self, factors: Array, hessian: Array) -> Array:
        """Σ factor_k ∇²Φ_k over the touched unknowns (J, J)."""
        J = len(self.touched)
        out = np.zeros((J + 1, J + 1))
        rows = np.broadcast_to(self._slots[:, :, None], hessian.shape)
        cols = np.broadcast_to(self._slots[:, None, :], hessian.shape)
        np.add.at(out, (rows, cols), factors[:, None, None] * hessian)
        return out[:J, :J]  # the last row and column took what no unknown answers to

    @cached_property
    def length(self) -> float:
        """A characteristic length, m: the farthest joint point from its frame's origin, or 1."""
        far = max(float(np.abs(lever).max()) for lever in self.rows.rigid_levers)
        return far if far > 0.0 else 1.0

    @cached_property
    def period(self) -> float | None:
        """The period of all drivers, when it is one."""
        periods = set()
        for condition in self.rows.conditions:
            if condition.turning is not None:
                periods.add(condition.turning[2].period)
            elif condition.shifting is not None:
                law = condition.shifting
                # A displacement repeats when it comes back; an angle when it has gone round.
                returns = law.period is not None and np.isclose(
                    law.at(0.0)[0], law.at(law.period)[0]
                )
                periods.add(law.period if returns else None)
        return periods.pop() if len(periods) == 1 else None

    def lever(self, joint: Joint) -> Array:
        """From the second body's node to the joint's point (3,), m."""
        return _markers(joint, self.bodies)[1].lever

    def initial_pose(self, given: Mapping[str, ArrayLike]) -> Pose:
        """Frames to assemble from: at the ground's where nothing is given."""
        unknown = set(given) - set(self.bodies)
        if unknown:
            raise MechanismError(
                f"initial: no body {sorted(unknown)[0]!r}; bodies are {', '.join(self.bodies)}"
            )
        r, turn = np.zeros((len(self.bodies), 3)), np.zeros((len(self.bodies), 3))
        expected = 3 if self.planar else 6
        for i, name in enumerate(self.bodies):
            values = np.asarray(given.get(name, np.zeros(expected)), dtype=float)
            if values.shape != (expected,) or not np.all(np.isfinite(values)):
                what = "x, y, angle" if self.planar else "x, y, z and a rotation vector"
                raise MechanismError(f"initial: body {name!r} needs {what}, finite numbers")
            if self.planar:
                r[i, :2], turn[i, 2] = values[:2], values[2]
            else:
                r[i], turn[i] = values[:3], values[3:]
        return Pose(r, Rotation.from_rotvec(turn).as_matrix())

    def check_coordinates(self, preferred: Mapping[str, str]) -> None:
        named = {joint.name: joint for joint in self.joints}
        for joint, body in preferred.items():
            if joint not in named or body not in named[joint].bodies:
                where = named[joint].bodies if joint in named else tuple(named)
                raise MechanismError(
                    f"coordinates: {joint!r}: {body!r} is not one of {', '.join(where)}"
                )

    def preference(self, preferred: Mapping[str, str]) -> Array:
        """How gladly each touched unknown becomes a slave: those of a joint's other body first."""
        weight = np.ones(len(self.touched))
        for row, name in enumerate(self.rows.joints):
            joint = next(j for j in self.joints if j.name == name)
            keeper = joint.bodies.index(preferred.get(name, joint.bodies[0]))
            strong = 100.0 if name in preferred else 2.0
            for entry, slot in enumerate(self._slots[row]):
                if slot >= 0 and entry // 6 != keeper:
                    weight[slot] = max(weight[slot], strong)
        return weight

    def keepers(self, slaves: Index) -> dict[str, str]:
        """The body whose unknowns remain at each joint."""
        out = {}
        for joint in self.joints:
            rows = [k for k, name in enumerate(self.rows.joints) if name == joint.name]
            slots = self._slots[rows]
            left = [
                int(np.sum((s >= 0) & ~np.isin(s, slaves))) for s in (slots[:, :6], slots[:, 6:])
            ]
            out[joint.name] = joint.bodies[0] if left[0] >= left[1] else joint.bodies[1]
        return out


def _check_bodies(bodies: dict[str, Body]) -> bool:
    """Whether all bodies are planar; MechanismError for mixtures and supported bodies."""
    if not bodies:
        raise MechanismError("bodies: a mechanism needs at least one")
    kinds = set()
    for name, body in bodies.items():
        if name == GROUND:
            raise MechanismError(f"bodies: {GROUND!r} is the fixed frame and needs no body")
        if body.fixed.any() or len(body.hold):
            raise MechanismError(
                f"body {name!r}: is clamped or pinned; leave supports out, joints hold it"
            )
        kinds.add(bool(np.isin(body.dofs.component, (0, 1, 5)).all()))
    if len(kinds) > 1:
        raise MechanismError("bodies: all must be planar, or all in space")
    return kinds.pop()


def _check_names(
    bodies: dict[str, Body], joints: tuple[Joint, ...], drivers: tuple[Driver, ...]
) -> None:
    names = [joint.name for joint in joints]
    for joint in joints:
        if names.count(joint.name) > 1:
            raise MechanismError(f"joint {joint.name}: two joints have this name")
        for body in joint.bodies:
            if body != GROUND and body not in bodies:
                raise MechanismError(
                    f"joint {joint.name}: no body {body!r}; there are {GROUND}, {', '.join(bodies)}"
                )
    for motor in drivers:
        if motor.joint not in names:
            raise MechanismError(f"driver: no joint {motor.joint!r}; joints are {', '.join(names)}")


def _markers(joint: Joint, bodies: dict[str, Body]) -> tuple[Marker, Marker]:
    first, second = (
        _marker(joint, body, point, bodies)
        for body, point in zip(joint.bodies, joint.at, strict=True)
    )
    return first, second


def _marker(joint: Joint, name: str, point: Point, bodies: dict[str, Body]) -> Marker:
    if name == GROUND:
        if isinstance(point, str | int):
            raise MechanismError(
                f"joint {joint.name}: a point of the ground needs coordinates, not {point!r}"
            )
        return Marker(len(bodies), -1, _coordinates(joint, point), np.zeros(3))
    body = bodies[name]
    nodes = body.dofs.coordinates
    if isinstance(point, str):
        chosen = body.sets.get(point)
        if chosen is None or len(chosen) != 1:
            single = ", ".join(s for s, members in body.sets.items() if len(members) == 1)
            raise MechanismError(
                f"joint {joint.name}: body {name!r} has no single node {point!r}; it has {single}"
            )
        node = int(chosen[0])
    elif isinstance(point, int | np.integer):
        if not 0 <= point < len(nodes):
            raise MechanismError(
                f"joint {joint.name}: body {name!r} has nodes 0 to {len(nodes) - 1}, not {point}"
            )
        node = int(point)
    else:
        X = _coordinates(joint, point)
        if len(nodes) == 1:
            return Marker(list(bodies).index(name), 0, X, X - nodes[0])
        distances = np.linalg.norm(nodes - X, axis=1)
        node = int(distances.argmin())
        if distances[node] > ON_NODE * np.ptp(nodes, axis=0).max():
            raise MechanismError(
                f"joint {joint.name}: no node of body {name!r} at {X.tolist()}; the nearest is "
                f"node {node} at {nodes[node].tolist()}"
            )
    return Marker(list(bodies).index(name), node, nodes[node], np.zeros(3))


def _coordinates(joint: Joint, point: ArrayLike) -> Array:
    values = np.asarray(point, dtype=float).ravel()
    if values.size not in (2, 3) or not np.all(np.isfinite(values)):
        raise MechanismError(
            f"joint {joint.name}: a point needs two or three finite coordinates, got {point!r}"
        )
    return np.array([*values, 0.0][:3])


def _offsets(bodies: dict[str, Body]) -> Index:
    return np.cumsum([0, *(body.size for body in bodies.values())])


def _columns(pair: tuple[Marker, Marker], bodies: dict[str, Body], offsets: Index) -> Index:
    out = np.full(12, -1, dtype=np.intp)
    for side, marker in enumerate(pair):
        if marker.body == len(bodies):
            continue
        numbers = list(bodies.values())[marker.body].dofs.numbers
        for component in range(6):
            number = numbers.get((marker.node, component))
            if number is not None:
                out[6 * side + component] = offsets[marker.body] + number
    return out
