"""Where the bodies of a model are at a point of a track or map, and how a mode moves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.bodies.rotors import Rotor
from assembly.errors import InputError
from assembly.mechanisms.joints import GROUND
from assembly.mechanisms.mechanism import Mechanism
from assembly.motion.moving import MovingBody
from modal.periodic.multiblade import MultibladeFamily
from modal.periodic.multiblade_model import MultibladeModel
from modal.types import Array


@dataclass(frozen=True)
class PlacedBody:
    """A body where it stands, with its degrees of freedom in some modes.

    Parameters
    ----------
    name : str
        Name that is shown.
    body : Body
        What is drawn.
    vectors : ndarray, shape (body.size, k)
        All degrees of freedom of the body, in its own axes, in each of k modes; real or complex.
    r : ndarray, shape (3,)
        Origin of the body, m, fixed axes.
    R : ndarray, shape (3, 3)
        Rotation from body to fixed axes.
    arms : tuple of ndarray, shape (3,)
        Points of a rigid body, body axes, that it is drawn out to.
    discs : tuple of (int, float)
        Node and radius, m, of discs about body x.
    """

    name: str
    body: Body
    vectors: NDArray[np.inexact[Any]]
    r: Array
    R: Array
    arms: tuple[Array, ...] = ()
    discs: tuple[tuple[int, float], ...] = ()


Point = Mapping[str, float]
Geometry = Callable[[Point, NDArray[np.inexact[Any]]], Sequence[PlacedBody]]


def placed_bodies(
    model: Any, point: Point, vectors: NDArray[np.inexact[Any]]
) -> tuple[PlacedBody, ...]:
    """The bodies of a model at a point of a track or map.

    Parameters
    ----------
    model : Body, moving body, Rotor, Mechanism, or one of these in multiblade coordinates
        The model that was frozen.
    point : mapping of str to float
        Values of the swept parameters; `time` (s) places a mechanism or a moving body.
    vectors : ndarray, shape (n, k)
        Vectors over the degrees of freedom of the frozen system.

    Returns
    -------
    tuple of PlacedBody

    Raises
    ------
    InputError
        The model has no geometry.
    """
    t = float(point.get("time", point.get("t", 0.0)))
    if isinstance(model, MultibladeFamily):
        return placed_bodies(model.at(float(point["omega"])), {"time": t}, vectors)
    if isinstance(model, MultibladeModel):
        return placed_bodies(model.model, {"time": t}, model.physical(t, vectors))
    if isinstance(model, Mechanism):
        return _of_mechanism(model, t, vectors)
    if isinstance(model, Rotor):
        discs = [(n, float(np.sqrt(2.0 * d.polar / d.mass))) for n, d in model.discs if d.mass > 0]
        return (replace(_alone(model.body, model.free, vectors), discs=tuple(discs)),)
    if isinstance(model, MovingBody):
        return (_alone(model.body, model.body.free, vectors, model.motion, t),)
    if isinstance(model, Body):
        return (_alone(model, model.free, vectors),)
    raise InputError(
        f"model: {type(model).__name__} has no geometry; give `geometry`, a function of a point "
        "and vectors that returns placed bodies"
    )


def _of_mechanism(
    model: Mechanism, t: float, vectors: NDArray[np.inexact[Any]]
) -> tuple[PlacedBody, ...]:
    full, poses = model.recover(t, vectors), model.position(t)
    reach: dict[str, list[Array]] = {name: [] for name in model.bodies}
    for joint in model.topology.joints:
        for name, at in zip(joint.bodies, joint.at, strict=True):
            if name != GROUND and not isinstance(at, str | int):
                reach[name].append(np.array([*map(float, at), 0.0])[:3])
    return tuple(
        PlacedBody(name, body, full[name], *poses[name], tuple(reach[name]))
        for name, body in model.bodies.items()
    )


def _alone(
    body: Body,
    free: NDArray[np.intp],
    vectors: NDArray[np.inexact[Any]],
    motion: Any = None,
    t: float = 0.0,
) -> PlacedBody:
    """A body where its motion says that it is; at the origin otherwise."""
    full = np.zeros((body.size, vectors.shape[1]), dtype=vectors.dtype)
    full[free] = vectors
    r, R = motion.frame(t) if hasattr(motion, "frame") else (np.zeros(3), np.eye(3))
    return PlacedBody(body.name, body, full, np.asarray(r, float), np.asarray(R, float))
