"""Stability maps: verdicts against closed forms and full solves, storage, interruption."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import assembly
from assembly.errors import InputError, StorageError
from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem
from modal.eigen.solve import solve
from modal.maps import methods, stability_maps
from modal.maps.grid import Grid
from modal.maps.methods import BodyMethod
from modal.maps.stability_maps import stability_map
from modal.proofs.judge import DIVERGENCE, FLUTTER, STABLE, UNDECIDED, WORDS, judge
from modal.proofs.verdict import stability
from modal.reduction import body_space
from modal.reduction.affine import AffineFamily
from modal.reduction.affine import terms_together as together
from tests.support.affine_families import Planar, Remade
from tests.support.blade_map import blade
from tests.support.paths import REFERENCES, ROOT
from tests.support.processes import interruptible

NUMBERS = ("growth_rate", "unstable_modes", "verdict", "critical_frequency", "error_bound")


def shaft() -> Planar:
    """Twenty modes of A5's asymmetric shaft: a = n⁴, b = 1.44 n⁴, unstable for n² < Ω < 1.2 n²."""
    n4 = np.arange(1.0, 21.0) ** 4
    return Planar(np.column_stack([n4, 1.44 * n4]))


def test_asymmetric_shaft_diverges_between_its_two_critical_speeds() -> None:
    speeds = np.array([0.5, 0.9, 0.999, 1.001, 1.1, 1.199, 1.201, 2.0, 3.9, 4.1, 4.7, 4.9, 6.0])
    grid = stability_map(shaft(), omega=speeds, epsilon=np.array([0.0, 1e-9]), k=6)
    found = grid.verdict.sel(epsilon=0.0).values
    unstable = ((speeds > 1) & (speeds < 1.2)) | ((speeds > 4) & (speeds < 4.8))
    np.testing.assert_array_equal(found, np.where(unstable, DIVERGENCE, STABLE))
    # A5: λ² = −(a + b)/2 − Ω² + √(…) at Ω = 1.1, from the reference's closed form.
    reference = json.loads((REFERENCES / "A5_shafts.json").read_text())["asymmetric_shaft"]
    expected = float(reference["values"]["Omega=1.1"]["lambda"][0]["re"])
    growth = float(grid.growth_rate.sel(epsilon=0.0, omega=1.1))
    assert growth == pytest.approx(expected, abs=1e-9)
    assert float(grid.critical_frequency.sel(epsilon=0.0, omega=1.1)) == 0.0


@pytest.mark.parametrize("key", ["k1=4.0,k2=9.0,O=1.0,d=0.1", "k1=1.0,k2=1.44,O=0.5,d=0.02"])
def test_circulatory_flutter_boundary(key: str) -> None:
    """The Euler term destabilises beyond the ε of A10, with the flutter frequency given there."""
    value = json.loads((REFERENCES / "A10_circulatory.json").read_text())["values"][key]
    k1, k2, speed, d = (float(value[name]) for name in ("k1", "k2", "Omega", "d"))
    low, high = (float(x) for x in value["eps_crit_low,high"])
    away = np.arange(1, 16)[:, None] ** 2 * 30.0 + np.array([[k1, k2]])  # stiff pairs beside
    model = Planar(np.vstack([[[k1, k2]], away]), damping=d)
    width = high - low
    rates = np.array(
        [low - 1e-6 * width, low + 1e-6 * width, high - 1e-6 * width, high + 1e-6 * width]
    )
    grid = stability_map(model, omega=np.array([speed, 0.5 * speed]), epsilon=rates, k=6)
    verdict = grid.verdict.sel(omega=speed).values
    np.testing.assert_array_equal(verdict, [FLUTTER, STABLE, STABLE, FLUTTER])
    flutter = [value[name]["flutter_freq"] for name in value if name.startswith("at_eps")]
    found = grid.critical_frequency.sel(omega=speed).values[[0, -1]] * 2.0 * np.pi
    np.testing.assert_allclose(found, [float(f) for f in flutter], rtol=1e-5)


