"""Exact properties of solid and plane elements: symmetry, inertia, patches, affinity, the pin."""

from __future__ import annotations

import numpy as np
import pytest
import skfem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import assembly
from assembly import gallery
from assembly.bodies.nonlinear import equilibrium
from assembly.kinematics import skew
from tests.support.continua import FAMILIES, PLANES, SOLIDS, body, nearest

MOTION = dict(omega=(110.0, -70.0, 230.0), epsilon=(900.0, 400.0, -1500.0))
vectors = st.tuples(*(st.floats(-300.0, 300.0) for _ in range(3)))


def deviation(A: sparse.csr_matrix, sign: float) -> float:
    """max |A − sign Aᵀ| / max |A|."""
    return abs(A - sign * A.T).max() / abs(A).max()


@pytest.mark.parametrize("element", FAMILIES)
def test_symmetry_classes(element: str) -> None:
    system = body(element, clamped="x0").freeze(**MOTION, acceleration=(3.0, -2.0, 5.0))
    for name in ("M", "K", "K_omega2", "K_G"):
        assert deviation(getattr(system, name), 1.0) < 1e-14, name
    for name in ("C", "K_epsilon"):
        assert deviation(getattr(system, name), -1.0) < 1e-14, name
    assert np.linalg.eigvalsh(system.M.toarray())[0] > 0.0
    assert np.linalg.eigvalsh(system.K.toarray())[0] > 0.0
    assert np.linalg.eigvalsh(system.K_omega2.toarray())[-1] < 1e-12 * abs(system.K_omega2).max()


