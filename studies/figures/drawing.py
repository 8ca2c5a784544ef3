"""A figure of a study: its layout, its caption, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes

from studies.figures.style import figure
from studies.reporting.output import OutputFolder


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
        Whether all axes have the same range along x.
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
    in_report: bool = True

    def write(self, out: OutputFolder) -> None:
        """Draw the figure and save it. Raises StorageError when it cannot be written."""
        with figure(self.rows, self.columns, self.width, self.height, self.sharex) as (drawn, axes):
            self.draw(axes)
            out.write_figure(self.name, drawn, self.caption, self.in_report)
