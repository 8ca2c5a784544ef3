"""Rules that identify modes: this tracker, plain sorting and the row-wise MAC of ROSS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import modal
from tests.support.families import Family, families, lapack, right_share

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

CLEAR = 0.9  # the MAC from which ROSS believes a match


def instants(family: Family, s: Array) -> tuple[Array, list[Complex]]:
    """Frequencies (T, n) in rising order and the shapes of each instant."""
    found = [lapack(family.freeze(float(v)), len(family.start)) for v in s]
    return np.array([m.eigenvalues.imag for m in found]), [m.right for m in found]


def sorting(frequencies: Array, shapes: list[Complex]) -> Array:
    """A track is a place in the order of frequencies."""
    return frequencies


def row_wise_mac(frequencies: Array, shapes: list[Complex]) -> Array:
    """Each track takes the mode of largest unweighted MAC if that exceeds 0.9, else the mode at its
    own place."""
    T, n = frequencies.shape
    tracks = np.empty((T, n))
    tracks[0] = frequencies[0]
    known = shapes[0]
    for t in range(1, T):
        X = shapes[t]
        size = np.outer((np.abs(known) ** 2).sum(axis=0), (np.abs(X) ** 2).sum(axis=0))
        mac = np.abs(known.conj().T @ X) ** 2 / size
        best = mac.argmax(axis=1)
        chosen = np.where(mac.max(axis=1) > CLEAR, best, np.arange(n))
        tracks[t], known = frequencies[t, chosen], X[:, chosen]
    return tracks


def between(tracks: xr.Dataset, first: int, second: int) -> NDArray[np.bool_]:
    """Which of the listed events are between two modes."""
    listed = modal.events(tracks)
    pairs = np.sort([listed["event_mode"].values, listed["partner"].values], axis=0)
    return np.asarray((pairs == np.sort([first, second])[:, None]).all(axis=0))


def meetings(tracks: xr.Dataset, first: int, second: int) -> set[str]:
    """What happens between two modes."""
    return set(modal.events(tracks)["event"].values[between(tracks, first, second)].tolist())


@dataclass(frozen=True)
class Score:
    """identities: share of right values. families: share of families without any wrong value."""

    identities: float
    families: float


def grid(index: int, rng: np.random.Generator) -> Array:
    """12 to 40 instants over 0 … 1, even for every other pair of families."""
    count = int(rng.integers(12, 41))
    if index % 4 < 2:
        return np.linspace(0.0, 1.0, count)
    return np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, count - 2)]))


def compare(count: int, seed: int = 1) -> dict[str, Score]:
    """The score of each rule on the same families and instants."""
    rng = np.random.default_rng(seed + 1000)
    shares: dict[str, list[float]] = {
        "this tracker": [],
        "plain sorting": [],
        "row-wise MAC > 0.9": [],
    }
    for index, family in enumerate(families(count, seed)):
        s = grid(index, rng)
        truth = family.branches(s)
        tracks = modal.track(family, s=s, k=len(family.start), solver=lapack)
        ours = 2.0 * np.pi * tracks["frequency"].values
        frequencies, shapes = instants(family, s)
        shares["this tracker"].append(right_share(ours, truth))
        shares["plain sorting"].append(right_share(sorting(frequencies, shapes), truth))
        shares["row-wise MAC > 0.9"].append(right_share(row_wise_mac(frequencies, shapes), truth))
    return {
        rule: Score(float(np.mean(found)), float(np.mean(np.array(found) == 1.0)))
        for rule, found in shares.items()
    }
