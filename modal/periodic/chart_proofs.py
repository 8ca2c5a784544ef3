"""Boxes of a Hill chart in which all but the slowest modes are proved to decay.

The matrices on all shapes are polynomials of the parameters, as those on the shared shapes. A box
of the grid without a proof is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import scipy.linalg as la

from modal.periodic.chart_motion import GUARD, ChartMotion, Motions, accelerations_of, matrix_sizes
from modal.periodic.decaying_modes import FrozenForms, bernstein
from modal.reduction.parameter_polynomial import ParameterPolynomial, parameter_polynomial
from modal.types import Array

MOST_BOXES = 24  # that are tried


def on_all_shapes(
    motion: ChartMotion, motions: Motions, points: Sequence[Mapping[str, float]]
) -> ChartMotion | None:
    """The motions on all shapes, modes of the mean matrices of the one at the last point.

    None where the matrices are not smooth in time on them.
    """
    n = len(motion.shapes)
    every = replace(motion, shapes=np.eye(n), frequencies=np.ones(n))
    M, K, _ = np.split(every.matrices(motions(points[-1])).mean(axis=0), 3, axis=1)
    squares, shapes = la.eigh(0.5 * (K + K.T), M)
    every = replace(every, shapes=shapes, frequencies=np.sqrt(np.abs(squares)))
    found = every.resolved(motions, points)
    return None if found is None else replace(found, parts=max(found.parts, motion.parts))


def decaying_boxes(
    motion: ChartMotion,
    evaluate: Callable[[Array], Array],
    rate: Callable[[Array], float],
    axes: Sequence[Array],
    k: int,
    tolerance: float,
) -> Array:
    """Low and high ends of boxes of the grid, a number m of modes, and a rate s, 1/s: 2m exponents
    are above s there and all others below, (boxes, 2d + 2).

    evaluate(point): [M, K ω⁻¹, C + D] of `motion`, all shapes. rate(point): 2π/T, rad/s. k: of m,
    about. tolerance: of polynomials, of the largest entries.
    """
    low, high = (np.array([end(values) for values in axes]) for end in (np.min, np.max))
    matrices = parameter_polynomial(evaluate, low, high, tolerance, matrix_sizes)
    if matrices is None:
        return np.zeros((0, 2 * len(axes) + 2))

    def moved(x: Array) -> Array:
        H = accelerations_of(evaluate(x))
        return np.concatenate([H, np.full_like(H[:, :1], rate(x))], axis=1)

    def sizes(values: Array) -> Array:
        largest = np.full((1, values.shape[1], 1), np.abs(values[:, :-1]).max())
        largest[:, -1] = np.abs(values[:, -1]).max()
        return largest

    accelerations = parameter_polynomial(moved, low, high, tolerance, sizes)
    grid = [np.unique(values) for values in axes]
    boxes, proved = [grid], []
    for _ in range(min(MOST_BOXES, int(np.prod([len(values) for values in grid])))):
        if not boxes or accelerations is None:
            break
        box = boxes.pop(0)
        low, high = (np.array([values[end] for values in box]) for end in (0, -1))
        found = _proof(motion, matrices, accelerations, (low, high), k)
        if found is not None:
            proved.append([*low, *high, *found])
        elif np.any(high > low):
            sizes_of = np.maximum(np.abs(low), np.abs(high))
            axis = int(np.argmax((high - low) / np.where(high > low, sizes_of, 1.0)))
            for half in np.array_split(box[axis], 2):
                boxes.append([*box[:axis], half, *box[axis + 1 :]])
    return np.array(proved).reshape(-1, 2 * len(grid) + 2)


def _proof(
    motion: ChartMotion,
    matrices: ParameterPolynomial,
    accelerations: ParameterPolynomial,
    box: tuple[Array, Array],
    k: int,
) -> tuple[int, float] | None:
    """m and s of a box."""
    M, K, C = np.split(matrices(0.5 * (box[0] + box[1])), 3, axis=2)
    forms = FrozenForms.of(M, C, K * motion.frequencies)
    if forms is None:
        return None
    units = np.concatenate([motion.frequencies, np.ones_like(motion.frequencies)])
    ends = bernstein(accelerations, *box)

    @cache
    def in_modes(number: int) -> tuple[Array, Array]:
        return forms.in_modes(ends[number][:, :-1] * units)

    for m in (*range(k, k + GUARD + 1), *range(k)):
        s = -np.inf
        for number, end in enumerate(ends):
            there = forms.separating_rate(m, *in_modes(number), float(end[0, -1, 0]))
            if there is None:
                break
            s = max(s, there)
        else:
            return m, s
    return None
