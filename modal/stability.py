"""Stability maps over two or more parameters (DESIGN.md, sections 3 and 5).

Every body shares its operators over the whole map, so one certified reduced basis
(modal/reduction.py) serves all points; where its certificate does not reach the tolerance, the
points of that tile get a few vectors of their own. A tile's result depends on nothing but the
stored basis, so a map that was interrupted and gone on with equals an unbroken one bit by bit.
Models that make new matrices at each instant (mechanisms) are solved point by point.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.errors import (
    AccuracyError,
    ConvergenceError,
    InputError,
    SingularSystemError,
)
from assembly.frozen import FrozenSystem
from modal.affine import AffineFamily, Coefficients, shares_operators
from modal.datasets import provenance
from modal.map_store import VARIABLES, MapStore, Slices
from modal.reducer import Reducer, spread
from modal.spot_check import full_modes, spot_check
from modal.verdict import Verdict, judge

Array = NDArray[np.float64]
Judged = tuple[Sequence[Verdict | None], NDArray[np.bool_]]

TILE_POINTS = 100
TRAINING_SIDE = {2: 5, 3: 4}  # points a side of the first training grid, by number of parameters
VALIDATION = 60  # seeded random points that complete the training
NOT_SWEPT = ("axis",)  # vectors that are one value


class Model(Protocol):
    """Anything that freezes: a body, a mechanism, or an object of your own."""

    def freeze(self, *args: Any, **kwargs: Any) -> FrozenSystem: ...


def stability_map(
    model: Model,
    *,
    k: int = 6,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    tolerance: float = 1e-6,
    checks: int = 2,
    fixed: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """The verdict on the k lowest elastic modes at every point of a grid of parameters.

    model: has `freeze(**parameters)`. parameters: arguments of `freeze`; one-dimensional arrays of
    numbers span the grid (two or more of them), everything else, `axis` and what is in `fixed` is
    passed on as it is. store: a zarr folder that receives the map tile by tile; resume=True goes on
    with one that was interrupted. tolerance: of the eigenvalues, relative. checks: points, chosen
    by a seeded draw, at which the reduced eigenvalues are compared with a full solve. threads: of
    the small eigenproblems (default: all processors). progress: a bar on stderr (default: when it
    is a terminal). Returns the "map" dataset of DESIGN.md, section 5. Raises InputError for bad
    arguments, StorageError when the store holds something else or cannot be written, AccuracyError
    when a check fails; what was finished stays in the store.
    """
    axes, constants = split(parameters, dict(fixed or {}))
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k: expected a whole number of modes, 1 or more, got {k!r}")
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"tolerance: expected a number between 0 and 1, got {tolerance!r}")
    grid = Grid(model, axes, constants)
    method = method_of(grid, int(k), tolerance, checks, threads or os.cpu_count() or 1)
    path = None if store is None else Path(store)
    held = MapStore(path, axes, tile_shape(grid.shape), attributes(grid, method, int(k), tolerance))
    try:
        if held.exists() and resume:
            method.restore(held.reopen())
        else:
            held.create(method.prepare())
        tiles = held.tiles()
        total = int(np.prod(grid.shape))
        quiet = None if progress is None else not progress
        with tqdm(
            total=total, initial=held.finished, desc="map", unit="point", disable=quiet
        ) as bar:
            for tile in tiles:
                values = method.tile(tile)
                shape = tuple(s.stop - s.start for s in tile)
                held.write(tile, {name: column.reshape(shape) for name, column in values.items()})
                bar.update(int(np.prod(shape)))
        return held.dataset()
    finally:
        method.destroy()


def split(
    parameters: Mapping[str, Any], fixed: dict[str, Any]
) -> tuple[dict[str, Array], dict[str, Any]]:
    """The swept axes and the constants. Raises InputError."""
    axes: dict[str, Array] = {}
    constants = dict(fixed)
    for name, value in parameters.items():
        array = np.asarray(value) if not isinstance(value, str) else None
        if name in NOT_SWEPT or array is None or array.ndim != 1 or array.dtype.kind not in "fiu":
            constants[name] = value
            continue
        values = array.astype(float)
        if not (
            values.size and np.all(np.isfinite(values)) and len(np.unique(values)) == len(values)
        ):
            raise InputError(f"{name}: expected finite numbers, each once, got {value!r}")
        axes[name] = values
    if len(axes) < 2:
        raise InputError(
            "stability_map: needs arrays of two or more parameters of freeze, got "
            + (", ".join(axes) or "none")
        )
    return axes, constants


class Grid:
    """The points of a map: the product of the axes, with the constants."""

    def __init__(
        self, model: Model, axes: Mapping[str, Array], constants: Mapping[str, Any]
    ) -> None:
        self.model, self.axes, self.constants = model, dict(axes), dict(constants)
        self.names = tuple(axes)
        self.shape = tuple(len(values) for values in axes.values())

    def freeze(self, point: Mapping[str, Any]) -> FrozenSystem:
        """The frozen system of a point; InputError when the model knows no such parameter."""
        try:
            return self.model.freeze(**self.constants, **point)
        except TypeError as fault:
            if "argument" in str(fault):
                raise InputError(f"model.freeze: {fault}") from None
            raise

    def point(self, index: Sequence[int]) -> dict[str, float]:
        return {
            name: float(values[i])
            for (name, values), i in zip(self.axes.items(), index, strict=True)
        }

    def points(self, tile: Slices) -> list[dict[str, float]]:
        ranges = [range(s.start, s.stop) for s in tile]
        return [self.point(index) for index in itertools.product(*ranges)]

    def training(self) -> list[dict[str, float]]:
        """Chebyshev-like points on every axis, both ends included."""
        side = TRAINING_SIDE.get(len(self.shape), 3)
        return [
            self.point(i) for i in itertools.product(*(spread(size, side) for size in self.shape))
        ]

    def drawn(self, count: int, seed: int) -> list[dict[str, float]]:
        """Seeded random points of the grid."""
        rng = np.random.default_rng(seed)
        total = int(np.prod(self.shape))
        chosen = np.sort(rng.choice(total, size=min(count, total), replace=False))
        return [
            self.point(index) for index in zip(*np.unravel_index(chosen, self.shape), strict=True)
        ]


def tile_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    side = max(1, round(TILE_POINTS ** (1.0 / len(shape))))
    return tuple(min(side, size) for size in shape)


def attributes(
    grid: Grid, method: FullMethod | ReducedMethod, k: int, tolerance: float
) -> dict[str, Any]:
    """Provenance, and what tells one study from another."""
    system = grid.freeze(grid.point([0] * len(grid.shape)))
    constants = {
        name: np.asarray(v).tolist() if not isinstance(v, str) else v
        for name, v in grid.constants.items()
    }
    return provenance() | {
        "title": "stability map",
        "model": type(grid.model).__name__,
        "fixed": json.dumps(constants, sort_keys=True, default=str),
        "modes": k,
        "tolerance": tolerance,
        "unknowns": system.n,
        "fingerprint": fingerprint(grid),
        "solver": method.solver,
    }


def fingerprint(grid: Grid) -> list[float]:
    """Norms of M x, (C + D) x, K x at the last point for one fixed x: models differ in them."""
    system = grid.freeze(grid.point([size - 1 for size in grid.shape]))
    x = np.sin(1.0 + np.arange(system.n, dtype=float))
    groups = (("M",), ("C", "D"), ("K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport"))
    return [float(np.linalg.norm(system.combined(names) @ x)) for names in groups]


def method_of(
    grid: Grid, k: int, tolerance: float, checks: int, threads: int
) -> FullMethod | ReducedMethod:
    first, last = (
        [pick(size) for size in grid.shape] for pick in (lambda size: 0, lambda size: size - 1)
    )
    if shares_operators(grid.freeze, [grid.point(first), grid.point(last)]):
        return ReducedMethod(grid, k, tolerance, checks, threads)
    return FullMethod(grid, k)


class FullMethod:
    """Every point by itself, through modal.solve."""

    solver = "full solve at every point"

    def __init__(self, grid: Grid, k: int) -> None:
        self.grid, self.k = grid, k

    def prepare(self) -> dict[str, Array] | None:
        return None

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        pass

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        points = self.grid.points(tile)
        return columns(
            [self.verdict(point) for point in points], np.ones(len(points), dtype=np.int8)
        )

    def verdict(self, point: Mapping[str, float]) -> Verdict:
        """Raises the solver's error with the point's name in front."""
        try:
            eigenvalues, bound = full_modes(self.grid.freeze(point), self.k)
        except (ConvergenceError, SingularSystemError, AccuracyError) as fault:
            raise type(fault)(f"at {named(point)}: {fault}") from fault
        return judge(eigenvalues, bound)

    def destroy(self) -> None:
        pass


class ReducedMethod:
    """All points from one certified basis."""

    solver = "certified reduced basis"

    def __init__(self, grid: Grid, k: int, tolerance: float, checks: int, threads: int) -> None:
        self.grid, self.k, self.tolerance, self.checks, self.threads = (
            grid,
            k,
            tolerance,
            checks,
            threads,
        )
        training = grid.training()
        self.family = AffineFamily(grid.freeze, training[0])
        both = self.family.coefficients(training + grid.drawn(VALIDATION, seed=3))
        self.training, self.validation = (
            both.take(slice(len(training))),
            both.take(slice(len(training), None)),
        )
        self.span = both
        self.reducer: Reducer | None = None

    def prepare(self) -> dict[str, NDArray[Any]]:
        """Grow the basis on the training points, complete it on random ones, check it."""
        self.reducer = Reducer(self.family, self.span, self.k, self.tolerance, self.threads)
        self.reducer.train(self.training)
        self.reducer.train(self.validation)
        drawn = self.grid.drawn(4 * self.checks, seed=9)
        self.compared = spot_check(self.reducer, drawn, self.checks)
        return self.reducer.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.reducer = Reducer.restored(
            self.family, self.span, self.k, arrays, self.tolerance, self.threads
        )

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The points of a tile: in a local basis, those it does not settle in the shared one,
        those that fails in a private extension, those of operators never seen before in full.
        """
        assert self.reducer is not None
        points = self.grid.points(tile)
        at = self.family.coefficients(points)
        known = self.reducer.projected.matrices.shape[0]
        tables = (at.mass, at.damping, at.stiffness)
        seen = ~np.any([table[:, known:].any(axis=1) for table in tables], axis=0)
        at = Coefficients(*(table[:, :known] for table in tables))
        verdicts: list[Verdict | None] = [None] * len(points)
        left = np.flatnonzero(seen)
        for stage in (self._local, self._shared, self._private):
            if left.size:
                judged, settled = stage(at, left, tile)
                for p, verdict in zip(left, judged, strict=True):
                    verdicts[p] = verdict
                left = left[~settled]
        full = FullMethod(self.grid, self.k)
        for p in np.flatnonzero(~seen):
            verdicts[p] = full.verdict(points[p])
        return columns([v for v in verdicts if v is not None], (~seen).astype(np.int8))

    def _local(self, at: Coefficients, left: NDArray[np.intp], tile: Slices) -> Judged:
        """A basis from the tile's corners and middle.

        Undecided growth rates, smaller than their bound, go on to the more accurate basis.
        """
        assert self.reducer is not None
        anchors = anchor_points(tuple(s.stop - s.start for s in tile))
        if len(left) < 4 * len(anchors):
            return [None] * len(left), np.zeros(len(left), dtype=bool)
        reducer = self.reducer.local(at.take(anchors))
        verdicts, settled = self._verdicts(reducer, at.take(left))
        decided = [v.certain or v.growth_rate == 0.0 for v in verdicts]
        return verdicts, settled & np.array(decided)

    def _shared(self, at: Coefficients, left: NDArray[np.intp], tile: Slices) -> Judged:
        assert self.reducer is not None
        return self._verdicts(self.reducer, at.take(left))

    def _private(self, at: Coefficients, left: NDArray[np.intp], tile: Slices) -> Judged:
        assert self.reducer is not None
        private = self.reducer.branch()
        private.train(at.take(left))
        return self._verdicts(private, at.take(left))

    def _verdicts(
        self, reducer: Reducer, at: Coefficients
    ) -> tuple[list[Verdict], NDArray[np.bool_]]:
        modes, certificate, rigid = reducer.solve(at)
        accepted = reducer.accepted(modes, certificate, rigid).max(axis=1) <= 1.0
        lam = np.where(rigid, np.nan, modes.eigenvalues)[:, : self.k]
        bounds = certificate.error_bound[:, : self.k]
        return [judge(*pair) for pair in zip(lam, bounds, strict=True)], accepted

    def destroy(self) -> None:
        if self.reducer is not None:
            self.reducer.destroy()


def anchor_points(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Numbers of the corners and the middle of a tile of that shape, row by row."""
    corners = itertools.product(*({0, size - 1} for size in shape))
    chosen = {*corners, tuple(size // 2 for size in shape)}
    return np.array(sorted(int(np.ravel_multi_index(c, shape)) for c in chosen))


def columns(verdicts: Sequence[Verdict], source: NDArray[np.int8]) -> dict[str, NDArray[Any]]:
    """Verdicts of points as the columns of the dataset."""
    names = [name for name in VARIABLES if name not in ("source", "done")]
    return {name: np.array([getattr(v, name) for v in verdicts]) for name in names} | {
        "source": source
    }


def named(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in point.items())
