"""The mode shapes at some points of a track or map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assembly.magnitudes import ALIKE
from modal.eigen.tolerances import GROUP
from modal.explorer.placed_bodies import PlacedBody
from modal.explorer.skins import Skin, skin_of
from modal.types import Array, Complex, Index


@dataclass(frozen=True)
class State:
    """The model at one point of a track or map, with its modes.

    Parameters
    ----------
    index : tuple of int
        Number of the point along each axis.
    poses : ndarray, shape (B, 3, 4)
        Rotation and origin of each body, m, fixed axes.
    eigenvalues : ndarray of complex, shape (k,)
        Of the modes, rad/s; NaN where a mode was not found.
    fields : ndarray of complex, shape (k, N, 6)
        Displacements and rotations of the drawn nodes of all bodies, in the axes of each body.
    """

    index: tuple[int, ...]
    poses: Array
    eigenvalues: Complex
    fields: Complex


@dataclass(frozen=True)
class Drawing:
    """What is drawn of the bodies of a model.

    Parameters
    ----------
    names : tuple of str
        Of the bodies.
    skins : tuple of Skin
        Their drawings.
    size : float
        Largest extent of the model, m.
    """

    names: tuple[str, ...]
    skins: tuple[Skin, ...]
    size: float

    @classmethod
    def of(cls, bodies: Sequence[PlacedBody]) -> Drawing:
        """Of the bodies where they stand."""
        placed = [one.r + one.body.dofs.coordinates @ one.R.T for one in bodies]
        ends = [one.r + np.asarray(arm) @ one.R.T for one in bodies for arm in one.arms]
        size = float(np.ptp(np.vstack([*placed, *ends]), axis=0).max()) or 1.0
        skins = tuple(skin_of(one.body, size, one.arms, one.discs) for one in bodies)
        return cls(tuple(one.name for one in bodies), skins, size)

    @property
    def reach(self) -> float:
        """Longest arm of a vertex, m."""
        return max(float(np.abs(skin.arm).max(initial=0.0)) for skin in self.skins)

    def state(
        self, index: tuple[int, ...], eigenvalues: Complex, bodies: Sequence[PlacedBody]
    ) -> State:
        """The drawn nodes of the bodies in the modes at a point."""
        poses = np.stack([np.column_stack([one.R, one.r]) for one in bodies])
        fields = [_fields(one)[:, skin.nodes] for one, skin in zip(bodies, self.skins, strict=True)]
        return State(index, poses, eigenvalues, np.concatenate(fields, axis=1))


def matched(state: State, followed: Complex, last: State | None, reach: float) -> State:
    """The modes of a state in the order of the eigenvalues that were followed (k,), rad/s.

    A mode that was not found has NaN for its eigenvalue. `last`: a state before this one; phases
    are chosen so that each mode is as near as possible to the last. `reach`: as in `in_phase`.
    """
    eigenvalues_here = state.eigenvalues
    same = np.abs(eigenvalues_here[None] - followed[:, None])
    mirrored = np.abs(eigenvalues_here.conj()[None] - followed[:, None])
    limit = ALIKE * np.abs(followed) + GROUP * float(np.abs(eigenvalues_here).max(initial=0.0))
    share = np.minimum(same, mirrored) / limit[:, None]
    share = np.where(share <= 1.0, share, 1.0 + share.size)  # NaN too: not the same mode
    rows, columns = linear_sum_assignment(share)
    eigenvalues = np.full(len(followed), np.nan + 0j)
    fields = np.zeros((len(followed), *state.fields.shape[1:]), dtype=complex)
    for row, column in zip(rows, columns, strict=True):
        if share[row, column] <= 1.0:
            swap = mirrored[row, column] < same[row, column]
            shape = state.fields[column].conj() if swap else state.fields[column]
            eigenvalues[row] = eigenvalues_here[column].conj() if swap else eigenvalues_here[column]
            fields[row] = in_phase(shape, None if last is None else last.fields[row], reach)
    return State(state.index, state.poses, eigenvalues, fields)


def in_phase(shape: Complex, last: Complex | None, reach: float) -> Complex:
    """The shape in the phase of the last one, or with the largest real part; largest motion 1.

    shape (N, 6): displacements and rotations. reach: length of the longest arm of a vertex, m, by
    which rotations count.
    """
    weights = np.repeat([1.0, reach], 3)
    weighted = shape * weights
    overlap = 0j if last is None else complex(np.vdot(last * weights, weighted))
    if abs(overlap) <= GROUP * np.linalg.norm(weighted):
        square = complex(np.sum(weighted**2))
        overlap = np.sqrt(square) if square else 1.0 + 0j
    turned = shape * (abs(overlap) / overlap)
    largest = float(np.abs(weighted).max(initial=0.0))
    return np.asarray(turned / (largest or 1.0))


def _fields(one: PlacedBody) -> NDArray[np.complex128]:
    """Displacements and rotations (k, N, 6) of all nodes."""
    dofs = one.body.dofs
    out = np.zeros((one.vectors.shape[1], len(dofs.coordinates), 6), dtype=complex)
    out[:, dofs.node, dofs.component] = np.asarray(one.vectors).T
    return out


def indices(sizes: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """At most about so many points of a grid of the given sizes, evenly spread, ends included."""
    counts, room = [0] * len(sizes), float(most)
    for done, axis in enumerate(np.argsort(sizes)):
        fair = int(room ** (1.0 / (len(sizes) - done)) + 1e-9)
        counts[axis] = min(sizes[axis], max(2, fair))
        room /= counts[axis]
    steps = [evenly(size, n) for size, n in zip(sizes, counts, strict=True)]
    mesh = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, len(sizes))
    return [tuple(map(int, row)) for row in mesh]


def evenly(count: int, wanted: int) -> Index:
    """Numbers of at most so many of `count` things, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(wanted, count)).round().astype(np.intp))
