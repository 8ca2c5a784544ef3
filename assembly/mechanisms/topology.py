"""The topology of a mechanism: which node carries which joint, and which DOFs joints
touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from assembly.arguments import as_numbers
from assembly.bodies.body import Body
from assembly.bodies.in_motion import MovingBodies
from assembly.dofs import COMPONENTS
from assembly.elements.taylor import Taylor
from assembly.errors import MechanismError
from assembly.kinematics import skew
from assembly.mechanisms.applied_loads import AppliedLoads, Load
from assembly.mechanisms.compliance import Compliance, Deflections
from assembly.mechanisms.drivers import Driver
from assembly.mechanisms.joint_points import JointPoint, joint_points
from assembly.mechanisms.joint_rows import (
    Frames,
    JointRows,
    conditions,
    driving_condition,
    mean_conditions,
)
from assembly.mechanisms.joints import GROUND, Bushing, Joint, determining
from assembly.mechanisms.part_checks import check_bodies, check_names
from assembly.mechanisms.rigid_state import Pose
from assembly.motion.laws import Uniform
from assembly.types import Array, Index, Mask


@dataclass(eq=False)
class Topology:
    """Bodies, joints, drivers, bushings, and the numbers that connect them.

    rows: the m conditions of joints and drivers, and those that keep the mean of a bushing. points:
    of every joint and bushing, its first body's and its second's in turn. row_points (rows, 2): the
    numbers of the points that each row ties: the conditions, then the deflections of the bushings.
    applied: the loads on the bodies. compliance: what gives.

    offsets: first DOF of each body among all, and their number at the end. units (units, 2): points
    and entries through which joints load the bodies, forces and moments; own: for each body which
    of them load it. unit_of (rows, 12): the unit of each gradient entry, one past the last for
    none; read (rows, 12): whether there is one. motions (units, DOFs): displacements and rotations
    of all units. touched (J,): DOFs that some condition reads, or that a load stiffens. seen:
    `motions` over these, dense, with a row of zeros for "none". length: the farthest joint point
    from its frame's origin, m, or 1.
    """

    bodies: dict[str, Body]
    joints: tuple[Joint, ...]
    drivers: tuple[Driver, ...]
    planar: bool
    rows: JointRows
    points: tuple[JointPoint, ...]
    row_points: Index
    applied: AppliedLoads
    compliance: Compliance

    def __post_init__(self) -> None:
        points, row_points, self.bushings = self.points, self.row_points, self.compliance.bushings
        self.body_of: Index = np.array([point.body for point in points], dtype=np.intp)
        self.homes = np.array([point.point - point.lever for point in points])
        self.tie_names = [*(joint.name for joint in self.joints), *(b.name for b in self.bushings)]
        self.offsets: Index = np.cumsum([0, *(body.size for body in self.bodies.values())])
        tied = np.array([point.point for point in points])[row_points[: len(self.rows)]]
        reaches = tied * self.rows.distance[:, None], self.rows.directions
        far = max(float(np.abs(x).max()) for x in reaches)
        self.length = far if far > 0.0 else 1.0
        self.read = self._find_read()
        row, entry = np.nonzero(self.read)
        pairs = np.stack([row_points[row, entry // 6], entry % 6], axis=1)
        self.units: Index = np.unique(pairs, axis=0)
        of_units = self.body_of[self.units[:, 0]]
        self.own = [np.flatnonzero(of_units == i) for i in range(len(self.bodies))]
        place = np.full((len(points), 6), len(self.units), dtype=np.intp)
        place[tuple(self.units.T)] = np.arange(len(self.units))
        of_entries = place[row_points].reshape(-1, 12)
        # Two points of each joint or bushing: no condition couples units of others.
        bounds = np.searchsorted(self.units[:, 0], np.arange(0, len(points) + 1, 2)).tolist()
        self._tied = [slice(*pair) for pair in pairwise(bounds)]
        self.unit_of: Index = np.where(self.read, of_entries, len(self.units))
        self._pair_sum = self._find_pair_sum()
        self.motions = self._find_motions()
        self._check_motions()
        constrained = np.union1d(self.motions.indices, self.applied.touched)
        self.touched: Index = constrained.astype(np.intp)
        own = self.motions[:, self.touched]
        self._onto = sp.csr_matrix(own.T)
        self.seen: Array = np.vstack([own.toarray(), np.zeros(len(self.touched))])

    def with_bodies(self, bodies: dict[str, Body]) -> Topology:
        """The same with other bodies in place of some, on the same points."""
        applied = replace(self.applied, bodies=tuple(bodies.values()))
        return replace(self, bodies=bodies, applied=applied)

    @classmethod
    def of(
        cls,
        bodies: dict[str, Body],
        joints: tuple[Joint, ...],
        drivers: tuple[Driver, ...],
        loads: tuple[Load, ...],
        bushings: tuple[Bushing, ...] = (),
    ) -> Topology:
        planar = check_bodies(bodies)
        check_names(bodies, joints, bushings, drivers)
        ties = (*joints, *(bushing.joint() for bushing in bushings))
        numbers = {joint.name: k for k, joint in enumerate(joints)}
        found = [(c, k) for k, joint in enumerate(joints) for c in conditions(joint, planar)]
        drives = []
        for motor in drivers:
            k = numbers[motor.joint]
            drives.append((len(found), motor))
            found.append((driving_condition(motor, joints[k], planar), k))
        mean_rows = []
        for k, determines in enumerate(determining(bushings, joints)):
            own = mean_conditions(bushings[k], planar) if determines else []
            mean_rows.append(len(found) + np.arange(len(own)))
            found += [(condition, len(joints) + k) for condition in own]
        points = tuple(point for tie in ties for point in joint_points(tie, bodies))
        tie_of = np.array([k for _, k in found], dtype=np.intp)
        levers = np.array([point.lever for point in points])
        pairs = _pairs(tie_of)
        rows = JointRows([c for c, _ in found], pairs, levers[pairs])
        deflections = None
        if bushings:
            places = len(joints) + np.arange(len(bushings))
            own_pairs = _pairs(places)
            deflections = Deflections(bushings, own_pairs, levers[own_pairs], planar)
            tie_of = np.concatenate([tie_of, np.repeat(places, deflections.size)])
        applied = AppliedLoads.of(loads, bodies, planar)
        compliance = Compliance(drives, bushings, deflections, mean_rows, len(rows))
        return cls(
            bodies, joints, drivers, planar, rows, points, _pairs(tie_of), applied, compliance
        )

    def number(self, body: str) -> int:
        """Position of a body among the bodies; MechanismError for an unknown name."""
        if body not in self.bodies:
            raise MechanismError(f"no body {body!r}; bodies are {', '.join(self.bodies)}")
        return list(self.bodies).index(body)

    def deployed(self, pose: Pose, shapes: Mapping[str, Any]) -> dict[str, tuple[Array, Any]]:
        """By body: nodes (N, 3) of the rigid motion and displacements (N, 3), m, in fixed axes, of
        its degrees of freedom."""
        out = {}
        for i, (name, body) in enumerate(self.bodies.items()):
            nodes = pose.r[i] + body.dofs.coordinates @ pose.R[i].T
            out[name] = (nodes, body.dofs.displacement(shapes[name]) @ pose.R[i].T)
        return out

    @cached_property
    def moving(self) -> MovingBodies:
        """The bodies at finite displacements."""
        loaded = [(point.body, point.nodes) for point in self.applied.points]
        return MovingBodies(self.bodies.values(), loaded)

    def _find_read(self) -> Mask:
        """Which of the 12 entries of each row's gradient may differ from zero, (rows, 12)."""
        read = np.concatenate([self.rows.read, self.compliance.read()])
        if self.planar:
            read[:, [2, 3, 4, 8, 9, 10]] = False
        ground = self.body_of == len(self.bodies)
        return np.asarray(read & ~np.repeat(ground[self.row_points], 6, axis=1))

    def _find_motions(self) -> sp.csr_matrix:
        """Displacements and rotations of all units from all DOFs, (units, DOFs)."""
        blocks = []
        for i, body in enumerate(self.bodies.values()):
            forms = [sp.csr_matrix((0, body.size))]
            for number, point in enumerate(self.points):
                entries = self.units[self.units[:, 0] == number, 1]
                if point.body == i and len(entries):
                    forms.append(point.forms(body, self.planar).motion[entries])
            blocks.append(sp.vstack(forms, format="csr"))
        # The units of a body are in the order of its points.
        whole = sp.block_diag(blocks, format="csr")
        return sp.csr_matrix(whole[np.argsort(np.concatenate(self.own), kind="stable")])

    def _check_motions(self) -> None:
        """MechanismError when a joint's nodes lack a DOF that the joint ties."""
        missing = np.flatnonzero(np.diff(self.motions.indptr) == 0)
        if len(missing):
            number, entry = self.units[missing[0]]
            body = list(self.bodies)[self.points[number].body]
            what = "rotations" if entry >= 3 else COMPONENTS[entry]
            raise MechanismError(
                f"joint {self.tie_names[number // 2]}: the node of body {body!r} has no {what}, "
                f"which it ties; use another joint, or a set of several nodes"
            )

    def unit_loads(self, body: int) -> Array:
        """Nodal loads of unit forces and moments of joints, (DOFs of the body, its units)."""
        span = slice(self.offsets[body], self.offsets[body + 1])
        return np.asarray(self.motions[self.own[body]][:, span].toarray().T)

    def on_units(self, gradient: Array) -> Array:
        """Gradients (..., rows, 12) as (..., rows, units)."""
        out = np.zeros((*gradient.shape[:-1], len(self.units) + 1))
        rows = np.arange(len(self.row_points))[:, None]
        out[..., rows, self.unit_of] = np.where(self.read, gradient, 0.0)
        return out[..., :-1]

    def spread(self, gradient: Array) -> Array:
        """Gradients (..., rows, 12) over the constrained DOFs, (..., rows, J)."""
        values = self.on_units(gradient)
        flat = values.reshape(-1, len(self.units))
        return np.asarray((self._onto @ flat.T).T).reshape(*values.shape[:-1], -1)

    def frames(self, bodies: Frames) -> Frames:
        """The frames of all points on undeformed bodies."""
        R, r = bodies.rotation.along(self.body_of, -3), bodies.origin.along(self.body_of, -2)
        return Frames(Taylor(r.data + (R.data @ self.homes[..., None])[..., 0]), R)

    def evaluate(self, frames: Frames, t: ArrayLike, pace: ArrayLike = 1.0) -> tuple[Array, Array]:
        """Values x (3, ..., rows) of all rows with rates, and their gradients (3, ..., rows, 12) by
        the motions of the frames of their two points; of deflections without the second rate.

        pace: share of the rates of the drivers' laws. The deflections of elastic drives are angles.
        """
        e = self.rows.evaluate(frames, t, pace=pace)
        x, rows, own = e.value.data, self.rows.gradient(e).data, self.rows.angles
        if len(own):
            x[..., own], slope = self.rows.turned(e)
            factor: Any = Taylor(slope.data[..., None])
            rows[..., own, :] = (factor * Taylor(rows[..., own, :])).data
        if self.compliance.deflections is None:
            return x, rows
        others = self.compliance.deflections.evaluate(frames, t)
        return np.concatenate([x, others[0]], -1), np.concatenate([rows, others[1]], -2)

    def hessian(self, frames: Frames, t: ArrayLike) -> Array:
        """Second derivatives (..., rows, 12, 12) of all rows by the displacements and rotation
        vectors of their two points."""
        found, others = self.rows.hessian(self.rows.evaluate(frames.values, t)), []
        if self.compliance.deflections is not None:
            others = [self.compliance.deflections.hessian(frames, t)]
        return np.concatenate([found, *others], axis=-3)

    def on_bodies(self, gradient: Array, first: int = 0) -> Array:
        """Gradients (..., k, 12) of rows, from number `first` on, by the motions of all bodies'
        frames, the ground's last, (..., k, B + 1, 6)."""
        numbers = np.arange(gradient.shape[-2])
        points = self.row_points[first + numbers]
        motions = gradient.reshape(*gradient.shape[:-1], 2, 6).copy()
        motions[..., 3:] += (skew(self.homes[points]) @ motions[..., :3, None])[..., 0]
        out = np.zeros((*gradient.shape[:-1], len(self.bodies) + 1, 6))
        for side, bodies in enumerate(self.body_of[points].T):
            out[..., numbers, bodies, :] += motions[..., side, :]
        return out

    def curvature(
        self,
        factors: Array,
        gradient: Array,
        hessian: Array,
        seen: Array | None = None,
        fitted: Mapping[int, tuple[Index, Array]] | None = None,
    ) -> Array:
        """Σ factor_k ∇²Φ_k over the constrained DOFs (..., J, J).

        factors (..., rows); gradient (..., rows, 12), hessian (..., rows, 12, 12): by the
        displacements and rotation vectors of the points; their rotations are not linear in the
        DOFs, so the gradient matters too. seen, fitted: of the points where the bodies are
        deformed; `self.seen` and `self.fitted` at rest.
        """
        pairs, J = self.on_pairs(factors, hessian), len(self.touched)
        out = np.zeros((*factors.shape[:-1], J, J))
        for own in self._tied:
            motions = (self.seen if seen is None else seen)[..., own, :]
            dofs = np.flatnonzero(motions.reshape(-1, J).any(axis=0))
            motions = motions[..., dofs]
            turned = motions.swapaxes(-1, -2)
            out[..., dofs[:, None], dofs] += turned @ pairs[..., own, own] @ motions
        wrench = (factors[..., None, :] @ self.on_units(gradient))[..., 0, :]
        for number, (slots, second) in (self.fitted if fitted is None else fitted).items():
            mine = (self.units[:, 0] == number) & (self.units[:, 1] >= 3)
            g = np.zeros((*factors.shape[:-1], 3))
            g[..., self.units[mine, 1] - 3] = wrench[..., mine]
            if np.any(g):
                out[..., slots[:, None], slots] += (g[..., None, None] * second).sum(axis=-3)
        return np.asarray(out)

    def on_pairs(self, factors: Array, hessian: Array) -> Array:
        """Σ factor_k times Hessians (..., rows, 12, 12), (..., units, units)."""
        terms = (factors[..., None, None] * hessian).reshape(-1, self._pair_sum.shape[1])
        summed = np.asarray((self._pair_sum @ terms.T).T)
        return summed.reshape(*factors.shape[:-1], len(self.units), len(self.units))

    def _find_pair_sum(self) -> sp.csr_matrix:
        """Which entries of the Hessians (rows, 12, 12) add up to each pair of units."""
        count = len(self.units)
        first, second = (
            np.broadcast_to(x, (len(self.row_points), 12, 12)).ravel()
            for x in (self.unit_of[:, :, None], self.unit_of[:, None, :])
        )
        there = np.flatnonzero((first < count) & (second < count))
        pairs = first[there] * count + second[there]
        shape = (count * count, len(first))
        return sp.csr_matrix((np.ones(len(there)), (pairs, there)), shape=shape)

    @cached_property
    def fitted(self) -> dict[int, tuple[Index, Array]]:
        """Best-fit rotations that joints use: the constrained DOFs (k,) of their nodes, and the
        second derivatives (3, k, k) of the three rotations by these."""
        out, bodies = {}, list(self.bodies.values())
        for number in np.unique(self.units[self.units[:, 1] >= 3, 0]).tolist():
            point = self.points[number]
            if len(point.nodes) > 1:
                own, second = point.forms(bodies[point.body], self.planar).second
                dofs = self.offsets[point.body] + own
                known = np.flatnonzero(np.isin(dofs, self.touched))
                slots = np.searchsorted(self.touched, dofs[known])
                out[number] = (slots, second[:, known[:, None], known])
        return out

    @property
    def period(self) -> float | None:
        """The period of all drivers, when it is one."""
        if self.compliance.varies:
            return None
        periods = set()
        for condition in self.rows.conditions:
            law = condition.law
            if law is None or (isinstance(law, Uniform) and law.rate == law.acceleration == 0.0):
                continue
            if condition.turning is not None:
                periods.add(law.period)
            else:
                # A displacement repeats when it returns; an angle after a full turn.
                returns = law.period is not None and np.isclose(
                    law.at(0.0)[0], law.at(law.period)[0]
                )
                periods.add(law.period if returns else None)
        return periods.pop() if len(periods) == 1 else None

    def over_all(self, matrix: Array) -> sp.csr_matrix:
        """A matrix over the constrained DOFs (J, J) as one over all DOFs."""
        row, col = np.nonzero(matrix)
        entries = (matrix[row, col], (self.touched[row], self.touched[col]))
        return sp.csr_matrix(entries, shape=(int(self.offsets[-1]),) * 2)

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
            label = f"initial: body {name!r}"
            values = as_numbers(given.get(name, np.zeros(expected)), label, MechanismError)
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
            if GROUND in named[joint].bodies and body != GROUND:
                raise MechanismError(
                    f"coordinates: joint {joint} ties {body!r} to the ground: no choice"
                )

    def preference(self, preferred: Mapping[str, str], read: Array) -> Array:
        """Preference (J,) for eliminating each constrained DOF; highest for a joint's other body.

        read (m, J): whether a condition depends on a DOF anywhere along the motion.
        """
        weight = np.ones(len(self.touched))
        for k, joint in enumerate(self.joints):
            keeper = joint.bodies.index(preferred.get(joint.name, joint.bodies[0]))
            strong = 100.0 if joint.name in preferred else 2.0
            rows = [row for row, name in enumerate(self.rows.joints) if name == joint.name]
            known = np.flatnonzero(read[rows].any(axis=0))
            other = np.intersect1d(self._unknowns_of(2 * k + 1 - keeper), known)
            weight[other] = np.maximum(weight[other], strong)
        return weight

    def _unknowns_of(self, point: int) -> Index:
        """Which constrained DOFs a joint's point depends on."""
        return np.flatnonzero(np.any(self.seen[:-1][self.units[:, 0] == point], axis=0))

    def keepers(self, slaves: Index) -> dict[str, str]:
        """The body whose DOFs remain at each joint."""
        out = {}
        for k, joint in enumerate(self.joints):
            pair = [self._unknowns_of(2 * k + side) for side in (0, 1)]
            gone = [int(np.isin(unknowns, slaves).sum()) for unknowns in pair]
            out[joint.name] = joint.bodies[0] if gone[0] <= gone[1] else joint.bodies[1]
            if len(pair[0]) == 0 or len(pair[1]) == 0:
                out[joint.name] = joint.bodies[0] if len(pair[0]) == 0 else joint.bodies[1]
        return out


def _pairs(ties: Index) -> Index:
    """The points (k, 2) of some joints and bushings, by their numbers."""
    return np.asarray(2 * ties[:, None] + np.arange(2))