def test_undamped_circulatory_shaft_is_unstable_off_the_axes() -> None:
    """A10: with d = 0 every Ωε ≠ 0 is unstable; on ε = 0 (Ω below critical) all is stable."""
    model = Planar(np.arange(1.0, 13.0)[:, None] ** 2 * np.array([[4.0, 9.0]]))
    grid = stability_map(
        model, omega=np.array([0.3, 1.0]), epsilon=np.array([-1.0, -1e-3, 0.0, 1e-3, 1.0]), k=6
    )
    np.testing.assert_array_equal(grid.verdict.values, [[2, 2, 0, 2, 2]] * 2)
    np.testing.assert_array_equal(grid.growth_rate.sel(epsilon=0.0).values, 0.0)


@pytest.mark.slow
def test_map_of_a_blade_equals_full_solves() -> None:
    """Every point of a small map against LAPACK on the full matrices, inside the error bound."""
    body = blade()
    axis = (0.0, 0.3, 1.0)
    speeds, rates = np.linspace(0.0, 500.0, 7), np.linspace(-4e4, 4e4, 6)
    grid = stability_map(body, omega=speeds, epsilon=rates, axis=axis, k=5)
    assert set(np.unique(grid.source)) == {"reduced"}
    for i, speed in enumerate(speeds):
        for j, rate in enumerate(rates):
            system = body.freeze(omega=speed, epsilon=rate, axis=axis)
            modes = solve(system, k=5, backend="dense")
            own = judge(modes.eigenvalues, modes.error_bound)
            # LAPACK's own error on the unreduced matrices is of the order 1e-8 |λ|.
            bound = grid.error_bound.values[i, j] + 1e-8 * np.abs(modes.eigenvalues).max()
            if not own.unstable_modes:  # of five; the map's verdict is on all modes
                every = solve(system, k=2 * system.n, backend="dense")
                grows = judge(every.eigenvalues, every.error_bound)
                own = grows if grows.unstable_modes else own
            assert abs(own.growth_rate - grid.growth_rate.values[i, j]) <= bound
            assert grid.verdict.values[i, j] == max(own.verdict, STABLE)
    assert float((grid.error_bound / np.maximum(grid.growth_rate, 1e3)).max()) < 1e-5


@pytest.mark.slow
def test_verdicts_do_not_depend_on_the_tolerance() -> None:
    """Growth rates of 1e-9 |λ| (undamped blade, Euler term) are not lost in coarse bounds."""
    axes = dict(omega=np.linspace(0.0, 300.0, 11), epsilon=np.linspace(-3e3, 3e3, 12))
    coarse, sharp = (
        stability_map(blade(), axis=(0, 0, 1), k=4, tolerance=t, **axes) for t in (1e-5, 1e-9)
    )
    # At rest nothing multiplies the velocity: modes stay on the axis. Elsewhere half of them grow.
    assert np.all(sharp.verdict.values[0] == STABLE)
    assert np.all(sharp.verdict.values[1:] == FLUTTER)
    np.testing.assert_array_equal(coarse.verdict.values, sharp.verdict.values)
    np.testing.assert_array_equal(coarse.unstable_modes.values, sharp.unstable_modes.values)


