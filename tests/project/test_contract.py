"""The names and arguments other people's scripts are written against."""

from __future__ import annotations

from pathlib import Path

import meshio
import numpy as np
import pytest

import assembly
import modal
import studies

MESH = Path(studies.__file__).parent / "rotating_blade" / "blade.msh"


@pytest.fixture(scope="module")
def blade() -> assembly.Body:
    return assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.05, 0.02),
        material=assembly.steel,
        elements=20,
        clamped="start",
        offset=0.0,
        theory="timoshenko",
    )


def test_bodies(blade: assembly.Body) -> None:
    solid = assembly.solid(MESH, assembly.steel, clamped="clamp")
    read = assembly.solid(meshio.read(MESH), assembly.steel, clamped="clamp")
    assert solid.freeze().n == read.freeze().n == 4068 - np.count_nonzero(solid.fixed)
    assembly.solid(str(MESH), assembly.steel, clamped=list(range(12)))
    alloy = assembly.Material(E=71e9, nu=0.33, rho=2780.0)
    free = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=alloy, elements=4
    )
    assert free.freeze().rigid.shape[1] == 6
    assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.05, 0.02),
        material=assembly.aluminium,
        elements=4,
        pinned="start",
    )
    assert assembly.titanium.rho > 4000.0


def test_matrices_of_another_program() -> None:
    block = assembly.gallery.block(2, 1, 1)
    M, K = block.freeze().M, block.freeze().K
    dofs = block.dofs.select(block.free)
    given = assembly.from_matrices(M, K, coordinates=dofs.coordinates, dofs=dofs)
    ours = block.freeze(omega=(0, 0, 10.0), prestress=None)
    theirs = given.freeze(omega=(0, 0, 10.0), prestress=None)
    assert abs(ours.C - theirs.C).max() < 1e-12 * abs(ours.C).max()
    raw = assembly.FrozenSystem(M=np.eye(2), C=np.zeros((2, 2)), K=np.diag([1.0, 4.0]))
    assert modal.solve(raw, k=2, backend="dense").eigenvalues == pytest.approx([1j, 2j])
    assert raw.null_chain is None


def test_a_frozen_system_and_its_modes(blade: assembly.Body) -> None:
    system = blade.freeze(
        omega=(0, 0, 100.0), epsilon=(0, 0, 0), acceleration=(0, 0, 0), prestress="linear"
    )
    for name in ("M", "C", "K", "K_epsilon", "K_omega2", "K_G", "D"):
        assert getattr(system, name).shape == (system.n, system.n)
    assert system.null_chain is None
    blade.freeze(omega=(0, 0, 100.0), prestress="nonlinear")
    blade.freeze(omega=(0, 0, 0.0), prestress=None)
    for backend in ("slepc", "scipy", "dense"):
        modes = modal.solve(system, k=10, backend=backend, certify=False)
        assert len(modes.eigenvalues) == 10 and np.all(modes.eigenvalues.imag >= 0.0)
        assert modes.right.shape == modes.left.shape == (system.n, 10)
        assert modes.backward_error.max() < 1e-9 and set(modes.kind) == {"elastic"}
    assert modal.solve(system, k=10, certify=True).certified
    assert "P4" in str(modal.properties(system))


def test_a_mechanism_and_its_truth() -> None:
    mechanism = studies.slider_crank.model(crank=0.15, rod=0.30, speed_rpm=1500, elements=3)
    system = mechanism.freeze(t=0.01, transport=True)
    assert mechanism.freeze(t=0.01, transport=False).K_transport.nnz == 0
    times = np.linspace(0.0, mechanism.period, 9)
    tracks = modal.track(mechanism, times=times, k=6)
    assert set(tracks.dims) == {"time", "mode"}
    first = modal.solve(system, k=1)
    initial = np.append(first.right[:, 0].real, (first.eigenvalues[0] * first.right[:, 0]).real)
    for formalism in ("lagrange", "hamilton"):
        response = modal.integrate(mechanism, (0.0, 1e-3), initial, formalism=formalism)
        assert {"displacement", "velocity", "energy", "energy_defect"} <= set(response.data_vars)
        assert set(response["displacement"].dims) == {"time", "probe"}


def test_a_prescribed_motion_and_its_truth() -> None:
    section = assembly.rectangle(0.05, 0.02)
    small = assembly.beam(1.0, section, assembly.steel, 2, clamped="start", planar=True)
    model = assembly.moving(small, assembly.spin(100.0))
    tracks = modal.track(model, times=np.linspace(0.0, model.period, 5), k=2)
    found = modal.floquet(model, model.period)
    assert np.abs(found.multipliers) == pytest.approx(1.0, abs=1e-9)
    assert modal.crosscheck(model, tracks).confirmed


def test_sweeps_and_maps(blade: assembly.Body, tmp_path: Path) -> None:
    speeds, rates = np.linspace(0.0, 100.0, 5), np.linspace(-10.0, 10.0, 3)
    tracks = modal.track(blade, omega=speeds, axis=(0, 0, 1), k=6)
    assert set(tracks["frequency"].dims) == {"omega", "mode"}
    grid = modal.stability_map(
        blade, omega=speeds, epsilon=rates, axis=(0, 0, 1), k=6, store=tmp_path / "map.zarr"
    )
    assert set(grid["verdict"].dims) == {"omega", "epsilon"} and bool(grid["done"].all())


def test_a_plain_callable() -> None:
    """x″ + (1 + 0.2 cos 2t) x = 0: period π."""

    def A(t: float) -> np.ndarray:
        return np.array([[0.0, 1.0], [-(1.0 + 0.2 * np.cos(2.0 * t)), 0.0]])

    exponents = modal.floquet(lambda t: A(t), np.pi).exponents
    # Mathieu with a = 1, q = −0.1 (the sign only shifts t): tests/references/A9_floquet.json.
    assert exponents.real.max() == pytest.approx(0.049941570198413, abs=1e-9)
    assert "displacement" in modal.integrate(A, (0.0, 1.0), [1.0, 0.0]).data_vars
    assert modal.crosscheck(A, period=np.pi).misleading
