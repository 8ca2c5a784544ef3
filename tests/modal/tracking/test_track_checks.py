"""A track's reduced basis: compared with full solves, and grown where it is not good enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
import modal
from assembly import FrozenSystem
from assembly.errors import AccuracyError, InputError
from assembly.linalg.combination import Combination
from modal.reduction.body_space import BodySpace
from modal.reduction.space import CertifiedModes, spread
from modal.tracking import sources, space_sources

SPEEDS = np.linspace(0.0, 0.9, 81)
N = 30


@dataclass
class Shaft:
    """N masses in a plane that turns, springs between them: operators shared by all speeds.

    springs: two more, between a mass each and the frame, that stiffen with the speed as sin² and as
    a square. soft: factor of the chain at speeds that are not among `honest`; the operator stays
    the same object, so nothing but a full solve can tell.
    """

    soft: float = 1.0
    honest: frozenset[float] = frozenset()
    springs: bool = False
    K: sp.csr_matrix = field(init=False)

    def __post_init__(self) -> None:
        chain = sp.diags([-np.ones(N - 1), 2.0 * np.ones(N), -np.ones(N - 1)], [-1, 0, 1])
        self.K = sp.csr_matrix(sp.block_diag([chain, 1.3 * chain]))
        self.original = self.K.data.copy()
        self.M = sp.identity(2 * N, format="csr")
        self.points = [sp.csr_matrix(([1.0], ([i], [i])), shape=(2 * N, 2 * N)) for i in (7, 41)]
        swap = sp.csr_matrix(np.array([[0.0, -1.0], [1.0, 0.0]]))
        self.G = sp.csr_matrix(sp.kron(swap, sp.identity(N)))

    def freeze(self, omega: float) -> FrozenSystem:
        lies = bool(self.honest) and omega not in self.honest
        self.K.data[:] = self.original * (self.soft if lies else 1.0)
        speed = 0.05 * omega

        def one(coefficient: float, A: sp.csr_matrix) -> Combination:
            return Combination.of(2 * N, (coefficient,), (A,))

        return FrozenSystem(
            M=one(1.0, self.M),
            C=one(2.0 * speed, self.G),
            K=one(1.0, self.K),
            K_omega2=one(-(speed**2), self.M),
            K_G=Combination.of(
                2 * N, (5.0 * np.sin(omega) ** 2, 0.1 * omega**2), self.points
            ) if self.springs else None,
        )  # fmt: skip


def exact(model: Shaft, omega: float, k: int) -> np.ndarray:
    """LAPACK's eigenvalues of the state matrix, Im ≥ 0, by |λ|."""
    s = model.freeze(omega)
    n = s.n
    lower = -np.linalg.solve(s.M.toarray(), np.hstack([s.stiffness.toarray(), s.damping.toarray()]))
    lam = la.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower]))
    lam = lam[lam.imag >= 0.0]
    return lam[np.argsort(np.abs(lam))[:k]]


@pytest.mark.parametrize("checks", [{}, {"checks": 3}])
def test_a_model_that_lies_between_the_training_points_is_found_out(checks: dict) -> None:
    """The springs are 4 % softer wherever the basis was not trained: frequencies 2 % too high."""
    honest = frozenset(SPEEDS[spread(len(SPEEDS), 5)].tolist())
    with pytest.raises(AccuracyError, match="of the full problem"):
        modal.track(Shaft(0.96, honest), omega=SPEEDS, k=4, **checks)


def test_without_checks_the_wrong_values_are_handed_out() -> None:
    """What the check is for: LAPACK at one speed is 2 % below what the basis says."""
    honest = frozenset(SPEEDS[spread(len(SPEEDS), 5)].tolist())
    model = Shaft(0.96, honest)
    tracks = modal.track(model, omega=SPEEDS, k=4, checks=0)
    found = np.sort(np.abs(tracks["eigenvalue"].values[13]))
    true = np.abs(exact(model, float(SPEEDS[13]), 4))
    assert found == pytest.approx(true / np.sqrt(0.96), 4e-3)


