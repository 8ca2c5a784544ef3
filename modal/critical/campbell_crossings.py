"""Critical speeds of any rotor: crossings of its followed modes with the line Im λ = Ω."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from assembly.errors import ConvergenceError
from assembly.magnitudes import EQUAL
from modal.critical.refinement import Critical, Freeze, refined
from modal.eigen.solve import solve
from modal.eigen.tolerances import GROUP
from modal.tracking.tracking import track
from modal.types import Array, Complex, Mask


def campbell_crossings(
    freeze: Freeze, low: float, high: float, k: int, points: int, margin: float = 1.2
) -> tuple[list[Critical], bool]:
    """The k lowest critical speeds of a range, and whether a count confirms that none is missing.

    From one end of a range to the other the number of oscillating modes below the line changes by
    one at each crossing, and where an overdamped mode begins or ceases to oscillate. The modes up
    to `margin` times the largest speed are followed.
    """
    low = low if low > 0.0 else 1e-6 * high
    grid = np.linspace(low, high, points)
    modes = max(_modes_needed(freeze, w, margin * high) for w in (low, 0.5 * (low + high), high))
    values = _followed(freeze, grid, modes)
    found = _crossings(freeze, grid, values)
    for a, b in _touching(grid, values):
        finer = np.linspace(a, b, points)
        found += _crossings(freeze, finer, _followed(freeze, finer, modes))
    found = _distinct(sorted(found, key=lambda c: c.speed))
    end = high
    if len(found) > k:
        end = 0.5 * (found[k - 1].speed + found[k].speed)
    signed = sum(1 if c.slope < 1.0 else -1 for c in found if c.speed < end)
    change = _below(freeze, end, margin * high) - _below(freeze, low, margin * high)
    return found[:k], change == signed + _begun(grid, values, end)


def _begun(grid: Array, values: Complex, end: float) -> int:
    """By how many the followed modes that oscillate become more up to a speed, at Im λ = 0."""
    inside = values[grid <= end]
    waves = _oscillating(inside)
    both = np.isfinite(inside[1:]) & np.isfinite(inside[:-1])
    return int((both & waves[1:] & ~waves[:-1]).sum() - (both & waves[:-1] & ~waves[1:]).sum())


def _oscillating(values: Complex) -> Mask:
    return np.asarray(np.abs(values.imag) > EQUAL * np.abs(values))


def _followed(freeze: Freeze, grid: Array, k: int) -> Complex:
    tracks = track(SimpleNamespace(freeze=freeze), omega=grid, k=k, progress=False)
    return np.asarray(tracks["eigenvalue"].values)


def _crossings(freeze: Freeze, grid: Array, values: Complex) -> list[Critical]:
    """The refined crossings between neighbouring speeds of the grid."""
    above = values.imag - grid[:, None]
    found = []
    for column in range(values.shape[1]):
        f = above[:, column]
        for i in np.flatnonzero(np.isfinite(f[:-1]) & np.isfinite(f[1:]) & (f[:-1] * f[1:] <= 0.0)):
            if f[i] == f[i + 1] or (f[i] == 0.0 and i):
                continue
            part = f[i] / (f[i] - f[i + 1])
            speed = grid[i] + part * (grid[i + 1] - grid[i])
            lam = values[i, column] + part * (values[i + 1, column] - values[i, column])
            middle = 0.5 * (grid[0] + grid[-1])
            one = refined(freeze, float(speed), complex(lam.real, speed), middle, column)
            step = grid[i + 1] - grid[i]
            if grid[i] - step <= one.speed <= grid[i + 1] + step:
                found.append(one)
    return found


def _touching(grid: Array, values: Complex, near: float = 0.05) -> list[tuple[float, float]]:
    """Pieces of the grid where a mode comes close to the line and turns away from it.

    near: |Im λ − Ω| / Ω of a mode that may touch the line between two speeds.
    """
    distance = np.abs(values.imag - grid[:, None]) / np.maximum(grid[:, None], 1e-300)
    out = set()
    for i in range(1, len(grid) - 1):
        d = distance[i - 1 : i + 2]
        side = np.sign(values.imag[i - 1 : i + 2] - grid[i - 1 : i + 2, None])
        with np.errstate(invalid="ignore"):
            least = (d[1] <= d[0]) & (d[1] <= d[2]) & (d[1] < near)
            turns = least & (np.abs(side.sum(axis=0)) == 3)
        if np.any(turns):
            out.add((float(grid[i - 1]), float(grid[i + 1])))
    return sorted(out)


def _distinct(found: list[Critical]) -> list[Critical]:
    """Without the second of two that are the same crossing: same speed, λ and shape."""
    out: list[Critical] = []
    for one in found:
        if not any(
            abs(other.speed - one.speed) <= GROUP * one.speed
            and abs(other.eigenvalue - one.eigenvalue) <= GROUP * abs(one.eigenvalue)
            and abs(other.shape.conj() @ one.shape) > 1.0 - GROUP
            for other in out
        ):
            out.append(one)
    return out


def _modes_needed(freeze: Freeze, speed: float, limit: float) -> int:
    """Number of modes at a speed with |λ| up to `limit`, and one more."""
    system, k = freeze(speed), 8
    while True:
        modes = solve(system, k=min(k, 2 * system.n))
        sizes = np.abs(modes.eigenvalues)
        if len(sizes) < k or sizes.max() > limit:
            return int((sizes <= limit).sum()) + 1
        k *= 2


def _below(freeze: Freeze, speed: float, limit: float) -> int:
    """Number of oscillating modes below the line at a speed, counted."""
    system = freeze(speed)
    modes = solve(system, k=min(_modes_needed(freeze, speed, limit), 2 * system.n), certify=True)
    if modes.certified is False:
        raise ConvergenceError(f"the modes at {speed:.6g} rad/s could not be counted")
    lam = modes.eigenvalues
    return int((_oscillating(lam) & (lam.imag <= speed)).sum())
