"""Following modes: identities through crossings, veerings, clusters, flutter and divergence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from assembly import DofMap, FrozenSystem
from assembly.errors import ConvergenceError, InputError
from tests.support.families import families, lapack, right_share
from tests.support.general_families import general
from tests.support.paths import REFERENCES
from tests.support.tracking_rules import compare, grid, meetings

J = np.array([[0.0, -1.0], [1.0, 0.0]])


@dataclass(frozen=True)
class Model:
    """Any function of one parameter as a model."""

    make: Callable[[float], FrozenSystem]

    def freeze(self, s: float) -> FrozenSystem:
        return self.make(s)


def shaft(a: float, b: float) -> Model:
    """One bending mode of a shaft in the spinning frame (A5): stiffness a and b across, spin s."""
    dofs = DofMap.regular(np.zeros((1, 3)), (0, 1))
    return Model(
        lambda s: FrozenSystem(
            M=np.eye(2), C=2.0 * s * J, K=np.diag([a, b]), K_omega2=-s * s * np.eye(2), dofs=dofs
        )
    )


def happened(tracks: xr.Dataset, name: str) -> list[tuple[float, int]]:
    """Where (parameter) and on which track an event stands."""
    dim = next(str(d) for d in tracks.dims if d != "mode")
    found = np.argwhere(tracks["event"].values == name)
    return [(float(tracks[dim].values[n]), int(r)) for n, r in found]


@pytest.mark.parametrize("step", [3.1, 7.0])
def test_whirls_of_one_shape_are_told_apart_by_their_rates(step: float) -> None:
    """A round shaft in a frame that spins at s > 1 whirls at s ± 1, twice in the same shape: steps
    longer than their distance need no other instants."""
    s = np.arange(2.0, 40.0, step)
    tracks = modal.track(shaft(1.0, 1.0), s=s, k=2)
    truth = np.stack([s - 1.0, s + 1.0], axis=1)
    np.testing.assert_allclose(2.0 * np.pi * tracks["frequency"].values, truth, rtol=1e-9)
    assert tracks.attrs["extra_instants"] == 0
    assert set(tracks["event"].values.ravel()) == {"none"}


@pytest.mark.parametrize("count", [16, pytest.param(60, marks=pytest.mark.slow)])
def test_crossings_and_veerings_of_many_families(count: int) -> None:
    """Gaps 0 or 1e-4 … 3e-2 of the frequency: identities, kinds and gaps from the closed form."""
    rng = np.random.default_rng(1001)
    shares, told, gaps = [], [], []
    for index, family in enumerate(families(count, seed=1)):
        s = grid(index, rng)
        truth = family.branches(s)
        tracks = modal.track(family, s=s, k=len(family.start), solver=lapack)
        found = 2.0 * np.pi * tracks["frequency"].values
        assert found.shape == truth.shape
        shares.append(right_share(found, truth))
        pair = [int(np.argmin(np.abs(found[0] - truth[0, m]))) for m in (0, 1)]
        kinds = meetings(tracks, *pair)
        told.append(kinds == {"veering" if family.coupling else "crossing"})
        if kinds == {"veering"}:
            gaps.append(np.nanmin(tracks["gap"].values[:, pair[0]]) / family.gap() - 1.0)
    assert np.mean(shares) >= 0.99
    assert np.mean(np.array(shares) == 1.0) >= 0.98
    assert all(told)
    assert len(gaps) >= 0.46 * count
    assert np.max(np.abs(gaps)) < 0.02
    assert np.median(np.abs(gaps)) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("points", [3, 5, 24])
def test_gyroscopic_damped_and_circulatory_families(points: int) -> None:
    """Random M, growing gyroscopic and circulatory terms, random damping: the branches of 1,500
    small steps. Where the dataset is certain of an identity, it is right."""
    s = np.linspace(0.0, 1.0, points)
    checked, right = 0, []
    for seed in range(14):
        model = general(seed, (750.0, 2500.0)[seed // 7])
        truth = model.branches(s, 1500)
        if truth is None:
            continue
        checked += 1
        n = truth.shape[1]
        tracks = modal.track(model, s=s, k=n, backend="dense")
        found = tracks["eigenvalue"].values
        assert found.shape == truth.shape
        start = [int(np.argmin(np.abs(truth[0] - value))) for value in found[0]]
        own = np.abs(found - truth[:, start]) <= 1e-7 * np.abs(found)
        right.append(own.mean())
        certain = np.minimum.accumulate(np.fmin(tracks["certainty"].values, 1.0)) >= 0.7
        assert np.all(own[certain | (np.arange(points) == 0)[:, None]])
    assert checked >= 10
    assert np.mean(right) >= 0.99


@pytest.mark.slow
def test_other_rules_are_visibly_worse() -> None:
    scores = compare(16)
    assert scores["this tracker"].identities >= 0.99
    assert scores["row-wise MAC > 0.9"].identities < 0.97
    assert scores["plain sorting"].identities < 0.90
    assert scores["row-wise MAC > 0.9"].families < 0.8


@pytest.mark.parametrize("gap", [1e-5, 1e-4, 1e-3, 1e-2])
def test_damping_decides_between_crossing_and_veering(gap: float) -> None:
    """Two modes, λ = i(100 ± √(d² + κ²)): with damping ±γ beside d, they veer while γ < κ and cross
    when γ > κ.

    First-order form of λ: the difference is 2√((id + γ)² − κ²), whose branch points lie on both
    sides of the real axis of d for γ < κ and on one side for γ > κ.
    """
    kappa = 50.0 * gap
    for damping, kind in ((0.4 * kappa, "veering"), (2.5 * kappa, "crossing")):

        def freeze(s: float, damping: float = damping) -> FrozenSystem:
            one, two = 100.0 + 2.0 * s, 100.0 - 2.0 * s
            coupling = 200.0 * kappa
            return FrozenSystem(
                M=np.eye(2),
                D=np.diag([4.0 + 2.0 * damping, 4.0 - 2.0 * damping]),
                K=[[one**2, coupling], [coupling, two**2]],
            )

        tracks = modal.track(Model(freeze), s=np.linspace(-1.03, 1.0, 9), k=2)
        assert {name for name in tracks["event"].values.ravel() if name != "none"} == {kind}
        swapped = np.diff(tracks["frequency"].values[[0, -1]], axis=1).prod() < 0.0
        assert swapped == (kind == "crossing")
        if kind == "veering":
            expected = 2.0 * np.sqrt(kappa**2 - damping**2)
            assert np.nanmin(tracks["gap"]) == pytest.approx(expected, rel=0.05)


def test_veering_resolved_by_the_instants_has_its_gap() -> None:
    """Squared frequencies 1e4 ± √((2000 s)² + 400²): no step jumps over it, the least distance is
    √10400 − √9600."""
    model = Model(
        lambda s: FrozenSystem(M=np.eye(2), K=[[1e4 + 2e3 * s, 400.0], [400.0, 1e4 - 2e3 * s]])
    )
    tracks = modal.track(model, s=np.linspace(-1.02, 1.0, 60), k=2)
    (place, _), *_ = happened(tracks, "veering")
    assert len(happened(tracks, "veering")) == 2
    assert place == pytest.approx(0.0, abs=0.02)
    assert np.nanmin(tracks["gap"]) == pytest.approx(np.sqrt(10400.0) - np.sqrt(9600.0), rel=2e-3)


def test_modes_that_only_come_close_do_not_veer() -> None:
    """Uncoupled, they approach by the curvature of one branch and part again: neither crossing nor
    veering."""
    model = Model(lambda s: FrozenSystem(M=np.eye(2), K=np.diag([1e4, 1.02e4 + 5e3 * s * s])))
    tracks = modal.track(model, s=np.linspace(-1.0, 1.0, 41), k=2)
    assert set(tracks["event"].values.ravel()) == {"none"}


def test_crossing_exactly_at_an_instant() -> None:
    model = Model(
        lambda s: FrozenSystem(M=[[2.0, 0.3], [0.3, 1.0]], K=turned(1e4 + 1e3 * s, 1e4 - 1e3 * s))
    )
    s = np.linspace(-1.0, 1.0, 21)
    assert s[10] == 0.0
    tracks = modal.track(model, s=s, k=2)
    rising = np.sqrt(1e4 + 1e3 * s)
    row = int(np.argmin(np.abs(2.0 * np.pi * tracks["frequency"].values[0] - rising[0])))
    np.testing.assert_allclose(2.0 * np.pi * tracks["frequency"].values[:, row], rising, rtol=1e-9)
    assert happened(tracks, "crossing") == [(s[11], 0), (s[11], 1)]
    assert np.nanmin(tracks["mac"]) > 0.99


def turned(first: float, second: float) -> np.ndarray:
    """K with the given squared frequencies for M = [[2, 0.3], [0.3, 1]] and shapes that are not
    unit vectors."""
    L = np.linalg.cholesky(np.array([[2.0, 0.3], [0.3, 1.0]]))
    V = np.array([[0.8, -0.6], [0.6, 0.8]])
    return np.asarray(L @ V @ np.diag([first, second]) @ V.T @ L.T)


def test_axisymmetric_rotor_splits_into_forward_and_backward() -> None:
    """Gyroscopic: λ² ± iγΩλ + ω² = 0, frequencies √(ω² + g²) ± g with g = γΩ/2; one double value at
    rest."""
    dofs = DofMap.regular(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), (1, 2))
    K = np.kron(np.diag([1e4, 4e4]), np.eye(2))

    def freeze(omega: float) -> FrozenSystem:
        return FrozenSystem(M=np.eye(4), C=0.2 * omega * np.kron(np.eye(2), J), K=K, dofs=dofs)

    class Rotor:
        def freeze(self, omega: float) -> FrozenSystem:
            return freeze(omega)

    omega = np.linspace(0.0, 500.0, 26)
    tracks = modal.track(Rotor(), omega=omega, k=4, whirl_axis=(1.0, 0.0, 0.0))
    g = 0.1 * omega
    for row in range(4):
        sense = tracks["whirl"].values[5, row]
        # ÿ − cż + ω²y = 0 and z̈ + cẏ + ω²z = 0 with y = cos wt, z = ± sin wt: w² ± cw − ω² = 0
        sign = {"forward": -1.0, "backward": 1.0}[sense]
        omega0 = 100.0 if row < 2 else 200.0
        expected = np.sqrt(omega0**2 + g**2) + sign * g
        np.testing.assert_allclose(
            2.0 * np.pi * tracks["frequency"].values[:, row], expected, rtol=1e-9
        )
        assert set(tracks["whirl"].values[1:, row]) == {sense}
        np.testing.assert_allclose(np.abs(tracks["whirl_number"].values[1:, row]), 1.0, atol=1e-9)
    assert np.nanmin(tracks["mac"].values) > 0.9
    # √(100² + g²) + g meets √(200² + g²) − g where 2g = √(200² + g²) − √(100² + g²)
    crossed = happened(tracks, "crossing")
    meet = next(
        o for o in omega if np.sqrt(1e4 + 0.01 * o * o) + 0.2 * o > np.sqrt(4e4 + 0.01 * o * o)
    )
    assert [place for place, _ in crossed] == [meet, meet]


def test_permanent_degeneracy_keeps_a_smooth_basis() -> None:
    """Two equal modes at every instant whose plane turns: the subspace is followed, the MAC stays
    one."""
    rng = np.random.default_rng(3)
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))

    def freeze(s: float) -> FrozenSystem:
        c, t = np.cos(s), np.sin(s)
        R = np.eye(4)
        R[np.ix_([0, 2], [0, 2])] = [[c, -t], [t, c]]
        V = Q @ R
        return FrozenSystem(M=np.eye(4), K=V @ np.diag([1e4, 1e4, 3e4, 5e4]) @ V.T)

    tracks = modal.track(Model(freeze), s=np.linspace(0.0, 1.0, 21), k=4)
    np.testing.assert_allclose(
        tracks["frequency"].values, tracks["frequency"].values[[0]].repeat(21, axis=0), rtol=1e-9
    )
    assert np.nanmin(tracks["mac"]) > 0.99
    assert set(tracks["event"].values.ravel()) == {"none"}


def test_round_shaft_passes_through_zero_frequency() -> None:
    """A5, round shaft in its own frame: |ω − Ω| and ω + Ω; the mode goes on as its conjugate."""
    case = json.loads((REFERENCES / "A5_shafts.json").read_text())["round_shaft"]
    natural = [float(w) for w in case["omega_n"]]
    dofs = DofMap.regular(np.zeros((len(natural), 3)), (0, 1))

    def freeze(s: float) -> FrozenSystem:
        K = np.kron(np.diag(np.square(natural)), np.eye(2))
        CJ = np.kron(np.eye(len(natural)), J)
        return FrozenSystem(
            M=np.eye(len(K)), C=2.0 * s * CJ, K=K, K_omega2=-s * s * np.eye(len(K)), dofs=dofs
        )

    s = np.array(
        [10.0, 50.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0]
    )
    tracks = modal.track(Model(freeze), s=s, k=6, whirl_axis=(0.0, 0.0, 1.0))
    found = 2.0 * np.pi * tracks["frequency"].values
    for key, index in (("Omega=50", 1), ("Omega=100", 2), ("Omega=400", 5), ("Omega=1000", 11)):
        for n, values in enumerate(case[key]["rotating_frame_freq_|w-O|,(w+O)"]):
            low, high = float(values[0]), float(values[1])
            rows = [
                int(np.argmin(np.abs(found[0] - (natural[n] + side * 10.0))))
                for side in (-1.0, 1.0)
            ]
            assert found[index, rows[0]] == pytest.approx(low, rel=1e-9)
            assert found[index, rows[1]] == pytest.approx(high, rel=1e-9)
    first = int(np.argmin(np.abs(found[0] - (natural[0] - 10.0))))
    # forward below its critical speed in the spinning frame, backward beyond it
    assert tracks["whirl"].values[1, first] == "forward"
    assert tracks["whirl"].values[-1, first] == "backward"


def test_asymmetric_shaft_diverges_between_its_critical_speeds() -> None:
    """A5: λ² of the reference at every speed; the growing root stays on the track, the decaying one
    is a new one."""
    case = json.loads((REFERENCES / "A5_shafts.json").read_text())["asymmetric_shaft"]
    speeds = [0.0, 0.5, 0.9, 0.99, 1.05, 1.1, 1.15, 1.21, 1.5, 2.0]
    tracks = modal.track(shaft(1.0, 1.44), s=np.array(speeds), k=2)
    lam = tracks["eigenvalue"].values
    for n, speed in enumerate(speeds):
        values = [
            complex(float(v["re"]), float(v["im"]))
            for v in case["values"][f"Omega={speed}"]["lambda"]
        ]
        np.testing.assert_allclose(lam[n, 0], values[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(lam[n, 1], values[1], rtol=1e-9, atol=1e-12)
    assert happened(tracks, "divergence onset") == [(1.05, 0)]
    assert happened(tracks, "split") == [(1.21, 0)]
    assert tracks.sizes["mode"] == 3
    inside = np.array(speeds)[np.isfinite(lam[:, 2])].tolist()
    assert inside == [1.05, 1.1, 1.15]
    np.testing.assert_allclose(lam[4:7, 2], -lam[4:7, 0], rtol=1e-9)


@pytest.mark.parametrize("case", range(3))
def test_internal_damping_onset_of_flutter(case: int) -> None:
    """A5: onset at ω(1 + c_e/c_i), a single mode, no partner."""
    data = json.loads((REFERENCES / "A5_shafts.json").read_text())["internal_external_damping"][
        "cases"
    ][case]
    inner, outer, onset = (float(data[key]) for key in ("c_int", "c_ext", "onset"))

    def freeze(s: float) -> FrozenSystem:
        return FrozenSystem(
            M=np.eye(2),
            C=2.0 * s * J,
            D=(inner + outer) * np.eye(2),
            K=np.eye(2),
            K_omega2=-s * s * np.eye(2),
            K_D=outer * s * J,
        )

    speeds = np.linspace(0.03, 1.5 * onset, 40)
    tracks = modal.track(Model(freeze), s=speeds, k=2)
    ((place, row),) = happened(tracks, "flutter onset")
    assert place == speeds[np.flatnonzero(speeds > onset)[0]]
    assert tracks["partner"].values[speeds == place, row] == -1


def test_onset_of_flutter_on_the_way_up_to_speed() -> None:
    """A5's damped shaft with Ω = 0.5 + 0.02 t and its Euler term: Ω passes ω(1 + c_e/c_i) = 2 at t
    = 75."""

    def freeze(t: float) -> FrozenSystem:
        s = 0.5 + 0.02 * t
        return FrozenSystem(
            M=np.eye(2),
            C=2.0 * s * J,
            D=0.04 * np.eye(2),
            K=np.eye(2),
            K_omega2=-s * s * np.eye(2),
            K_epsilon=0.02 * J,
            K_D=0.02 * s * J,
        )

    times = np.linspace(30.3, 130.0, 60)
    tracks = modal.track(Model(freeze), times=times, k=2)
    ((place, _),) = happened(tracks, "flutter onset")
    # The Euler term alone moves the frozen onset to Ω = ω(c_i + c_e)/c_i + ε/c_i = 3; the shaft
    # itself grows from Ω = 2 on.
    assert 74.0 < place < 80.0
    row = int(np.argmax(tracks["growth_rate"].values[-1]))
    assert tracks["growth_rate"].sel(time=place).values[row] < 0.0


@pytest.mark.slow
def test_undamped_motion_has_no_onset() -> None:
    """Frequencies rise and fall, energies breathe, the action does not: nothing is unstable."""

    def freeze(t: float) -> FrozenSystem:
        s, rate = 0.8 + 0.5 * np.sin(0.2 * t), 0.1 * np.cos(0.2 * t)
        return FrozenSystem(
            M=np.eye(2),
            C=2.0 * s * J,
            K=np.diag([4.0, 9.0]),
            K_omega2=-s * s * np.eye(2),
            K_epsilon=rate * J,
        )

    tracks = modal.track(Model(freeze), times=np.linspace(0.0, 31.4, 158), k=2)
    assert np.ptp(tracks["growth_rate_corrected"].values) > 0.05
    assert np.abs(tracks["growth_rate_action"].values).max() < 1e-4
    assert happened(tracks, "flutter onset") == []


def test_two_modes_lock_into_flutter_and_split_again() -> None:
    """K = [[a + s, p], [−p, a − s]]: λ² = −a ± √(s² − p²), locked for |s| < p."""
    p, a = 0.05, 1.1
    model = Model(lambda s: FrozenSystem(M=np.eye(2), K=[[a + s, p], [-p, a - s]]))
    s = np.linspace(-0.13, 0.1, 25)
    tracks = modal.track(model, s=s, k=2)
    lam = tracks["eigenvalue"].values
    locked = np.abs(s) < p
    np.testing.assert_allclose(
        np.sort(lam.real, axis=1)[locked, 1], np.sqrt(-a + 1j * np.sqrt(p**2 - s[locked] ** 2)).real
    )
    assert happened(tracks, "flutter onset") == [(s[locked][0], 0), (s[locked][0], 1)]
    after = s[np.flatnonzero(locked)[-1] + 1]
    assert happened(tracks, "split") == [(after, 0), (after, 1)]
    at = int(np.flatnonzero(locked)[0])
    assert tracks["partner"].values[at].tolist() == [1, 0]


def test_narrow_instability_between_two_instants_is_seen() -> None:
    """The same with p = 1e-3: the tongue |s| < p lies inside one step, both ends of which are
    stable."""
    model = Model(lambda s: FrozenSystem(M=np.eye(2), K=[[1.1 + s, 1e-3], [-1e-3, 1.1 - s]]))
    tracks = modal.track(model, s=np.linspace(-0.13, 0.1, 12), k=2)
    assert np.abs(tracks["growth_rate"].values).max() < 1e-12
    assert len(happened(tracks, "flutter onset")) == 2


def test_a_mode_that_leaves_the_window_ends_and_is_not_renamed() -> None:
    """Ten uncoupled modes; the first one rises through all the others, the last one falls."""

    def freeze(s: float) -> FrozenSystem:
        frequencies = 10.0 * np.arange(1.0, 11.0)
        frequencies[0] += 120.0 * s
        frequencies[9] -= 95.0 * s
        return FrozenSystem(M=np.eye(10), K=np.diag(frequencies**2))

    s = np.linspace(0.0, 1.0, 37)
    tracks = modal.track(Model(freeze), s=s, k=3, guard=2)
    found = 2.0 * np.pi * tracks["frequency"].values
    np.testing.assert_allclose(
        found[np.isfinite(found[:, 0]), 0], (10.0 + 120.0 * s)[np.isfinite(found[:, 0])], rtol=1e-9
    )
    assert np.isnan(found[-1, 0])
    ended = int(np.flatnonzero(np.isnan(found[:, 0]))[0])
    assert np.all(np.isnan(found[ended:, 0]))
    # every one of the three lowest frequencies is on some track at every instant
    for n, value in enumerate(s):
        lowest = np.sort(
            np.concatenate(
                [[10.0 + 120.0 * value, 100.0 - 95.0 * value], 10.0 * np.arange(2.0, 10.0)]
            )
        )[:3]
        for frequency in lowest:
            assert np.nanmin(np.abs(found[n] - frequency)) < 1e-6
    assert set(tracks["kind"].values[np.isfinite(found)]) == {"elastic"}
    assert np.all(tracks["kind"].values[np.isnan(found)] == "")


def test_a_mode_that_comes_back_is_known_again() -> None:
    """The first of ten modes rises out of the window and falls back into it."""
    s = np.linspace(0.0, 1.0, 61)
    first = 10.0 + 110.0 * np.sin(np.pi * s) ** 2

    def freeze(value: float) -> FrozenSystem:
        frequencies = 10.0 * np.arange(1.0, 11.0)
        frequencies[0] += 110.0 * np.sin(np.pi * value) ** 2
        return FrozenSystem(M=np.eye(10), K=np.diag(frequencies**2))

    tracks = modal.track(Model(freeze), s=s, k=3, guard=2)
    found = 2.0 * np.pi * tracks["frequency"].values
    there = np.isfinite(found[:, 0])
    assert there[0] and there[-1] and not there[30]
    np.testing.assert_allclose(found[there, 0], first[there], rtol=1e-9)
    assert tracks.sizes["mode"] == 4


def test_coarse_steps_are_refined_until_the_match_is_clear() -> None:
    """Shapes turn by 43° a step while two frequencies exchange: only extra instants tell."""

    def freeze(s: float) -> FrozenSystem:
        c, t = np.cos(s), np.sin(s)
        V = np.array([[c, -t, 0.0], [t, c, 0.0], [0.0, 0.0, 1.0]])
        return FrozenSystem(
            M=np.eye(3), K=V @ np.diag([(100.0 + 5.0 * s) ** 2, (112.0 - 2.0 * s) ** 2, 4e4]) @ V.T
        )

    s = np.array([0.0, 0.75, 1.5, 2.25])
    tracks = modal.track(Model(freeze), s=s, k=3)
    np.testing.assert_allclose(
        2.0 * np.pi * tracks["frequency"].values[:, 0], 100.0 + 5.0 * s, rtol=1e-9
    )
    assert int(tracks.attrs["extra_instants"]) > 0
    # between instants the two shapes turn by 0.75, in a refined step by half of it
    np.testing.assert_allclose(tracks["mac"].values[1:, :2], np.cos(0.75) ** 2, rtol=5e-3)
    np.testing.assert_allclose(tracks["certainty"].values[1:, :2], np.cos(0.375) ** 2, rtol=5e-3)


def test_where_two_modes_merge_nothing_is_certain() -> None:
    """K = [[a + s, p], [−p, a − s]] locks for |s| < p: either of the two may be called either."""
    model = Model(lambda s: FrozenSystem(M=np.eye(2), K=[[1.1 + s, 0.05], [-0.05, 1.1 - s]]))
    tracks = modal.track(model, s=np.linspace(-0.13, 0.0, 15), k=2)
    ((place, _), _) = happened(tracks, "flutter onset")
    certainty = tracks["certainty"].sel(s=place).values
    np.testing.assert_allclose(certainty, 0.5, atol=0.02)
    assert np.nanmin(tracks["certainty"].values[tracks["s"].values > place]) > 0.7


def test_the_way_back_finds_the_same() -> None:
    """Over decreasing values: the same tracks and meetings, in reverse."""
    family = families(8, seed=5)[3]
    s = np.linspace(0.0, 1.0, 22)
    k = len(family.start)
    there = modal.track(family, s=s, k=k, solver=lapack)
    back = modal.track(family, s=s[::-1].copy(), k=k, solver=lapack)
    end = there["frequency"].values[-1]
    row = [int(np.argmin(np.abs(back["frequency"].values[0] - f))) for f in end]
    np.testing.assert_allclose(back["frequency"].values[::-1, row], there["frequency"].values)
    assert len(happened(there, "veering")) == len(happened(back, "veering")) == 2
    np.testing.assert_allclose(np.nanmin(back["gap"]), np.nanmin(there["gap"]), rtol=1e-3)


def test_schema_units_and_provenance() -> None:
    tracks = modal.track(shaft(1.0, 1.44), s=np.linspace(0.0, 0.5, 5), k=2, whirl_axis=(0, 0, 1))
    expected = (
        "eigenvalue frequency damping_ratio growth_rate growth_rate_corrected backward_error"
        " condition_number mac event kind frozen_interval"
    ).split()
    assert set(expected) <= set(tracks.data_vars)
    for name in tracks.variables:
        assert tracks[name].attrs["long_name"]
        assert ("units" in tracks[name].attrs) == (tracks[name].dtype.kind != "U")
    for name in tracks.data_vars:
        assert tracks[name].dims == ("s", "mode")
    assert np.iscomplexobj(tracks["eigenvalue"])
    for key in (
        "package_version",
        "model_parameters",
        "solver",
        "frozen_interval_tolerance",
        "date",
    ):
        assert tracks.attrs[key]
    over_time = modal.track(shaft(1.0, 1.44), times=[0.0, 0.1], k=2)
    assert over_time["frequency"].dims == ("time", "mode")
    assert over_time["time"].attrs["units"] == "s"


def test_one_instant_is_a_dataset_too() -> None:
    tracks = modal.track(shaft(1.0, 1.44), times=[0.3], k=2)
    assert tracks["frequency"].shape == (1, 2)
    assert np.all(np.isnan(tracks["growth_rate_corrected"]))


def test_an_explicit_sweep_is_the_keyword_sweep() -> None:
    s = np.linspace(0.0, 0.5, 5)
    explicit = modal.track(shaft(1.0, 1.44), over={"s": s}, k=2)
    keyword = modal.track(shaft(1.0, 1.44), s=s, k=2)
    xr.testing.assert_equal(explicit, keyword)
    over_time = modal.track(shaft(1.0, 1.44), over={"time": s}, k=2)
    xr.testing.assert_equal(over_time, modal.track(shaft(1.0, 1.44), times=s, k=2))


def test_an_explicit_sweep_leaves_vectors_constant() -> None:
    """Three speeds with an acceleration of three components: the keyword form cannot tell them."""
    blade = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=3,
        clamped="start",
    )  # fmt: skip
    axis, push = (0.0, 0.0, 1.0), (-2e3, 0.0, 0.0)
    speeds = np.array([0.0, 50.0, 100.0])
    tracks = modal.track(blade, over={"omega": speeds}, k=1, axis=axis, acceleration=push)
    expected = [
        modal.solve(blade.freeze(omega=w, axis=axis, acceleration=push), k=1).eigenvalues[0]
        for w in speeds
    ]
    np.testing.assert_allclose(tracks.eigenvalue.values[:, 0].imag, np.imag(expected), rtol=1e-8)
    with pytest.raises(InputError, match="exactly one"):
        modal.track(blade, omega=speeds, k=1, axis=axis, acceleration=push)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(over={"s": [0.0, 1.0]}, s=[0.0, 1.0]), "not both; keyword arrays found: s"),
        (dict(over={"s": [0.0, 1.0]}, r=[0.0, 1.0]), "not both; keyword arrays found: r"),
        (dict(over={"s": [0.0, 1.0]}, times=[0.0, 1.0]), "times or over, not both"),
        (dict(over={"s": [0.0, 1.0], "r": [0.0, 1.0]}), "over: track needs exactly one"),
        (dict(over={}), "over: expected a mapping"),
        (dict(over=[0.0, 1.0]), "over: expected a mapping"),
        (dict(over={"axis": [0.0, 0.0, 1.0]}), "axis is one vector"),
        (dict(over={"s": [0.0, 0.0]}), "s: values must increase"),
        (dict(), "times"),
        (dict(s=[0.0, 0.0]), "strictly"),
        (dict(s=[0.0, np.nan]), "finite"),
        (dict(s=np.zeros((2, 2))), "times"),
        (dict(s=[0.0, 1.0], k=0), "k"),
        (dict(s=[0.0, 1.0], interval_change=-1.0), "interval_change"),
        (dict(s=[0.0, 1.0], r=[0.0, 1.0]), "exactly one"),
        (dict(s=[0.0, 1.0], backend="magic"), "slepc"),
        (dict(s=[0.0, 1.0], backend="reduced"), "share"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        modal.track(shaft(1.0, 1.44), **arguments)
    assert "\n" not in str(caught.value)


def test_a_model_without_freeze_is_named() -> None:
    with pytest.raises(InputError, match="freeze"):
        modal.track(object(), times=[0.0, 1.0])


def test_more_modes_at_the_first_instant_than_at_any_other() -> None:
    class Masses:
        def freeze(self, omega: float) -> FrozenSystem:
            K = np.diag([1.0, 4.0, 9.0, 16.0]) + 0.01 * omega * np.eye(4)
            return FrozenSystem(M=np.eye(4), K=K, parameters={"omega": omega})

    def some(system: FrozenSystem, count: int) -> modal.Modes:
        return modal.solve(system, k=4 if system.parameters["omega"] == 0.0 else 3)

    tracks = modal.track(Masses(), k=4, omega=[0.0, 0.5, 1.0], solver=some)
    there = np.isfinite(tracks.frequency.values)
    assert there.tolist() == [[True] * 4, [True] * 3 + [False], [True] * 3 + [False]]
    assert np.isnan(tracks.mac.values[0]).all() and (tracks.mac.values[1:, :3] > 0.999).all()


def test_failure_and_interruption_keep_what_was_finished() -> None:
    class Breaks:
        def __init__(self, fault: BaseException) -> None:
            self.fault = fault

        def freeze(self, t: float) -> FrozenSystem:
            if t > 0.55:
                raise self.fault
            return shaft(1.0, 1.44).freeze(t)

    times = np.linspace(0.0, 1.0, 11)
    with pytest.raises(ConvergenceError, match=r"time = 0\.6") as failed:
        modal.track(Breaks(ConvergenceError("did not converge")), times=times, k=2)
    assert failed.value.partial.sizes["time"] == 6
    with pytest.raises(modal.TrackingInterrupted) as stopped:
        modal.track(Breaks(KeyboardInterrupt()), times=times, k=2)
    assert stopped.value.partial is not None and stopped.value.partial.sizes["time"] == 6


BLADE = assembly.beam(
    length=1.0,
    section=assembly.rectangle(0.05, 0.02),
    material=assembly.steel,
    elements=12,
    clamped="start",
    theory="euler-bernoulli",
)


def test_reduced_basis_and_full_solves_agree() -> None:
    """A Campbell diagram of a blade with a crossing of flap and chord bending, both ways."""
    omega = np.linspace(0.0, 400.0, 15)
    reduced = modal.track(BLADE, omega=omega, axis=(0, 0, 1), k=5)
    full = modal.track(BLADE, omega=omega, axis=(0, 0, 1), k=5, backend="dense")
    assert reduced.attrs["solver"].startswith("reduced basis")
    assert full.attrs["solver"].startswith("dense")
    np.testing.assert_allclose(reduced["frequency"], full["frequency"], rtol=1e-8)
    for name in ("event", "partner", "kind"):
        np.testing.assert_array_equal(reduced[name], full[name])
    assert len(happened(full, "crossing")) >= 2
    # the error bound that the dataset carries holds
    size = np.abs(reduced["eigenvalue"].values)
    bound = (reduced["condition_number"] * reduced["backward_error"]).values * size
    error = np.abs(reduced["eigenvalue"].values - full["eigenvalue"].values)
    assert np.all(error <= bound + 1e-10 * size)
    assert np.all(bound <= 1.001e-8 * size)


@pytest.mark.slow
def test_rigid_modes_stand_beside_the_elastic_ones() -> None:
    """A free beam that starts to turn: modes of its frame enter below the elastic ones, none of
    which is lost.

    Turning about z at ω, the translation across the axis has λ = ± iω (A8) twice.
    """
    beam = assembly.beam(
        1.0, assembly.rectangle(0.05, 0.02), assembly.steel, elements=4, planar=True
    )
    omega = np.linspace(0.0, 300.0, 5)
    tracks = modal.track(beam, omega=omega, axis=(0, 0, 1), k=4)
    kind = tracks["kind"].values
    elastic = np.flatnonzero(kind[0] == "elastic")
    assert len(elastic) == 4
    assert np.all(kind[:, elastic] == "elastic")
    assert np.all(np.isfinite(tracks["frequency"].values[:, elastic]))
    found = np.abs(tracks["eigenvalue"].values[2])[kind[2] == "prescribed"]
    assert np.sum(np.abs(found - omega[2]) < 1e-4 * omega[2]) == 2


def test_prescribed_modes_ask_for_no_extra_instants() -> None:
    """A free beam in space: λ = ± iω is defective at every speed, and nothing can happen to it."""
    beam = assembly.beam(1.0, assembly.rectangle(0.03, 0.02), assembly.steel, elements=4)
    tracks = modal.track(beam, omega=np.linspace(10.0, 40.0, 4), axis=(0, 0, 1), k=2)
    assert np.sum(tracks["kind"].values[0] == "prescribed") == 2
    assert tracks.attrs["extra_instants"] == 0
    assert np.all(tracks["event"].values == "none")


def test_growth_rates_of_a_spin_up_from_the_reduced_basis() -> None:
    """σ and the whirl of a spinning-up blade: the basis and the full solves say the same."""

    class SpinUp:
        def freeze(self, t: float) -> FrozenSystem:
            return BLADE.freeze(omega=100.0 + 50.0 * t, epsilon=50.0, axis=(0, 0, 1))

    times = np.linspace(0.0, 2.0, 21)
    reduced = modal.track(SpinUp(), times=times, k=4, whirl_axis=(0, 0, 1))
    full = modal.track(SpinUp(), times=times, k=4, whirl_axis=(0, 0, 1), backend="dense")
    assert reduced.attrs["solver"].startswith("reduced basis")
    scale = np.abs(full["growth_rate_corrected"]).max()
    assert scale > 1e-3
    np.testing.assert_allclose(
        reduced["growth_rate_corrected"], full["growth_rate_corrected"], atol=1e-4 * float(scale)
    )
    np.testing.assert_allclose(reduced["whirl_number"], full["whirl_number"], atol=1e-5)
    np.testing.assert_allclose(reduced["frozen_interval"], full["frozen_interval"], rtol=1e-3)
    over_speed = modal.track(BLADE, omega=100.0 + 50.0 * times, epsilon=50.0, axis=(0, 0, 1), k=4)
    for name in ("growth_rate_corrected", "growth_rate_action", "coupling"):
        np.testing.assert_allclose(over_speed[name], reduced[name], rtol=1e-6, atol=1e-9)


class Overdamped:
    """Damping 0.2 K of six shapes; 40 to 50 rad/s and 50 to 40 rad/s meet at the window's edge."""

    def freeze(self, t: float) -> FrozenSystem:
        K = np.diag(np.array([10.0, 20.0, 30.0, 40.0 + 10.0 * t, 50.0 - 10.0 * t, 90.0]) ** 2)
        return FrozenSystem(M=np.eye(6), C=0.2 * K, K=K)


def test_overdamped_modes_leave_the_window_by_the_frequency_of_their_shape() -> None:
    """Every second root, next to −1/b, is smaller than 1.8e2 rad/s inside the window: a mode that
    leaves is not sought at extra instants."""
    tracks = modal.track(Overdamped(), times=np.linspace(0.0, 1.0, 8), k=7, guard=0)
    assert tracks.attrs["extra_instants"] == 0
    assert (np.isfinite(tracks["eigenvalue"].values).sum(axis=1) == 7).all()
    assert tracks.sizes["mode"] == 8
