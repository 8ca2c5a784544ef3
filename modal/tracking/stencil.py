"""Values next to an instant of a sweep, and the weights that give derivatives from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from modal.eigen.tolerances import HALF
from modal.types import Array, Complex

# The step of the stencil: at most this part of the sweep.
OF_SWEEP = 1e-3


@dataclass(frozen=True)
class Stencil:
    """Values next to `at` inside the sweep and the weights of derivatives.

    values (P,); first, check (P,): weights of d/ds and of d/ds of lower order; second (P,): of
    d²/ds².
    """

    values: Array
    first: Array
    check: Array
    second: Array
    centre: int

    @classmethod
    def near(
        cls, at: float, step: float, low: float, high: float, moving: bool, steps: float = 3.0
    ) -> Stencil:
        """Five values along a motion, three over a steady parameter; one-sided at the ends.

        The second derivative cancels more digits than the first, and takes the outer values: they
        are at least so many steps away.
        """
        span = high - low
        outer = min(step, 0.5 * span)
        step = outer
        if moving:
            outer = min(max(OF_SWEEP * span, steps * step), 0.25 * span)
            step = min(step, outer / steps)
        sides = np.array(sorted({0.0, *cls._sides(at, outer, low, high)}))
        inner, wide = step * sides, outer * sides
        offsets = np.union1d(inner, wide)
        # Derivatives of the highest order on all offsets; checked on those of `inner`.
        first, check, second = (np.zeros(len(offsets)) for _ in range(3))
        for weights, chosen, order in ((first, offsets, 1), (check, inner, 1), (second, wide, 2)):
            size = float(np.abs(chosen).max())
            found = _weights(tuple((chosen / size).tolist()), order) / size**order
            weights[np.searchsorted(offsets, chosen)] = found
        return cls(at + offsets, first, check, second, int(np.searchsorted(offsets, 0.0)))

    @staticmethod
    def _sides(at: float, step: float, low: float, high: float) -> tuple[float, float]:
        """Multiples of the step at which the values beside `at` lie."""
        if at - step < low:
            return 1.0, 2.0
        return (-1.0, 1.0) if at + step <= high else (-2.0, -1.0)


@lru_cache(maxsize=64)
def _weights(offsets: tuple[float, ...], order: int) -> Array:
    """Weights w with Σ w_m f(offset_m) = f^(order)(0), exact to degree len − 1."""
    x = np.array(offsets, dtype=float)
    right = np.where(np.arange(len(x)) == order, float(order), 0.0)  # 1! and 2! are 1 and 2
    return np.asarray(np.linalg.solve(np.vander(x, increasing=True).T, right))


def stencil_of(
    at: float, eigenvalues: Complex, ends: tuple[float, float], rate: float | None,
    angle: float = 0.1,
) -> Stencil | None:  # fmt: skip
    """The stencil for an instant with these modes, inside the ends of the sweep; None where the
    sweep is one value.

    rate: speed of the swept value, units per second, or None where it is steady at each instant.
    angle: the largest |λ| times the step along a motion.
    """
    low, high = ends
    if high <= low:
        return None
    step, size = OF_SWEEP * (high - low), float(np.abs(eigenvalues).max(initial=0.0))
    if rate is not None and size > 0.0:
        shortest = HALF * max(abs(low), abs(high))  # below, values cancel
        step = min(max(angle * abs(rate) / size, shortest), step)
    return Stencil.near(at, step, low, high, rate is not None)


def differences(stencils: Sequence[Stencil | None], near: Callable[[Array], Array]) -> Array | None:
    """The first and the second derivative, and the first by the stencil of lower order, of some
    numbers at S values: (3, S, ...).

    near: the numbers (P, ...) at some values. None without stencils, and where the model cannot be
    frozen next to a value.
    """
    used = [stencil for stencil in stencils if stencil is not None]
    if not used:
        return None
    try:
        table = near(np.concatenate([stencil.values for stencil in used]))
    except Exception:  # what the model raises at an instant itself is raised there
        return None
    parts = np.split(table, np.cumsum([len(stencil.values) for stencil in used])[:-1])
    # From the value's own numbers, so that constant ones have no derivative at all.
    return np.stack([
        np.tensordot(np.stack([s.first, s.second, s.check]), part - part[s.centre], axes=1)
        for s, part in zip(used, parts, strict=True)
    ], axis=1)  # fmt: skip
