"""Modal assurance criterion between two sets of shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from assembly.arguments import check_kind
from assembly.errors import InputError
from assembly.magnitudes import ALIKE
from modal.data.datasets import described_array
from modal.data.variables import ARRAYS
from modal.eigen.modes import Modes
from modal.exchange.shape_set import ShapeSet
from modal.types import Index

Shapes = Modes | ShapeSet | NDArray[np.inexact[Any]]


def mac(first: Shapes, second: Shapes, *, distance: float | None = None) -> xr.DataArray:
    """Modal assurance criterion of every pair of shapes, |xᴴy|² / (xᴴx · yᴴy).

    Parameters
    ----------
    first, second : Modes, ShapeSet or array_like of shape (n, k)
        Two sets over the same degrees of freedom; or two `ShapeSet`, which are compared at the
        points of the set that has fewer, each matched with the nearest point of the other.
    distance : float, optional
        Largest distance of matched points, m. Default: a thousandth of the size of the smaller set.

    Returns
    -------
    xarray.DataArray
        Dims (first, second), values from 0 to 1. Modes count from 1.

    Raises
    ------
    InputError
        The sets cannot be compared, or a point has no match.

    Notes
    -----
    Allemang and Brown, Proc. IMAC 1 (1982) 110. Without a mass matrix as weight: MAC compares
    shapes at points, as a test measures them.

    Examples
    --------
    >>> import assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 10,
    ...                       clamped="start")
    >>> rest, spinning = (modal.solve(blade.freeze(omega=(0, 0, w)), k=3) for w in (0.0, 100.0))
    >>> print(modal.mac(rest, spinning).round(2).values.diagonal())
    [1. 1. 1.]
    """
    X, Y = _vectors(first, second, distance)
    size = [(np.abs(A) ** 2).sum(axis=0) for A in (X, Y)]
    if not all(np.all(s > 0.0) for s in size):
        raise InputError("mac: a shape is zero at all points that are compared")
    values = np.abs(X.conj().T @ Y) ** 2 / np.outer(*size)
    coordinates = {name: np.arange(1, A.shape[1] + 1) for name, A in (("first", X), ("second", Y))}
    return described_array(xr.DataArray(values, coordinates, ("first", "second"), "mac"), ARRAYS)


def _vectors(
    first: Shapes, second: Shapes, distance: float | None
) -> tuple[NDArray[np.inexact[Any]], NDArray[np.inexact[Any]]]:
    """Both sets as columns over the same quantities."""
    if isinstance(first, ShapeSet) and isinstance(second, ShapeSet):
        few, many = sorted((first, second), key=lambda shapes: len(shapes.points))
        nearest = _nearest(few, many, distance)
        X, Y = (
            (shapes.displacements if shapes is few else shapes.displacements[:, nearest])
            .reshape(len(shapes), -1)
            .T
            for shapes in (first, second)
        )
        return X, Y
    if isinstance(first, ShapeSet) or isinstance(second, ShapeSet):
        raise InputError("mac: give two sets of one kind; shape_set(model, modes) makes a ShapeSet")
    for name, given in (("first", first), ("second", second)):
        expected = "Modes, a ShapeSet or an array (n, k)"
        check_kind(given, (Modes, np.ndarray, list, tuple), name, expected)
    X, Y = (np.asarray(s.right if isinstance(s, Modes) else s) for s in (first, second))
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise InputError(
            f"mac: the sets have shapes {X.shape} and {Y.shape}; expected the same number of "
            "degrees of freedom. Use shape_set(model, modes) to compare at points"
        )
    return X, Y


def _nearest(few: ShapeSet, many: ShapeSet, distance: float | None) -> Index:
    """Numbers of the points of the larger set that are those of the smaller one."""
    size = float(np.linalg.norm(np.ptp(few.points, axis=0)))
    allowed = ALIKE * size if distance is None else distance
    apart, nearest = cKDTree(many.points).query(few.points)
    worst = int(np.argmax(apart))
    if apart[worst] > allowed:
        raise InputError(
            f"mac: point {worst} at {few.points[worst].round(6).tolist()} m is "
            f"{apart[worst]:.3g} m from the nearest point of the other set; "
            f"allowed is {allowed:.3g} m"
        )
    return np.asarray(nearest, dtype=np.intp)
