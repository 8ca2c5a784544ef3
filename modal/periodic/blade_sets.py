"""Which degrees of freedom of a model are those of its blades: by numbers, or by names of bodies.

A mechanism tells the azimuth of each blade by the rotation of its frame, and the axes of all other
parts that turn with the rotor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.spatial.transform import Rotation

from assembly.dofs import COMPONENTS, DofMap
from assembly.errors import InputError
from assembly.magnitudes import EQUAL
from modal.eigen.tolerances import HALF
from modal.periodic.coleman import Coleman
from modal.periodic.tolerances import SAME
from modal.transient.equations import freezer
from modal.types import Array, Index

Blade = str | Sequence[str] | Sequence[int]


def transformation(
    model: Any, blades: Sequence[Blade], rate: float | None, turning: Sequence[Sequence[int]]
) -> tuple[Any, Coleman]:
    """The model and its multiblade transformation.

    Raises InputError.
    """
    if isinstance(blades, str) or not all(
        isinstance(b, str | Sequence | np.ndarray) for b in blades
    ):
        raise InputError(
            f"blades: expected names of bodies or lists of degrees of freedom, got {blades!r}"
        )
    system = freezer(model)(0.0)
    named = [isinstance(b, str) or any(isinstance(part, str) for part in b) for b in blades]
    if any(named):
        if turning:
            raise InputError("turning: a mechanism knows which of its bodies turn; omit it")
        return _of_bodies(model, [(b,) if isinstance(b, str) else tuple(b) for b in blades], rate)
    if rate is None:
        raise InputError("rate: give the speed of the rotor, rad/s")
    azimuths = 2.0 * np.pi * np.arange(len(blades)) / max(len(blades), 1) * np.sign(rate)
    return model, Coleman.of(system.n, [list(b) for b in blades], turning, azimuths, rate)  # type: ignore[arg-type]


def _of_bodies(
    mechanism: Any, blades: list[tuple[Any, ...]], rate: float | None
) -> tuple[Any, Coleman]:
    if not all(hasattr(mechanism, name) for name in ("bodies", "kinematics", "position")):
        raise InputError(
            f"blades: {type(mechanism).__name__} has no bodies with names; give lists of numbers"
        )
    for name in (name for blade in blades for name in blade):
        if name not in mechanism.bodies:
            known = ", ".join(mechanism.bodies)
            raise InputError(f"blades: no body {name!r}; bodies are {known}")
    rows = _alike_rows(mechanism, blades)
    dofs = mechanism.freeze(0.0).dofs if rows is None else mechanism.dofs.select(rows)
    first = blades[0][0]
    spin, axis = _spin(mechanism, first)
    if rate is not None:
        if abs(abs(rate) - spin) > EQUAL * spin:
            raise InputError(f"rate: {first!r} turns at {spin:.9g} rad/s, got {rate:.9g}")
    azimuths = _azimuths(mechanism, dofs, blades, axis)
    own = [list(_numbers(dofs, blade).values()) for blade in blades]
    pairs = _turning_pairs(mechanism, dofs, _turning_bodies(mechanism, blades), axis)
    return mechanism, Coleman.of(len(dofs), own, pairs, azimuths, spin, rows)


def _alike_rows(mechanism: Any, blades: list[tuple[Any, ...]]) -> Index | None:
    """Numbers, in those of all bodies, of degrees of freedom that are the same in every blade and
    determine the others; None where those of the mechanism are."""
    dofs, every = mechanism.freeze(0.0).dofs, mechanism.dofs
    kept = [_numbers(dofs, blade).keys() for blade in blades]
    others = _turning_bodies(mechanism, blades)
    free = any(_dofs_of(dofs, name).size for name in others)
    if all(one == kept[0] for one in kept) and not free:
        return None
    numbers = [_numbers(every, blade) for blade in blades]
    if any(one.keys() != numbers[0].keys() for one in numbers):
        raise InputError("blades: their bodies have different nodes or degrees of freedom")
    columns = [np.array(list(one.values()), dtype=np.intp) for one in numbers]
    T = mechanism.transformation(0.0)[0].toarray()
    across = np.concatenate([columns[0][:0], *(_dofs_of(every, name) for name in others)])
    still = np.setdiff1d(np.arange(len(T)), np.concatenate([*columns, across]))
    rows = _added(T, still[:0], still)
    rows = np.concatenate([rows, _added(T, rows, across)])
    own = np.flatnonzero(np.isin(columns[0], _added(T, rows, columns[0])))
    rows = np.concatenate([rows, *(blade[own] for blade in columns)])
    if len(rows) != T.shape[1] or np.linalg.cond(T[rows]) > 1.0 / HALF:
        raise InputError(
            "blades: they are not alike: no degrees of freedom that are the same in all of them "
            "determine the others"
        )
    return rows


def _added(T: Array, rows: Index, candidates: Index) -> Index:
    """The candidates whose rows of T span, with some `rows`, what all of them span."""
    if not len(candidates):
        return candidates
    A = T[candidates]
    if len(rows):
        Q = la.orth(T[rows].T)
        A = A - (A @ Q) @ Q.T
    _, R, order = la.qr(A.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    count = int((sizes > HALF * max(1.0, sizes.max(initial=0.0))).sum())
    return np.sort(candidates[order[:count]])


def _spin(mechanism: Any, body: str) -> tuple[float, Array]:
    """Speed (rad/s) and axis (fixed axes) of a body's rotation; both must be constant."""
    omega = np.asarray(mechanism.kinematics(0.0)[body].omega, dtype=float)
    size = float(np.linalg.norm(omega))
    if size == 0.0:
        raise InputError(f"blades: {body!r} does not turn")
    later = np.asarray(mechanism.kinematics(1.0 / size)[body].omega, dtype=float)
    if np.linalg.norm(later - omega) > EQUAL * size:
        raise InputError(f"blades: {body!r} does not turn at a constant rate")
    return size, mechanism.position(0.0)[body][1] @ (omega / size)


