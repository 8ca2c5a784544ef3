"""Hill charts: Floquet verdicts over two or more parameters, in the format of stability maps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import axis_values
from assembly.errors import InputError
from assembly.magnitudes import check_count
from modal.data.datasets import constants_text, provenance
from modal.maps.grid import Grid
from modal.maps.store import MapStore
from modal.maps.tiles import computed
from modal.periodic.chart_method import ChartMethod, Period


def hill_chart(
    family: Callable[..., Any],
    period: Period,
    *,
    k: int = 6,
    breaks: Sequence[float] = (),
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    fixed: Mapping[str, Any] | None = None,
    checks: int = 1,
    progress: bool | None = None,
    comm: Any = None,
    **parameters: ArrayLike,
) -> xr.Dataset:
    """Floquet stability verdict at every point of a grid of two or more parameters (Hill chart).

    Parameters
    ----------
    family : callable ``family(**point)``
        Returns the model of a point: a callable A(t) of x' = A(t) x, a mechanism, or an object
        with ``freeze(t)``.
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
    checks : int, default 1
        Number of points of each panel of the chart, drawn with a fixed seed, at which the errors
        of shared shapes are measured.
    progress : bool, optional
        Progress bar on stderr. Default: only in a terminal.
    comm : mpi4py communicator, optional
        Ranks that compute tiles, as in `modal.stability_map`.
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
        where all multipliers were computed, or the others are proved to decay.

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
    Motions of models with ``freeze`` that depend smoothly on the parameters share one space of
    shapes; mechanisms share the reduced bases of their large links. `source` is then "reduced" and
    `error_bound` includes the errors measured at `checks` points of every panel. Other charts have
    a Floquet analysis at every point. See docs/numerics.md, "Hill charts".

    Examples
    --------
    >>> import numpy as np, modal
    >>> def mathieu(stiffness, drive):
    ...     return lambda t: np.array([[0.0, 1.0], [-stiffness - drive * np.cos(2.0 * t), -0.1]])
    >>> chart = modal.hill_chart(mathieu, np.pi, stiffness=[0.5, 1.0], drive=[0.0, 0.5])
    >>> chart.unstable_modes.values.tolist()
    [[0, 0], [0, 1]]
    """

    def make(_: Any | None) -> tuple[MapStore, ChartMethod]:
        axes = {name: axis_values(name, values) for name, values in parameters.items()}
        if len(axes) < 2:
            raise InputError("hill_chart: needs arrays of two or more parameters")
        check_count(k, "k")
        constants = dict(fixed or {})
        shape = tuple(len(values) for values in axes.values())
        row = (1, *shape[1:])  # a tile is one value of the first parameter
        attributes = provenance(
            title="Hill chart: Floquet stability",
            model=getattr(family, "__name__", type(family).__name__),
            fixed=constants_text(constants),
            solver="Floquet multipliers",
            breaks=[float(x) for x in breaks],
        ) | {"modes": k, "tolerance": 0.0, "unknowns": 0}
        path = None if store is None else Path(store)
        method = ChartMethod(Grid(family, axes, constants), period, k, breaks, checks)
        prints = None if path is None else method.prints()
        return MapStore(path, axes, row, attributes, prints), method

    return computed(comm, make, resume, progress)
