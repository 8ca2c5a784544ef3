"""The page to explore: one HTML file that needs no network, and its section for other pages.

The page reads its views from JSON, with shapes as 16-bit numbers, all compressed.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from numpy.typing import NDArray
from xarray import DataArray, Dataset

from assembly.errors import InputError
from assembly.magnitudes import ALIKE
from modal.data.folder import storage_faults
from modal.data.growth import growing
from modal.data.units import units_of
from modal.explorer.mode_states import State, evenly
from modal.explorer.skins import Skin
from modal.explorer.views import ExplorerView
from modal.maps.classes import NAMES, NOT_COMPUTED, classes
from modal.plot.axes import styles, words_of
from modal.plot.colours import DASHES, DIVERGENCE, FLUTTER, STABLE, plain
from modal.plot.track_curves import label_of, rigid_modes
from modal.proofs.judge import PROOFS

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


STEPS = int(np.iinfo(np.int16).max)  # the largest component of a shape
QUANTITIES = {  # of tracks: symlog where damping of high modes is orders above the rest
    "frequency": ("frequency", "linear"),
    "growth_rate": ("growth rate Re λ", "symlog"),
    "growth_rate_corrected": ("growth rate σ", "symlog"),
    "damping_ratio": ("damping ratio", "linear"),
    "frozen_interval": ("frozen interval", "linear"),
    "mac": ("MAC", "linear"),
}
CLASS_COLOURS = {-1: STABLE, 0: STABLE, 1: DIVERGENCE, 2: FLUTTER}  # of the verdicts


def packed(views: Sequence[ExplorerView], limit: int = 4_500_000) -> str:
    """The views as gzip of JSON in base64; shapes of fewer points where they are too large.

    limit: bytes of the shapes of all views of a page, before compression.
    """
    total = sum(_bytes(state) for view in views for state in view.states)
    thinned = [_thinned(view, min(1.0, limit / max(total, 1))) for view in views]
    text = json.dumps([_view(view) for view in thinned], separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def _thinned(view: ExplorerView, share: float) -> ExplorerView:
    """The view with this share of its states, evenly spread."""
    chosen = evenly(len(view.states), max(1, int(len(view.states) * share)))
    return replace(view, states=tuple(view.states[i] for i in chosen))


def _bytes(state: State) -> int:
    used = 6 if np.any(state.fields[:, :, 3:]) else 3
    kinds = 2 if np.abs(state.fields.imag).max(initial=0.0) > ALIKE else 1
    return 2 * used * kinds * int(np.prod(state.fields.shape[:2]))


def _view(view: ExplorerView) -> dict[str, Any]:
    dataset = view.dataset
    axes = [_quantity(dataset, name, (name,), words_of(dataset[name])) for name in view.axes]
    content = _map(view) if view.is_map else _tracks(view)
    rotates = any(np.any(state.fields[:, :, 3:]) for state in view.states)
    return content | dict(
        title=plain(view.title),
        kind="map" if view.is_map else "tracks",
        axes=axes,
        size=view.size,
        missing=view.missing,
        rotates=rotates,
        flat=not any(np.any(state.fields[:, :, 2]) for state in view.states),
        bodies=[_body(name, skin) for name, skin in view.bodies],
        states=[_state(state, rotates) for state in view.states],
    )


def _tracks(view: ExplorerView) -> dict[str, Any]:
    dataset, (name,) = view.dataset, view.axes
    words = [key for key in ("kind", "event", "whirl", "name") if key in dataset]
    return dict(
        grows=growing(dataset).transpose(name, "mode").values.ravel().tolist(),
        quantities=[
            _quantity(dataset, key, (name, "mode"), label) | {"scale": scale}
            for key, (label, scale) in QUANTITIES.items()
            if key in dataset and np.isfinite(dataset[key].values.astype(float)).any()
        ],
        modes=[
            dict(label=label_of(dataset, j), colour=to_hex(style["color"]),
                 dash=DASHES.index(style["ls"]))
            for j, style in enumerate(styles(dataset.sizes["mode"], rigid_modes(dataset)))
        ],
        words={key: _codes(dataset[key].transpose(name, "mode")) for key in words},
    )  # fmt: skip


def _quantity(dataset: Dataset, key: str, dims: Sequence[str], label: str) -> dict[str, Any]:
    values = _numbers(dataset[key].transpose(*dims).values)
    return dict(name=key, label=label, units=units_of(dataset[key]), values=values)


def _map(view: ExplorerView) -> dict[str, Any]:
    dataset, names = view.dataset, view.axes
    code = classes(dataset).transpose(*names).values
    whose = "motion" if "Floquet" in str(dataset.attrs.get("title", "")) else "instant"
    labels = {"growth_rate": f"growth rate of the {whose}"}
    numbers = ("growth_rate", "critical_frequency", "unstable_modes", "error_bound")
    out: dict[str, Any] = dict(
        classes=code.ravel().tolist(),
        names={str(key): text for key, text in NAMES.items()} | {str(NOT_COMPUTED): "not computed"},
        colours={str(key): colour for key, colour in CLASS_COLOURS.items()},
        quantities=[
            _quantity(dataset, key, names, labels.get(key, key.replace("_", " ")))
            for key in numbers
            if key in dataset
        ],
    )  # fmt: skip
    if "proof" in dataset:
        codes = dataset["proof"].transpose(*names).values.ravel().tolist()
        out["proof"] = dict(codes=codes, words=list(PROOFS))
    return out


def _codes(words: DataArray) -> dict[str, Any]:
    """Words as numbers into a list of them."""
    values = words.values.astype(str)
    known, codes = np.unique(values, return_inverse=True)
    return dict(words=known.tolist(), codes=np.ravel(codes).tolist())


def _body(name: str, skin: Skin) -> dict[str, Any]:
    parts = {field.name: getattr(skin, field.name) for field in fields(skin)}
    return {"name": plain(name)} | {
        key: _array(part, np.uint32 if part.dtype.kind == "i" else np.float32)
        for key, part in parts.items()
    }


def _state(state: State, rotates: bool) -> dict[str, Any]:
    return dict(
        index=list(state.index),
        poses=_array(state.poses, np.float32),
        modes=[
            None if np.isnan(value) else _shape(value, field, rotates)
            for value, field in zip(state.eigenvalues, state.fields, strict=True)
        ],
    )


def _shape(eigenvalue: complex, field: NDArray[np.complex128], rotates: bool) -> dict[str, Any]:
    """Displacements, then rotations: node by node, x, y, z; real parts and imaginary parts."""
    used = [field[:, :3], field[:, 3:]] if rotates else [field[:, :3]]
    scale = [float(max(np.abs(p.real).max(), np.abs(p.imag).max())) or 1.0 for p in used]
    is_real = all(np.abs(p.imag).max() <= ALIKE * np.abs(p).max() for p in used)
    parts = [
        np.round(STEPS * part / s)
        for p, s in zip(used, scale, strict=True)
        for part in ([p.real] if is_real else [p.real, p.imag])
    ]
    return dict(
        growth=_short(eigenvalue.real),
        frequency=_short(abs(eigenvalue.imag) / (2.0 * np.pi)),
        real=is_real,
        scale=[_short(s / STEPS) for s in scale],
        values=_array(np.concatenate([p.ravel() for p in parts]), np.int16),
    )


def _array(values: Any, kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _numbers(values: Any) -> list[float | None]:
    return [_short(v) for v in np.ravel(np.asarray(values, dtype=float)).tolist()]


def _short(value: float) -> float | None:
    """Seven digits; None for what JSON has no number for."""
    return float(f"{value:.7g}") if np.isfinite(value) else None
