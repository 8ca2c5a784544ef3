"""The page to explore: one HTML file that needs no network, and its section for other pages."""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template

from assembly.errors import InputError
from modal.data.folder import storage_faults
from modal.explorer.packing import packed
from modal.explorer.views import ExplorerView

SCRIPTS = ("tools", "chart", "tracks_chart", "map_chart", "machine", "explorer", "start")


def write_explorer(
    path: str | os.PathLike[str],
    views: ExplorerView | Sequence[ExplorerView],
    title: str = "Modes to explore",
) -> Path:
    """Write a page on which pointing at tracks or maps shows the mode shapes moving in 3-D.

    The page is one file and needs no network. It works with mouse, keyboard and touch, light and
    dark.

    Parameters
    ----------
    path : path
        File to write, ``*.html``.
    views : ExplorerView or sequence of ExplorerView
        Of `explorer_view`.
    title : str
        Heading of the page.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        There is no view, or the file name does not end in .html.
    StorageError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile, numpy as np, assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6,
    ...                       clamped="start")
    >>> tracks = modal.track(blade, omega=np.linspace(0.0, 100.0, 5), axis=(0, 0, 1), k=2)
    >>> view = modal.explorer_view(tracks, blade, axis=(0, 0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     modal.write_explorer(f"{folder}/blade.html", view).name
    'blade.html'
    """
    target = Path(path)
    if target.suffix != ".html":
        raise InputError(f"path: expected a name that ends in .html, got {target.name!r}")
    chosen = [views] if isinstance(views, ExplorerView) else list(views)
    if not chosen:
        raise InputError("views: at least one view of modal.explorer_view")
    text = Template(asset("page.html")).substitute(
        title=html.escape(title), style=style(), section=section(chosen)
    )
    with storage_faults(target):
        target.write_text(text, encoding="utf-8")
    return target


def style() -> str:
    """The style sheet of the section, with the colours of a light and of a dark page."""
    return asset("explorer.css")


def section(views: Sequence[ExplorerView]) -> str:
    """The section of a page: its elements, the libraries, the data and the scripts."""
    libraries = resources.files("modal.explorer").joinpath("assets", "libraries.js.gz")
    encoded = base64.b64encode(libraries.read_bytes()).decode("ascii")
    code = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    return "\n".join(
        [
            asset("section.html"),
            f'<script type="text/plain" id="fm-libraries">{encoded}</script>',
            f'<script type="text/plain" id="fm-views">{packed(views)}</script>',
            f'<script>(() => {{\n"use strict";\n{code}}})();</script>',
        ]
    )


def asset(name: str) -> str:
    """A text file of the page."""
    return resources.files("modal.explorer").joinpath("assets", name).read_text("utf-8")
