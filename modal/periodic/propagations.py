"""The propagation of Floquet modes over a period, for each method of the analysis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg as la

from modal.periodic.arnoldi import PeriodMap
from modal.periodic.balanced import Balanced
from modal.periodic.collocation import step_maps
from modal.periodic.decoupled_orbits import DecoupledOrbits
from modal.periodic.orbits import Map, Propagation
from modal.transient.equations import FirstOrderModel, SecondOrderModel
from modal.types import Array, Complex


def of_matrix(
    equations: FirstOrderModel | SecondOrderModel,
    A: Balanced,
    vectors: Complex,
    t0: float,
    period: float,
) -> Propagation:
    """Of the whole x' = A(t) x; vectors (N, m) at t0."""
    n, weights = len(vectors), np.diag(A.root).copy()
    if isinstance(equations, SecondOrderModel):
        n, weights = n // 2, _inertia(equations, t0)
    inverse = A.inverse[:n]
    return Propagation(
        maps=lambda count: _step_maps(A, t0, period, count),
        start=A.root @ vectors,
        lift=lambda states: np.asarray(inverse @ states),
        weights=weights,
        fastest=_fastest(A, t0),
    )


def of_basis(
    equations: SecondOrderModel,
    A: Balanced,
    basis: Array,
    vectors: Complex,
    exponents: Complex,
    t0: float,
    period: float,
) -> Propagation:
    """Of a model on a basis (n, r); vectors (2n, m) of the full model at t0."""
    n, r = basis.shape
    inside = la.pinv(basis)
    start = A.root @ np.concatenate([inside @ vectors[:n], inside @ vectors[n:]])
    out = basis @ A.inverse[:r]
    rates = np.linalg.norm(vectors[n:], axis=0) / np.maximum(
        np.linalg.norm(vectors[:n], axis=0), np.finfo(float).tiny
    )
    return Propagation(
        maps=lambda count: _step_maps(A, t0, period, count),
        start=start,
        lift=lambda states: np.asarray(out @ states),
        weights=_inertia(equations, t0),
        fastest=float(max(rates.max(), np.abs(exponents).max())),
    )


def of_decoupled(
    equations: SecondOrderModel, A: Balanced, states: Complex, rates: Complex, t0: float
) -> DecoupledOrbits:
    """Of modes that decouple; states (s, N, m) over the period, in the coordinates of A."""
    inverse = A.inverse[: len(states[0]) // 2]
    sizes = np.linalg.norm(A.restored(states[0]), axis=0)

    def lift(state: Complex) -> Complex:
        return np.asarray(inverse @ state)

    return DecoupledOrbits(states / sizes, rates, lift, _inertia(equations, t0))


def of_full_model(
    equations: SecondOrderModel, vectors: Complex, steps: int, t0: float, period: float
) -> Propagation:
    """Of the sparse equations in `steps` Gauss steps of order 4; vectors (2n, m) at t0."""
    n = len(vectors) // 2

    def maps(count: int) -> Iterator[Map]:
        h = period / count
        for j in range(count):
            step = PeriodMap(equations, t0 + j * h, h, 1)
            try:
                yield lambda x, step=step: (step @ x.real) + 1j * (step @ x.imag)  # type: ignore[misc]
            finally:
                step.destroy()

    weights = _inertia(equations, t0)
    return Propagation(maps, vectors, lambda states: states[:n], weights, 0.0, steps)


def _step_maps(A: Balanced, t0: float, period: float, count: int) -> Iterator[Map]:
    for matrix in step_maps(A, t0, t0 + period, count):
        yield matrix.__matmul__


def _inertia(equations: SecondOrderModel, t0: float) -> Array:
    """The root of each degree of freedom's inertia, (n,)."""
    return np.asarray(np.sqrt(np.maximum(equations.at(t0).M.diagonal(), 0.0)))


def _fastest(A: Balanced, t0: float) -> float:
    return float(np.abs(np.linalg.eigvals(A.many(np.array([t0]))[0])).max())