def test_a_basis_that_holds_everything_is_not_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is any point solved again on it where its verdict stays open."""
    solved = []
    solve_points = body_space.solve_points

    def counted(matrices: Any, *arguments: Any) -> Any:
        solved.append(matrices.shape[1])
        return solve_points(matrices, *arguments)

    monkeypatch.setattr(body_space, "solve_points", counted)
    small = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 1, clamped="start")
    axes = dict(omega=np.linspace(0.0, 300.0, 8), epsilon=np.linspace(-3e3, 3e3, 9))
    grid = stability_map(small, axis=(0, 0, 1), k=4, checks=0, **axes)
    assert grid.attrs["solver"] == "certified reduced basis"
    assert sum(solved) <= 2 * grid.verdict.size


def test_verdicts_that_need_all_modes_come_from_the_whole_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A damper on one node leaves no box. Against `stability` of the points; 96 unknowns."""
    shaft = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 16, clamped="start")
    body = assembly.attach_damper(shaft, "end", 30.0 * np.diag([1.0, 2.0, 3.0]))
    axes = dict(omega=np.linspace(20.0, 100.0, 3), epsilon=np.linspace(50.0, 6e4, 3))
    axis = (0.0, 1.0, 0.3)
    verdict, stages = methods.FullMethod.verdict, []

    def by_all_modes(self: BodyMethod, *arguments: Any) -> Any:
        final = of_tile(self, *arguments)
        stages.append(self._whole)
        return final

    def alone(self: methods.FullMethod, *arguments: Any) -> Any:
        raise AssertionError("a point was judged by itself")

    of_tile = BodyMethod.by_all_modes
    monkeypatch.setattr(BodyMethod, "by_all_modes", by_all_modes)
    monkeypatch.setattr(methods.FullMethod, "verdict", alone)
    found = stability_map(body, k=4, checks=0, axis=axis, **axes)
    monkeypatch.setattr(methods.FullMethod, "verdict", verdict)
    assert stages and all(space is not None and space.complete for space in stages)
    for i, omega in enumerate(axes["omega"]):
        for j, epsilon in enumerate(axes["epsilon"]):
            due = stability(body.freeze(omega=omega, epsilon=epsilon, axis=axis), k=4)
            here = found.isel(omega=i, epsilon=j)
            assert WORDS[int(here.verdict)] == due.verdict
            # The map's growth rate of a stable point is that of the modes wanted.
            apart = due.growth_rate - float(here.growth_rate)
            bound = float(here.error_bound) + due.error_bound
            assert abs(apart) <= bound or (apart > 0.0 and due.verdict == "stable")
    assert {STABLE, DIVERGENCE} == set(np.unique(found.verdict))


def test_a_model_that_makes_new_matrices_is_solved_point_by_point() -> None:
    shared = Planar(np.arange(1.0, 9.0)[:, None] ** 2 * np.array([[4.0, 9.0]]), damping=0.1)
    axes = dict(omega=np.array([0.5, 1.0]), epsilon=np.array([-0.3, 0.0, 0.2, 0.5]))
    reduced = stability_map(shared, k=4, **axes)
    full = stability_map(Remade(shared), k=4, **axes)
    assert set(np.unique(full.source)) == {"full"} and set(np.unique(reduced.source)) == {"reduced"}
    np.testing.assert_allclose(full.growth_rate, reduced.growth_rate, atol=1e-6)
    np.testing.assert_array_equal(full.verdict, reduced.verdict)


class StifferAtOnePoint:
    """A blade with an operator more at one point of the grid, which no training point has."""

    def __init__(self, omega: float, epsilon: float) -> None:
        self.where, self.blade = (omega, epsilon), blade()
        self.more = 0.5 * self.blade.freeze().K

    def freeze(self, omega: float, epsilon: float) -> FrozenSystem:
        system = self.blade.freeze(omega, epsilon, axis=(0.0, 0.2, 1.0))
        if (omega, epsilon) != self.where:
            return system
        more = Combination.of(system.n, (1.0,), (self.more,))
        return FrozenSystem(**(system.parts | {"K": system.parts["K"] + more}))


