"""Shafts and discs in a frame that does not spin: closed forms, series, the rotating frame."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.bodies.attachments import attach_damper, attach_spring
from assembly.bodies.body import Body
from assembly.bodies.rotor_parts import Bearing, Disc
from assembly.bodies.rotors import Rotor, rotor
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem

SHAFT = assembly.circle(0.06)
STEEL = assembly.steel


def spectrum(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Eigenvalues of M q̈ + C q̇ + K q = 0, by imaginary part."""
    n = len(M)
    lower = -la.solve(M, np.hstack([K, C]))
    values = la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))
    return values[np.argsort(values.imag)]


def dense(system: FrozenSystem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return system.M.toarray(), system.damping.toarray(), system.stiffness.toarray()


def in_the_whirl_plane(system: FrozenSystem) -> np.ndarray:
    """Eigenvalues of an isotropic rotor in z = u_y + i u_z: forward whirl has a positive sign."""
    dofs = system.dofs
    assert dofs is not None
    y = np.flatnonzero((dofs.component == 1) | (dofs.component == 4))
    T = np.zeros((system.n, len(y)), dtype=complex)
    for column, k in enumerate(y):
        partner = dofs.index(int(dofs.node[k]), int(dofs.component[k]) + 1)
        T[k, column], T[partner, column] = 1.0 / np.sqrt(2.0), -1j / np.sqrt(2.0)
    return spectrum(*(T.conj().T @ A @ T for A in dense(system)))


def overhung(theory: str = "timoshenko") -> Rotor:
    """A stepped shaft with a disc between two isotropic bearings and one beyond them."""
    return rotor(
        [(0.4, SHAFT), (0.5, assembly.circle(0.08))],
        STEEL,
        9,
        discs=[Disc.solid(0.4, 0.35, 0.08, 0.05, STEEL), Disc(0.9, 20.0, 0.4, 0.22)],
        bearings=[Bearing(0.0, 4e7, 900.0), Bearing(0.7, 2.5e7)],
        theory=theory,  # type: ignore[arg-type]
    )


def in_the_turning_frame(still: Rotor, damped: bool) -> Body:
    """The same rotor as a body that turns: isotropic bearings are springs of the frame."""
    body = still.body
    for node, bearing in still.bearings:
        across = np.diag([0.0, 1.0, 1.0])
        body = attach_spring(body, node, stiffness=bearing.matrices(0.0)[0][0, 0] * across)
        damping = bearing.matrices(0.0)[1][0, 0]
        if damped and damping:
            body = attach_damper(body, node, damping * across)
    return body


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("spin", [0.0, 150.0, 900.0])
def test_fixed_and_rotating_frame_have_the_same_whirl(
    spin: float, damped: bool, theory: str
) -> None:
    """λ in the rotating frame is λ − iΩ for every whirl; dampers to ground circulate there."""
    rotor_ = overhung(theory)
    rotor_ = rotor_ if damped else replace_bearings(rotor_)
    fixed = in_the_whirl_plane(rotor_.freeze(spin))
    turning = in_the_whirl_plane(in_the_turning_frame(rotor_, damped).freeze((spin, 0.0, 0.0)))
    np.testing.assert_allclose(turning + 1j * spin, fixed, atol=1e-9 * abs(fixed).max())
    slow = abs(fixed) < 5e3
    np.testing.assert_allclose(turning[slow] + 1j * spin, fixed[slow], rtol=1e-9, atol=1e-6)
    assert damped == bool(fixed[slow].real.min() < -1e-3)


def replace_bearings(given: Rotor) -> Rotor:
    """The same rotor without damping in its bearings."""
    plain = tuple((node, Bearing(b.at, b.stiffness)) for node, b in given.bearings)
    return Rotor(given.body, plain)


def test_internal_damping_is_the_same_in_both_frames() -> None:
    """b K in the rotating frame is b K and −Ω b K (e_x ×) in the fixed one."""
    spin, b = 700.0, 2e-5
    still = replace_bearings(overhung())
    inner = Rotor(still.body, still.bearings, internal_damping=b)
    body = in_the_turning_frame(still, damped=False).with_damping(b=b)
    # Rayleigh's b K of the rotating body also damps its bearings: take them out again.
    system = body.freeze((spin, 0.0, 0.0))
    springs = system.K - inner.freeze(0.0).only("K").K
    assert abs(springs).max() < 1e-9 * abs(system.K).max()
    bare = still.body.operators.K.tocsr()
    turning = in_the_whirl_plane(system.only("C", "K", "K_omega2", "K_G", D=b * bare))
    fixed = in_the_whirl_plane(inner.freeze(spin))
    near = abs(fixed) < 5e3
    matched = [abs(turning + 1j * spin - value).min() for value in fixed[near]]
    assert max(matched) < 1e-6
    assert fixed[near].real.max() > 0.0  # above its critical speed: unstable


def as_rigid(system: FrozenSystem, *columns: int) -> np.ndarray:
    """Eigenvalues of the rotor moving rigidly, in some columns of the rigid fields."""
    assert system.dofs is not None
    V = system.dofs.rigid_fields()[:, columns]
    return spectrum(*(V.T @ A @ V for A in dense(system)))


def test_rigid_rotor_in_isotropic_bearings() -> None:
    """Conical whirl of a rigid shaft: I_d λ² − iΩ I_p λ + 2 k a² = 0 (Genta, 2005)."""
    light = assembly.Material(E=1e9, nu=0.3, rho=1e-9)
    k, a, mass, polar, diametral = 3e5, 0.3, 12.0, 0.6, 0.35
    model = rotor(
        [(2 * a, SHAFT)],
        light,
        2,
        discs=[Disc(a, mass, polar, diametral)],
        bearings=[Bearing(0.0, k), Bearing(2 * a, k)],
    )
    for spin in (0.0, 300.0, 2000.0):
        found = as_rigid(model.freeze(spin), 1, 2, 4, 5)
        half = 0.5 * spin * polar / diametral
        conical = half + np.array([-1.0, 1.0]) * np.sqrt(half**2 + 2.0 * k * a**2 / diametral)
        cylindrical = np.sqrt(2.0 * k / mass) * np.array([-1.0, 1.0])
        exact = np.sort([*conical, *-conical, *cylindrical, *cylindrical])
        np.testing.assert_allclose(found, 1j * exact, atol=1e-8 * abs(exact).max())


@pytest.mark.parametrize("spin", [0.0, 800.0, 4000.0])
def test_timoshenko_shaft_in_rigid_bearings(spin: float) -> None:
    """Sine series are exact: u = U sin(nπx/L), φ = Φ cos(nπx/L) in the complex plane of whirl.

    ρA λ² U + kGA (β² U − β Φ) = 0,  ρI λ² Φ − 2iΩρI λ Φ + EI β² Φ + kGA (Φ − β U) = 0, β = nπ/L.
    """
    length, n = 1.1, np.arange(1, 4)
    A, I, shear = SHAFT.A, SHAFT.Iy, SHAFT.shear_y * STEEL.G * SHAFT.A
    exact = []
    for beta in n * np.pi / length:
        M = STEEL.rho * np.diag([A, I]).astype(complex)
        C = np.diag([0.0, -2j * spin * STEEL.rho * I])
        K = np.array(
            [[shear * beta**2, -shear * beta], [-shear * beta, STEEL.E * I * beta**2 + shear]]
        )
        slow = spectrum(M, C, K.astype(complex)).imag
        exact += sorted(slow[np.argsort(abs(slow))][:2])
    ends = [Bearing(0.0, np.inf), Bearing(length, np.inf)]

    def found(elements: int) -> np.ndarray:
        model = rotor([(length, SHAFT)], STEEL, elements, bearings=ends)
        values = in_the_whirl_plane(model.freeze(spin)).imag
        return np.array([values[abs(values - value).argmin()] for value in exact])

    # The shear of inertia loads is not interpolated: error h², removed by extrapolation.
    np.testing.assert_allclose((4.0 * found(48) - found(24)) / 3.0, exact, rtol=1e-5)


def test_bearings_with_cross_coefficients_that_depend_on_speed() -> None:
    """A point mass in a bearing: M λ² + D(Ω) λ + K(Ω) = 0 from the numbers themselves."""

    def stiffness(spin: float) -> np.ndarray:
        return np.array([[2e5 + 40.0 * spin, 3e2 * spin], [-2.5e2 * spin, 3e5]])

    def damping(spin: float) -> np.ndarray:
        return np.array([[500.0, 20.0], [-35.0, 700.0 + 0.1 * spin]])

    light = assembly.Material(E=1e9, nu=0.3, rho=1e-9)
    model = rotor(
        [(1.0, SHAFT)],
        light,
        2,
        discs=[Disc(0.5, 9.0, 3.0, 1.6)],
        bearings=[Bearing(0.5, stiffness, damping)],
    )
    for spin in (0.0, 700.0):
        system = model.freeze(spin)
        exact = spectrum(9.0 * np.eye(2), damping(spin), stiffness(spin))
        found = as_rigid(system, 1, 2)
        np.testing.assert_allclose(found, exact, atol=1e-8 * abs(exact).max())
        skew_part = system.parts["K_D"]
        assert skew_part.is_zero == (spin == 0.0)
        assert not system.is_conservative
        # The disc can still tilt about its node: two rigid motions, free of the bearing.
        assert system.rigid.shape[1] == 2


def test_gyroscopic_matrix_is_skew_and_splits_the_whirls() -> None:
    model = replace_bearings(overhung())
    still, fast = model.freeze(0.0), model.freeze(1000.0)
    C = fast.C
    assert abs(C + C.T).max() <= 1e-14 * abs(C).max()
    assert still.parts["C"].is_zero and fast.is_conservative
    backward, forward = (
        np.sort(abs(v))[:3] for v in (lambda w: (w[w < 0], w[w > 0]))(in_the_whirl_plane(fast).imag)
    )
    level = np.sort(abs(in_the_whirl_plane(still).imag))[::2][:3]
    assert np.all(backward < level) and np.all(forward > level)


def test_disc_inertia_of_a_solid_ring() -> None:
    """I_p and I_d by quadrature over the cylinder."""
    disc = Disc.solid(0.0, 0.4, 0.1, 0.06, STEEL)
    g, w = np.polynomial.legendre.leggauss(8)
    r, wr = 0.125 + 0.075 * g, 0.075 * w
    x, wx = 0.03 * g, 0.03 * w
    volume = 2.0 * np.pi * np.einsum("i,j,i->ij", wr, wx, r)
    assert disc.mass == pytest.approx(STEEL.rho * volume.sum(), rel=1e-12)
    assert disc.polar == pytest.approx(STEEL.rho * (volume * r[:, None] ** 2).sum(), rel=1e-12)
    diametral = STEEL.rho * (volume * (0.5 * r[:, None] ** 2 + x**2)).sum()
    assert disc.diametral == pytest.approx(diametral, rel=1e-12)


def make(**changes: object) -> Rotor:
    options = dict(segments=[(1.0, SHAFT)], material=STEEL, elements=4)
    return rotor(**(options | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (dict(segments=[]), "segments"),
        (dict(segments=[(-1.0, SHAFT)]), "segments: number 0: length"),
        (dict(elements=0), "elements"),
        (dict(discs=[Disc(1.5, 1.0, 1.0, 0.6)]), "disc at 1.5"),
        (dict(discs=[Disc(0.5, 1.0, 1.0, 0.1)]), "inertia"),
        (dict(bearings=[Bearing(-0.1, 1e6)]), "bearing at -0.1"),
        (dict(internal_damping=-1.0), "internal_damping"),
        (dict(theory="euler"), "theory"),
    ],
)
def test_bad_rotors_are_refused_in_one_line(change: dict, word: str) -> None:
    with pytest.raises(InputError, match=word) as fault:
        make(**change)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("pieces", [(0.486, 1.134), (0.1, 0.2)])
def test_parts_stand_at_an_end_that_is_a_sum_of_segments(pieces: tuple[float, float]) -> None:
    """0.486 + 1.134 is one unit of the last place below 1.62, 0.1 + 0.2 one above 0.3."""
    section, end = assembly.circle(0.05), round(sum(pieces), 3)
    assert end != sum(pieces)

    def at(place: float) -> Rotor:
        return rotor(
            [(length, section) for length in pieces], assembly.steel, 6,
            discs=[Disc(place, 5.0, 0.02, 0.011)],
            bearings=[Bearing(0.0, 1e7), Bearing(place, 1e7)],
        )  # fmt: skip

    written, summed = at(end), at(sum(pieces))
    np.testing.assert_allclose(
        written.body.dofs.coordinates, summed.body.dofs.coordinates, rtol=0.0, atol=1e-15
    )
    difference = written.freeze(100.0).stiffness - summed.freeze(100.0).stiffness
    assert abs(difference).max() <= 1e-12 * abs(summed.freeze(100.0).stiffness).max()


def test_bad_freezes_are_refused() -> None:
    with pytest.raises(InputError, match="axisymmetric"):
        make(segments=[(1.0, assembly.rectangle(0.05, 0.03))]).freeze(10.0)
    with pytest.raises(InputError, match="axis"):
        make().freeze(10.0, axis=(0, 0, 1))
    with pytest.raises(InputError, match="omega"):
        make().freeze(float("nan"))
    with pytest.raises(InputError, match="stiffness"):
        make(bearings=[Bearing(0.0, [1.0, 2.0, 3.0])]).freeze(1.0)
