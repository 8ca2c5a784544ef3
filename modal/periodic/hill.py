"""Hill charts: Floquet verdicts over two or more parameters, in the format of stability maps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.arguments import real_array, shown
from assembly.errors import ConvergenceError, InputError
from modal.data.datasets import constants_text, provenance
from modal.maps.grid import Grid, named
from modal.maps.store import MapStore
from modal.periodic.floquet import floquet
from modal.periodic.floquet_modes import FloquetModes
from modal.proofs.codes import COUNT, MODES
from modal.proofs.judge import Verdict, judge
from modal.provenance.fingerprint import Periodic, PointPrints

Period = float | Callable[..., float]

FULL = 1  # value of the map's flag `source`: every point has its own Floquet analysis


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
    """Floquet stability verdict at every point of a grid of two or more parameters (Hill chart).

    Parameters
    ----------
    family : callable ``family(**point)``
        Returns the model of a point: a callable A(t) of x' = A(t) x, or an object with
        ``freeze(t)``.
    period : float or callable ``period(**point)``
        Period of the motion, s.
    k : int, default 6
        Number of modes of large models, as in `modal.floquet`.
    breaks : sequence of float, optional
        Instants within the period where the matrices jump, s.
    store : path, optional
        Zarr folder that receives the map tile by tile. The family is recognised by its period and
        its matrices at eight instants of every point.
    resume : bool, default False
        Continue the map in `store`.
    fixed : mapping, optional
        Constant arguments of `family` and of a callable `period`.
    progress : bool, optional
        Progress bar on stderr. Default: only in a terminal.
    **parameters : array_like, shape (N_i,)
        Values of the swept parameters, two or more.

    Returns
    -------
    xarray.Dataset
        Dimensions: the swept parameters; variables as in `modal.stability_map`. growth_rate is
        the largest real part of the exponents (1/s). unstable_modes counts the exponents whose
        real part exceeds its error. The verdict is divergence where the exponent of largest real
        part has no imaginary part (multiplier real and positive), else flutter.
        critical_frequency (Hz) is |Im| / 2π of that exponent, at most 1 / (2 T). proof is "count"
        where all multipliers were computed.

    Raises
    ------
    InputError
        An argument cannot be used, or a model does not repeat itself after its period.
    ConvergenceError
        A point could not be computed. The message names the point.
    StorageError
        The store holds another map, is damaged beyond its tiles, or cannot be written.

    Notes
    -----
    x(t + T) = P x(t); the exponents are log(μ) / T of the eigenvalues μ of P. See `modal.floquet`.

    Examples
    --------
    >>> import numpy as np, modal
    >>> def mathieu(stiffness, drive):
    ...     return lambda t: np.array([[0.0, 1.0], [-stiffness - drive * np.cos(2.0 * t), -0.1]])
    >>> chart = modal.hill_chart(mathieu, np.pi, stiffness=[0.5, 1.0], drive=[0.0, 0.5])
    >>> chart.unstable_modes.values.tolist()
    [[0, 0], [0, 1]]
    """
    axes = {}
    for name, values in parameters.items():
        array = real_array(values)
        if array is None or array.ndim != 1 or not array.size or not np.all(np.isfinite(array)):
            raise InputError(f"{name}: expected a list of finite numbers, got {shown(values)}")
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