@pytest.mark.slow
def test_an_operator_at_one_point_only_leaves_the_others_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That point equals a full solve. Later tiles need vectors of their own, and get them."""
    monkeypatch.setattr(stability_maps, "TILE_POINTS", 16)
    axes = dict(omega=np.linspace(0.0, 400.0, 15), epsilon=np.linspace(-2e5, 2e5, 14))
    model = StifferAtOnePoint(float(axes["omega"][1]), float(axes["epsilon"][3]))
    grid = stability_map(model, k=4, **axes)
    plain = stability_map(model.blade, axis=(0.0, 0.2, 1.0), k=4, **axes)
    other = (grid.source == "full").values
    assert list(np.argwhere(other)[0]) == [1, 3] and other.sum() == 1
    apart = np.abs(grid.growth_rate - plain.growth_rate).values
    assert (apart <= (grid.error_bound + plain.error_bound).values + 1e-9)[~other].all()
    modes = solve(model.freeze(*model.where), k=4, backend="dense")
    own = judge(modes.eigenvalues, modes.error_bound)
    bound = 1e-8 * np.abs(modes.eigenvalues).max()
    assert float(grid.growth_rate[1, 3]) == pytest.approx(own.growth_rate, abs=bound)


def test_judge_never_calls_an_uncertain_growth_an_instability() -> None:
    lam = np.array([1e-9 + 2j, -0.1 + 3j, np.nan])
    assert judge(lam, np.full(3, 1e-8)).verdict == UNDECIDED
    assert judge(lam, np.full(3, 1e-10)).verdict == FLUTTER
    assert judge(np.array([0.5 + 1e-9j]), np.array([1e-8])).verdict == DIVERGENCE


def test_store_is_the_dataset_and_opens_with_xarray(tmp_path: Path) -> None:
    axes = dict(omega=np.linspace(0.1, 1.5, 12), epsilon=np.linspace(-0.2, 0.2, 11))
    grid = stability_map(shaft(), k=4, store=tmp_path / "map.zarr", **axes)
    stored = xr.open_zarr(tmp_path / "map.zarr", consolidated=False)
    for name in NUMBERS:
        np.testing.assert_array_equal(stored[name].values, grid[name].values)
        assert stored[name].attrs["units"] and stored[name].attrs["long_name"]
    assert bool(stored.done.all()) and stored.omega.attrs["units"] == "rad s-1"
    for name in ("package_version", "solver", "tolerance", "date", "model", "modes"):
        assert name in stored.attrs
    plain = stability_map(shaft(), k=4, **axes)
    for name in NUMBERS:
        np.testing.assert_array_equal(plain[name].values, grid[name].values)


def run_worker(store: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.support.blade_map", str(store)]
    root = ROOT
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(root))
    return subprocess.Popen(command, cwd=root, env=environment, preexec_fn=interruptible)


def done_points(store: Path) -> int:
    if not store.exists():
        return 0
    return int(xr.open_zarr(store, consolidated=False).done.values.sum())


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_killed_and_resumed_map_equals_an_unbroken_one(tmp_path: Path) -> None:
    """kill −9 twice in the middle; the finished map is bit for bit that of an unbroken run."""
    whole, broken = tmp_path / "whole.zarr", tmp_path / "broken.zarr"
    unbroken = run_worker(whole)
    for target in (20, 90):
        process = run_worker(broken)
        deadline = time.monotonic() + 60.0
        while done_points(broken) < target and time.monotonic() < deadline:
            assert process.poll() is None, "the worker ended before it could be killed"
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert target <= done_points(broken) < 210
    assert run_worker(broken).wait(timeout=120) == 0
    assert unbroken.wait(timeout=120) == 0
    one, other = (xr.open_zarr(path, consolidated=False) for path in (whole, broken))
    assert bool(other.done.all())
    for name in NUMBERS:
        assert one[name].values.tobytes() == other[name].values.tobytes(), name


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_interrupt_leaves_whole_tiles_and_no_partial_files(tmp_path: Path) -> None:
    """Ctrl-C in the middle: finished tiles are kept, nothing is half-written, resumable."""
    store = tmp_path / "map.zarr"
    process = run_worker(store)
    deadline = time.monotonic() + 60.0
    while done_points(store) < 20 and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) not in (0, -signal.SIGKILL)
    kept = xr.open_zarr(store, consolidated=False)
    done = kept.done.values
    assert 20 <= done.sum() < done.size
    assert np.isfinite(kept.growth_rate.values[done]).all()
    assert not list(tmp_path.rglob("*.partial"))
    assert run_worker(store).wait(timeout=120) == 0
    assert bool(xr.open_zarr(store, consolidated=False).done.all())


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A store on a disk of 400 kB: one StorageError line; with room again the map is completed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mount is not permitted here")
    axes = dict(omega=np.linspace(0.1, 1.5, 60), epsilon=np.linspace(-0.2, 0.2, 40))
    try:
        with pytest.raises(
            StorageError, match=r"disk is full; \d+ of 2400 points are kept"
        ) as full:
            stability_map(shaft(), k=4, store=disk / "map.zarr", **axes)
        assert "\n" not in str(full.value)
        subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
        grid = stability_map(shaft(), k=4, store=disk / "map.zarr", resume=True, **axes)
        assert bool(grid.done.all())
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_store_of_another_study_is_refused_in_one_line(tmp_path: Path) -> None:
    axes = dict(omega=np.linspace(0.1, 0.5, 3), epsilon=np.linspace(0.0, 0.1, 3))
    store = tmp_path / "map.zarr"
    before = stability_map(shaft(), k=4, store=store, **axes)
    short = {"omega": [0.1, 0.2]}
    others = {
        "modes": lambda: stability_map(shaft(), k=3, store=store, **axes),
        "parameter values": lambda: stability_map(shaft(), k=4, store=store, **axes | short),
        "fingerprint": lambda: stability_map(
            Planar(np.arange(1.0, 21.0)[:, None] ** 4 * np.array([[1.0, 1.5]])),
            k=4, store=store, resume=True, **axes,
        ),
    }  # fmt: skip
    for word, attempt in others.items():
        with pytest.raises(StorageError, match=word) as fault:
            attempt()
        assert "\n" not in str(fault.value) and "map.zarr" in str(fault.value)
    (tmp_path / "file").write_text("notes")
    with pytest.raises(StorageError, match="not a stability map"):
        stability_map(shaft(), k=4, store=tmp_path / "file", **axes)
    again = stability_map(shaft(), k=4, store=store, resume=True, **axes)
    xr.testing.assert_identical(again.drop_attrs(), before.drop_attrs())


def test_full_disk_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ENOSPC in the middle: StorageError counts the finished points; resume completes the map."""
    axes = dict(omega=np.linspace(0.1, 1.5, 30), epsilon=np.linspace(-0.2, 0.2, 10))
    store = tmp_path / "map.zarr"
    import zarr.storage._local as local

    put, calls = local._put, []

    def full_after_a_while(path: Path, *args: object, **kwargs: object) -> object:
        if "/c/" in str(path) and "basis" not in str(path):
            calls.append(path)
            if len(calls) > 17:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(path, *args, **kwargs)

    monkeypatch.setattr(local, "_put", full_after_a_while)
    with pytest.raises(StorageError, match=r"disk is full; [12]00 of 300 points are kept"):
        stability_map(shaft(), k=4, store=store, **axes)
    monkeypatch.setattr(local, "_put", put)
    resumed = stability_map(shaft(), k=4, store=store, resume=True, **axes)
    plain = stability_map(shaft(), k=4, **axes)
    for name in NUMBERS:
        np.testing.assert_array_equal(resumed[name].values, plain[name].values)


