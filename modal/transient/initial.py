"""Initial states of transients."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike

from assembly.arguments import as_number, shown
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Array


def initial_state(initial: Any, n: int) -> tuple[Array, Array]:
    """Displacement and velocity (n,) from None, a pair, or a stacked (2n,) vector; real parts."""
    if initial is None:
        return np.zeros(n), np.zeros(n)
    if isinstance(initial, (tuple, list)) and len(initial) == 2 and np.ndim(initial[0]) == 1:
        return vector(initial[0], n, "initial displacement"), vector(
            initial[1], n, "initial velocity"
        )
    stacked = vector(initial, 2 * n, "initial")
    return stacked[:n].copy(), stacked[n:].copy()


def vector(value: ArrayLike | None, n: int, name: str) -> Array:
    """Real parts (n,) of a value that a user gives; InputError for another shape."""
    given = np.asarray(value)
    numbers = given.dtype.kind in "biufc"
    vector = np.array(np.real(given), dtype=float) if numbers else np.zeros(0)
    if not numbers or vector.shape != (n,):
        got = f"shape {vector.shape}" if numbers else shown(value)
        raise InputError(f"{name}: expected {n} numbers, got {got}")
    if not np.all(np.isfinite(vector)):
        raise InputError(f"{name}: has entries that are not finite numbers")
    return vector


def without_fast_modes(
    system: FrozenSystem, q: Array, v: Array, highest_frequency: Any, largest: int = 3000
) -> tuple[Array, Array]:
    """Displacement and velocity (n,) in the modes of M and the symmetric stiffness up to a
    frequency, Hz. Raises InputError.

    largest: degrees of freedom of which all modes are computed.
    """
    highest = as_number(highest_frequency, "highest_frequency")
    if not highest > 0.0:
        raise InputError(f"highest_frequency: expected a positive number of Hz, got {highest:g}")
    if system.n > largest:
        raise InputError(
            f"highest_frequency: takes models of up to {largest} degrees of freedom, got {system.n}"
        )
    M, K = system.M.toarray(), system.stiffness.toarray()
    limit = (2.0 * np.pi * highest) ** 2
    _, shapes = la.eigh(0.5 * (K + K.T), M, subset_by_value=(-np.inf, limit))
    return shapes @ (shapes.T @ (M @ q)), shapes @ (shapes.T @ (M @ v))


def mesh_content(system: FrozenSystem, q: Array, v: Array, converged: int = 3) -> dict[str, float]:
    """The frequency up to which the modes of a mesh are about those of the part, Hz, and the shares
    of amplitude and energy of a state above it.

    converged: the lowest of so many modes of a mesh is one of the part.
    """
    M, K = system.M.toarray(), system.stiffness.toarray()
    squares, shapes = la.eigh(0.5 * (K + K.T), M)
    limit = max(system.n // converged, 1)
    weights, rates = ((shapes.T @ (M @ x)) ** 2 for x in (q, v))
    soft = np.maximum(np.abs(squares), np.finfo(float).eps * squares[-1])
    amplitudes, energies = weights + rates / soft, weights * soft + rates
    return {
        "mesh_frequency": float(np.sqrt(soft[limit - 1]) / (2.0 * np.pi)),
        "displacement_above_mesh": float(np.sqrt(amplitudes[limit:].sum() / amplitudes.sum())),
        "energy_above_mesh": float(energies[limit:].sum() / energies.sum()),
    }
