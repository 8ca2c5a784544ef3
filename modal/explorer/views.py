"""Views of the page to explore: a track or a map, its values, and the shapes at its points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xarray import Dataset

from assembly.errors import AccuracyError, ConvergenceError, InputError, SingularSystemError
from assembly.system.frozen import FrozenSystem
from modal.eigen.solve import solve
from modal.eigen.tolerances import HALF
from modal.explorer.mode_states import Drawing, State, in_phase, indices, matched
from modal.explorer.placed_bodies import Geometry, Point, placed_bodies
from modal.maps.classes import NOT_COMPUTED, classes
from modal.plot.colours import plain
from modal.reduction.link_space import LinkPoints, linked
from modal.reduction.motion import link_motion
from modal.tracking.tracks import default_guard
from modal.types import Array, Complex

ModesAt = Callable[[Point], tuple[Complex, Complex]]

TRACK_STATES, MAP_STATES = 61, 100
FEWEST, FEWER_FROM = 5, 3000  # points; degrees of freedom from which there are fewer


@dataclass(frozen=True)
class ExplorerView:
    """What one view of the page shows. Made by `explorer_view`.

    Parameters
    ----------
    title : str
        Name of the view.
    dataset : xarray.Dataset
        Tracks or map.
    bodies : tuple
        Name and drawing of every body; none without a model. For the page only.
    states : tuple
        The points that have shapes. For the page only.
    size : float
        Largest extent of the model, m.
    missing : str
        Why there are no shapes; empty where there are.
    """

    title: str
    dataset: Dataset
    bodies: tuple[tuple[str, Any], ...] = ()
    states: tuple[Any, ...] = ()
    size: float = 1.0
    missing: str = ""

    @property
    def is_map(self) -> bool:
        """Whether the dataset is a map."""
        return "verdict" in self.dataset

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the swept parameters."""
        variable = "verdict" if self.is_map else "frequency"
        return tuple(str(d) for d in self.dataset[variable].dims if d != "mode")


def explorer_view(
    dataset: Dataset,
    model: Any = None,
    *,
    title: str = "",
    geometry: Geometry | None = None,
    states: int | None = None,
    modes: int = 6,
    **parameters: Any,
) -> ExplorerView:
    """A view of tracks or of a map, with mode shapes, for `write_explorer`.

    Parameters
    ----------
    dataset : xarray.Dataset
        Of `modal.track`, or of `modal.stability_map` over two parameters.
    model : object with a method ``freeze``, optional
        The model that was tracked or mapped: a body, a moving body, a rotor, a mechanism, or one
        of these in multiblade coordinates. Without it the page has no shapes.
    title : str
        Name of the view; by default what the dataset is.
    geometry : callable ``geometry(point, vectors)``, optional
        For other models: the placed bodies at a point (a mapping of parameter to value), with the
        vectors (n, k) of the frozen system on their degrees of freedom.
    states : int, optional
        Number of points that are solved for shapes. Default 61 of a track, about 100 of a map,
        evenly spread; in proportion fewer from 3000 degrees of freedom on, but at least 5.
    modes : int, default 6
        Modes shown at a point of a map.
    **parameters
        The arguments of `freeze` that were constant.

    Returns
    -------
    ExplorerView

    Raises
    ------
    InputError
        The dataset is neither, or the model has no geometry.

    Examples
    --------
    >>> import numpy as np, assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6,
    ...                       clamped="start")
    >>> tracks = modal.track(blade, omega=np.linspace(0.0, 100.0, 5), axis=(0, 0, 1), k=2)
    >>> view = modal.explorer_view(tracks, blade, axis=(0, 0, 1))
    >>> len(view.states)
    5
    """
    if "verdict" not in dataset and ("frequency" not in dataset or "mode" not in dataset.dims):
        raise InputError("dataset: expected tracks of modal.track or a map of modal.stability_map")
    view = ExplorerView(title or plain(str(dataset.attrs.get("title", "") or "results")), dataset)
    names = view.axes
    if len(names) != (2 if view.is_map else 1):
        raise InputError(f"dataset: the page shows maps over two parameters, got {len(names)}")
    if model is None:
        return replace(view, missing="No mode shapes were stored with this view.")
    if states is not None and states < 2:
        raise InputError(f"states: at least 2, got {states}")

    def freeze(point: Point) -> FrozenSystem:
        if names == ("time",):
            return cast(FrozenSystem, model.freeze(point["time"], **parameters))
        return cast(FrozenSystem, model.freeze(**point, **parameters))

    first = freeze(_point(dataset, (0,) * len(names), names))
    if states is None:
        most = MAP_STATES if view.is_map else TRACK_STATES
        states = max(FEWEST, int(most * min(1.0, FEWER_FROM / first.n)))
    where = geometry or (lambda point, vectors: placed_bodies(model, point, vectors))
    count = modes
    if not view.is_map:
        followed = dataset.sizes["mode"]
        count = followed + default_guard(followed)

    def full(point: Point) -> tuple[Complex, Complex]:
        solved = solve(freeze(point), k=count)
        return solved.eigenvalues, np.asarray(solved.right)

    on_time = names == ("time",)
    reduced = _link_modes(first, dataset["time"].values, count) if on_time else None
    chosen = indices(tuple(dataset.sizes[name] for name in names), states)
    drawing, found = _states(view, reduced or full, where, chosen)
    if drawing is None:
        return replace(
            view, missing="The mode shapes could not be computed at any point of this view."
        )
    bodies = tuple(zip(drawing.names, drawing.skins, strict=True))
    return ExplorerView(view.title, dataset, bodies, tuple(found), drawing.size)