def test_an_explicit_sweep_is_the_keyword_sweep() -> None:
    axes = {"omega": np.linspace(0.1, 1.5, 6), "epsilon": np.linspace(-0.2, 0.2, 3)}
    xr.testing.assert_equal(
        stability_map(shaft(), over=axes, k=4), stability_map(shaft(), k=4, **axes)
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(over={"omega": [0.1, 0.2]}, epsilon=[0.0, 1.0]), "not both; .* found: epsilon"),
        (dict(over={"omega": [0.1, 0.2], "epsilon": [0.0, 1.0]}, omega=1.0), "found: omega"),
        (dict(over={"omega": [0.1, 0.2]}), "two or more"),
        (dict(over={"omega": 0.1, "epsilon": [0.0, 1.0]}), "omega: expected finite"),
        (dict(over=[0.1, 0.2]), "over: expected a mapping"),
        (dict(omega=[0.1, 0.2]), "two or more"),
        (dict(omega=[0.1, np.nan], epsilon=[0.0, 1.0]), "omega: expected finite"),
        (dict(omega=[0.1, 0.1], epsilon=[0.0, 1.0]), "every value once"),
        (dict(omega=[0.1, 0.2], epsilon=[0.0, 1.0], k=0), "k: must be"),
        (dict(omega=[0.1, 0.2], epsilon=[0.0, 1.0], tolerance=2.0), "tolerance"),
        (dict(omega=[0.1, 0.2], speed=[0.0, 1.0]), "speed"),
    ],
)
def test_bad_arguments_are_one_line(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words) as fault:
        stability_map(shaft(), **arguments)
    assert "\n" not in str(fault.value)


def compared(freeze: Any, points: Any, terms_of: Any) -> None:
    """The multipliers, rates and operators of points read together are those of each."""
    assert terms_of is not None
    each, together = (AffineFamily(freeze, points[0], t) for t in (None, terms_of))
    expected, found = each.coefficients(points), together.coefficients(points)
    np.testing.assert_array_equal(found.table, expected.table)
    np.testing.assert_array_equal(found.rate, expected.rate)
    assert [t.operator for t in together.terms] == [t.operator for t in each.terms]


