"""What two successive instants say of each track: overlaps, turning of shapes, coupling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modal.matching import CLUSTER, Match, Overlap, clusters, diagonal_pairing
from modal.snapshot import Complex, Index, Mask, Real, Snapshot


@dataclass(frozen=True)
class Motion:
    """The part of a link that only a motion in time needs.

    ahead, behind (R,): |y_n B x_{n+1}| and |y_{n+1} B x_n|. from_first, from_second (2, R, R):
    y_j B x_i of the two directions over the track's own, with x_i and, for the conjugate of y_j.
    """

    ahead: Real
    behind: Real
    from_first: Complex
    from_second: Complex


@dataclass(frozen=True)
class Link:
    """From one instant to the next, by track (R,) of those known at the time.

    mac, certainty (R,). flipped (R,): continued as the conjugate. turn (R, R): angle by which shape
    i turns into shape j. motion: None where a parameter is steady.
    """

    mac: Real
    certainty: Real
    flipped: Mask
    turn: Real
    motion: Motion | None


def link(overlap: Overlap, match: Match, index: Index, onward: Index, moving: bool) -> Link:
    """The link of two instants: index, onward (R,) say which mode each track is at both."""
    R, present = len(index), index >= 0
    flipped = np.zeros(R, dtype=bool)
    mac, certainty = np.full((2, R), np.nan)
    flipped[present] = match.mirrored[index[present]]
    mac[present] = match.mac[index[present]]
    certainty[present] = match.certainty[index[present]]
    kept = np.flatnonzero((index >= 0) & (onward >= 0))
    i, j, turned = index[kept], onward[kept], flipped[kept]
    both, pairs = np.ix_(i, j), np.ix_(kept, kept)
    table = np.where(turned, overlap.mirrored_mac[both], overlap.mac[both])
    turn = np.zeros((R, R))
    turn[pairs] = np.arcsin(np.sqrt(np.clip(table, 0.0, 1.0)))
    if not moving:
        return Link(mac, certainty, flipped, turn, None)
    # y_j of the conjugate with x_i is the conjugate of y_j with x̄_i.
    forward = np.where(turned, overlap.mirrored[both], overlap.forward[both])
    forward_twin = np.where(turned, overlap.forward[both], overlap.mirrored[both]).conj()
    before = turned[:, None]
    backward = np.where(before, overlap.mirrored_back[both], overlap.backward[both])
    backward_twin = np.where(before, overlap.backward[both], overlap.mirrored_back[both]).conj()
    own_ahead, own_behind = np.diag(forward), np.diag(backward)
    ahead, behind = np.full((2, R), np.nan)
    ahead[kept], behind[kept] = np.abs(own_ahead), np.abs(own_behind)
    from_first, from_second = np.full((2, 2, R, R), np.nan, dtype=complex)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_first[0][pairs], from_first[1][pairs] = forward / own_ahead, forward_twin / own_ahead
        from_second[0][pairs] = backward.T / own_behind
        from_second[1][pairs] = backward_twin.T / own_behind
    motion = Motion(ahead, behind, from_first, from_second)
    return Link(mac, certainty, flipped, turn, motion)


def across(a: Snapshot, i: Index, c: Snapshot, j: Index, flipped: Mask) -> tuple[Real, Real]:
    """|y_aBx_c| and |y_cBx_a| of each track over two instants, NaN where i or j (R,) is −1."""
    both = np.flatnonzero((i >= 0) & (j >= 0))
    ahead, behind = np.full((2, len(i)), np.nan)
    ahead[both] = diagonal_pairing(a, i[both], c, j[both], flipped[both])
    behind[both] = diagonal_pairing(c, j[both], a, i[both], flipped[both])
    return ahead, behind


def stencils(motions: list[Motion], second: list[tuple[Real, Real]], R: int) -> Real:
    """|y_nB_n x_m| for m = n − 2 … n + 2, (T, 5, R), from the links of one and of two steps."""
    out = np.full((len(motions) + 1, 5, R), np.nan)
    out[:, 2] = 1.0
    for n, motion in enumerate(motions):
        out[n, 3, : len(motion.ahead)] = motion.ahead
        out[n + 1, 1, : len(motion.behind)] = motion.behind
    for n, (ahead, behind) in enumerate(second):
        out[n, 4, : len(ahead)] = ahead
        out[n + 2, 0, : len(behind)] = behind
    return out


def coupling(
    at: Real, eigenvalues: Complex, energy_gram: Callable[[int], Complex], motions: list[Motion]
) -> Real:
    """Largest |y_jᴴBẋ_i| / |λ_i − λ_j| over the other tracks and all conjugates, (T, R).

    at (T,); eigenvalues (T, R) with Im ≥ 0, NaN where a track is not. energy_gram(n) (R, R): of the
    shapes at instant n. ẋ from the neighbouring instants, by the central difference inside and
    one-sided at the ends of a track.
    """
    out = np.full(eigenvalues.shape, np.nan)
    for n, lam in enumerate(eigenvalues):
        R = len(lam)
        change, span = np.zeros((2, R, R), dtype=complex), np.zeros((2, R, R))
        if n < len(motions):
            _add(change, span, motions[n].from_first, at[n + 1] - at[n])
        if n > 0:
            _add(change, span, -motions[n - 1].from_second, at[n] - at[n - 1])
        if span.any():
            speed = np.divide(change, span, out=np.zeros_like(change), where=span != 0.0)
            out[n] = _worst(speed, lam, energy_gram(n))
    return np.where(np.isnan(eigenvalues.real), np.nan, out)


def _add(change: Complex, span: Real, part: Complex, step: float) -> None:
    """What one neighbour says of the tracks it knows."""
    known = np.isfinite(part)
    size = part.shape[-1]
    change[:, :size, :size] += np.where(known, part, 0.0)
    span[:, :size, :size] += np.where(known, step, 0.0)


def _worst(speed: Complex, lam: Complex, gram: Complex) -> Real:
    """The largest coupling of each track i (R,); speed (2, j, i): y_jᴴBẋ_i and for conjugate j.

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