def _link_modes(first: FrozenSystem, times: Array, count: int) -> ModesAt | None:
    """The `count` lowest modes at any of some times, s, from the reduced bases of large links; None
    without links whose bases hold them. first: the frozen system at one of the times.
    """
    machine = linked(first)
    if machine is None:
        return None
    span = float(times.min()), float(times.max())
    motion = link_motion(machine, span, count, HALF)
    if motion is None:
        return None

    def at(point: Point) -> tuple[Complex, Complex]:
        points = LinkPoints.of(machine.mechanism, np.array([point["time"]]))
        modes = motion.space.solve(points).modes
        there = np.isfinite(modes.eigenvalues[0])
        vectors = np.asarray(motion.lift(modes.right[0][:, there]), dtype=complex)
        return modes.eigenvalues[0, there], vectors

    return at


def _point(dataset: Dataset, index: tuple[int, ...], names: tuple[str, ...]) -> dict[str, float]:
    return {name: float(dataset[name][i]) for name, i in zip(names, index, strict=True)}


def _states(
    view: ExplorerView, modes: ModesAt, geometry: Geometry, chosen: list[tuple[int, ...]]
) -> tuple[Drawing | None, list[State]]:
    """At the chosen points: the modes that were followed, or the lowest ones at a point of a map,
    where those of each class that grow most are added. Points whose modes cannot be computed are
    left out; the drawing is that of the first other one."""
    names, dataset = view.axes, view.dataset
    if view.is_map:
        code = classes(dataset).transpose(*names).values
        growth = dataset["growth_rate"].transpose(*names).fillna(-np.inf).values
        seen = {int(code[index]) for index in chosen}
        for missing in set(np.unique(code).tolist()) - seen - {NOT_COMPUTED}:
            place = int(np.where(code == missing, growth, -np.inf).argmax())
            chosen = [*chosen, tuple(map(int, np.unravel_index(place, code.shape)))]
    else:
        followed = dataset["eigenvalue"].transpose(*names, "mode").values
    out: list[State] = []
    drawing: Drawing | None = None
    for index in chosen:
        point = _point(dataset, index, names)
        try:
            eigenvalues, vectors = modes(point)
            bodies = geometry(point, vectors)
        except (AccuracyError, ConvergenceError, SingularSystemError):
            continue
        drawing = drawing or Drawing.of(bodies)
        state = drawing.state(index, eigenvalues, bodies)
        if view.is_map:
            fields = [in_phase(shape, None, drawing.reach) for shape in state.fields]
            state = replace(state, fields=np.array(fields, dtype=complex))
        else:
            last = out[-1] if out else None
            state = matched(state, followed[index], last, drawing.reach)
        out.append(state)
    return drawing, out
