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
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from PIL import Image

import assembly
import modal
from assembly import Body, Mechanism
from assembly.motion.moving import MovingBody
from assembly.types import Array, Inexact
from modal.plot.colours import colour, plain
from studies.figures.drawing import P, figure
from studies.reporting.output import OutputFolder


@dataclass(frozen=True)
class Look:
    """What all animations share."""

    share: float = 0.07  # of the mechanism's size: the largest displacement shown
    frames: int = 48
    cycles: int = 6  # of the vibration in one period of the motion
    rate: int = 16  # frames a second
    dpi: int = 72
    colours: int = 48
    margin: float = 0.06  # of the picture's size
    few_nodes: int = 16  # up to here nodes are marked: motion along a line is seen by them alone
    spare: int = 3  # modes computed beside the one that is followed


LOOK = Look()


# Of every body (2, N, 2): its nodes in the x–y plane, undeformed and with the mode, m, fixed axes.
Frame = dict[str, Array]
Scene = tuple[str, dict[str, Array]]  # title, and for every body its frames, (frames, 2, N, 2)


@dataclass(frozen=True)
class Animation:
    """An animated GIF of a study, computed when it is written.

    Parameters
    ----------
    name : str
        File name.
    scene : callable
        Returns the title and the frames of every body, with displacements already enlarged.
    """

    name: str
    scene: Callable[[], Scene]

    def write(self, out: OutputFolder) -> None:
        """Draw the frames and save them. Raises StorageError when they cannot be written."""
        title, bodies = self.scene()
        caption = (
            f"{title}: the motion is to scale, the vibration enlarged and slowed down to "
            f"{LOOK.cycles} cycles a turn."
        )
        pictures = pictures_of(bodies, title)
        with out.file(self.name) as path:
            pictures[0].save(
                path,
                save_all=True,
                append_images=pictures[1:],
                duration=round(1000 / LOOK.rate),
                loop=0,  # for ever
            )
        out.captions[self.name] = caption


def animation(name: str) -> Callable[[Callable[P, Scene]], Callable[P, Animation]]:
    """Turn a function that returns a title and frames into one that returns its Animation."""

    def of(scene: Callable[P, Scene]) -> Callable[P, Animation]:
        def bound(*arguments: P.args, **options: P.kwargs) -> Animation:
            return Animation(name, lambda: scene(*arguments, **options))

        return bound

    return of


def mechanism_frames(
    mechanism: Mechanism, outlines: Mapping[str, ArrayLike] | None = None
) -> dict[str, Array]:
    """A mechanism over one period in its first elastic mode, followed by its shape.

    outlines: for a rigid body, the points (P, 2) in its axes that a line shall connect; it is a
    square otherwise.
    """
    assert mechanism.period is not None
    drawn: list[Frame] = []
    last = None
    for t, phase in _course(mechanism.period):
        system = mechanism.freeze(t)
        modes = modal.solve(system, k=1 + LOOK.spare)
        elastic = modes.right[:, modes.kind == "elastic"]
        # The shape of most overlap with the last one, in its phase.
        overlap = (elastic[:, 0] if last is None else last).conj() @ (system.M @ elastic)
        best = int(np.argmax(np.abs(overlap)))
        last = elastic[:, best] * (np.abs(overlap[best]) / overlap[best])
        drawn.append(_frame(mechanism, t, last * phase, outlines))
    return enlarged(drawn)


def turning_frames(body: Body, shape: Inexact) -> dict[str, Array]:
    """A body that turns once about z through its origin in a mode (n,)."""
    return moving_frames(assembly.moving(body, assembly.spin(1.0)), shape, 2.0 * np.pi)


def moving_frames(model: MovingBody, shape: Inexact, period: float) -> dict[str, Array]:
    """A body, its nodes in one row, that moves in the x–y plane while it vibrates in a mode (n,).

    The motion is shown from 0 to `period`. shape: over the degrees of freedom its supports leave.
    """
    return enlarged([_frame(model, t, shape * phase) for t, phase in _course(period)])


def _course(period: float) -> list[tuple[float, complex]]:
    """The time and the phase factor of the vibration of every frame of one period."""
    frames = np.arange(LOOK.frames)
    phases = np.exp(2j * np.pi * LOOK.cycles * frames / LOOK.frames)
    return list(zip((period * frames / LOOK.frames).tolist(), phases.tolist(), strict=True))


