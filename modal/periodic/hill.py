"""Hill-type stability charts: Floquet verdicts over two parameters, in the format of the
stability maps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.errors import ConvergenceError, InputError
from modal.data.datasets import constants_text, provenance
from modal.maps.grid import Grid, named
from modal.maps.store import MapStore
from modal.periodic.floquet import FloquetModes, floquet
from modal.proofs.codes import COUNT, MODES
from modal.proofs.judge import Verdict, judge
from modal.provenance.fingerprint import Periodic, PointPrints

Period = float | Callable[..., float]

FULL = 1  # of the map's flag `source`: every point is a Floquet analysis of its own


def hill_chart(
    family: Callable[..., Any],
    period: Period,
    *,
    k: int = 6,
    breaks: Sequence[float] = (),
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    fixed: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    **parameters: Sequence[float],
) -> xr.Dataset:
    """The Floquet verdict of family(**point) at every point of a grid.

    family: parameters → a callable A(t) or a model with freeze(t). period: s, a number or a
    function of the same parameters. parameters: one-dimensional arrays, two or more; `fixed` are
    passed on as they are. breaks: jumps of A within the period. k: modes of large models. store,
    resume: a zarr folder, as for `modal.stability_map`; the family is recognised by its period and
    its matrices at eight instants of every point.

    Returns the "map" dataset of DESIGN.md, section 5: growth_rate is the largest real part of the
    exponents, unstable_modes counts multipliers outside the unit circle beyond their error, and the
    verdict is a divergence when the worst multiplier is real and positive (exponent without
    frequency), flutter otherwise; critical_frequency is |Im| of the exponent, up to 1/(2T); proof
    is a count where all multipliers were found.
    Raises InputError; ConvergenceError names the point.
    """
    axes = {}
    for name, values in parameters.items():
        array = np.asarray(values, dtype=float)
        if array.ndim != 1 or not array.size or not np.all(np.isfinite(array)):
            raise InputError(f"{name}: expected a list of finite numbers, got {values!r}")
        axes[name] = array
    if len(axes) < 2:
        raise InputError("hill_chart: needs arrays of two or more parameters")
    constants = dict(fixed or {})
    shape = tuple(len(values) for values in axes.values())
    row = (1, *shape[1:])  # a tile is one value of the first parameter
    attributes = provenance(
        title="Hill chart: Floquet stability",
        model=getattr(family, "__name__", type(family).__name__),
        fixed=constants_text(constants),
        solver="Floquet multipliers at every point",
        breaks=[float(x) for x in breaks],
    ) | {"modes": k, "tolerance": 0.0, "unknowns": 0}
    grid = Grid(family, axes, constants)
    path = None if store is None else Path(store)
    prints = None if path is None else _prints(grid, period)
    held = MapStore(path, axes, row, attributes, prints)
    quiet = None if progress is None else not progress
    try:
        if held.exists() and resume:
            held.reopen()
            held.compare(quiet)
        else:
            held.create(None)
        _fill(held, grid, period, k, breaks, quiet)
        return held.dataset()
    finally:
        held.close()


def _fill(
    held: MapStore, grid: Grid, period: Period, k: int, breaks: Sequence[float], quiet: bool | None
) -> None:
    """Compute the tiles that are not done."""
    total = int(np.prod(grid.shape))
    with tqdm(total=total, initial=held.finished, desc="chart", disable=quiet) as bar:
        for tile in held.tiles():
            verdicts = []
            for point in grid.points(tile):
                verdicts.append(_verdict(grid, period, point, k, breaks))
                bar.update()
            sizes = tuple(s.stop - s.start for s in tile)
            columns = {
                name: np.array([getattr(v, name) for v in verdicts]).reshape(sizes)
                for name in (
                    "growth_rate", "unstable_modes", "verdict", "proof", "critical_frequency",
                    "error_bound",
                )
            }  # fmt: skip
            columns["source"] = np.full(sizes, FULL, dtype=np.int8)
            held.write(tile, columns)


def _prints(grid: Grid, period: Period) -> PointPrints:
    """The fingerprints of the family: its period and its matrices at a few instants of it."""
    periodic = Periodic()

    def of(point: Mapping[str, float]) -> NDArray[np.float64]:
        place = [int(np.argmax(grid.axes[name] == value)) for name, value in point.items()]
        return periodic.of(*_at(grid, period, point), place)

    return PointPrints(grid.points, grid.sampled(), of, Periodic.rows)


def _at(grid: Grid, period: Period, point: Mapping[str, float]) -> tuple[Any, float]:
    """The model of a point and its period, s."""
    T = period(**point, **grid.constants) if callable(period) else period
    return grid.model(**point, **grid.constants), T


def _verdict(
    grid: Grid, period: Period, point: Mapping[str, float], k: int, breaks: Sequence[float]
) -> Verdict:
    model, T = _at(grid, period, point)
    try:
        found: FloquetModes = floquet(model, T, k=k, breaks=breaks)
    except ConvergenceError as fault:
        raise ConvergenceError(f"at {named(point)}: {fault}", partial=fault.partial) from fault
    # Where the error is infinite the exponent is an upper bound: below zero it is not critical.
    counted = np.isfinite(found.error) | (found.exponents.real > 0.0)
    proof = COUNT if found.is_complete else MODES
    return judge(found.exponents[counted], found.error[counted], proof)
