"""Who keeps the identity of modes: this tracker, plain sorting, and the row-wise MAC rule of ROSS.

Two hundred random families of oscillators (tests/support/families.py) whose branches are known in
closed form; for every rule the part of all values that lie on the branch their track started on.
Run:

    python -m benchmarks.tracking
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import modal
from tests.support.families import lapack, random_family, right_share
from tests.support.tracking_rules import between, compare, meetings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """Over families that meet with one gap: share of right values, share of pairs whose meeting is
    told for what it is (crossing or veering), largest relative error of a gap."""

    identities: float
    meetings: float
    gap_error: float


def by_gap(gap: float, points: int, count: int, seed: int = 7) -> Told:
    """Families with the relative gap (0: crossing) over `points` even instants.

    A pair that stays within √2 of its least distance over the whole range does not meet and is left
    out.
    """
    rng = np.random.default_rng(seed)
    s = np.linspace(0.0, 1.0, points)
    shares, told, errors = [], [], []
    for _ in range(count):
        family = random_family(rng, gap)
        truth = family.branches(s)
        tracks = modal.track(family, s=s, k=len(family.start), solver=lapack)
        found = 2.0 * np.pi * tracks["frequency"].values
        shares.append(right_share(found, truth))
        first, second = (int(np.argmin(np.abs(found[0] - truth[0, m]))) for m in (0, 1))
        kinds = meetings(tracks, first, second)
        if kinds:
            told.append(kinds == {"veering" if gap else "crossing"})
        if kinds == {"veering"}:
            gaps = modal.events(tracks)["gap"].values[between(tracks, first, second)]
            errors.append(abs(np.nanmin(gaps) / family.gap() - 1.0))
    return Told(float(np.mean(shares)), float(np.mean(told)), max(errors, default=float("nan")))


def main() -> None:
    """Print the comparison, and what becomes of meetings of known gap."""
    start = time.perf_counter()
    print(f"{'rule':<22} {'values right':>12} {'families all right':>19}")
    for rule, score in compare(200).items():
        print(f"{rule:<22} {score.identities:>12.2%} {score.families:>19.1%}")
    print(f"200 families in {time.perf_counter() - start:.0f} s")
    print(
        f"\n{'gap':>7} {'instants':>8} {'values right':>12} {'told right':>10} {'gap off by':>10}"
    )
    for gap in (1e-1, 3e-2, 1e-3, 1e-4, 1e-5, 3e-6, 0.0):
        for points in (4, 8, 24):
            told = by_gap(gap, points, 60)
            print(
                f"{gap:>7g} {points:>8} {told.identities:>12.2%} {told.meetings:>10.1%} "
                f"{told.gap_error:>10.1e}"
            )


if __name__ == "__main__":
    main()
