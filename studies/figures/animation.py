"""Animations: a mechanism or a turning body moves and vibrates in one of its modes.

The motion is true to scale; the vibration is enlarged to a fixed share of the picture and slowed
down to a few cycles a turn, both of which the caption says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import ArrayLike, NDArray
from PIL import Image

import modal
from assembly import Body, FrozenSystem, Mechanism
from studies.figures import motion
from studies.figures.motion import Frame, Strand
from studies.figures.style import figure
from studies.reporting.output import OutputFolder

Array = NDArray[np.float64]

SHARE = 0.07  # of the mechanism's size: the largest displacement shown
FRAMES, CYCLES, FRAMES_A_SECOND = 48, 6, 16
DPI, COLOURS = 72, 48


def mechanism_frames(
    mechanism: Mechanism,
    period: float,
    mode: int = 0,
    outlines: Mapping[str, ArrayLike] | None = None,
) -> list[Frame]:
    """A mechanism over one period (s) in its elastic mode number `mode`, followed by its shape.

    outlines: for a rigid body, the points (P, 2) in its axes that a line shall connect; it is a
    square otherwise.
    """
    drawn: list[Frame] = []
    follower = Follower(mode)
    for k in range(FRAMES):
        t = period * k / FRAMES
        q = follower.shape(mechanism.freeze(t))
        phase = np.exp(2j * np.pi * CYCLES * k / FRAMES)
        drawn.append(_strands(mechanism, t, np.real(q * phase), dict(outlines or {})))
    return enlarged(drawn)


def turning_frames(body: Body, shape: NDArray[np.inexact[Any]]) -> list[Frame]:
    """A body that turns once about z through its origin in a mode (n,)."""

    def place(angle: float) -> tuple[Array, Array]:
        c, s = np.cos(angle), np.sin(angle)
        return np.zeros(3), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    return moving_frames(body, place, shape, 2.0 * np.pi)


def moving_frames(
    body: Body,
    place: Callable[[float], tuple[Array, Array]],
    shape: NDArray[np.inexact[Any]],
    period: float,
) -> list[Frame]:
    """A body, its nodes in one row, that moves in the x–y plane while it vibrates in a mode (n,).

    place: origin (3,) and rotation (3, 3), body to fixed axes, at a time from 0 to `period`. shape:
    over the degrees of freedom its supports leave.
    """
    whole = np.zeros(body.size, dtype=complex)
    whole[body.free] = shape
    drawn: list[Frame] = []
    for k in range(FRAMES):
        r, R = place(period * k / FRAMES)
        phase = np.exp(2j * np.pi * CYCLES * k / FRAMES)
        moved = np.real(body.dofs.displacement(whole * phase))
        rest = r + body.dofs.coordinates @ R.T
        drawn.append([Strand(body.name, rest[:, :2], (rest + moved @ R.T)[:, :2])])
    return enlarged(drawn)


class Follower:
    """One mode from instant to instant: the one most like the last, with the last one's phase."""

    def __init__(self, mode: int, spare: int = 3) -> None:
        self.mode, self.count = mode, mode + 1 + spare
        self._last: NDArray[np.complex128] | None = None

    def shape(self, system: FrozenSystem) -> NDArray[np.complex128]:
        """The mode's shape (n,) at the next instant, of unit mass norm."""
        modes = modal.solve(system, k=self.count)
        elastic = modes.right[:, modes.kind == "elastic"]
        if self._last is None:
            self._last = elastic[:, self.mode]
            return self._last
        overlap = self._last.conj() @ (system.M @ elastic)
        best = int(np.argmax(np.abs(overlap)))
        self._last = elastic[:, best] * (np.abs(overlap[best]) / overlap[best])
        return self._last


def enlarged(frames: list[Frame]) -> list[Frame]:
    """The same frames with displacements brought to `SHARE` of the picture's size."""
    points = np.concatenate([s.rest for f in frames for s in f])
    size = float(np.ptp(points, axis=0).max())
    largest = max(float(np.abs(s.moved - s.rest).max()) for f in frames for s in f)
    factor = SHARE * size / largest if largest > 0.0 else 0.0
    return [
        [Strand(s.name, s.rest, s.rest + factor * (s.moved - s.rest)) for s in frame]
        for frame in frames
    ]


@dataclass(frozen=True)
class Animation:
    """An animated GIF of a study, computed when it is written.

    Parameters
    ----------
    name : str
        File name.
    scene : callable
        Returns the title and the frames, with displacements already enlarged.
    """

    name: str
    scene: Callable[[], tuple[str, list[Frame]]]

    def write(self, out: OutputFolder) -> None:
        """Draw the frames and save them. Raises StorageError when they cannot be written."""
        title, frames = self.scene()
        caption = (
            f"{title}: the motion is to scale, the vibration enlarged and slowed down to {CYCLES} "
            "cycles a turn."
        )
        milliseconds = round(1000 / FRAMES_A_SECOND)
        out.write_animation(self.name, pictures_of(frames, title), milliseconds, caption)


def pictures_of(frames: list[Frame], title: str) -> list[Image.Image]:
    """The frames as pictures of few colours."""
    pictures = []
    with figure(width=6.4, height=motion.height_of(frames)) as (drawn, (ax,)):
        artists = motion.still(frames[0], ax)
        motion.frame_all(frames, ax)
        ax.set_title(title)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        drawn.set_dpi(DPI)
        canvas = FigureCanvasAgg(drawn)
        canvas.draw()
        # All but the lines of the bodies is drawn once, in the layout of the first frame.
        drawn.set_layout_engine("none")
        lines = [line for pair in zip(*artists, strict=True) for line in pair]
        for line in lines:
            line.set_animated(True)
        canvas.draw()
        empty = canvas.copy_from_bbox(drawn.bbox)
        for frame in frames:
            motion.advance(artists, frame)
            canvas.restore_region(empty)
            for line in lines:
                ax.draw_artist(line)
            picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            pictures.append(picture.quantize(COLOURS, method=Image.Quantize.FASTOCTREE))
        plt.close(drawn)
    return pictures


def _strands(
    mechanism: Mechanism, t: float, q: Array, outlines: Mapping[str, ArrayLike]
) -> list[Strand]:
    strands = []
    deployed, motions = mechanism.deployed(t, q), mechanism.recover(t, q)
    poses = mechanism.position(t)
    for name, (nodes, moved) in deployed.items():
        if name not in outlines:
            strands.append(
                Strand(name, nodes[:, :2], np.asarray(nodes + np.real(moved), dtype=float)[:, :2])
            )
            continue
        # A rigid body: its outline moves with its frame and with its own three degrees of freedom.
        r, R = poses[name]
        points = np.asarray(outlines[name], dtype=float)
        ux, uy, turn = np.real(motions[name])
        shift = np.array([ux, uy]) + turn * np.stack([-points[:, 1], points[:, 0]], axis=1)
        rest = r[:2] + points @ R[:2, :2].T
        strands.append(Strand(name, rest, rest + shift @ R[:2, :2].T))
    return strands
