"""Hill-type stability charts: Floquet verdicts over two parameters, in the format of the
stability maps."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from assembly.errors import ConvergenceError, InputError
from modal.datasets import provenance
from modal.floquet import FloquetModes, floquet
from modal.map_store import MapStore
from modal.verdict import Verdict, judge

FULL = 1  # of the map's flag `source`: every point is a Floquet analysis of its own


def hill_chart(
    family: Callable[..., Any],
    period: float | Callable[..., float],
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
    resume: a zarr folder, as for `modal.stability_map`.

    Returns the "map" dataset of DESIGN.md, section 5: growth_rate is the largest real part of the
    exponents, unstable_modes counts multipliers outside the unit circle beyond their error, and the
    verdict is a divergence when the worst multiplier is real and positive (exponent without
    frequency), flutter otherwise; critical_frequency is |Im| of the exponent, up to 1/(2T).
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
        fixed=constants,
        solver="Floquet multipliers at every point",
    ) | {"modes": k, "tolerance": 0.0, "unknowns": 0, "fingerprint": [float(x) for x in breaks]}
    held = MapStore(None if store is None else Path(store), axes, row, attributes)
    if held.exists() and resume:
        held.reopen()
    else:
        held.create(None)
    names = tuple(axes)
    quiet = None if progress is None else not progress
    with tqdm(total=int(np.prod(shape)), initial=held.finished, desc="chart", disable=quiet) as bar:
        for tile in held.tiles():
            verdicts = []
            for index in itertools.product(*(range(s.start, s.stop) for s in tile)):
                point = {n: float(axes[n][i]) for n, i in zip(names, index, strict=True)}
                verdicts.append(_verdict(family, period, point, constants, k, breaks))
                bar.update()
            sizes = tuple(s.stop - s.start for s in tile)
            columns = {
                name: np.array([getattr(v, name) for v in verdicts]).reshape(sizes)
                for name in (
                    "growth_rate", "unstable_modes", "verdict", "critical_frequency", "error_bound",
                )
            }  # fmt: skip
            columns["source"] = np.full(sizes, FULL, dtype=np.int8)
            held.write(tile, columns)
    return held.dataset()


def _verdict(
    family: Callable[..., Any], period: float | Callable[..., float], point: Mapping[str, float],
    constants: Mapping[str, Any], k: int, breaks: Sequence[float],
) -> Verdict:  # fmt: skip
    T = period(**point, **constants) if callable(period) else period
    try:
        found: FloquetModes = floquet(family(**point, **constants), T, k=k, breaks=breaks)
    except ConvergenceError as fault:
        where = ", ".join(f"{name} = {value:.6g}" for name, value in point.items())
        raise ConvergenceError(f"at {where}: {fault}", partial=fault.partial) from fault
    # Where the error is infinite the exponent is an upper bound: below zero it is not critical.
    counted = np.isfinite(found.error) | (found.exponents.real > 0.0)
    return judge(found.exponents[counted], found.error[counted])
