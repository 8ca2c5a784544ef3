"""The largest ‖Q_zv Q_vv(iω)⁻¹ Q_vz‖ on the side of the box, from the modes of a reduced problem.

    Q_vv(iω)⁻¹ = Σ x_k y_kᴴ / ((iω − λ_k) y_kᴴ(2λ_kM + E)x_k),
    Q_zv(iω) x_k = r_k + (iω − λ_k) [(iω + λ_k) M_zv + E_zv] x_k,

r_k the residual of the pair (modal/proofs/completeness.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.reduction.basis import Projected
from modal.reduction.reduced_eigen import SmallModes
from modal.types import Array, Complex, Mask


@dataclass(frozen=True)
class Poles:
    """All modes of the reduced problem, and their conjugates, as poles of Q_vv⁻¹, scaled to the
    norm of K_ref.

    values (P, 2k): λ less the floor. right, left (P, r, 2k): of unit norm. factor (P, 2k):
    ‖x‖‖y‖/(yᴴ(2λM + E)x), zero where there is no pole.
    """

    values: Complex
    right: Complex
    left: Complex
    factor: Complex

    @property
    def size(self) -> Array:
        """‖x‖‖y‖/|yᴴ(2λM + E)x|, (P, 2k)."""
        return np.abs(self.factor)

    @classmethod
    def of(
        cls,
        projected: Projected,
        modes: SmallModes,
        pairing: Complex,
        used: Mask,
        floor: Array,
    ) -> tuple[Poles, Array, Array]:
        """The poles, and the norms of the right and left vectors."""
        scaled, norms = [], []
        for vectors in (modes.right, modes.left):
            full = np.where(used[:, None, :], projected.frequency[:, None] * vectors, 0.0)
            norm = np.linalg.norm(full, axis=1)
            norm = np.where(norm > 0.0, norm, 1.0)
            scaled.append(full / norm[:, None, :])
            norms.append(norm)
        derivative = np.where(used, pairing, 1.0)
        tiny = np.finfo(float).tiny
        factor = norms[0] * norms[1] / np.where(np.abs(derivative) > tiny, derivative, tiny)
        factor = np.where(used, factor, 0.0)
        values = np.where(used, modes.eigenvalues - floor[:, None], 0.0)
        mirrored = np.where(values.imag > 0.0, factor.conj(), 0.0)
        values, right, left = (
            np.concatenate([part, part.conj()], axis=-1) for part in (values, *scaled)
        )
        poles = cls(values, right, left, np.concatenate([factor, mirrored], axis=1))
        return poles, norms[0], norms[1]

    def distance(self, start: Array, stop: Array) -> tuple[Array, Array]:
        """Least and largest |iω − λ| (P, 2k) for ω from start to stop (P, 1)."""
        a, b = start - self.values.imag, stop - self.values.imag
        inside = (a <= 0.0) & (b >= 0.0)
        near = np.where(inside, 0.0, np.minimum(np.abs(a), np.abs(b)))
        least = np.hypot(self.values.real, near)
        return least, np.hypot(self.values.real, np.maximum(np.abs(a), np.abs(b)))

    def sum_at(self, omega: Array, chosen: Mask) -> Array:
        """A bound (P,) of the norm of the sum over the chosen poles at iω, ω (P,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(chosen, 1.0 / (1j * omega[:, None] - self.values), 0.0)
        weighted = self.right * (self.factor * weight)[:, None, :]
        size = np.abs(np.matmul(weighted, self.left.conj().transpose(0, 2, 1)))
        return np.asarray(np.sqrt(size.sum(axis=1).max(axis=1) * size.sum(axis=2).max(axis=1)))


def largest_on_axis(
    W: Array, far: Array, mass: Array, damping: Array, poles: Poles, right: Array, left: Array
) -> Array:
    """A bound (P,) of ‖Q_zv Q_vv(iω)⁻¹ Q_vz‖ over 0 ≤ ω ≤ W.

    far (P,): of ‖Q_zv‖. mass, damping (2, P, 2k): norms of M_zv x and E_zv x, and of the same of
    left vectors. right, left (P, 2k): norms of the residuals, infinite where not known.
    Modes whose residuals are known are taken one by one; the others together, from their sum at a
    few ω and its largest slope.
    """
    used = poles.size != 0.0
    known = used & np.isfinite(right)
    return _known_modes(W, far, mass, damping, poles, right, left, known) + _other_modes(
        W, far, poles, used & ~known
    )


def _other_modes(W: Array, far: Array, poles: Poles, chosen: Mask, nodes: int = 4) -> Array:
    """far² times a bound of the norm of the sum over the chosen modes, from that at some `nodes`
    frequencies."""
    if not chosen.any():
        return np.zeros(len(W))
    least = poles.distance(np.zeros((len(W), 1)), W[:, None])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(chosen, poles.size / least**2, 0.0).sum(axis=1)
    middles = (np.arange(nodes) + 0.5) / nodes
    largest = np.max([poles.sum_at(W * middle, chosen) for middle in middles], axis=0)
    return np.asarray(far**2 * (largest + 0.5 * W / nodes * slope))


def _known_modes(
    W: Array, far: Array, mass: Array, damping: Array, poles: Poles, right: Array, left: Array,
    known: Mask,
) -> Array:  # fmt: skip
    """The largest sum over modes with residuals, each at its own smallest or largest distance.

    The interval is cut halfway between the imaginary parts of the modes.
    """
    lam = poles.values
    heights = np.clip(np.where(known, lam.imag, 0.0), 0.0, W[:, None])
    heights = heights[:, (known & (lam.imag >= 0.0)).any(axis=0)]
    ends = np.zeros((len(W), 1)), W[:, None]
    centers = np.sort(np.concatenate([heights, *ends], axis=1), axis=1)
    edges = 0.5 * (centers[:, 1:] + centers[:, :-1])
    cuts = np.concatenate([ends[0], edges, ends[1]], axis=1)
    with np.errstate(invalid="ignore"):  # no bound of W, no mass: the other term holds
        slope, opposite = (W[:, None] + np.abs(lam)) * mass + damping
    worst = np.zeros(len(W))
    for j in range(centers.shape[1]):
        least, most = poles.distance(cuts[:, j : j + 1], cuts[:, j + 1 : j + 2])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inner = right * left / least + right * opposite + left * slope
            inner += most * slope * opposite
            term = poles.size * np.fmin(far[:, None] ** 2 / least, inner)
        worst = np.maximum(worst, np.where(known, term, 0.0).sum(axis=1))
    return np.where(np.isnan(worst), np.inf, worst)
