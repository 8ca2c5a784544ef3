"""Matching the modes of two instants: biorthogonal overlaps and their optimal assignment.

With x = (q, λq) and the left vector y = ((C + D)ᵀu + λ̄Mᵀu, u) of the pencil
(modal/eigen/quadratic.py), the overlap of mode i at instant a with mode j at instant b is

    O_ij = y_iᴴ B x_j / y_iᴴ B x_i,    y_iᴴ B x_j = u_iᴴ [(λ_i + λ_j) M + C + D] q_j,    M, C + D of
    instant a,

the identity matrix when a = b. The mass-weighted complex MAC is |O_ij O_ji|, the second factor with
the left vectors of b. It does not depend on scaling and phase. It is 1 for the same mode and 0 for
another mode of the same instant. Where the sum over all modes exceeds 1 (non-normal instants) it is
divided by that sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from modal.eigen.tolerances import HALF, WEAK
from modal.tracking.snapshot import Snapshot
from modal.tracking.variation import adjoint, transposed
from modal.types import Array, Complex, Index, Mask


@dataclass(frozen=True)
class Overlap:
    """The MAC (Ka, Kb) of all modes of two instants, with the modes of b and with their conjugates.

    A mode whose frequency passes through zero continues as the conjugate of a mode with Im λ ≥ 0.
    merging (Ka,): modes that merge with another one.
    """

    mac: Array
    mirrored_mac: Array
    merging: Mask

    @classmethod
    def between(cls, a: Snapshot, b: Snapshot, alone: float = 1.5) -> Overlap:
        """The overlaps of all modes of a with all modes of b.

        alone: a mode whose MACs with all modes of b have a larger sum merges with another mode.
        """
        odd = a.defective[..., :, None] | b.defective[..., None, :]
        # ȳ_b pairs with x_a as the conjugate of y_b with x̄_a.
        mac, mirrored_mac = (
            np.where(odd, 0.0, np.abs(there * transposed(back)))
            for there, back in zip(_pairings(a, b), _pairings(b, a), strict=True)
        )
        # Near a defective eigenvalue the products of all modes that merge there are large: none is
        # a match. The conjugate of a real mode is not another mode.
        ahead = (mac + np.where(real(b.eigenvalues)[..., None, :], 0.0, mirrored_mac)).sum(axis=-1)
        back = (mac + np.where(real(a.eigenvalues)[..., None], 0.0, mirrored_mac)).sum(axis=-2)
        whole = np.maximum(np.maximum(ahead[..., None], back[..., None, :]), 1.0)
        mac, mirrored_mac = mac / whole, mirrored_mac / whole
        if odd.any():
            mac = _shape_mac(a, b, mac)
        merging = a.defective | (ahead > alone) | (odd & (mac > 0.1)).any(axis=-1)
        return cls(mac, mirrored_mac, merging)

    def told_apart(
        self, ahead: Complex, values: Complex, part: float = 0.1, shared: float = 0.1
    ) -> Overlap:
        """With the modes of a that merge wholly in those of b whose values lie where theirs go.

        Near modes of the same shape, such as whirls of a body on soft springs that spins fast,
        change places in their MACs where the step is longer than they lie apart.

        ahead (Ka,), values (Kb,): eigenvalues expected, and those of b, rad/s. part: a mode is the
        one that is expected where it is so much nearer than the others. shared: MAC of a mode that
        comes into question.
        """
        if not self.merging.any():
            return self
        macs = np.concatenate([self.mac, self.mirrored_mac], axis=-1)
        both = np.concatenate([values, values.conj()], axis=-1)
        far = np.abs(both[..., None, :] - ahead[..., None])
        alike = self.merging[..., None] & (macs > shared)
        far[~alike] = np.inf
        nearest, second = np.moveaxis(np.sort(far, axis=-1)[..., :2], -1, 0)
        rows = np.nonzero(np.isfinite(second) & (nearest < part * second))
        macs[(*rows, far[rows].argmin(axis=-1))] = (macs * alike)[rows].sum(axis=-1)
        direct, mirrored = np.split(macs, 2, axis=-1)
        return replace(self, mac=direct, mirrored_mac=mirrored)

    def of(self, target: Index, mirrored: Mask) -> Array:
        """The MAC of each mode of a with the mode of b that continues it, zero for none."""
        table = np.where(mirrored[..., None], self.mirrored_mac, self.mac)
        return np.where(target >= 0, np.take_along_axis(table, target[..., None], -1)[..., 0], 0.0)


def _pairings(a: Snapshot, b: Snapshot) -> tuple[Complex, Complex]:
    """y_aᴴB_a x_b and y_aᴴB_a x̄_b, (Ka, Kb) each."""
    K, own, lam = a.size, a.eigenvalues[..., None], b.eigenvalues[..., None, :]
    P, R = adjoint(a.dual) @ b.right, (transposed(a.dual) @ b.right).conj()
    direct = (own + lam) * P[..., :K, :] + P[..., K:, :]
    mirror = (own + lam.conj()) * R[..., :K, :] + R[..., K:, :]
    return direct, mirror


def _shape_mac(a: Snapshot, b: Snapshot, mac: Array) -> Array:
    """The MAC with the plain mass-weighted product of shapes where a value is defective."""
    out = mac
    if a.inertia is not None:
        shape = np.minimum(np.abs(adjoint(a.inertia) @ b.right) ** 2, 1.0)
        out = np.where(a.defective[..., None], shape, out)
    if b.inertia is not None:
        shape = np.minimum(np.abs(adjoint(a.right) @ b.inertia) ** 2, 1.0)
        out = np.where(b.defective[..., None, :], shape, out)
    return out


def align(b: Snapshot, a: Snapshot) -> Snapshot:
    """b with the basis of each of its clusters rotated to continue the modes of a.

    Inside a cluster the solver's vectors are an arbitrary basis of the eigenspace X. The modes x_a
    are projected on it with the cluster's own left vectors, X' = X T with T = YᴴB x_a, and the left
    vectors follow, Y' = Y T⁻ᴴ.
    """
    groups = [g for g in b.clusters if not b.defective[g].any()]
    if not groups:
        return b
    inward, _ = _pairings(b, a)
    outward, _ = _pairings(a, b)
    share = np.abs(inward * outward.T)
    turn = np.eye(b.size, dtype=complex)
    for members in groups:
        chosen = np.argsort(-share[members].sum(axis=0))[: len(members)]
        if len(chosen) < len(members):
            continue
        _, order = linear_sum_assignment(-np.abs(inward[np.ix_(members, chosen)]))
        T = inward[np.ix_(members, chosen[order])]
        if np.linalg.cond(T) > 1.0 / WEAK:
            continue
        mass = T.conj().T @ b.mass_gram[np.ix_(members, members)] @ T
        turn[np.ix_(members, members)] = T / np.sqrt(np.diag(mass).real)
    back = np.linalg.inv(turn).conj().T
    K = b.size
    return replace(
        b,
        right=b.right @ turn,
        left=b.left @ back,
        dual=np.concatenate([b.dual[:, :K] @ back, b.dual[:, K:] @ back], axis=1),
        mass_gram=turn.conj().T @ b.mass_gram @ turn,
        energy_gram=turn.conj().T @ b.energy_gram @ turn,
        whirling=None if b.whirling is None else b.whirling.turned(turn),
        variation=None if b.variation is None else b.variation.turned(turn, back),
        stack=None,
    )


@dataclass(frozen=True)
class Match:
    """target (Ka,): the mode of b that continues each mode of a, −1 for none. mirrored (Ka,): as
    its conjugate.

    mac (Ka,): MAC of the pair. certainty (Ka,): the least MAC that was accepted on the way there.
    Of P steps every array has one more axis, the first.
    """

    target: Index
    mirrored: Mask
    mac: Array
    certainty: Array

    def taken(self, index: int) -> Match:
        """One of several steps."""
        fields = (self.target, self.mirrored, self.mac, self.certainty)
        return Match(*(x[index] for x in fields))

    def onward(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of values (Kb,) of the modes of b those that continue the modes of a; any for none."""
        return np.take_along_axis(values, self.target, -1)