def test_a_missing_mode_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reduced solve loses its second mode."""
    original = BodySpace.solve

    def solve(self: BodySpace, at: Any) -> Any:
        self.wanted += 1
        found = original(self, at)
        self.wanted -= 1
        index = np.delete(np.arange(self.wanted + 1), 1)[None].repeat(len(at), 0)
        tables = (getattr(found.bounds, name) for name in found.bounds.__dataclass_fields__)
        fewer = type(found.bounds)(*(np.take_along_axis(t, index, 1) for t in tables))
        prescribed = np.take_along_axis(found.prescribed, index, 1)
        return CertifiedModes(found.instants, found.modes.take(index), fewer, prescribed)

    monkeypatch.setattr(BodySpace, "solve", solve)
    with pytest.raises(AccuracyError, match="reduced basis"):
        modal.track(Shaft(), omega=SPEEDS, k=4)


def test_the_default_is_one_check_at_a_point_of_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[float], int]] = []
    original = sources.spot_check

    def counted(reducer: Any, points: Any, wanted: int, k: int) -> int:
        asked.append(([p["omega"] for p in points], original(reducer, points, wanted, k)))
        return asked[-1][1]

    monkeypatch.setattr(sources, "spot_check", counted)
    blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6, clamped="start")
    speeds = np.linspace(0.0, 400.0, 41)
    tracks = modal.track(blade, omega=speeds, axis=(0, 0, 1), k=4)
    assert tracks.attrs["solver"].startswith("reduced basis")
    points, compared = asked[0]
    assert len(asked) == 1 and compared == 1 and set(points) <= set(speeds.tolist())


def test_checks_that_are_no_number() -> None:
    with pytest.raises(InputError, match="checks: must be"):
        modal.track(Shaft(), omega=SPEEDS, checks=-1)


def test_values_that_a_local_space_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the modes of the first speed alone: the slow speeds are solved on it, the others on the
    shared space, and all are those of LAPACK."""
    original, solved = BodySpace.local, list[tuple[bool, int]]()
    monkeypatch.setattr(BodySpace, "local", lambda self, at: original(self, at.take([0])))
    accurate = sources.SpaceSource._accurate

    def noted(self: Any, points: Any) -> Any:
        parts, left = accurate(self, points)
        solved.extend((space.coordinates is not None, len(index)) for index, space, _ in parts)
        return parts, left

    monkeypatch.setattr(sources.SpaceSource, "_accurate", noted)
    blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6, clamped="start")
    speeds = np.linspace(0.0, 60.0, 41)
    tracks = modal.track(blade, omega=speeds, axis=(0, 0, 1), k=4)
    (inside, few), (shared, rest) = solved[:2]
    assert inside and not shared and few and rest and few + rest == len(speeds)
    for n in range(0, 41, 4):
        exact = modal.solve(blade.freeze(omega=speeds[n], axis=(0, 0, 1)), k=4).eigenvalues
        found = tracks["eigenvalue"].values[n, :4]
        np.testing.assert_allclose(np.sort(found.imag), np.sort(exact.imag), rtol=1e-8)


@pytest.mark.slow
def test_a_basis_that_grows_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """From two speeds only: later blocks add vectors, and the tracks are those of full solves."""
    monkeypatch.setattr(sources, "TRAINING", 2)
    monkeypatch.setattr(sources, "SAMPLE", 2)
    speeds = np.linspace(0.0, 3.14159, 301)
    sizes: list[int] = []
    original = space_sources.ReducedSource._settle

    def settle(self: Any) -> None:
        original(self)
        sizes.append(self._space.projected.size)

    monkeypatch.setattr(space_sources.ReducedSource, "_settle", settle)
    reduced = modal.track(Shaft(springs=True), omega=speeds, k=5, rate=0.01, backend="reduced")
    assert len(sizes) > 1 and sizes[-1] > sizes[0]
    full = modal.track(Shaft(springs=True), omega=speeds, k=5, rate=0.01, backend="dense")
    for n in (0, 99, 100, 101, 199, 200, 201, 300):
        lam = np.sort(np.abs(reduced["eigenvalue"].values[n]))[:5]
        np.testing.assert_allclose(
            lam, np.abs(exact(Shaft(springs=True), float(speeds[n]), 5)), rtol=1e-7
        )
    for name in ("eigenvalue", "mac", "growth_rate_corrected"):
        found, expected = reduced[name].values[:, :5], full[name].values[:, :5]
        both = np.isfinite(found) & np.isfinite(expected)
        assert both.mean() > 0.9
        scale = np.abs(expected[both]).max()
        np.testing.assert_allclose(found[both], expected[both], rtol=0, atol=1e-6 * scale)


def test_bearings_that_change_with_speed_share_their_matrices() -> None:
    """Tables of all eight coefficients: on one space, as `solve` of each speed. A film without
    stiffness at rest has matrices of its own there, where the shaft is free."""
    speeds = np.linspace(0.0, 500.0, 6)
    k = np.array([[[2e7 + 1e4 * s, 3e4 * s], [-5e4 * s, 3e7 + 2e4 * s]] for s in speeds])
    c = np.array([[[2e4 + 10.0 * s, 3.0 * s], [-5.0 * s, 3e4]] for s in speeds])
    tables = assembly.speed_table(speeds, k), assembly.speed_table(speeds, c)
    shaft = [(1.0, assembly.circle(0.05))], assembly.steel, 24
    discs = [assembly.Disc.solid(0.4, 0.3, 0.05, 0.04, assembly.steel)]
    bearings = [assembly.Bearing(x, *tables) for x in (0.0, 1.0)]
    rotor = assembly.rotor(*shaft, discs=discs, bearings=bearings)
    omega = np.linspace(0.0, 480.0, 25)
    tracks = modal.track(rotor, omega=omega, axis=(1.0, 0.0, 0.0), k=6, progress=False)
    assert tracks.attrs["solver"].startswith("reduced basis")
    for place in (0, 7, 24):
        exact = modal.solve(rotor.freeze(omega[place]), k=6).eigenvalues
        error = np.abs(tracks.eigenvalue.values[place] - exact[:, None])
        assert (np.nanmin(error, axis=1) <= 1e-8 * np.abs(exact)).all()
    film = assembly.rotor(
        *shaft, discs=discs,
        bearings=[assembly.Bearing(x, lambda s: s * k[0], 1e3) for x in (0.0, 1.0)],
    )  # fmt: skip
    operators = [{id(A) for _, A in film.freeze(s).parts["K"].terms} for s in (0.0, 10.0, 20.0)]
    assert film.freeze(0.0).rigid.shape[1] == 4
    assert operators[1] == operators[2] and len(operators[0] & operators[1]) == 1
