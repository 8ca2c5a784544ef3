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

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from modal.data.growth import ROUND_OFF
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex, Index, Mask

# A mode whose MACs with all modes of another instant have a larger sum merges with another mode.
MERGING = 1.5
# A cluster whose projection is worse conditioned than this is not rotated.
WELL_CONDITIONED = 1e3
# Cost of a wrong eigenvalue prediction; a wrong shape (MAC 0) costs 1.
PREDICTION_WEIGHT = 0.3
# Where a pair becomes two real values, or two become a pair, the one that decays least goes on: the
# others are this much worse at most. It only decides which value is left over, for every value that
# is matched pays it once.
GROWTH_PREFERENCE = 0.05
# Two modes that lock share their shape, and either of them may be called the one that grows: it is
# the slower one, by this much, so that it does not hang on round-off.
SLOWER_GROWS = 1e-4


@dataclass(frozen=True)
class Overlap:
    """Overlaps (Ka, Kb) both ways between two instants, with the modes of b and with their
    conjugates.

    A mode whose frequency passes through zero continues as the conjugate of a mode with Im λ ≥ 0.
    forward, mirrored: y_aᴴB_a x_b and y_aᴴB_a x̄_b. backward: y_bᴴB_b x_a transposed. mac,
    mirrored_mac: the MAC of the two pairings, (Ka, Kb).
    """

    forward: Complex
    backward: Complex
    mirrored: Complex
    mac: Array
    mirrored_mac: Array
    merging: Mask

    @classmethod
    def between(cls, a: Snapshot, b: Snapshot) -> Overlap:
        """The overlaps of all modes of a with all modes of b."""
        forward, mirrored = _pairings(a, b)
        backward, mirrored_back = (P.T for P in _pairings(b, a))
        odd = a.defective[:, None] | b.defective[None, :]
        mac, mirrored_mac, ahead = macs(
            forward * backward, mirrored * mirrored_back, real(a.eigenvalues), real(b.eigenvalues),
            odd,
        )  # fmt: skip
        if odd.any():
            mac = _shape_mac(a, b, mac)
        merging = a.defective | (ahead > MERGING)
        merging |= (odd & (mac > 0.1)).any(axis=1)
        return cls(forward, backward, mirrored, mac, mirrored_mac, merging)

    def of(self, target: Index, mirrored: Mask) -> Array:
        """The MAC of each mode of a with the mode of b that continues it, zero for none."""
        table = np.where(mirrored[:, None], self.mirrored_mac, self.mac)
        return np.where(target >= 0, table[np.arange(len(target)), target], 0.0)


def _pairings(a: Snapshot, b: Snapshot) -> tuple[Complex, Complex]:
    """y_aᴴB_a x_b and y_aᴴB_a x̄_b, (Ka, Kb) each."""
    return pairings(a.eigenvalues, a.dual, b.eigenvalues, b.right)


def pairings(
    lam: Complex, dual: Complex, onward: Complex, right: Complex
) -> tuple[Complex, Complex]:
    """y_aᴴB_a x_b and y_aᴴB_a x̄_b, (…, Ka, Kb): λ (…, Ka) and dual (…, n, 2Ka) of instants a,
    λ (…, Kb) and right (…, n, Kb) of b."""
    K, at = lam.shape[-1], lam[..., :, None]
    row = dual.swapaxes(-1, -2)
    P, R = row.conj() @ right, (row @ right).conj()
    direct = (at + onward[..., None, :]) * P[..., :K, :] + P[..., K:, :]
    mirror = (at + onward.conj()[..., None, :]) * R[..., :K, :] + R[..., K:, :]
    return direct, mirror


def macs(
    direct: Complex, mirror: Complex, real_a: Mask, real_b: Mask, odd: Mask
) -> tuple[Array, Array, Array]:
    """MAC and mirrored MAC (…, Ka, Kb), and the sums of those of a mode of a before they are
    divided, (…, Ka).

    direct, mirror: products of the overlaps both ways. odd: pairs with a defective mode.
    """
    # ȳ_b pairs with x_a as the conjugate of y_b with x̄_a.
    mac, mirrored_mac = np.where(odd, 0.0, np.abs(direct)), np.where(odd, 0.0, np.abs(mirror))
    # Near a defective eigenvalue the products of all modes that merge there are large: none is
    # a match. The conjugate of a real mode is not another mode.
    others = np.where(real_b[..., None, :], 0.0, mirrored_mac)
    ahead = mac.sum(axis=-1) + others.sum(axis=-1)
    others = np.where(real_a[..., :, None], 0.0, mirrored_mac)
    back = mac.sum(axis=-2) + others.sum(axis=-2)
    whole = np.maximum(np.maximum(ahead[..., :, None], back[..., None, :]), 1.0)
    return mac / whole, mirrored_mac / whole, ahead


