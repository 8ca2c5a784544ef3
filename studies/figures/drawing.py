"""A figure of a study: its layout, its caption, the function that draws it, and the shared look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.reporting.output import OutputFolder

P = ParamSpec("P")
RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


@contextmanager
def figure(
    rows: int = 1, columns: int = 1, width: float = 7.0, height: float = 4.0, **options: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure in the shared look and its axes as a flat list; options: of `plt.subplots`."""
    with plt.rc_context(RC):
        drawn, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)
        yield drawn, list(axes.ravel())


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn when it is written.

    Parameters
    ----------
    name : str
        File name; its suffix is the format.
    caption : str
        What the figure shows, for the report page.
    draw : callable
        Takes the axes, row by row as one list, and draws on them.
    rows, columns : int
        Number of axes.
    width, height : float
        Size of the figure, inches.
    sharex : bool
        Whether all axes have the same range along x; only the lowest ones have a label.
    projection : str, optional
        That of the axes, as in matplotlib.
    in_report : bool
        Whether the report page shows it. False where its panels are panels of other figures.
    """

    name: str
    caption: str
    draw: Callable[[list[Axes]], object]
    rows: int = 1
    columns: int = 1
    width: float = 7.0
    height: float = 4.0
    sharex: bool = False
    projection: str | None = None
    in_report: bool = True

    def write(self, out: OutputFolder) -> None:
        """Draw the figure and save it. Raises StorageError when it cannot be written."""
        layout = (self.rows, self.columns, self.width, self.height)
        options: dict[str, Any] = dict(
            sharex=self.sharex, subplot_kw=dict(projection=self.projection)
        )
        with figure(*layout, **options) as (drawn, axes), out.file(self.name) as path:
            self.draw(axes)
            if self.sharex:
                for ax in axes[: -self.columns]:
                    ax.set_xlabel("")
            drawn.savefig(path, dpi=150, format=Path(self.name).suffix.lstrip("."))
            plt.close(drawn)
        out.captions[self.name] = self.caption
        if not self.in_report:
            out.apart.add(self.name)


def drawing(
    name: str, **layout: Any
) -> Callable[[Callable[Concatenate[list[Axes], P], object]], Callable[P, Drawing]]:
    """Turn a function that draws into one that returns its Drawing; its docstring is the caption.

    Parameters
    ----------
    name : str
        File name of the figure.
    **layout
        Those of `Drawing`.

    Returns
    -------
    callable
        Decorator of a function whose first argument is the list of axes. The decorated function
        takes the other arguments.
    """

    def of(draw: Callable[Concatenate[list[Axes], P], object]) -> Callable[P, Drawing]:
        def bound(*arguments: P.args, **options: P.kwargs) -> Drawing:
            caption = " ".join((draw.__doc__ or "").split())
            return Drawing(name, caption, lambda axes: draw(axes, *arguments, **options), **layout)

        return bound

    return of