def real(eigenvalues: Complex) -> Mask:
    """Which eigenvalues are real."""
    return np.asarray(np.abs(eigenvalues.imag) <= HALF * np.abs(eigenvalues))


def assign(
    a: Snapshot,
    b: Snapshot,
    overlap: Overlap,
    predicted: Complex,
    *,
    prediction: float = 0.3,
    growth: float = 0.05,
    slower: float = 1e-4,
) -> Match:
    """The one-to-one assignment of least total cost 1 − MAC + w min(1, |λ_b − predicted| /
    scale).

    prediction: w, where a wrong shape costs 1. growth: where a pair becomes two real values, or two
    become a pair, the one that decays least goes on, and the others are this much worse at most; it
    only decides which value is left over, for every value that is matched pays it once. slower: two
    modes that lock share their shape, and either of them may be called the one that grows; it is
    the slower one, by this much, so that it does not hang on round-off.
    """
    lam = b.eigenvalues[..., None, :]
    step = np.abs(predicted - a.eigenvalues)[..., None]
    scale = 0.1 * np.maximum(np.abs(a.eigenvalues)[..., None], np.abs(lam)) + step
    scale[scale == 0.0] = 1.0
    # On the way from an oscillation to a real value lies a branch point: nothing is predicted.
    branches = real(a.eigenvalues)[..., None] != real(b.eigenvalues)[..., None, :]
    cost, mirrored_cost = (
        1.0
        - mac
        + prediction
        * np.where(branches, 1.0, np.minimum(np.abs(onward - predicted[..., None]) / scale, 1.0))
        for mac, onward in ((overlap.mac, lam), (overlap.mirrored_mac, lam.conj()))
    )
    flipped = mirrored_cost < cost - 1e-12
    cost = np.where(flipped, mirrored_cost, cost)
    # λ of the real eigenvalues over the largest of them, −1 … 1, 0 for an oscillation.
    reals = [np.where(real(s.eigenvalues), s.eigenvalues.real, 0.0) for s in (a, b)]
    tiny = np.finfo(float).tiny
    one, two = (x / np.abs(x).max(axis=-1, keepdims=True, initial=tiny) for x in reals)
    cost = cost - growth * (one[..., None] + two[..., None, :])
    swifter = np.argsort(np.argsort(np.abs(a.eigenvalues))) / max(a.size, 1)
    growing = lam.real / np.maximum(np.abs(lam), tiny)
    cost = cost + slower * swifter[..., None] * growing
    target = np.full(a.eigenvalues.shape, -1, dtype=np.intp)
    for step in np.ndindex(target.shape[:-1]):
        rows, columns = linear_sum_assignment(cost[step])
        target[step][rows] = columns
    mirrored = np.take_along_axis(flipped, target[..., None], -1)[..., 0] & (target >= 0)
    mac = overlap.of(target, mirrored)
    return Match(target, mirrored, mac, mac)