def _frame(
    model: Mechanism | MovingBody,
    t: float,
    q: NDArray[Any],
    outlines: Mapping[str, ArrayLike] | None = None,
) -> Frame:
    """The bodies at time t (s) with the real part of the vector q (n,)."""
    frame = {}
    for one in modal.placed_bodies(model, {"time": t}, np.real(q)[:, None]):
        points, vector = one.body.dofs.coordinates, one.vectors[:, 0]
        moved: NDArray[Any] = one.body.dofs.displacement(vector)
        if outlines is not None and one.name in outlines:
            # A rigid body: its outline moves with its frame and its own three degrees of freedom.
            points = np.pad(np.asarray(outlines[one.name], dtype=float), ((0, 0), (0, 1)))
            ux, uy, turn = vector
            moved = np.array([ux, uy, 0.0]) + np.cross([0.0, 0.0, turn], points)
        rest = one.r + points @ one.R.T
        frame[one.name] = np.stack([rest, rest + moved @ one.R.T])[..., :2]
    return frame


def enlarged(frames: list[Frame]) -> dict[str, Array]:
    """The frames of every body, with displacements brought to a share of the picture's size."""
    bodies = {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}
    points = np.concatenate([body[:, 0].reshape(-1, 2) for body in bodies.values()])
    size = float(np.ptp(points, axis=0).max())
    largest = max(float(np.abs(body[:, 1] - body[:, 0]).max()) for body in bodies.values())
    factor = LOOK.share * size / largest if largest > 0.0 else 0.0
    for body in bodies.values():
        body[:, 1] = body[:, 0] + factor * (body[:, 1] - body[:, 0])
    return bodies


def pictures_of(bodies: dict[str, Array], title: str) -> list[Image.Image]:
    """The frames as pictures of few colours."""
    points = np.concatenate([body.reshape(-1, 2) for body in bodies.values()])
    low, high = points.min(axis=0), points.max(axis=0)
    pad = LOOK.margin * float((high - low).max())
    low, high = low - pad, high + pad
    # Of a picture 6.4 inches wide: a height that leaves little of it empty.
    height = float(np.clip(4.4 * float((high[1] - low[1]) / (high[0] - low[0])) + 0.9, 2.2, 5.6))
    pictures = []
    with figure(width=6.4, height=height) as (drawn, (ax,)):
        lines = _still(bodies, ax)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title=title)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        drawn.set_dpi(LOOK.dpi)
        canvas = FigureCanvasAgg(drawn)
        canvas.draw()
        # All but the lines of the bodies is drawn once, in the layout of the first frame.
        drawn.set_layout_engine("none")
        for line in lines:
            line.set_animated(True)
        canvas.draw()
        empty = canvas.copy_from_bbox(drawn.bbox)
        for number in range(LOOK.frames):
            canvas.restore_region(empty)
            shown = [points for body in bodies.values() for points in body[number]]
            for line, points in zip(lines, shown, strict=True):
                line.set_data(*points.T)
            for line in lines[::2] + lines[1::2]:  # what is grey lies below
                ax.draw_artist(line)
            picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            pictures.append(picture.quantize(LOOK.colours, method=Image.Quantize.FASTOCTREE))
        plt.close(drawn)
    return pictures


def _still(bodies: dict[str, Array], ax: Axes) -> list[Line2D]:
    """The undeformed bodies grey, the vibrating ones in colour: two lines a body."""
    lines = []
    for index, (name, frames) in enumerate(bodies.items()):
        rest, moved = frames[0]
        alone = len(rest) == 1
        marker = "s" if alone else "o" if len(rest) <= LOOK.few_nodes else ""
        grey = dict(color="0.8", lw=3.5, marker="s" if alone else "", ms=10, zorder=1)
        vivid = dict(color=colour(index), lw=2.0, marker=marker, ms=6 if alone else 3.5)
        lines += ax.plot(*rest.T, **grey)  # type: ignore[arg-type]
        lines += ax.plot(*moved.T, **vivid, label=plain(name))  # type: ignore[arg-type]
    ax.set(xlabel="x (m)", ylabel="y (m)")
    ax.set_aspect("equal")
    return lines
