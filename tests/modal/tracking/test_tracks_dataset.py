"""The tracks dataset: what is promised of every row and number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
import xarray as xr

import assembly
import modal
from assembly import FrozenSystem
from assembly.linalg.combination import Combination
from tests.support.general_families import general


@dataclass(frozen=True)
class Wandering:
    """Twelve modes whose frequencies rise and fall through each other, shapes that turn with s."""

    seed: int

    def frequencies(self, s: float) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        base, size = np.sort(rng.uniform(50.0, 200.0, 12)), rng.uniform(0.0, 60.0, 12)
        phase, turns = rng.uniform(0.0, 2.0 * np.pi, 12), rng.integers(1, 3, 12)
        return np.asarray(20.0 + np.abs(base + size * np.sin(2.0 * np.pi * turns * s + phase)))

    def freeze(self, s: float) -> FrozenSystem:
        rng = np.random.default_rng(self.seed + 1000)
        W = np.triu(rng.normal(0.0, 0.15, (12, 12)), 1)
        X = la.expm(s * (W - W.T))
        return FrozenSystem(M=np.eye(12), K=X @ np.diag(self.frequencies(s) ** 2) @ X.T)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "points"), [(0, 15), (1, 40), (2, 15)])
def test_a_row_is_one_branch_through_the_window_and_back(seed: int, points: int) -> None:
    """Of the three lowest of twelve wandering modes none is missing, none is on two rows, and no
    row ever changes its branch, though most of them leave and come back."""
    model, s = Wandering(seed), np.linspace(0.0, 1.0, points)
    tracks = modal.track(model, s=s, k=3, backend="dense")
    found = 2.0 * np.pi * tracks["frequency"].values
    truth = np.array([model.frequencies(value) for value in s])
    branch = []
    for row in found.T:
        there = np.isfinite(row)
        off = np.abs(row[there, None] - truth[there]).max(axis=0)
        branch.append(int(np.argmin(off)))
        assert off.min() < 1e-7
    assert len(set(branch)) == len(branch)
    for n, values in enumerate(np.sort(truth, axis=1)[:, :3]):
        for value in values:
            assert np.nanmin(np.abs(found[n] - value)) < 1e-7


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_numbers_lie_where_they_must(seed: int) -> None:
    s = np.linspace(0.0, 1.0, 9)
    tracks = modal.track(general(seed, 750.0), s=s, k=4, rate=0.05, backend="dense")
    there = np.isfinite(tracks["frequency"].values)
    for name in ("mac", "certainty"):
        later = tracks[name].values[1:]
        assert np.all((later >= 0.0) & (later <= 1.0 + 1e-12))
        assert np.all(np.isnan(tracks[name].values[0]))
    lam = tracks["eigenvalue"].values
    assert np.all(lam.imag >= 0.0)
    np.testing.assert_array_equal(tracks["frequency"], lam.imag / (2.0 * np.pi))
    np.testing.assert_array_equal(tracks["growth_rate"], lam.real)
    np.testing.assert_allclose(tracks["damping_ratio"], -lam.real / np.abs(lam), rtol=1e-12)
    assert np.all(tracks["backward_error"].values < 1e-12)
    for name in ("frozen_interval", "coupling"):
        assert np.all(tracks[name].values >= 0.0)
    assert np.all(tracks["gap"].values[tracks["event"].values == "veering"] > 0.0)
    assert np.all(np.isnan(tracks["gap"].values[tracks["event"].values != "veering"]))
    for n, row in np.argwhere(tracks["event"].values == "crossing"):
        other = int(tracks["partner"].values[n, row])
        order = np.sign(np.diff(tracks["frequency"].values[[n - 1, n]][:, [row, other]]))
        assert order[0] == -order[1]
    assert np.all(tracks["kind"].values[there] == "elastic")


def test_condition_number_is_the_sensitivity_of_the_eigenvalue() -> None:
    """|δλ|/|λ| over the size of a perturbation of M, C and K in the worst direction, by LAPACK."""
    model = general(5, 750.0)
    tracks = modal.track(model, s=[0.3, 0.7], k=4, backend="dense")
    system = model.freeze(0.7)
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    modes = modal.solve(system, 4, backend="dense")
    norms = [np.sqrt(la.norm(A, 1) * la.norm(A, np.inf)) for A in (M, C, K)]
    for row in range(4):
        lam = tracks["eigenvalue"].values[1, row]
        j = int(np.argmin(np.abs(modes.eigenvalues - lam)))
        x, y = modes.right[:, j], modes.left[:, j]
        E = np.outer(y, x.conj()) / (la.norm(x) * la.norm(y))
        phases = [(lam.conjugate() / abs(lam)) ** p for p in (2, 1, 0)]
        step = 1e-7
        M1, C1, K1 = (
            A + step * norm * phase * E
            for A, norm, phase in zip((M, C, K), norms, phases, strict=True)
        )
        n = len(M)
        lower = -la.solve(M1, np.hstack([K1, C1]))
        values = la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))
        moved = np.abs(values - lam).min() / abs(lam) / step
        assert moved == pytest.approx(tracks["condition_number"].values[1, row], rel=1e-3)


def test_nothing_is_lost_in_a_file(tmp_path: Path) -> None:
    blade = assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.05, 0.02),
        material=assembly.steel,
        elements=6,
        clamped="start",
    )
    speeds = np.linspace(0.0, 400.0, 9)
    tracks = modal.track(blade, omega=speeds, axis=(0, 0, 1), epsilon=50.0, k=3)
    modal.write_dataset(tracks, tmp_path / "tracks.nc")
    read = modal.read_dataset(tmp_path / "tracks.nc")
    assert set(read.variables) == set(tracks.variables)
    for name in tracks.variables:
        np.testing.assert_array_equal(read[name].values, tracks[name].values)
        assert read[name].dims == tracks[name].dims
        assert dict(read[name].attrs) == dict(tracks[name].attrs)
    assert dict(read.attrs) == dict(tracks.attrs)
    with xr.open_dataset(tmp_path / "tracks.nc", engine="h5netcdf") as plain:
        assert plain["eigenvalue"].dtype == complex


@pytest.mark.parametrize("backend", ["reduced", "slepc"])
def test_beck_s_column_flutters_the_same_way_by_all_backends(backend: str) -> None:
    """Beck's column: EI w'''' + P w'' + m ẅ = 0 under a follower force; flutter at P = 20.05 EI/L²
    (Beck 1952). Which of the locked modes grows is a convention, the same for every backend."""
    n, h = 12, 1.0 / 12
    bend = np.array([[12, 6 * h, -12, 6 * h], [0, 4 * h * h, -6 * h, 2 * h * h]])
    bend = np.vstack([bend, [[0, 0, 12, -6 * h], [0, 0, 0, 4 * h * h]]]) / h**3
    mass = np.array([[156, 22 * h, 54, -13 * h], [0, 4 * h * h, 13 * h, -3 * h * h]])
    mass = np.vstack([mass, [[0, 0, 156, -22 * h], [0, 0, 0, 4 * h * h]]]) * h / 420
    load = np.array([[36, 3 * h, -36, 3 * h], [0, 4 * h * h, -3 * h, -h * h]])
    load = np.vstack([load, [[0, 0, 36, -3 * h], [0, 0, 0, 4 * h * h]]]) / (30 * h)
    whole = np.zeros((3, 2 * n + 2, 2 * n + 2))
    for e in range(n):
        here = slice(2 * e, 2 * e + 4)
        for A, part in zip(whole, (bend, mass, load), strict=True):
            A[here, here] += np.triu(part, 1).T + np.triu(part)
    follower = np.zeros_like(whole[0])
    follower[-2, -1] = 1.0
    K, M, G, F = (sp.csr_matrix(A[2:, 2:]) for A in (*whole, follower))
    size = K.shape[0]

    class Column:
        def freeze(self, P: float) -> FrozenSystem:
            return FrozenSystem(
                M=Combination.of(size, [1.0], [M]),
                K=Combination.of(size, [1.0], [K]),
                K_G=Combination.of(size, [-P], [G]),
                K_D=Combination.of(size, [P], [F]),
            )

    P = np.linspace(0.0, 40.0, 17)
    tracks = modal.track(Column(), P=P, k=3, backend=backend)
    dense = modal.track(Column(), P=P, k=3, backend="dense")
    np.testing.assert_allclose(tracks["eigenvalue"], dense["eigenvalue"], rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(tracks["event"], dense["event"])
    flutters = np.argwhere(tracks["event"].values == "flutter onset")
    assert flutters.tolist() == [[9, 0], [9, 1]]
    assert P[8] < 20.05 < P[9]
    assert tracks["growth_rate"].values[9, 0] > 0.0 > tracks["growth_rate"].values[9, 1]
