"""Response to forces: against closed forms, ROSS, and a factorization at each frequency."""

from __future__ import annotations

import dataclasses
import json

import control
import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
import modal
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.response.forced_basis import ForcedBasis
from tests.support.paths import REFERENCES

ROSS = json.loads((REFERENCES / "ross_response.json").read_text("utf-8"))
RECTANGLE = assembly.rectangle(0.05, 0.02)


def blade(clamped: str | None, elements: int = 30) -> assembly.Body:
    body = assembly.beam(1.0, RECTANGLE, assembly.steel, elements, clamped=clamped)
    return body.with_damping(a=3.0, b=1e-5)


def general_system(n: int, seed: int) -> assembly.FrozenSystem:
    """Full random matrices, all parts present, K_t positive definite."""
    rng = np.random.default_rng(seed)
    A, B, C, D = rng.standard_normal((4, n, n))
    return assembly.FrozenSystem(
        M=np.eye(n) + 0.1 * (A @ A.T) / n,
        C=0.05 * (B - B.T),
        D=0.1 * (C @ C.T) / n,
        K=np.diag(np.linspace(1.0, 2.0 * n, n) ** 2) + A @ A.T / n,
        K_epsilon=0.3 * (D - D.T),
    )


SYSTEMS = {
    "damped, circulatory": lambda: blade("start").freeze(omega=(0, 20, 100), epsilon=(0, 0, 500)),
    "free": lambda: blade(None).freeze(),
    "free, spinning": lambda: blade(None).freeze(omega=(0, 0, 30.0)),
    "general": lambda: general_system(150, 4),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_the_error_bound_covers_the_error_of_the_modal_method(name: str, accuracy: float) -> None:
    """Truth: one factorization at each frequency."""
    system = SYSTEMS[name]()
    top = 1.0 if name == "general" else 300.0
    hertz = np.linspace(0.01 * top, top, 60)
    force = {system.n - 3: 1.0, system.n // 2: 0.5j}
    probes = [system.n - 3, system.n // 3, 5]
    exact = modal.frequency_response(system, hertz, force, probes, method="direct")
    found = modal.frequency_response(
        system, hertz, force, probes, method="modal", accuracy=accuracy
    )
    error = np.abs((found["displacement"] - exact["displacement"]).values)
    size = np.abs(exact["displacement"].values).max(axis=1, keepdims=True)
    assert np.all(error <= found["error_bound"].values + 1e-8 * size)
    assert found.attrs["basis_size"] < system.n
    assert np.median(error / size) < accuracy


def test_one_mass_on_a_damped_spring() -> None:
    """q = 1 / (k − mω² + iωd)."""
    system = assembly.FrozenSystem(M=[[2.0]], D=[[0.3]], K=[[50.0]])
    w = 2.0 * np.pi * np.array([0.0, 0.5, 0.8, 3.0])
    found = modal.frequency_response(system, w / (2 * np.pi), {0: 1.0})
    np.testing.assert_allclose(
        found["displacement"].values[:, 0], 1.0 / (50.0 - 2.0 * w**2 + 0.3j * w), rtol=1e-13
    )


def test_frequency_response_along_a_sweep_is_that_of_each_state() -> None:
    body, hertz, force = blade("start"), [5.0, 40.0], {(30, "uz"): 1.0}
    speeds = [0.0, 60.0, 120.0]
    swept = modal.frequency_response(body, hertz, force, over={"omega": speeds}, axis=(0, 0, 1))
    assert swept["displacement"].dims == ("omega", "frequency", "probe")
    for speed in speeds:
        alone = modal.frequency_response(body.freeze(omega=(0, 0, speed)), hertz, force)
        np.testing.assert_array_equal(
            swept["displacement"].sel(omega=speed).values, alone["displacement"].values
        )


def ross_rotor(case: str) -> assembly.Rotor:
    E, G = 211e9, 81.2e9
    steel = assembly.Material(E=E, nu=E / (2 * G) - 1, rho=7810.0)
    entries = ROSS["cases"][case]
    bearings = [assembly.Bearing(x, entries["stiffness"], entries["damping"]) for x in (0.0, 1.5)]
    return assembly.rotor(
        [(1.5, assembly.circle(0.05, nu=steel.nu))],
        steel,
        6,
        discs=[assembly.Disc(*entry) for entry in entries["discs"]],
        bearings=bearings,
    )


def complex_of(pairs: list[list[float]]) -> np.ndarray:
    return np.array(pairs) @ np.array([1.0, 1j])


@pytest.mark.parametrize("case", ["undamped", "damped"])
def test_unbalance_response_of_ross(case: str) -> None:
    """0.001 kg·m at the middle of the shaft, phase 0.3 rad; the axes x, y of ROSS are y, z here."""
    found = modal.unbalance_response(ross_rotor(case), ROSS["speeds"], [(0.75, 0.001, 0.3)])
    for probe, pairs in ROSS["cases"][case]["unbalance"].items():
        expected = complex_of(pairs)
        values = found["displacement"].sel(probe=f"rotor {probe}").values
        assert np.abs(values - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("case", ["undamped", "damped"])
def test_frequency_response_of_ross(case: str) -> None:
    """ROSS excites at the frequency of the spin."""
    rotor, expected = ross_rotor(case), ROSS["cases"][case]["receptance"]
    for k, speed in enumerate(ROSS["speeds"]):
        probes = [(2, "uy"), (2, "uz"), (5, "uy")]
        found = modal.frequency_response(
            rotor.freeze(speed), [speed / (2 * np.pi)], {(2, "uy"): 1.0}, probes
        )
        values = found["displacement"].values[0]
        theirs = np.array([complex_of(expected[f"{n} {c}"])[k] for n, c in probes])
        assert np.abs(values - theirs).max() < 1e-9 * np.abs(theirs).max()


@pytest.mark.parametrize("case", ["undamped", "damped"])
def test_critical_speeds_of_ross(case: str) -> None:
    """Those of bending; ROSS iterates each to 1e-11."""
    expected = ROSS["critical speeds"][case]
    found = modal.critical_speeds(ross_rotor(case), (0.0, 1100.0), k=7)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found.certified


def test_unbalance_of_a_rigid_rotor_on_springs() -> None:
    """A stiff shaft on two equal bearings: q = u Ω² / (2k − mΩ² + 2idΩ) in y, −i times it in z."""
    stiff = assembly.Material(E=1e15, nu=0.3, rho=7850.0)
    rotor = assembly.rotor(
        [(1.0, assembly.circle(0.1))], stiff, 2,
        bearings=[assembly.Bearing(x, 1e6, 50.0) for x in (0.0, 1.0)],
    )  # fmt: skip
    mass = 7850.0 * np.pi * 0.1**2 / 4.0
    w = np.array([20.0, 400.0, 700.0])
    found = modal.unbalance_response(rotor, w, [(0.5, 2e-3, 0.0)], [(1, "uy"), (1, "uz")])
    y = 2e-3 * w**2 / (2e6 - mass * w**2 + 100j * w)
    np.testing.assert_allclose(found["displacement"].values[:, 0], y, rtol=1e-4)
    np.testing.assert_allclose(found["displacement"].values[:, 1], -1j * y, rtol=1e-4)


def test_skewed_disc_on_a_rigid_shaft() -> None:
    """At rest in axes that turn: the springs' moment (k + iΩc) L²θ/2 carries the centrifugal
    moments, Ω²(I_d − I_p)θ of the whole rotor about its middle and Ω²(I_d − I_p)τ of the disc."""
    length, radius, k, c, skew, angle = 1.0, 0.05, 1e6, 50.0, 2e-3, 0.4
    stiff = assembly.Material(E=1e15, nu=0.3, rho=7850.0)
    disc = assembly.Disc(0.5, 30.0, 2.5, 1.3, skew=skew, skew_angle=angle)
    rotor = assembly.rotor(
        [(length, assembly.circle(2 * radius))], stiff, 2, discs=[disc],
        bearings=[assembly.Bearing(x, k, c) for x in (0.0, length)],
    )  # fmt: skip
    mass = stiff.rho * np.pi * radius**2 * length
    shaft = mass * (3 * radius**2 + length**2) / 12 - mass * radius**2 / 2
    own = disc.diametral - disc.polar
    w = np.array([50.0, 400.0, 900.0])
    lean = own * w**2 * skew * np.exp(1j * angle)
    lean /= (k + 1j * w * c) * length**2 / 2 - (own + shaft) * w**2
    ends = [(0, "uy"), (0, "uz"), (2, "uy"), (2, "uz")]
    found = modal.unbalance_response(rotor, w, probes=ends)["displacement"].values
    exact = 0.5 * length * np.outer(lean, [-1.0, 1j, 1.0, -1j])
    np.testing.assert_allclose(found, exact, rtol=1e-4)
    both = modal.unbalance_response(rotor, w, [(0.5, 2e-3, 0.0)], ends)["displacement"].values
    square = dataclasses.replace(rotor, discs=())
    alone = modal.unbalance_response(square, w, [(0.5, 2e-3, 0.0)], ends)["displacement"].values
    np.testing.assert_allclose(both, found + alone, rtol=1e-9)
    with pytest.raises(InputError, match="unbalances: give at least one"):
        modal.unbalance_response(square, w)


@pytest.mark.parametrize("name", SYSTEMS)
def test_state_space_has_the_poles_of_the_modes_and_the_response_of_the_system(name: str) -> None:
    system = SYSTEMS[name]()
    acting, read = [system.n - 3, 5], [system.n - 3, system.n // 2]
    A, B, C, D = modal.state_space(system, acting, read, k=14)
    modes = modal.solve(system, k=14)
    poles = control.ss(A, B, C, D).poles()
    wanted = np.concatenate([modes.eigenvalues, modes.eigenvalues.conj()])
    distance = np.abs(poles[:, None] - wanted).min(axis=0)
    assert np.all(distance <= 1e-10 * np.abs(wanted))
    assert np.sum(np.abs(poles) < 1e-3 * np.abs(wanted).min()) == modes.deflated
    w = 0.4 * np.abs(modes.eigenvalues[-1])
    exact = np.column_stack([
        modal.frequency_response(system, [w / (2 * np.pi)], {k: 1.0}, read, method="direct")[
            "displacement"
        ].values[0]
        for k in acting
    ])  # fmt: skip
    model = C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B)
    # An omitted mode gives 1/(λ² − ω²) − 1/λ² ≤ 0.19/λ² of what it gives at rest.
    assert np.abs(model + D - exact).max() < 0.2 * np.abs(model - exact).max()


def test_state_space_with_all_modes_is_the_system() -> None:
    """Nothing is left out: D is zero and the transfer matrix is exact."""
    system = general_system(8, 2)
    A, B, C, D = modal.state_space(system, range(8), range(8), k=16)
    assert A.shape == (16, 16)
    assert np.abs(D).max() < 1e-12
    H = C @ np.linalg.solve(2.0j * np.eye(16) - A, B)
    exact = np.linalg.inv((system.stiffness + 2.0j * system.damping - 4.0 * system.M).toarray())
    np.testing.assert_allclose(H, exact, atol=1e-12)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda s: modal.frequency_response(s, [-1.0], {5: 1.0}), "none negative"),
        (lambda s: modal.frequency_response(s, [1.0], {(99, "uz"): 1.0}), "node 99 has no DOF uz"),
        (lambda s: modal.frequency_response(s, [1.0], {(3, "w"): 1.0}), "the component is one of"),
        (lambda s: modal.frequency_response(s, [1.0], {5: 0.0}), "force: is zero"),
        (lambda s: modal.frequency_response(s, [1.0], {5: 1.0}, method="fast"), "direct"),
        (lambda s: modal.frequency_response(s, [1.0], {5: 1.0}, times=[0.0]), "one instant"),
        (lambda s: modal.frequency_response("s", [1.0], {5: 1.0}), "freeze"),
        (lambda s: modal.frequency_response(s, [1.0], np.ones(3)), "shape"),
        (lambda s: modal.unbalance_response(s, [1.0], [(0.0, 1.0, 0.0)]), "Rotor"),
        (lambda s: modal.state_space(s, [], [3]), "inputs"),
    ],
)
def test_bad_input_is_named(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call(blade("start").freeze())  # type: ignore[operator]


def test_a_free_body_has_no_static_response() -> None:
    with pytest.raises(InputError, match="singular at 0 Hz"):
        modal.frequency_response(blade(None).freeze(), [0.0], {(30, "uz"): 1.0}, method="direct")


def test_unbalance_must_be_at_a_node() -> None:
    with pytest.raises(InputError, match=r"nearest is at 0\.75 m"):
        modal.unbalance_response(ross_rotor("damped"), [10.0], [(0.8, 1e-3, 0.0)])


def test_the_error_bound_is_not_below_the_error_of_the_first_mode_left_out() -> None:
    """Oscillators of 1 to 60 rad/s: the basis has twelve and the static response, which is nearly
    all of the sixtieth. What is missing is the thirteenth, near its resonance."""
    omega = np.arange(1.0, 61.0)
    force = np.zeros(60)
    force[12], force[59] = 1.0, 1e3
    system = FrozenSystem(M=np.eye(60), K=np.diag(omega**2))
    w = np.array([5.5, 7.9])
    found = modal.frequency_response(
        system, w / (2.0 * np.pi), force, probes=[12], method="modal", accuracy=0.1
    )
    error = np.abs(found["displacement"].values[:, 0] - 1.0 / (13.0**2 - w**2))
    bound = found["error_bound"].values[:, 0]
    assert np.all(error > 1e-6) and np.all(error <= bound) and np.all(bound <= 1.5 * error)


def test_soft_springs_do_not_raise_the_round_off_of_a_basis() -> None:
    """In the energy norm of the stiffness alone motions on springs of 0.1 N/m are as good as none:
    the error of an undamped beam fell to 1e-4 and no further, at whatever size of the basis."""
    beam = assembly.beam(1.0, RECTANGLE, assembly.steel, 60)
    system = beam.freeze()
    springs = sp.csr_matrix(0.1 * sp.identity(system.n))
    soft = FrozenSystem(M=system.M, K=system.K + springs)
    hertz = np.linspace(2.0, 2000.0, 40)
    force = {system.n - 4: 1.0}
    found = modal.frequency_response(soft, hertz, force, method="modal")
    exact = modal.frequency_response(soft, hertz, force, method="direct")
    error = np.abs(found.displacement.values - exact.displacement.values)
    assert np.all(error <= found.error_bound.values) and found.attrs["basis_size"] < 80


def test_the_cutoff_of_a_basis_is_the_first_mode_left_out() -> None:
    """The start of a small system is a basis of all of it, whose vectors are not modes."""
    Q = la.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    K = Q @ np.diag(np.arange(1.0, 41.0) ** 2) @ Q.T
    system = FrozenSystem(M=np.eye(40), K=0.5 * (K + K.T))
    basis = ForcedBasis(system, np.ones(40, dtype=complex), 20.0)
    while not basis.complete:
        basis.more_modes()
    last = basis.modes.shape[1]
    assert 20 < last < 40 and np.isclose(basis.cutoff**2, last**2 + basis.shift)
    basis.destroy()


def test_the_gyroscopic_part_is_bounded_by_the_mass() -> None:
    """|xᴴGx| / xᴴMx of a mass matrix whose small eigenvalues are far below its diagonal."""
    n = 40
    M = sp.diags([0.49, 1.0, 0.49], [-1, 0, 1], shape=(n, n), format="csr")
    skew = sp.diags([-0.3, 0.3], [-1, 1], shape=(n, n), format="csr")
    system = FrozenSystem(M=M, C=skew, K=sp.diags(np.arange(1.0, n + 1.0), format="csr"))
    basis = ForcedBasis(system, np.ones(n, dtype=complex), 1.0)
    largest = la.eigh(1j * skew.toarray(), M.toarray(), eigvals_only=True).max()
    assert largest <= basis.gyroscopic <= 1.01 * largest
    basis.destroy()
