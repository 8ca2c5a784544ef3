"""What two successive instants say of each mode: overlaps, turning of shapes, coupling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.matching import CLUSTER, Match, Overlap, clusters, diagonal_pairing
from modal.snapshot import Complex, Index, Mask, Real, Snapshot


@dataclass(frozen=True)
class Motion:
    """The part of a link that only a motion in time needs.

    ahead, behind (Ka,): |y_n B x_{n+1}| and |y_{n+1} B x_n| of the modes of a. from_first (2, Ka,
    Ka), from_second (2, Kb, Kb): y_j B x_i of the two directions over the mode's own, with x_i and,
    for the conjugate of y_j; between the modes of a, and between those of b.
    """

    ahead: Real
    behind: Real
    from_first: Complex
    from_second: Complex


@dataclass(frozen=True)
class Link:
    """From instant a to the next one b, by mode of a (Ka,).

    mac, certainty (Ka,). flipped (Ka,): continued as the conjugate. turn (Ka, Ka): angle by which
    shape i turns into shape j. motion: None where a parameter is steady.
    """

    mac: Real
    certainty: Real
    flipped: Mask
    turn: Real
    motion: Motion | None


def link(overlap: Overlap, match: Match, moving: bool) -> Link:
    """The link of two instants."""
    Ka, Kb = overlap.mac.shape
    i = np.flatnonzero(match.target >= 0)
    j, turned = match.target[i], match.mirrored[i]
    both = np.ix_(i, j)
    table = np.where(turned, overlap.mirrored_mac[both], overlap.mac[both])
    turn = np.zeros((Ka, Ka))
    turn[np.ix_(i, i)] = np.arcsin(np.sqrt(np.clip(table, 0.0, 1.0)))
    if not moving:
        return Link(match.mac, match.certainty, match.mirrored, turn, None)
    # y_j of the conjugate with x_i is the conjugate of y_j with x̄_i.
    forward = np.where(turned, overlap.mirrored[both], overlap.forward[both])
    forward_twin = np.where(turned, overlap.forward[both], overlap.mirrored[both]).conj()
    before = turned[:, None]
    backward = np.where(before, overlap.mirrored_back[both], overlap.backward[both])
    backward_twin = np.where(before, overlap.backward[both], overlap.mirrored_back[both]).conj()
    own_ahead, own_behind = np.diag(forward), np.diag(backward)
    ahead, behind = np.full((2, Ka), np.nan)
    ahead[i], behind[i] = np.abs(own_ahead), np.abs(own_behind)
    from_first = np.full((2, Ka, Ka), np.nan, dtype=complex)
    from_second = np.full((2, Kb, Kb), np.nan, dtype=complex)
    with np.errstate(divide="ignore", invalid="ignore"):
        at_a, at_b = np.ix_(i, i), np.ix_(j, j)
        from_first[0][at_a], from_first[1][at_a] = forward / own_ahead, forward_twin / own_ahead
        from_second[0][at_b] = backward.T / own_behind
        from_second[1][at_b] = backward_twin.T / own_behind
    motion = Motion(ahead, behind, from_first, from_second)
    return Link(match.mac, match.certainty, match.mirrored, turn, motion)


def across(a: Snapshot, target: Index, c: Snapshot, flipped: Mask) -> tuple[Real, Real]:
    """|y_aBx_c| and |y_cBx_a| of each mode of a over two instants, (Ka,).

    target (Ka,): the mode of c that continues it, −1 for none (NaN).
    """
    i = np.flatnonzero(target >= 0)
    j = target[i]
    ahead, behind = np.full((2, a.size), np.nan)
    ahead[i] = diagonal_pairing(a, i, c, j, flipped[i])
    behind[i] = diagonal_pairing(c, j, a, i, flipped[i])
    return ahead, behind


def coupling(
    eigenvalues: Complex,
    energy_gram: Complex,
    before: tuple[Complex, float] | None,
    after: tuple[Complex, float] | None,
) -> Real:
    """Largest |y_jᴴBẋ_i| / |λ_i − λ_j| over the other modes of an instant and all conjugates, (K,).

    eigenvalues (K,) with Im ≥ 0; energy_gram (K, K) of the shapes. before, after: `from_second` of
    the link that ends here and `from_first` of the one that begins, each with its step. ẋ is the
    central difference where both are known, else one-sided.
    """
    K = len(eigenvalues)
    change, span = np.zeros((2, K, K), dtype=complex), np.zeros((2, K, K))
    if after is not None:
        _add(change, span, *after)
    if before is not None:
        _add(change, span, -before[0], before[1])
    if not span.any():
        return np.full(K, np.nan)
    speed = np.divide(change, span, out=np.zeros_like(change), where=span != 0.0)
    return _worst(speed, eigenvalues, energy_gram)


def _add(change: Complex, span: Real, part: Complex, step: float) -> None:
    """What one neighbour says of the modes it knows."""
    known = np.isfinite(part)
    change += np.where(known, part, 0.0)
    span += np.where(known, step, 0.0)


def _worst(speed: Complex, lam: Complex, gram: Complex) -> Real:
    """The largest coupling of each mode i (K,); speed (2, j, i): y_jᴴBẋ_i and for conjugate j.

    Modes of one eigenvalue are one subspace: what counts is the energy of the part that lies in it,
    whatever its basis.
    """
    energy = np.diag(gram).real
    with np.errstate(invalid="ignore", divide="ignore"):
        positive = (energy > 0.0)[:, None] & (energy > 0.0)
        ratio = np.sqrt(np.where(positive, energy[:, None] / energy, 1.0))
        apart = np.abs(lam[None, :] - lam[:, None])
        apart[apart <= CLUSTER * np.abs(lam)] = np.nan  # no coupling inside a subspace
        mirrored = np.abs(lam[None, :] - lam.conj()[:, None])
        mirrored[mirrored <= CLUSTER * np.abs(lam)] = np.nan
        distance = np.stack([apart, mirrored])
        found = np.abs(speed) * ratio / distance
        for members in clusters(lam):
            if not np.all(energy[members] > 0.0):
                continue
            G = gram[np.ix_(members, members)]
            for block, form in ((0, G), (1, G.conj())):
                c = speed[block][members]
                part = (c.conj() * (form @ c)).sum(axis=0).real
                whole = np.sqrt(np.maximum(part, 0.0) / np.where(energy > 0.0, energy, np.nan))
                found[block][members] = whole / distance[block][members]
    return np.asarray(np.max(np.where(np.isfinite(found), found, 0.0), axis=(0, 1)))
