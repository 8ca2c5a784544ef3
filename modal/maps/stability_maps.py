"""Stability maps over two or more parameters.

Every body shares its operators over the whole map, and mechanisms share their large links, so one
certified reduced space (modal/reduction/space.py) serves all points. Where its certificate does not
reach the tolerance, the points of that tile get a few further vectors. A tile's result depends only
on the stored space, so an interrupted map that is resumed equals an uninterrupted one bit by bit.
For the same reason a tile may be computed by any rank of a run under mpiexec. Small models that
assemble new matrices at each instant get a basis for every tile; others are solved point by point.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import check_between
from assembly.errors import InputError
from assembly.magnitudes import check_count
from modal.data.datasets import constants_text, made_from, provenance
from modal.maps.grid import Grid, Model, split
from modal.maps.methods import Method, method_of
from modal.maps.store import MapStore
from modal.maps.tiles import computed

TILE_POINTS = 100


def stability_map(
    model: Model,
    *,
    over: Mapping[str, ArrayLike] | None = None,
    k: int = 6,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    tolerance: float = 1e-6,
    checks: int = 1,
    fixed: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    comm: Any = None,
    **parameters: Any,
) -> xr.Dataset:
    """Stability verdict at every point of a grid of two or more parameters.

    Parameters
    ----------
    model : object with a method ``freeze(**parameters)``
        A body, a mechanism or an object of your own.
    over : mapping of names to array_like, shape (N_i,), optional
        Names and values of the swept parameters, each value once. All other parameters are then
        constants. Without it, every keyword that is a one-dimensional array of numbers is swept.
    k : int, default 6
        Least number of elastic modes, the lowest, that are examined.
    store : path, optional
        Zarr folder that receives the map tile by tile.
    resume : bool, default False
        Continue the map in `store`. Damaged tiles are computed again.
    tolerance : float, default 1e-6
        Relative error of the eigenvalues, between 0 and 1.
    checks : int, default 1
        Number of points, drawn with a fixed seed, where the reduced basis is compared with a
        full-order solution.
    fixed : mapping, optional
        Constant parameters of `freeze`, arrays too.
    threads : int, optional
        Threads of the small eigenproblems. Default: all processors; 1 with several ranks.
    progress : bool, optional
        Progress bar on stderr. Default: only in a terminal.
    comm : mpi4py communicator, optional
        Ranks that compute tiles, each with its own `model`. All of them call this function, with
        the same arguments, and all get the map, which equals that of one process bit by bit. The
        first rank makes the basis and shows the progress. An exception on any rank is raised on
        all of them.
    **parameters
        Arguments of `freeze`, in its units. `axis` is a constant vector.

    Returns
    -------
    xarray.Dataset
        Dimensions: the swept parameters. growth_rate and error_bound (1/s), unstable_modes,
        verdict (−1 undecided, 0 stable, 1 divergence, 2 flutter), proof (0 none, 1 energy, 2 count,
        3 Lyapunov, 4 unstable mode), critical_frequency (Hz), source, done.

    Raises
    ------
    InputError
        An argument cannot be used.
    AccuracyError
        A full-order solution differs from the reduced basis.
    ConvergenceError, SingularSystemError
        A point that is solved separately could not be solved. The message names the point.
    StorageError
        The store holds another map, is damaged beyond its tiles, or cannot be written. Finished
        tiles remain in the store.

    Notes
    -----
    A point is unstable where a growth rate exceeds its error bound. The verdict "stable" is a
    statement on all elastic modes, and `proof` says what it rests on: docs/theory.md, "A verdict on
    all modes". What the lowest modes leave open is decided by LAPACK on all modes up to 300 degrees
    of freedom, and above where all points together take less than a minute; the rest is undecided.

    Examples
    --------
    >>> import assembly, modal
    >>> blade = assembly.beam(length=1.0, section=assembly.rectangle(0.05, 0.02),
    ...                       material=assembly.steel, elements=4, clamped="start")
    >>> grid = modal.stability_map(
    ...     blade.with_damping(a=2.0, b=1e-6), axis=(0, 0, 1), k=2,
    ...     over={"omega": [0.0, 50.0, 100.0], "epsilon": [0.0, 10.0]})
    >>> grid.verdict.values.tolist()
    [[0, 0], [0, 0], [0, 0]]
    """

    def make(several: Any | None) -> tuple[MapStore, Method]:
        axes, constants = split(parameters, fixed or {}, over)
        if not callable(getattr(model, "freeze", None)):
            raise InputError(
                f"model: expected an object with a method freeze, got {type(model).__name__}"
            )
        check_count(k, "k")
        check_count(checks, "checks", 0)
        if threads is not None:
            check_count(threads, "threads")
        check_between(tolerance, "tolerance", 0.0, 1.0)
        grid = Grid(model, axes, constants)
        most = threads or (os.cpu_count() if several is None else 1) or 1
        method = method_of(grid, int(k), tolerance, checks, most)
        path = None if store is None else Path(store)
        prints = None if path is None else method.prints()
        about = attributes(grid, method, int(k), tolerance)
        return MapStore(path, axes, tile_shape(grid.shape), about, prints), method

    return computed(comm, make, resume, progress)


def tile_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    side = max(1, round(TILE_POINTS ** (1.0 / len(shape))))
    return tuple(min(side, size) for size in shape)


def attributes(grid: Grid, method: Method, k: int, tolerance: float) -> dict[str, Any]:
    """Provenance, and the attributes that identify a study."""
    return provenance() | {
        "title": "stability map",
        "model": type(grid.model).__name__,
        "made_from": made_from(grid.model),
        "fixed": constants_text(grid.constants),
        "modes": k,
        "tolerance": tolerance,
        "unknowns": grid.first.n,
        "solver": method.solver,
    }
