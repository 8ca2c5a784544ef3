"""The modes of Hill's operator at one value of a parameter, a snapshot for the matching of modes.

A Floquet mode p(t) e^{λt} is one eigenvector of A(t) − d/dt on periodic functions for each
multiple of 2πi/T: the harmonics of p, shifted. Which of them continues a mode is decided by its
shape, as for frozen modes and by the same matching (modal/tracking/matching.py).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.periodic.floquet_modes import FloquetModes
from modal.periodic.periodic_modes import harmonics
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex, Index

HARMONICS = 24  # largest number of a harmonic in the comparison


def hill_snapshot(
    at: float, found: FloquetModes, k: int, shifts: int = 2, independent: float = 1e-10
) -> tuple[Snapshot, Index]:
    """A snapshot of the k lowest modes with Im λ ≥ 0, each with its shifts.

    Returns also the number of each mode in `found`. The first are the modes with their strongest
    harmonic, the others are their shifts.

    shifts: multiples of 2πi/T by which the strongest harmonic may change between two values.
    independent: relative size of the directions that count in the span of the modes.
    """
    base = 2j * np.pi / found.period
    lam, strongest = found.eigenvalues, found.shapes.strongest
    there = np.isfinite(found.error) & (lam.imag >= -1e-9 * np.abs(lam))
    there &= np.isfinite(found.shapes.orbits[0]).all(axis=0)
    lowest = np.flatnonzero(there)
    lowest = lowest[np.argsort(np.abs(lam[lowest]), kind="stable")][:k]
    numbers, columns, values = [], [], []
    coefficients, order = harmonics(found.shapes.orbits[:, :, lowest])
    scale = float(np.median(np.abs(lam[lowest]))) if lowest.size else 1.0
    for shift in sorted(range(-shifts, shifts + 1), key=abs):
        for column, mode in enumerate(lowest):
            eigenvalue = lam[mode] + shift * base
            centred = _centred(coefficients[:, :, column], order, strongest[mode] + shift)
            state = _state(found, centred, eigenvalue, scale)
            # One of each conjugate pair: the matching compares with the conjugates too.
            turned = eigenvalue.imag < 0.0
            numbers.append(mode)
            values.append(eigenvalue.conjugate() if turned else eigenvalue)
            columns.append(state.conj() if turned else state)
    X = np.array(columns).reshape(len(columns), -1).T
    eigenvalues = np.array(values, dtype=complex)
    X = X / np.linalg.norm(X, axis=0)
    # The basis dual to these modes and their conjugates in their span stands for left vectors.
    both = np.concatenate([X, X.conj()], axis=1)
    dual = (both @ la.pinvh(both.conj().T @ both, rtol=independent))[:, : X.shape[1]]
    dual = dual / np.maximum((dual.conj() * X).sum(axis=0).real, independent)
    backward = found.error[numbers] / np.maximum(np.abs(eigenvalues), np.finfo(float).tiny)
    return _snapshot(at, eigenvalues, X, dual, backward), np.array(numbers)


def rows(snapshot: Snapshot, chosen: Index) -> Snapshot:
    """The snapshot of some of its modes."""
    s = snapshot
    vectors = s.right[:, chosen], s.left[:, chosen]
    return _snapshot(s.at, s.eigenvalues[chosen], *vectors, s.backward_error[chosen])


def _snapshot(
    at: float, eigenvalues: Complex, X: Complex, dual: Complex, backward: Array
) -> Snapshot:
    count, gram = len(eigenvalues), X.conj().T @ X
    return Snapshot(
        at=at,
        eigenvalues=eigenvalues,
        right=X,
        left=dual,
        # Overlaps are (λ_a + λ_b) dual₁ᴴ x + dual₂ᴴ x: the second part alone is Hill's.
        dual=np.concatenate([np.zeros_like(dual), dual], axis=1),
        defective=np.zeros(count, dtype=bool),
        inertia=None,
        mass_gram=gram,
        energy_gram=gram,
        backward_error=backward,
        condition_number=np.ones(count),
        kind=np.full(count, "elastic"),
    )


def _centred(values: Complex, order: Index, centre: int) -> Complex:
    """Harmonics centre − HARMONICS … centre + HARMONICS (2 HARMONICS + 1, n) of one mode (h, n)."""
    out = np.zeros((2 * HARMONICS + 1, values.shape[1]), dtype=complex)
    place = order - centre + HARMONICS
    inside = (place >= 0) & (place < len(out))
    out[place[inside]] = values[inside]
    return out


def _state(
    found: FloquetModes, coefficients: Complex, eigenvalue: complex, scale: float
) -> Complex:
    """Weighted displacements and velocities of a mode at equal parts of the period, one array."""
    weights = found.propagation.weights if found.propagation is not None else np.ones(1)
    columns = coefficients * weights
    if len(found.vectors) == 2 * coefficients.shape[1]:
        j = np.arange(-HARMONICS, HARMONICS + 1)
        rate = eigenvalue + 2j * np.pi * j / found.period
        columns = np.concatenate([columns, columns * rate[:, None] / scale], axis=1)
    return np.asarray(np.fft.ifft(np.fft.ifftshift(columns, axes=0), axis=0).ravel())
