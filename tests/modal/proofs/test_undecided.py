"""Undecided is never "stable": codes of maps and charts, all modes of middling systems, and bounds
that hold the round-off of fine meshes.

True values: LAPACK on the full matrices, and 50 digits on the stored ones.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
import modal
import modal.periodic.floquet_modes
import modal.proofs.verdict
from assembly.errors import StorageError
from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem
from modal.data import checkpoint
from modal.maps import methods
from modal.proofs.judge import COUNT, ENERGY, MODES, STABLE, UNDECIDED, judge
from modal.proofs.one_state import examine, without_modes
from modal.proofs.proving import ProvingSpace
from tests.support.fine_meshes import column, hermite, shaft
from tests.support.verdict_truth import refined


def spectrum(system: FrozenSystem) -> Any:
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    n = len(M)
    lower = -la.solve(M, np.hstack([K, C]))
    return la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))


class Pipe:
    """A cantilevered pipe that conveys fluid, 80 unknowns: freeze(speed, fluid).

    ẅ + 2√β u ẇ' + u² w'' + w'''' = 0, β the fluid's share of the mass (Païdoussis, Fluid-Structure
    Interactions 1, 1998, 3.3): dissipation at the free end alone, and a load that follows it.
    """

    def __init__(self, elements: int = 40) -> None:
        M, K, G = hermite(elements, clamped=True)
        n, h = M.shape[0], 1.0 / elements
        points, weights = np.polynomial.legendre.leggauss(4)
        s, weights = 0.5 * (points + 1.0), 0.5 * weights
        w = np.array([1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3,
                      h * (s**3 - s**2)])  # fmt: skip
        slope = np.array([6 * s**2 - 6 * s, h * (1 - 4 * s + 3 * s**2), 6 * s - 6 * s**2,
                          h * (3 * s**2 - 2 * s)])  # fmt: skip
        C = np.zeros((n + 2, n + 2))
        for e in range(elements):
            C[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += (w * weights) @ slope.T
        end = sp.csr_matrix(([1.0], ([n - 2], [n - 1])), shape=(n, n))
        self.M, self.K, self.follower = M, K, sp.csr_matrix(end - G)
        self.C = sp.csr_matrix(C[2:, 2:])

    def freeze(self, speed: float, fluid: float) -> FrozenSystem:
        n = self.M.shape[0]

        def of(factor: float, A: sp.csr_matrix) -> Combination:
            return Combination((n, n), ((factor, A),))

        return FrozenSystem(
            M=of(1.0, self.M), C=of(2.0 * np.sqrt(fluid) * speed, self.C), K=of(1.0, self.K),
            K_D=of(speed**2, self.follower),
        )  # fmt: skip


# Codes.


def test_only_a_proof_makes_a_point_stable() -> None:
    lam, bound = np.array([-1.0 + 2.0j, -1e-9 + 3.0j]), np.array([1e-6, 1e-6])
    assert [judge(lam, bound, proof).verdict for proof in (MODES, COUNT, ENERGY)] == [
        UNDECIDED, UNDECIDED, STABLE,
    ]  # fmt: skip
    assert judge(lam, bound, COUNT, np.array([False, True])).verdict == STABLE
    assert judge(lam[:1], bound[:1], COUNT).verdict == STABLE
    assert judge(lam[:0], bound[:0], MODES).verdict == UNDECIDED


@pytest.mark.parametrize("affordable", [True, False])
def test_a_pipe_whose_unstable_mode_is_above_the_lowest(
    affordable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 unknowns, k = 4: flutter at 15, 0.3 by LAPACK on all modes, +50.8 ± 68.4i."""
    if not affordable:
        monkeypatch.setattr(methods, "is_affordable", lambda n, points: False)
        monkeypatch.setattr(methods, "ALL_MODES", 0)
    model = Pipe()
    speeds, shares = np.array([5.0, 15.0, 30.0]), np.array([0.3, 0.6])
    grid = modal.stability_map(model, speed=speeds, fluid=shares, k=4, progress=False)
    for speed in speeds:
        for share in shares:
            point = grid.sel(speed=speed, fluid=share)
            grows = spectrum(model.freeze(speed, share)).real.max() > 0.0
            due = (1, 2) if grows else (0,)
            assert int(point.verdict) in (due if affordable else (*due, UNDECIDED))
    place = dict(speed=15.0, fluid=0.3)
    assert int(grid.verdict.sel(place)) == (2 if affordable else UNDECIDED)
    if affordable:
        assert float(grid.growth_rate.sel(place)) == pytest.approx(50.761391, rel=1e-6)
    assert grid.verdict.attrs["flag_values"].tolist() == [-1, 0, 1, 2]
    assert grid.verdict.attrs["flag_meanings"] == "undecided stable divergence flutter"


def test_all_modes_at_all_points_take_a_minute_at_most() -> None:
    """At 1e-8 n³ s each; up to 300 degrees of freedom they are looked at whatever they take."""
    assert methods.is_affordable(300, 10**6)
    assert methods.is_affordable(400, 93) and not methods.is_affordable(400, 94)
    assert methods.is_affordable(1500, 1) and not methods.is_affordable(1501, 1)


def test_all_modes_of_a_small_body_come_from_one_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damper at the end of a pipe leaves no box: all 60 modes count, also where one above the
    lowest grows."""
    model, apart = Pipe(30), []
    monkeypatch.setattr(
        methods, "stability", lambda system, k: apart.append(system) or modal.stability(system, k)
    )
    speeds, shares = np.array([1.0, 2.0, 3.0, 5.0, 15.0]), np.array([0.1, 0.3, 0.6])
    grid = modal.stability_map(model, speed=speeds, fluid=shares, k=4, progress=False)
    for speed in speeds:
        for share in shares:
            found, due = grid.sel(speed=speed, fluid=share), spectrum(model.freeze(speed, share))
            assert int(found.verdict) == (2 if due.real.max() > 0.0 else 0)
            assert (float(found.proof) == COUNT) == (due.real.max() < 0.0)
    assert not apart


@pytest.mark.slow
def test_undecided_points_of_a_hill_chart_are_not_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart of the slow exponents alone proves nothing of the others."""
    monkeypatch.setattr(
        modal.periodic.floquet_modes.FloquetModes, "is_complete", property(lambda self: False)
    )

    class Swing:
        def __init__(self, stretch: float, damping: float) -> None:
            self.stretch, self.damping = stretch, damping

        def freeze(self, t: float) -> FrozenSystem:
            K = [[1.0 + self.stretch * np.cos(2.0 * t)]]
            return FrozenSystem(M=[[1.0]], D=[[self.damping]], K=K)

    chart = modal.hill_chart(
        Swing, np.pi, stretch=np.array([0.0, 0.3]), damping=np.array([0.02, 0.3]), progress=False
    )
    assert chart.verdict.values.tolist() == [[-1, -1], [2, -1]]


def test_a_store_with_other_codes_is_not_resumed(tmp_path: Path) -> None:
    """Of a version before: 0 was stable and undecided."""
    model, axes = Pipe(4), dict(speed=np.array([1.0, 2.0]), fluid=np.array([0.2, 0.4]))
    store = tmp_path / "map.zarr"
    modal.stability_map(model, k=2, store=store, progress=False, **axes)
    study = store / "tiles" / "study.npz"
    arrays, settings = checkpoint.stored(study)
    settings["codes"]["verdict"] = [0, 1, 2]
    checkpoint.save(study, arrays, settings)
    with pytest.raises(StorageError, match="verdict has other codes"):
        modal.stability_map(model, k=2, store=store, resume=True, progress=False, **axes)


# All modes of middling systems.


def row(n: int, damping: float, place: int, negative: float) -> FrozenSystem:
    """Masses in a row, 1 N·s/m damping each but for a damper that supplies energy."""
    rng = np.random.default_rng(2)
    links = np.exp(rng.uniform(-1.0, 1.0, n + 1)) * 1e4
    K = sp.diags([links[1:] + links[:-1], -links[1:-1], -links[1:-1]], [0, 1, -1])
    d = np.full(n, damping)
    d[place] = -negative
    M = np.exp(rng.uniform(-1.0, 1.0, n))
    return FrozenSystem(M=sp.csr_matrix(sp.diags(M)), D=sp.diags(d), K=sp.csr_matrix(K))


@pytest.mark.parametrize("negative", [0.05, 30.0])
def test_negative_damping_at_one_place_is_decided(negative: float) -> None:
    """310 unknowns: no box. Verdict and largest growth by LAPACK on all modes."""
    system = row(310, 0.2, 150, negative)
    largest = spectrum(system).real.max()
    result = modal.stability(system)
    assert result.verdict == ("flutter" if largest > 0.0 else "stable")
    assert result.examined_to == np.inf
    assert result.growth_rate == pytest.approx(largest, abs=result.error_bound + 1e-9)
    assert "gives energy" in str(result) and "circulatory" not in str(result)


def test_the_fastest_growth_of_all_is_found_where_all_modes_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """510 unknowns: the lowest modes decide, and another one grows much faster."""
    system = row(510, -1e-3, 150, 30.0)
    largest = spectrum(system).real.max()
    every = modal.stability(system, k=system.n)
    assert every.verdict == "flutter" and every.examined_to == np.inf
    assert every.growth_rate == pytest.approx(largest, abs=every.error_bound + 1e-9)
    monkeypatch.setattr(modal.proofs.verdict, "_by_all_modes", never)
    lowest = modal.stability(system)
    assert lowest.verdict == "flutter" and np.isfinite(lowest.examined_to)
    assert lowest.growth_rate + lowest.error_bound < largest
    assert "were not examined" in str(lowest)


def test_beyond_reach_the_result_says_up_to_where_it_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lowest modes hold one that grows; LAPACK has one that grows much faster above."""
    monkeypatch.setattr(modal.proofs.verdict, "AFFORDABLE", 0)
    n = 320
    k = sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1])
    own = 1e4 * np.linspace(0.01, 1.0, n)
    d = np.full(n, 1e-2)
    d[0], d[-1] = -0.02, -5.0
    K = sp.csr_matrix(sp.diags(own) + 10.0 * k)
    system = FrozenSystem(M=sp.identity(n, format="csr"), D=sp.diags(d), K=K)
    result = modal.stability(system)
    values = spectrum(system)
    assert result.verdict == "flutter" and result.proof == "mode"
    assert values.real.max() > 10.0 * result.growth_rate
    missed = np.abs(values[values.real.argmax()])
    assert result.examined_to < missed / (2.0 * np.pi)
    assert "were not examined" in str(result) and "gives energy" in str(result)


def rod(**clamped: Any) -> assembly.Body:
    """A steel beam of 360 or 366 unknowns."""
    return assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 60, **clamped)


def never(*arguments: Any) -> Any:
    raise AssertionError("this work is not needed")


def test_no_mode_of_a_free_beam_grows_faster_than_the_one_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No damper, so no box; but one for the growth rates above that of the divergence."""
    monkeypatch.setattr(modal.proofs.verdict, "_by_all_modes", never)
    system = rod().freeze(omega=(0.0, 0.0, 6.0), epsilon=(0.0, 0.0, 700.0))
    result = modal.stability(system)
    assert result.verdict == "divergence" and result.examined_to == np.inf
    assert not result.box.is_bounded
    assert result.growth_rate == pytest.approx(spectrum(system).real.max(), rel=1e-6)
    for share, fastest in ((1.0, True), (0.5, False)):
        found = replace(result, growth_rate=share * result.growth_rate, examined_to=300.0)
        assert modal.proofs.verdict._is_fastest(system, 10, np.inf, found) == fastest


def test_undamped_modes_that_turning_alone_holds_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On soft springs the stiffness is indefinite: three modes of the box are on the axis."""
    monkeypatch.setattr(modal.proofs.verdict, "_by_all_modes", never)
    body = rod()
    for node in (0, 30, 60):
        body = assembly.attach_spring(body, node, stiffness=np.diag([100.0] * 3 + [10.0] * 3))
    result = modal.stability(body.freeze(omega=(0.0, 0.0, 30.0)))
    assert (result.verdict, result.proof) == ("stable", "count") and result.box.softening > 0.0
    assert np.any(np.abs(result.eigenvalues.imag) < result.box.angular_frequency)


@pytest.mark.parametrize("rate, proof", [(0.0, "energy"), (200.0, "count")])
def test_a_stiffness_above_the_box_needs_no_modes(
    rate: float, proof: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modal.proofs.verdict, "examine", never)
    body = rod(clamped="start").with_damping(a=6.0, b=1e-6)
    system = body.freeze(omega=(0.0, 0.0, 20.0), epsilon=(0.0, 0.0, rate))
    result = modal.stability(system)
    assert (result.verdict, result.proof) == ("stable", proof)
    assert spectrum(system).real.max() < 0.0 and len(result.eigenvalues) == 0
    assert ("leaves no mode in the box" in str(result)) == (proof == "count")


def test_a_box_with_most_modes_of_the_mesh_takes_no_basis_of_them() -> None:
    """Soft springs that damping bK hardly holds: κ above what most shapes of the mesh reach."""
    body = rod().with_damping(b=1e-7)
    for node in (0, 30, 60):
        body = assembly.attach_spring(body, node, stiffness=np.diag([1e4] * 3 + [1e3] * 3))
    system = body.freeze(omega=(0.0, 0.0, 6.0), epsilon=(0.0, 0.0, 700.0))
    bounds, box, _ = without_modes(system)
    space = ProvingSpace(bounds.family, bounds.family.coefficients([{}]), 10, 1e-8, box=bounds)
    assert 1e6 < box.angular_frequency < 1e7 and space.basis.size < system.n // 4
    space.destroy()
    result = modal.stability(system)
    assert result.verdict == "flutter" and result.box.angular_frequency == box.angular_frequency
    assert result.growth_rate == pytest.approx(spectrum(system).real.max(), rel=1e-6)


# Fine meshes: the truth with 50 digits on the stored matrices.


@pytest.mark.parametrize(
    "system, count",
    [
        (shaft(113, 1, 1e-8, 1e-6, 1e-5), 452),
        pytest.param(shaft(226, 1, 1e-8, 1e-6, 1e-5), 904, marks=pytest.mark.slow),
        pytest.param(shaft(323, 1, 1e-8, 1e-4, 5e-3), 1292, marks=pytest.mark.slow),
        pytest.param(column(253, 0.999, 0.1), 506, marks=pytest.mark.slow),
    ],
)
def test_bounds_of_a_fine_mesh_hold_its_round_off(system: FrozenSystem, count: int) -> None:
    """Said before: stable 2.4e-12 ± 4.4e-12, true 2.5e-12 1/s; |error| of λ 800 to 3,000 bounds."""
    assert system.n == count
    examined = examine(system, 4)
    assert examined is not None
    eigenvalues, error_bound, *_ = examined
    matrices = [A.toarray() for A in (system.M, system.damping, system.stiffness)]
    for value, bound in list(zip(eigenvalues, error_bound, strict=True))[:2]:
        true = refined(*matrices, complex(value))
        assert true is not None and abs(true - value) <= bound
    if count == 452:
        assert float(np.abs(eigenvalues[0].real)) < error_bound[0]


def test_growth_within_its_bound_is_not_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A true growth below the round-off of the products; "stable (count)" before."""
    monkeypatch.setattr(modal.proofs.verdict, "AFFORDABLE", 0)
    result = modal.stability(shaft(113, 1, 1e-8, 1e-6, 1e-5))
    assert (result.verdict, result.proof) == ("undecided", "modes")
    assert np.isfinite(result.examined_to)


@pytest.mark.parametrize("distance, verdict", [(-1e-3, "stable"), (1e-3, "flutter")])
def test_a_fine_mesh_is_decided_where_growth_exceeds_its_bound(
    distance: float, verdict: str
) -> None:
    assert modal.stability(shaft(90, 1, distance, 1e-4, 5e-3)).verdict == verdict