def _azimuths(mechanism: Any, dofs: DofMap, parts: list[tuple[Any, ...]], axis: Array) -> Array:
    """Angle of each blade's frame about the axis from that of the first, rad.

    Where all frames are parallel and the blades move along or about the axis alone, the angles are
    those of the frames' origins.
    """
    position = mechanism.position(0.0)
    blades = [blade[0] for blade in parts]
    out = []
    for name in blades:
        turn = Rotation.from_matrix(position[name][1] @ position[blades[0]][1].T).as_rotvec()
        angle = float(turn @ axis)
        if np.linalg.norm(turn - angle * axis) > SAME:
            raise InputError(
                f"blades: the frame of {name!r} is not that of {blades[0]!r} turned about the axis "
                "of the rotor"
            )
        out.append(angle)
    if np.abs(out).max() <= SAME and _about_axis_alone(mechanism, dofs, parts, axis):
        out = _azimuths_of_origins(mechanism, blades, axis)
    step = 2.0 * np.pi / len(blades)
    places = np.round(np.array(out) / step)
    even = np.abs(np.array(out) - step * places).max() <= SAME
    if not even or len(np.unique(places % len(blades))) != len(blades):
        shown = ", ".join(f"{np.degrees(a):.4g}°" for a in out)
        raise InputError(f"blades: their frames are not evenly spaced about the axis: {shown}")
    return np.asarray(step * places)


def _about_axis_alone(
    mechanism: Any, dofs: DofMap, parts: list[tuple[Any, ...]], axis: Array
) -> bool:
    """Whether all degrees of freedom of the blades are along or about the axis."""
    position = mechanism.position(0.0)
    for name in (name for blade in parts for name in blade):
        own = np.abs(position[name][1].T @ axis)
        components = dofs.component[_dofs_of(dofs, name)] % 3
        if np.any(np.abs(own[components] - 1.0) > EQUAL):
            return False
    return True


def _azimuths_of_origins(mechanism: Any, blades: list[str], axis: Array) -> list[float]:
    """Angles of the origins of the blades' frames about the axis through their mean."""
    points = np.array([mechanism.position(0.0)[name][0] for name in blades])
    arms = points - points.mean(axis=0)
    arms = arms - np.outer(arms @ axis, axis)
    across = np.cross(axis, arms[0])
    return [float(np.arctan2(arm @ across, arm @ arms[0])) for arm in arms]


def _dofs_of(dofs: DofMap, name: str) -> Index:
    """Numbers of the degrees of freedom of a body."""
    first = dict(dofs.bodies)
    later = [start for start in first.values() if start > first[name]]
    last = min(later, default=len(dofs.coordinates))
    return np.flatnonzero((dofs.node >= first[name]) & (dofs.node < last))


def _numbers(dofs: DofMap, blade: tuple[str, ...]) -> dict[tuple[int, int, int], int]:
    """Numbers of a blade's degrees of freedom, by (part, node of the part, component)."""
    out = {}
    for part, name in enumerate(blade):
        first = dict(dofs.bodies)[name]
        for k in _dofs_of(dofs, name).tolist():
            out[part, int(dofs.node[k]) - first, int(dofs.component[k])] = k
    return dict(sorted(out.items()))


def _turning_bodies(mechanism: Any, blades: list[tuple[Any, ...]]) -> list[str]:
    """Names of the bodies that turn, other than those of the blades."""
    inside, kinematics = {name for blade in blades for name in blade}, mechanism.kinematics(0.0)
    others = [name for name in mechanism.bodies if name not in inside]
    return [name for name in others if np.any(np.asarray(kinematics[name].omega))]


def _turning_pairs(
    mechanism: Any, dofs: DofMap, bodies: list[str], axis: Array
) -> list[tuple[int, int]]:
    """Pairs (x, y) of degrees of freedom across the axis of bodies that turn."""
    out = []
    kinematics, position = mechanism.kinematics(0.0), mechanism.position(0.0)
    for name in bodies:
        omega = np.asarray(kinematics[name].omega, dtype=float)
        own = position[name][1].T @ axis
        along = int(np.argmax(np.abs(own)))
        across = np.linalg.norm(np.cross(omega, own))
        if abs(abs(own[along]) - 1.0) > EQUAL or across > EQUAL * np.linalg.norm(omega):
            raise InputError(
                f"blades: body {name!r} turns, and none of its own axes is that of the rotor; "
                "build it with one along it"
            )
        x, y = (along + 1) % 3, (along + 2) % 3
        if own[along] < 0.0:
            x, y = y, x
        for node in np.unique(dofs.node[_dofs_of(dofs, name)]):
            for base in (0, 3):
                found = [dofs.numbers.get((node, base + c)) for c in (x, y)]
                if found == [None, None]:
                    continue
                if None in found:
                    lone = COMPONENTS[base + (x if found[1] is None else y)]
                    raise InputError(
                        f"blades: {lone} of body {name!r} turns with the rotor and its partner "
                        "depends on others; name the body that does not turn in `coordinates`"
                    )
                out.append((found[0], found[1]))
    return out  # type: ignore[return-value]