@pytest.mark.parametrize("swept", ["epsilon", "velocity"])
def test_points_of_a_body_have_the_multipliers_of_its_frozen_systems(swept: str) -> None:
    """All of a tile at once, to the last bit; a model of another `freeze` is frozen."""
    section = assembly.rectangle(0.05, 0.02)
    body = assembly.beam(1.0, section, assembly.steel, 2, clamped="start").with_damping(b=1e-5)
    body = assembly.attach_damper(body, "end", np.diag([1.0, 2.0, 3.0]))
    axes = {"omega": np.linspace(0.0, 5.0, 4), swept: np.linspace(-1.0, 1.0, 3)}
    constants = dict(axis=(0.0, 3.0, 4.0), acceleration=(1.0, 0.0, 2.0))
    points = Grid(body, axes, constants).points()

    compared(lambda p: body.freeze(**constants, **p), points, together(body, constants, axes))
    swing = assembly.moving(body, assembly.swing(0.3, 5.0, axis=(0.0, 3.0, 4.0)))
    times = [{"time": float(t)} for t in np.linspace(0.0, 1.0, 5)]
    compared(lambda p: swing.freeze(p["time"]), times, together(swing, {}, ["time"]))
    assert together(replace(swing, prestress=None), {}, ["time"]) is None
    assert together(body, dict(axis=(0, 0, 1), prestress=None), axes) is None
    assert together(body, {}, axes) is None
    assert together(shaft(), dict(axis=(0, 0, 1)), axes) is None
    with pytest.raises(InputError, match="omega: components must be at most"):
        terms_of = together(body, dict(axis=(0, 0, 1)), axes)
        assert terms_of is not None
        terms_of([{"omega": 1e200, swept: 0.0}])


def test_points_of_a_rotor_have_the_multipliers_of_its_frozen_systems() -> None:
    """Bearings that depend on the spin are asked once a spin; a spin is no rate of the frame."""
    asked = []

    def film(spin: float) -> np.ndarray:
        asked.append(spin)
        return np.array([[1e7, 1e5 * spin], [-1e5 * spin, 2e7]])

    def rotor(stiffness: Any) -> Any:
        bearings = [assembly.Bearing(at, stiffness, [20.0, 30.0]) for at in (0.0, 1.0)]
        return assembly.rotor(
            [(1.0, assembly.circle(0.05))], assembly.steel, 3, bearings=bearings,
            internal_damping=1e-6, axial_load=-100.0,
        )  # fmt: skip

    axes = {"omega": np.linspace(-5.0, 5.0, 3), "epsilon": np.linspace(0.0, 10.0, 4)}
    points, machine = Grid(rotor([1e7, 2e7]), axes, {}).points(), rotor([1e7, 2e7])
    compared(lambda p: machine.freeze(**p), points, together(machine, {}, axes))
    constant = [{"omega": point["omega"]} for point in points]
    terms_of = together(machine, dict(epsilon=3.0), ["omega"])
    compared(lambda p: machine.freeze(**p, epsilon=3.0), constant, terms_of)
    assert terms_of is not None
    with pytest.raises(InputError, match="omega: expected one finite number"):
        terms_of([{"omega": 1e200}])
    varying = rotor(film)
    assert together(varying, {}, axes) is None
    asked.clear()
    for point in points:
        varying.freeze(**point)
    assert sorted(set(asked)) == [-5.0, 0.0, 5.0] and len(asked) == 6  # of two bearings


def test_what_completes_the_training_of_a_small_map_is_a_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained, counts = BodyMethod.trained, list[int]()

    def counted(self: BodyMethod, space: Any, points: Any) -> Any:
        counts.append(len(points))
        return trained(self, space, points)

    monkeypatch.setattr(BodyMethod, "trained", counted)
    blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 24, clamped="start")
    axes = dict(omega=np.linspace(0.0, 300.0, 8), epsilon=np.linspace(0.0, 500.0, 8))
    found = stability_map(blade, over=axes, axis=(0, 0, 1), checks=0, progress=False)
    assert found.done.all() and counts == [25, 7]
