"""Tracks of a plain callable A(t): the eigenvalues of all instants and their corrected rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from modal.data.datasets import provenance
from modal.eigen.spectrum import separated
from modal.tracking.dataset import tracks_dataset
from modal.tracking.frozen_interval import frozen_interval
from modal.transient.equations import FirstOrderModel
from modal.types import Array, Complex

DIFFERENCE = 1e-4  # of the span: step of the central differences in time, of order 4
TOLERANCE = 0.05  # of frozen_interval, as in modal.track


def tracks_of_callable(matrix: Any, at: Array) -> xr.Dataset:
    """The variables of a tracks dataset that A(t) alone defines, one row a mode (Im λ ≥ 0).

    Energy is the 2-norm. σ = Re[λ − yᴴẋ/yᴴx] for x of unit norm (docs/theory.md, "What freezing
    leaves out"). The frozen interval has a tolerance of 5 % (modal/tracking/frozen_interval.py).
    """
    model = FirstOrderModel(matrix, float(at[0]))
    delta = DIFFERENCE * float(at[-1] - at[0])
    values, right, left = _modes(model, float(at[0]))
    chosen = np.flatnonzero(values.imag >= 0.0)
    chosen = chosen[np.argsort(np.abs(values[chosen]), kind="stable")]
    shapes, lam = right[:, chosen], values[chosen]
    names = ("eigenvalue", "sigma", "slope", "curvature", "coupling")
    rows: dict[str, list[Any]] = {name: [] for name in names}
    for t in at:
        values, right, left = _modes(model, float(t))
        index = _continued(values, right, lam, shapes)
        lam, shapes = values[index], right[:, index]
        rate, second = _derivatives(model, float(t), delta)
        # y_jᴴ Ȧ x_i and y_jᴴ Ä x_i with y_jᴴ x_i = δ_ji
        pull, bend = left.conj().T @ rate @ right, left.conj().T @ second @ right
        sigma, curvatures, couplings = [], [], []
        for i in index:
            apart = values[i] - values
            near = np.abs(apart) <= 1e-12 * max(float(np.abs(values).max()), 1e-300)
            weights = np.where(near, 0.0, pull[:, i] / np.where(near, 1.0, apart))
            turn = right @ weights  # ẋ_i but for a multiple of x_i
            # Unit norm fixes that multiple: Re xᴴẋ = 0, so yᴴẋ = −xᴴ turn (up to a phase).
            sigma.append(values[i].real + float((right[:, i].conj() @ turn).real))
            curvatures.append(bend[i, i] + 2.0 * (pull[i] @ weights))
            couplings.append(float((np.abs(weights) / np.where(near, 1.0, np.abs(apart))).max()))
        found = (lam, sigma, pull[index, index], curvatures, couplings)
        for name, value in zip(names, found, strict=True):
            rows[name].append(value)
    eigenvalue = np.array(rows["eigenvalue"])
    slope, curvature = np.array(rows["slope"]), np.array(rows["curvature"])
    coupling = np.array(rows["coupling"])
    interval = frozen_interval(at, eigenvalue, slope, curvature, coupling, TOLERANCE)
    variables = dict(
        eigenvalue=eigenvalue,
        frequency=np.abs(eigenvalue.imag) / (2.0 * np.pi),
        growth_rate=eigenvalue.real.copy(),
        growth_rate_corrected=np.array(rows["sigma"]),
        frozen_interval=interval,
        kind=np.full(eigenvalue.shape, "elastic"),
    )
    return tracks_dataset("time", at, variables, provenance(title="modes of A(t)", solver="LAPACK"))


def _derivatives(model: FirstOrderModel, t: float, delta: float) -> tuple[Array, Array]:
    """Ȧ and Ä by central differences of order 4."""
    back2, back, here, on, on2 = (model.first_order(t + n * delta) for n in (-2, -1, 0, 1, 2))
    first = (8.0 * (on - back) - (on2 - back2)) / (12.0 * delta)
    second = (16.0 * (on + back) - 30.0 * here - (on2 + back2)) / (12.0 * delta**2)
    return first, second


def _modes(model: FirstOrderModel, t: float) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues, right vectors of unit norm, left ones with yᴴx = 1."""
    A = model.first_order(t)
    values, left, right = la.eig(A, left=True, right=True)
    values, right, left = separated(values, right, left, float(np.linalg.norm(A)))
    pairing = (left.conj() * right).sum(axis=0)
    tiny = np.finfo(float).eps
    pairing = np.where(np.abs(pairing) > tiny, pairing, tiny)
    return values, right, left / pairing.conj()


def _continued(values: Complex, right: Complex, lam: Complex, shapes: Complex) -> NDArray[np.intp]:
    """The mode that continues each mode of the last instant: nearest eigenvalue and shape."""
    size = max(float(np.abs(values).max()), 1e-300)
    cost = np.abs(values[None, :] - lam[:, None]) / size
    cost = cost + 1.0 - np.abs(shapes.conj().T @ right)
    rows, columns = linear_sum_assignment(cost)
    out = np.empty(len(lam), dtype=np.intp)
    out[rows] = columns
    return out
