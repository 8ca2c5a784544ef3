"""What must hold for any beam: symmetry, rigid-body inertia, exact equilibrium, bad input."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import assembly
from assembly.bodies.body import Body
from assembly.errors import InputError, MaterialError, SectionError
from assembly.kinematics import skew
from assembly.materials.materials import Orthotropic

vectors = st.tuples(*[st.floats(-50.0, 50.0)] * 3)
BLADE = assembly.rectangle(0.12, 0.03)


def spatial(**changes: object) -> Body:
    options = dict(start=(0.2, -0.1, 0.4), direction=(1.0, 0.5, -0.3), pitch=(0.7, -0.2))
    return assembly.beam(1.7, BLADE, assembly.steel, 7, **(options | changes))  # type: ignore[arg-type]


def planar(**changes: object) -> Body:
    options = dict(planar=True, start=(0.2, -0.1, 0.0), direction=(1.0, 0.5, 0.0))
    return assembly.beam(1.7, BLADE, assembly.steel, 7, **(options | changes))  # type: ignore[arg-type]


def bar(**changes: object) -> Body:
    return assembly.bar(1.7, BLADE, assembly.steel, 7, **changes)  # type: ignore[arg-type]


FAMILIES = [spatial, planar, bar]


def deviation(A: sp.csr_matrix, mirrored: sp.csr_matrix) -> float:
    return float(abs(A - mirrored).max() / max(abs(A).max(), 1e-300))


@cache
def clamped(make: Callable[..., Body]) -> Body:
    """One body for all examples."""
    return make(clamped="start")


@pytest.mark.parametrize("make", FAMILIES)
@given(omega=vectors, epsilon=vectors, acceleration=vectors)
def test_symmetry_classes(
    make: Callable[..., Body], omega: tuple, epsilon: tuple, acceleration: tuple
) -> None:
    s = clamped(make).freeze(omega, epsilon, acceleration)
    for name in ("M", "K", "K_omega2", "K_G"):
        A = getattr(s, name)
        assert deviation(A, A.T) <= 1e-14, name
    for name in ("C", "K_epsilon"):
        A = getattr(s, name)
        assert deviation(A, -A.T) <= 1e-14, name
    assert np.linalg.eigvalsh(s.M.toarray()).min() > 0.0
    softening = np.linalg.eigvalsh(s.K_omega2.toarray())
    assert softening.max() <= 1e-12 * max(abs(softening).max(), 1e-300)


def test_rigid_body_inertia_of_a_twisted_beam() -> None:
    """vᵀMv is mass, static moment and inertia tensor, here by quadrature over the solid."""
    body = spatial()
    M = body.operators.M.tocsr()
    V = body.dofs.rigid_fields()
    found = V.T @ (M @ V)
    t = np.array([1.0, 0.5, -0.3]) / np.linalg.norm([1.0, 0.5, -0.3])
    y = np.array([0.0, 1.0, 0.0]) - t[1] * t
    y /= np.linalg.norm(y)
    z = np.cross(t, y)
    g, w = np.polynomial.legendre.leggauss(24)
    corners = [(p, q) for p in (-1.0, 1.0) for q in (-1.0, 1.0)]  # two-point Gauss rule
    expected = np.zeros((6, 6))
    for along, weight in zip((g + 1.0) / 2.0, w / 2.0, strict=True):
        c, s = np.cos(0.7 - 0.9 * along), np.sin(0.7 - 0.9 * along)
        axis = np.array([0.2, -0.1, 0.4]) + 1.7 * along * t
        for p, q in corners:
            across = p * 0.06 * (c * y + s * z) + q * 0.015 * (c * z - s * y)
            field = np.hstack([np.eye(3), -skew(axis + across / np.sqrt(3.0))])
            expected += 7850.0 * 1.7 * BLADE.A * weight / 4.0 * field.T @ field
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * expected.max())


@pytest.mark.parametrize("make", [spatial, planar])
def test_rigid_motion_strains_nothing(make: Callable[..., Body]) -> None:
    body = make()
    K, V = body.operators.K.tocsr(), body.dofs.rigid_fields()
    V = V[:, np.abs(V).max(axis=0) > 0]
    assert abs(K @ V).max() <= 1e-14 * (abs(K) @ abs(V)).max()


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_blade_turns_freely_about_its_axis(theory: str) -> None:
    """A pretwisted beam turned rigidly about the axis it spins around is in equilibrium."""
    body = spatial(theory=theory, start=(0.0, 0.0, 0.0), pinned="start")
    axis = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    v = body.dofs.rigid_fields()[body.free, 3:] @ axis
    for epsilon in (0.0, -4e4):
        s = body.freeze(300.0 * axis, epsilon * axis)
        scale = np.linalg.norm(s.K_omega2 @ v) + np.linalg.norm(s.K_epsilon @ v)
        assert np.linalg.norm(s.stiffness @ v) <= 1e-10 * scale
        # The couple at the pin has parts across the axis: it turns with the blade.
        pin = s.dofs is not None and s.dofs.node == 0
        K_G = s.K_G[pin][:, pin].toarray()
        assert abs(K_G - K_G.T).max() > 1e-6 * abs(K_G).max()


def test_free_body_about_its_centre_of_mass_keeps_its_rotation() -> None:
    """Frame origin off the centre: a_O = −ω̃ω̃ X_c leaves a balanced load, and K_total v = 0."""
    body = spatial()
    V = body.dofs.rigid_fields()
    M = body.operators.M.tocsr()
    mass = V[:, 0] @ (M @ V[:, 0])
    centre = (
        np.array([V[:, 5] @ (M @ V[:, 1]), V[:, 3] @ (M @ V[:, 2]), V[:, 4] @ (M @ V[:, 0])]) / mass
    )
    # A free body spins steadily about a principal axis only.
    inertia = V[:, 3:].T @ (M @ V[:, 3:]) + mass * skew(centre) @ skew(centre)
    axis = np.linalg.eigh(inertia)[1][:, 1]
    w = skew(300.0 * axis)
    s = body.freeze(300.0 * axis, acceleration=-w @ w @ centre)
    v = V[:, 3:] @ axis - V[:, :3] @ np.cross(axis, centre)
    assert np.linalg.norm(s.stiffness @ v) <= 1e-10 * np.linalg.norm(s.K_omega2 @ v)
    # Every translation t is carried by the softening alone: K_total t = M ω̃ω̃ t.
    for t in np.eye(3):
        expected = M @ (V[:, :3] @ (w @ w @ t))
        np.testing.assert_allclose(
            s.stiffness @ (V[:, :3] @ t), expected, atol=1e-10 * abs(s.K_omega2 @ v).max()
        )


@pytest.mark.parametrize("make", [spatial, planar])
def test_lag_hinge_has_the_centrifugal_stiffness_of_its_offset(make: Callable[..., Body]) -> None:
    """vᵀK_total v = ω² e ∫ξ dm for a hinge at distance e from the axis (Johnson, 1980)."""
    body = make(start=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), offset=0.35, pinned="start")
    omega, hinge = 200.0, np.array([0.35, 0.0, 0.0])
    V = body.dofs.rigid_fields()
    v = (V[:, 5] - V[:, :3] @ np.cross([0.0, 0.0, 1.0], hinge))[body.free]
    found = v @ (body.freeze((0.0, 0.0, omega)).stiffness @ v)
    mass = 7850.0 * BLADE.A * 1.7
    assert found == pytest.approx(omega**2 * 0.35 * mass * 1.7 / 2.0, rel=1e-9)


BAD = [
    (dict(length=-1.0), InputError, "length"),
    (dict(length=float("nan")), InputError, "length"),
    (dict(elements=0), InputError, "elements"),
    (dict(elements=2.5), InputError, "elements"),
    (dict(clamped="root"), InputError, "clamped"),
    (dict(clamped="start", pinned="both"), InputError, "pinned"),
    (dict(pinned="middle"), InputError, "pinned"),
    (dict(pin_axis="w"), InputError, "pin_axis"),
    (dict(theory="euler"), InputError, "theory"),
    (dict(offset=float("inf")), InputError, "offset"),
    (dict(direction=(0.0, 0.0, 0.0)), InputError, "direction"),
    (dict(section_y=(1.0, 0.0, 0.0)), InputError, "section_y"),
    (dict(pitch=float("nan")), InputError, "pitch"),
    (dict(planar=True, direction=(1.0, 0.0, 1.0)), InputError, "planar"),
]


@pytest.mark.parametrize(("change", "kind", "word"), BAD)
def test_bad_beams_are_refused_in_one_line(change: dict, kind: type, word: str) -> None:
    given_ = dict(length=1.0, section=BLADE, material=assembly.steel, elements=4) | change
    with pytest.raises(kind, match=word) as fault:
        assembly.beam(**given_)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "constants",
    [
        dict(E=210e9, nu=0.3, rho=-7850.0),
        dict(E=0.0, nu=0.3, rho=7850.0),
        dict(E=210e9, nu=0.5, rho=7850.0),
        dict(E=float("nan"), nu=0.3, rho=7850.0),
    ],
)
def test_impossible_materials_are_refused(constants: dict) -> None:
    with pytest.raises(MaterialError) as fault:
        assembly.Material(**constants)
    assert "\n" not in str(fault.value)


def test_beam_of_orthotropic_material_is_refused() -> None:
    wood = Orthotropic((1e10, 5e8, 5e8), (0.3, 0.3, 0.3), (6e8, 6e8, 6e7), 500.0)
    with pytest.raises(MaterialError, match="6×6"):
        assembly.beam(1.0, BLADE, wood, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: assembly.rectangle(-0.1, 0.1),
        lambda: assembly.circle(0.0),
        lambda: assembly.tube(0.1, 0.2),
        lambda: assembly.i_profile(0.1, 0.2, 0.11, 0.01),
        lambda: assembly.Section(A=1.0, Iy=1.0, Iz=0.0, J=1.0),
        lambda: assembly.Section(A=1.0, Iy=1.0, Iz=1.0, J=1.0, Iyz=1.0),
    ],
)
def test_impossible_sections_are_refused(make: Callable[[], assembly.Section]) -> None:
    with pytest.raises(SectionError) as fault:
        make()
    assert "\n" not in str(fault.value)


def test_skew_section_is_a_turned_one() -> None:
    """Iyz of a rectangle turned by α about the beam: (y, z) → (c y − s z, s y + c z)."""
    alpha = 0.4
    c, s = np.cos(alpha), np.sin(alpha)
    Iy, Iz = BLADE.Iy, BLADE.Iz
    skewed = assembly.Section(
        A=BLADE.A,
        Iy=s**2 * Iz + c**2 * Iy,
        Iz=c**2 * Iz + s**2 * Iy,
        Iyz=c * s * (Iz - Iy),
        J=BLADE.J,
        shear_y=BLADE.shear_y,
        shear_z=BLADE.shear_z,
    )
    options = dict(clamped="start", offset=0.2)
    one = assembly.beam(1.0, skewed, assembly.steel, 5, **options)  # type: ignore[arg-type]
    two = assembly.beam(1.0, BLADE, assembly.steel, 5, pitch=alpha, **options)  # type: ignore[arg-type]
    motion = ((50.0, -20.0, 80.0), (300.0, -900.0, 200.0), (1.0, 2.0, 3.0))
    for name in ("M", "C", "K", "K_epsilon", "K_omega2", "K_G"):
        a, b = (getattr(body.freeze(*motion), name).toarray() for body in (one, two))
        np.testing.assert_allclose(a, b, atol=1e-11 * abs(b).max(), err_msg=name)


def test_torsion_constants_agree_with_the_tables() -> None:
    """Timoshenko & Goodier, Theory of Elasticity, §109: J = β b t³, β of the table (3–4 digits)."""
    for ratio, beta in [(1.0, 0.1406), (1.5, 0.196), (2.0, 0.229), (5.0, 0.291), (10.0, 0.312)]:
        section = assembly.rectangle(ratio * 0.02, 0.02)
        assert section.J == pytest.approx(beta * ratio * 0.02**4, rel=3e-3)
        assert assembly.rectangle(0.02, ratio * 0.02).J == pytest.approx(section.J, rel=1e-14)


def test_sections_agree_with_quadrature() -> None:
    """Second moments of the I by counting cells, of the tube from its formulas."""
    n = 400
    c = (np.arange(n) + 0.5) / n - 0.5
    y, z = np.meshgrid(c, c, indexing="ij")
    inside = (abs(2.0 * z) > 0.8) | (abs(y) < 0.05)
    cell = 0.2 * 0.3 / n**2
    section = assembly.i_profile(width=0.2, height=0.3, flange=0.03, web=0.02)
    assert section.A == pytest.approx(inside.sum() * cell, rel=1e-9)
    assert section.Iy == pytest.approx((inside * (0.3 * z) ** 2).sum() * cell, rel=1e-4)
    assert section.Iz == pytest.approx((inside * (0.2 * y) ** 2).sum() * cell, rel=1e-3)
    tube = assembly.tube(0.2, 0.14)
    assert tube.J == pytest.approx(np.pi / 32.0 * (0.2**4 - 0.14**4), rel=1e-14)
    assert tube.A == pytest.approx(np.pi / 4.0 * (0.2**2 - 0.14**2), rel=1e-14)
    # Cowper's limits: a thin tube has k = 2(1+ν)/(4+3ν), a tube without hole is a circle.
    assert assembly.tube(0.2, 0.2 - 1e-9).shear_y == pytest.approx(2.6 / 4.9, rel=1e-6)
    assert assembly.tube(0.2, 1e-9).shear_y == pytest.approx(assembly.circle(0.2).shear_y, rel=1e-9)