@pytest.mark.parametrize("element", FAMILIES)
def test_rigid_body_inertia(element: str) -> None:
    """vᵀMv of the rigid fields is mass, static moment and inertia tensor of the box."""
    made = body(element)
    fields = made.dofs.rigid_fields()
    found = fields.T @ (made.operators.M @ fields)
    solid = element in SOLIDS
    size = np.array([0.6, 0.4, 0.3 if solid else 0.0])
    low = np.array([0.2, -0.1, 0.05 if solid else 0.0])
    mass = assembly.steel.rho * 0.6 * 0.4 * (0.3 if solid else 0.02)
    centre = low + size / 2.0
    second = mass * (np.diag(size**2) / 12.0 + np.outer(centre, centre))  # ∫ρ X Xᵀ
    expected = np.zeros((6, 6))
    expected[:3, :3] = mass * np.eye(3)
    expected[:3, 3:] = -mass * skew(centre)
    expected[3:, :3] = expected[:3, 3:].T
    expected[3:, 3:] = np.trace(second) * np.eye(3) - second
    if not solid:  # only motions in the plane
        kept = np.ix_([0, 1, 5], [0, 1, 5])
        found, expected = found[kept], expected[kept]
    np.testing.assert_allclose(found, expected, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize(
    ("element", "state"),
    [(e, "stress") for e in FAMILIES] + [(e, "strain") for e in PLANES],
)
def test_patch(element: str, state: str) -> None:
    """A linear displacement field on a distorted mesh is in equilibrium and has its exact energy.

    Energy: Hooke's law by hand, isotropic; plane stress with E/(1 − ν²), plane strain with Lamé's
    λ.
    """
    made = body(element, state=state)
    d = 3 if element in SOLIDS else 2
    gradient = np.random.default_rng(1).normal(size=(d, d)) * 1e-3
    u = (made.dofs.coordinates[:, :d] @ gradient.T).ravel()
    forces = (made.operators.K @ u).reshape(-1, d)
    surface = np.unique(np.concatenate(list(made.sets.values())))
    inner = np.setdiff1d(np.arange(len(forces)), surface)
    assert len(inner) > 0
    assert abs(forces[inner]).max() < 1e-12 * abs(forces).max()
    strain = 0.5 * (gradient + gradient.T)
    E, nu = assembly.steel.E, assembly.steel.nu
    lame = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    if d == 2 and state == "stress":
        lame = E * nu / (1.0 - nu**2)
    density = lame * np.trace(strain) ** 2 + E / (1.0 + nu) * np.sum(strain**2)
    volume = 0.6 * 0.4 * (0.3 if d == 3 else 0.02)
    assert u @ forces.ravel() == pytest.approx(density * volume, rel=1e-12)


@pytest.mark.parametrize("element", FAMILIES)
def test_rigid_motions_cost_no_energy(element: str) -> None:
    made = body(element)
    fields = made.dofs.rigid_fields()
    K = made.operators.K
    assert abs(K @ fields).max() < 1e-13 * (abs(K) @ abs(fields)).max()


def direct(made: assembly.Body, element: str, weight: np.ndarray) -> np.ndarray:
    """∫ρ Nᵀ w N by scikit-fem's own vector forms on its own mesh: another assembly."""
    types = {
        **{
            "tet4": (skfem.MeshTet1, skfem.ElementTetP1),
            "hex8": (skfem.MeshHex1, skfem.ElementHex1),
        },
        **{"t3": (skfem.MeshTri1, skfem.ElementTriP1), "q4": (skfem.MeshQuad1, skfem.ElementQuad1)},
    }
    mesh_type, scalar = types[element]
    (block,) = made.families[0].blocks
    nodes = block.nodes
    if element == "hex8":  # scikit-fem's corner order: (1, 1, 1) first, the origin last
        nodes = nodes[:, [6, 2, 5, 7, 1, 3, 4, 0]]
    d = 3 if element in SOLIDS else 2
    mesh = mesh_type(made.dofs.coordinates[:, :d].T, nodes.T, sort_t=False, validate=False)
    basis = skfem.Basis(mesh, skfem.ElementVector(scalar()), intorder=6)
    thickness = 1.0 if d == 3 else 0.02
    local = weight[:d, :d] * assembly.steel.rho * thickness

    @skfem.BilinearForm
    def form(u, v, w):  # type: ignore[no-untyped-def]
        return np.einsum("ij,i...,j...", local, v, u)

    return form.assemble(basis).toarray()[
        np.ix_(basis.nodal_dofs.T.ravel(), basis.nodal_dofs.T.ravel())
    ]


@pytest.mark.parametrize("element", ("tet4", "hex8", "t3", "q4"))
@settings(max_examples=5, deadline=None)
@given(omega=vectors, epsilon=vectors)
def test_affine_combination_equals_direct_quadrature(
    element: str, omega: tuple[float, ...], epsilon: tuple[float, ...]
) -> None:
    made = body(element)
    system = made.freeze(omega=omega, epsilon=epsilon, prestress="linear")
    for name, weight in (
        ("C", 2.0 * skew(omega)),
        ("K_epsilon", skew(epsilon)),
        ("K_omega2", skew(omega) @ skew(omega)),
    ):
        expected = direct(made, element, weight)
        found = getattr(system, name).toarray()
        np.testing.assert_allclose(found, expected, atol=1e-12 * max(abs(expected).max(), 1e-30))


@pytest.mark.parametrize("element", FAMILIES)
@settings(max_examples=5, deadline=None)
@given(omega=vectors, epsilon=vectors, acceleration=vectors)
def test_geometric_stiffness_is_affine(
    element: str,
    omega: tuple[float, ...],
    epsilon: tuple[float, ...],
    acceleration: tuple[float, ...],
) -> None:
    """The combination of the twelve units is the K_G of the whole load at once."""
    made = body(element, clamped="x0")
    system = made.freeze(omega=omega, epsilon=epsilon, acceleration=acceleration)
    u = made.statics.response(
        (made.operators.inertia_loads @ _coefficients(omega, epsilon, acceleration))[:, None]
    )
    whole = made.statics.geometric(u[:, 0]).tocsr()[made.free][:, made.free]
    np.testing.assert_allclose(
        system.K_G.toarray(), whole.toarray(), atol=1e-10 * max(abs(whole).max(), 1e-30)
    )


def _coefficients(omega, epsilon, acceleration) -> np.ndarray:  # type: ignore[no-untyped-def]
    return assembly.Kinematics(omega, epsilon, acceleration).coefficients()


RIGID = ("K_epsilon", "K_omega2", "K_G")
SOFT = assembly.Material(E=2e9, nu=0.3, rho=2000.0)


def identity_residual(made: assembly.Body, pin: np.ndarray, omega, epsilon) -> float:  # type: ignore[no-untyped-def]
    """‖(K + K(ε) + K(ω²) + K_G)v‖ / (‖K(ω²)v‖ + ‖K(ε)v‖), v the turn about the pin."""
    omega, epsilon = np.asarray(omega, float), np.asarray(epsilon, float)
    acceleration = -(skew(epsilon) + skew(omega) @ skew(omega)) @ pin
    system = made.freeze(omega=omega, epsilon=epsilon, acceleration=acceleration)
    axis = omega if np.any(omega) else epsilon
    v = np.cross(axis / np.linalg.norm(axis), made.dofs.coordinates - pin)
    d = made.families[0].dimension
    v = v[:, :d].ravel()[made.free]
    scale = sum(np.linalg.norm(system.parts[p] @ v) for p in ("K_omega2", "K_epsilon"))
    return float(np.linalg.norm(system.stiffness @ v) / scale)


@pytest.mark.parametrize("element", SOLIDS)
@settings(max_examples=8, deadline=None)
@given(
    direction=st.tuples(*(st.floats(-1.0, 1.0) for _ in range(3))).filter(
        lambda d: np.linalg.norm(d) > 0.1
    ),
    ramp=st.floats(-2.0, 2.0),
)
def test_pinned_solid_identity_about_any_axis(
    element: str, direction: tuple[float, ...], ramp: float
) -> None:
    points = body(element).dofs.coordinates
    pin = nearest(points, (0.4, 0.1, 0.2))
    made = body(element, material=SOFT, pinned=[pin])
    omega = 400.0 * np.array(direction) / np.linalg.norm(direction)
    assert identity_residual(made, points[pin], omega, ramp * 400.0 * omega) < 1e-10


@pytest.mark.parametrize("element", SOLIDS)
def test_pinned_solid_identity_under_pure_angular_acceleration(element: str) -> None:
    points = body(element).dofs.coordinates
    pin = nearest(points, (0.2, -0.1, 0.05))
    made = body(element, material=SOFT, pinned=[pin])
    assert identity_residual(made, points[pin], (0.0, 0.0, 0.0), (5e4, -9e4, 8e4)) < 1e-10


@pytest.mark.parametrize("element", PLANES)
@settings(max_examples=8, deadline=None)
@given(omega=st.floats(50.0, 500.0), epsilon=st.floats(-3e5, 3e5))
def test_pinned_plane_identity(element: str, omega: float, epsilon: float) -> None:
    points = body(element).dofs.coordinates
    pin = nearest(points, (0.35, 0.1))
    made = body(element, material=SOFT, pinned=[pin])
    omega3, epsilon3 = (0.0, 0.0, omega), (0.0, 0.0, epsilon)
    assert identity_residual(made, points[pin], omega3, epsilon3) < 1e-10


@pytest.mark.parametrize("element", SOLIDS)
def test_hinged_solid_identity_about_the_hinge(element: str) -> None:
    """Several pinned nodes on a line along z: the body turns about that line only."""
    made = body(element, material=SOFT)
    X = made.dofs.coordinates
    edge = np.flatnonzero((abs(X[:, 0] - 0.2) < 1e-12) & (abs(X[:, 1] + 0.1) < 1e-12))
    hinged = body(element, material=SOFT, pinned=edge.tolist())
    assert hinged.rigid.shape[1] == 1
    assert identity_residual(hinged, X[edge].mean(axis=0), (0, 0, 400.0), (0, 0, 1e5)) < 1e-10


def test_hub_couple_makes_the_load_orthogonal_to_the_free_rotations() -> None:
    made = body("hex8", pinned=[nearest(body("hex8").dofs.coordinates, (0.4, 0.1, 0.2))])
    system = made.freeze(**MOTION)
    assert made.rigid.shape[1] == 3
    loads = abs(system.Q) @ abs(made.rigid)
    assert np.all(abs(system.Q @ made.rigid) < 1e-12 * loads)


@pytest.mark.parametrize("size", [(0.5, 0.3, 0.2), (0.8, 0.1, 0.2)])
def test_pinned_block_is_a_rigid_top(size: tuple[float, float, float]) -> None:
    """Spun about a principal axis through the pin, a stiff body is Euler's top: in its own frame
    0, 0, ±iΩ and ±iΩ √((C − A)(C − B)/AB), A, B, C about the pin (linearised Euler equations)."""
    omega = 100.0
    origin = (0.0, -size[1] / 2, -size[2] / 2)
    points = gallery.block_mesh(4, 2, 2, "hex20", size, origin).points
    made = gallery.block(
        4, 2, 2, "hex20", size, origin, clamped=None, pinned=[nearest(points, (0.0, 0.0, 0.0))]
    )
    system = made.freeze((0.0, 0.0, omega))
    assert deviation(system.K_G, 1.0) < 1e-12
    V = made.rigid
    # Rigid motions alone: what they leave out is the body's elasticity, (Ω/elastic frequency)².
    M, C, K = (V.T @ (A @ V) for A in (system.M, system.C, system.combined(RIGID).tocsr()))
    state = np.block(
        [[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]]
    )
    found = np.sort(abs(np.linalg.eigvals(state)))
    a, b, c = np.square(size) / 12.0 + np.square([size[0] / 2.0, 0.0, 0.0])
    A, B, C_axis = b + c, a + c, a + b
    squared = (C_axis - A) * (C_axis - B) / (A * B)
    nutation = omega * np.sqrt(abs(squared))
    expected = np.sort([0.0, 0.0, omega, omega, nutation, nutation])
    np.testing.assert_allclose(found, expected, atol=1e-4 * omega)


@pytest.mark.parametrize("element", FAMILIES)
def test_stretched_body_turns_freely_about_its_hinge(element: str) -> None:
    """Nonlinear prestress: the rotation of the stretched shape is a null vector of the tangent with
    the softening, (∂f/∂δ + K(ω²)) (θ × (X + δ)) = 0, because f turns with the body."""
    X = body(element).dofs.coordinates
    edge = np.flatnonzero((abs(X[:, 0] - 0.2) < 1e-12) & (abs(X[:, 1] + 0.1) < 1e-12))
    made = body(element, material=SOFT, pinned=edge.tolist())
    omega = np.array([0.0, 0.0, 700.0])
    acceleration = -skew(omega) @ skew(omega) @ X[edge].mean(axis=0)
    motion = assembly.Kinematics(omega=omega, acceleration=acceleration)
    system = made.freeze_kinematics(motion, "nonlinear")
    d = made.families[0].dimension
    shape = X - X[edge].mean(axis=0)
    shape[:, :d] += equilibrium(made.operators, motion).displacement.reshape(-1, d)
    assert abs(shape - X + X[edge].mean(axis=0)).max() > 0.01  # two per cent of the body's length
    v = np.cross([0.0, 0.0, 1.0], shape)[:, :d].ravel()[made.free]
    residual = np.linalg.norm(system.stiffness @ v)
    assert residual < 1e-9 * np.linalg.norm(system.parts["K_omega2"] @ v)
