"""Meetings between instants: crossing or veering where steps are long and other modes take part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

import modal
from assembly import FrozenSystem
from tests.support.families import Family, lapack, random_family, right_share
from tests.support.tracking_rules import meetings

Solver = Callable[[FrozenSystem, int], modal.Modes]


def any_phase_and_size(rng: np.random.Generator) -> Solver:
    """Eigenvectors are known up to a complex factor: here each comes with a random one."""

    def solver(system: FrozenSystem, k: int) -> modal.Modes:
        modes = lapack(system, k)
        count = len(modes)
        z = np.exp(2j * np.pi * rng.uniform(size=count)) * rng.uniform(0.1, 10.0, count)
        return replace(modes, right=modes.right * z, left=modes.left / z.conj())

    return solver


def outcome(found: Iterable[Family], points: int, solver: Solver) -> tuple[list[float], list[str]]:
    """Of each family the share of right values and what happened to the pair that meets."""
    shares, kinds = [], []
    for family in found:
        s = np.linspace(0.0, 1.0, points)
        truth = family.branches(s)
        tracks = modal.track(family, s=s, k=len(family.start), solver=solver)
        frequencies = 2.0 * np.pi * tracks["frequency"].values
        assert frequencies.shape == truth.shape
        shares.append(right_share(frequencies, truth))
        pair = [int(np.argmin(np.abs(frequencies[0] - truth[0, m]))) for m in (0, 1)]
        kinds.append("+".join(sorted(meetings(tracks, *pair))))
        if kinds[-1] == "veering" and family.gap() < 0.1:
            gap = np.nanmin(tracks["gap"].values[:, pair[0]])
            assert gap == pytest.approx(family.gap(), rel=3e-3)
    return shares, kinds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gap", "points", "count"), [(0.0, 6, 12), (1e-3, 4, 12), (3e-5, 12, 12), (3e-6, 6, 12)]
)
def test_few_instants_tell_crossings_from_veerings(gap: float, points: int, count: int) -> None:
    """Random families of 3 to 6 branches known in closed form (tests/support/families.py)."""
    rng = np.random.default_rng(7)
    families = (random_family(rng, gap) for _ in range(count))
    shares, kinds = outcome(families, points, any_phase_and_size(rng))
    assert shares == [1.0] * count
    assert kinds == ["veering" if gap else "crossing"] * count


@pytest.mark.parametrize("seed", [72, 82, 105, 168, 258])
def test_a_mode_that_crosses_inside_a_veering(seed: int) -> None:
    """Branches of a pair that veers widely, a third one right through it, four to twelve instants:
    no parabola fits two of the three, so the step is halved until they come one after the other."""
    family = random_family(np.random.default_rng(seed), 3e-2)
    shares, kinds = outcome([family], (4, 6, 12)[seed % 3], lapack)
    assert shares == [1.0]
    assert kinds == ["veering"]


@pytest.mark.slow
def test_gap_of_a_veering_as_wide_as_a_step() -> None:
    """Extra instants of the refined steps serve the gap: closed form to 2 %, from eight instants on
    over the whole family."""
    rng = np.random.default_rng(7)
    off = []
    for _ in range(20):
        family = random_family(rng, 3e-2)
        tracks = modal.track(family, s=np.linspace(0.0, 1.0, 8), k=len(family.start), solver=lapack)
        off.append(np.nanmin(tracks["gap"].values) / family.gap() - 1.0)
    assert np.max(np.abs(off)) < 0.02


@pytest.mark.parametrize(("gap", "seed"), [(0.1, 223), (0.1, 232), (0.05, 44), (0.03, 161)])
def test_symmetric_families_never_flutter(gap: float, seed: int) -> None:
    """A parabola through three modes may have real roots, yet M q̈ + K q = 0 with K > 0 is stable:
    the difference at its vertex tells."""
    family = random_family(np.random.default_rng(seed), gap)
    s = np.linspace(0.0, 1.0, (4, 5, 6)[seed % 3])
    tracks = modal.track(family, s=s, k=len(family.start), solver=lapack)
    assert right_share(2.0 * np.pi * tracks["frequency"].values, family.branches(s)) == 1.0
    assert "flutter onset" not in tracks["event"].values
