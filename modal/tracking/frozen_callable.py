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
from modal.tracking.rates import frozen_interval
from modal.tracking.stencil import differences, stencil_of
from modal.transient.equations import FirstOrderModel
from modal.types import Array, Complex


def tracks_of_callable(matrix: Any, at: Array, tolerance: float = 0.05) -> xr.Dataset:
    """The variables of a tracks dataset that A(t) alone defines, one row a mode (Im λ ≥ 0).

    Energy is the 2-norm. σ = Re[λ − yᴴẋ/yᴴx] for x of unit norm (docs/theory.md, "What freezing
    leaves out"). tolerance: of the frozen interval, as in `modal.track`
    (modal/tracking/rates.py).
    """
    model = FirstOrderModel(matrix, float(at[0]))
    ends = float(at.min()), float(at.max())
    values, right, left = _modes(model, float(at[0]))
    chosen = np.flatnonzero(values.imag >= 0.0)
    chosen = chosen[np.argsort(np.abs(values[chosen]), kind="stable")]
    shapes, lam = right[:, chosen], values[chosen]
    rows = []
    for t in at.tolist():
        values, right, left = _modes(model, t)
        index = _continued(values, right, lam, shapes)
        lam, shapes = values[index], right[:, index]
        stencils = [stencil_of(t, values, ends, 1.0)]
        change = differences(stencils, lambda s: np.stack([model.first_order(x) for x in s]))
        rate, second = (0.0 * right, 0.0 * right) if change is None else change[:2, 0]
        # y_jᴴ Ȧ x_i and y_jᴴ Ä x_i with y_jᴴ x_i = δ_ji
        pull, bend = left.conj().T @ rate @ right, left.conj().T @ second @ right
        apart = values[None, :] - values[:, None]
        near = np.abs(apart) <= 1e-12 * max(float(np.abs(values).max()), 1e-300)
        apart = np.where(near, 1.0, apart)
        weights = np.where(near, 0.0, pull / apart)
        turn = right @ weights  # ẋ_i but for a multiple of x_i
        # Unit norm fixes that multiple: Re xᴴẋ = 0, so yᴴẋ = −xᴴ turn (up to a phase).
        sigma = values.real + (right.conj() * turn).sum(axis=0).real
        curvature = np.diag(bend) + 2.0 * (pull * weights.T).sum(axis=1)
        coupling = np.abs(weights / apart).max(axis=0)
        rows.append(np.stack([values, sigma, np.diag(pull), curvature, coupling])[:, index])
    eigenvalue, sigma, slope, curvature, coupling = np.stack(rows, axis=1)
    interval = frozen_interval(at, eigenvalue, slope, curvature, coupling.real, tolerance)
    variables = dict(
        eigenvalue=eigenvalue,
        frequency=np.abs(eigenvalue.imag) / (2.0 * np.pi),
        growth_rate=eigenvalue.real.copy(),
        growth_rate_corrected=sigma.real,
        frozen_interval=interval,
        kind=np.full(eigenvalue.shape, "elastic"),
    )
    return tracks_dataset("time", at, variables, provenance(title="modes of A(t)", solver="LAPACK"))


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
    return np.asarray(linear_sum_assignment(cost)[1])