def _shape_mac(a: Snapshot, b: Snapshot, mac: Array) -> Array:
    """The MAC with the plain mass-weighted product of shapes where a value is defective."""
    out = mac.copy()
    if a.inertia is not None:
        shape = np.minimum(np.abs(a.inertia.conj().T @ b.right) ** 2, 1.0)
        out[a.defective] = shape[a.defective]
    if b.inertia is not None:
        shape = np.minimum(np.abs(a.right.conj().T @ b.inertia) ** 2, 1.0)
        out[:, b.defective] = shape[:, b.defective]
    return out


def clusters(eigenvalues: Complex) -> list[Index]:
    """Groups of two or more eigenvalues closer than ROUND_OFF |λ|."""
    if len(eigenvalues) < 2:
        return []
    size = np.abs(eigenvalues)
    near = np.abs(eigenvalues[:, None] - eigenvalues[None, :])
    near = near <= ROUND_OFF * np.maximum(size[:, None], size[None, :])
    if int(near.sum()) == len(eigenvalues):
        return []
    count, group = connected_components(near, directed=False)
    members = [np.flatnonzero(group == g) for g in range(count)]
    return [each for each in members if len(each) > 1]


def align(b: Snapshot, a: Snapshot) -> Snapshot:
    """b with the basis of each of its clusters rotated to continue the modes of a.

    Inside a cluster the solver's vectors are an arbitrary basis of the eigenspace X. The modes x_a
    are projected on it with the cluster's own left vectors, X' = X T with T = YᴴB x_a, and the left
    vectors follow, Y' = Y T⁻ᴴ.
    """
    groups = [g for g in clusters(b.eigenvalues) if not b.defective[g].any()]
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
        if np.linalg.cond(T) > WELL_CONDITIONED:
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
    )


@dataclass(frozen=True)
class Match:
    """target (Ka,): the mode of b that continues each mode of a, −1 for none. mirrored (Ka,): as
    its conjugate.

    mac (Ka,): MAC of the pair. certainty (Ka,): the least MAC that was accepted on the way there.
    """

    target: Index
    mirrored: Mask
    mac: Array
    certainty: Array


def real(eigenvalues: Complex) -> Mask:
    """Which eigenvalues are real."""
    return np.asarray(np.abs(eigenvalues.imag) <= ROUND_OFF * np.abs(eigenvalues))


def _growing(s: Snapshot) -> Array:
    """λ of the real eigenvalues over the largest of them, −1 … 1, 0 for an oscillation, (K,)."""
    values = np.where(real(s.eigenvalues), s.eigenvalues.real, 0.0)
    return np.asarray(values / max(np.abs(values).max(initial=0.0), np.finfo(float).tiny))


def assign(a: Snapshot, b: Snapshot, overlap: Overlap, predicted: Complex) -> Match:
    """The one-to-one assignment of least total cost 1 − MAC + w min(1, |λ_b − predicted| /
    scale).
    """
    lam = b.eigenvalues[None, :]
    step = np.abs(predicted - a.eigenvalues)[:, None]
    scale = 0.1 * np.maximum(np.abs(a.eigenvalues)[:, None], np.abs(lam)) + step
    scale[scale == 0.0] = 1.0
    # On the way from an oscillation to a real value lies a branch point: nothing is predicted.
    branches = real(a.eigenvalues)[:, None] != real(b.eigenvalues)[None, :]
    miss = np.minimum(np.abs(lam - predicted[:, None]) / scale, 1.0)
    miss_mirrored = np.minimum(np.abs(lam.conj() - predicted[:, None]) / scale, 1.0)
    miss, miss_mirrored = np.where(branches, 1.0, miss), np.where(branches, 1.0, miss_mirrored)
    cost = 1.0 - overlap.mac + PREDICTION_WEIGHT * miss
    mirrored_cost = 1.0 - overlap.mirrored_mac + PREDICTION_WEIGHT * miss_mirrored
    flipped = mirrored_cost < cost - 1e-12
    cost = np.where(flipped, mirrored_cost, cost)
    cost = cost - GROWTH_PREFERENCE * (_growing(a)[:, None] + _growing(b)[None, :])
    swifter = np.argsort(np.argsort(np.abs(a.eigenvalues))) / max(a.size, 1)
    growth = lam.real / np.maximum(np.abs(lam), np.finfo(float).tiny)
    cost = cost + SLOWER_GROWS * swifter[:, None] * growth
    rows, columns = linear_sum_assignment(cost)
    target = np.full(a.size, -1, dtype=np.intp)
    target[rows] = columns
    mirrored = np.zeros(a.size, dtype=bool)
    mirrored[rows] = flipped[rows, columns]
    mac = np.zeros(a.size)
    chosen = np.where(flipped, overlap.mirrored_mac, overlap.mac)
    mac[rows] = chosen[rows, columns]
    return Match(target, mirrored, mac, mac)
