"""Bodies whose named sets of cells are of different materials."""

from __future__ import annotations

import meshio
import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import assembly
from assembly import gallery
from assembly.bodies.nonlinear import equilibrium
from assembly.errors import MeshError
from assembly.kinematics import skew
from tests.support.continua import distorted_mesh, nearest

# ν = 0: a bar of two halves then is two springs in series, whatever its mesh.
FIRST = assembly.Material(E=3e9, nu=0.0, rho=1200.0)
SECOND = assembly.Material(E=70e9, nu=0.0, rho=2700.0)
LENGTH, SIDE = 0.6, 0.1


def halves(element: str = "hex8") -> meshio.Mesh:
    """A bar in two sets of cells, "root" to x = L/2 and "tip" beyond, in blocks out of order."""
    mesh = gallery.block_mesh(4, 2, 2, element, (LENGTH, SIDE, SIDE))
    (block,) = mesh.cells
    order = np.random.default_rng(5).permutation(len(block.data))
    cells = block.data[order]
    tip = mesh.points[cells].mean(axis=1)[:, 0] > LENGTH / 2
    parts = [cells[:5], cells[5:]]
    sets = {
        "root": [np.flatnonzero(~tip[:5]), np.flatnonzero(~tip[5:])],
        "tip": [np.flatnonzero(tip[:5]), np.flatnonzero(tip[5:])],
    }
    return meshio.Mesh(
        mesh.points, [(block.type, p) for p in parts], point_sets=mesh.point_sets, cell_sets=sets
    )


@pytest.mark.parametrize("element", ("hex8", "tet10"))
def test_two_halves_in_series(element: str) -> None:
    """Tip displacement F L/2A (1/E₁ + 1/E₂) under an end tension, and the sum of the masses."""
    body = assembly.solid(halves(element), {"root": FIRST, "tip": SECOND}, clamped="x0")
    end = body.sets["x1"]
    ux = np.isin(np.arange(body.size), body.dofs.of_nodes(end, [0]))
    # Work-equivalent forces of a uniform traction: the reactions of a uniform stretch of the tip's
    # material alone.
    alone = assembly.solid(halves(element), SECOND)
    stretch = np.where(body.dofs.component == 0, body.dofs.coordinates[body.dofs.node, 0], 0.0)
    force = np.where(ux, alone.operators.K @ stretch, 0.0)
    u = spsolve(body.supported.K.tocsc(), force[body.free])
    tension = force.sum()
    assert tension == pytest.approx(SECOND.E * SIDE**2)
    whole = np.zeros(body.size)
    whole[body.free] = u
    expected = tension * LENGTH / (2.0 * SIDE**2) * (1.0 / FIRST.E + 1.0 / SECOND.E)
    np.testing.assert_allclose(whole[ux], expected, rtol=1e-9)
    along = (body.dofs.component == 0).astype(float)
    mass = along @ (body.operators.M @ along)
    assert mass == pytest.approx((FIRST.rho + SECOND.rho) * SIDE**2 * LENGTH / 2.0, rel=1e-12)


def test_one_material_twice_is_one_material() -> None:
    motion = dict(omega=(30.0, -50.0, 90.0))
    twice = assembly.solid(halves(), {"root": FIRST, "tip": FIRST}, clamped="x0").freeze(**motion)
    once = assembly.solid(halves(), FIRST, clamped="x0").freeze(**motion)
    for name in ("M", "C", "K", "K_omega2", "K_G"):
        A, B = getattr(twice, name), getattr(once, name)
        assert abs(A - B).max() < 1e-12 * abs(B).max(), name


def test_pinned_identity_with_two_materials() -> None:
    """(K + K(ω²) + K_G) v = 0, so the stress of each half is its own."""
    pin = nearest(halves().points, (0.0, 0.05, 0.05))
    body = assembly.solid(halves(), {"root": FIRST, "tip": SECOND}, pinned=[pin])
    omega = np.array([200.0, -300.0, 250.0])
    at = body.dofs.coordinates[pin]
    system = body.freeze(omega=omega, acceleration=-skew(omega) @ skew(omega) @ at)
    v = np.cross(omega / np.linalg.norm(omega), body.dofs.coordinates - at).ravel()[body.free]
    residual = np.linalg.norm(system.stiffness @ v)
    assert residual < 1e-9 * np.linalg.norm(system.parts["K_omega2"] @ v)


def test_nonlinear_prestress_of_two_materials() -> None:
    """A column of two halves under its own acceleration a: the linear stretch, in the limit of a
    stiff material, is ∫ N/EA with N(x) the mass beyond x times a (ν = 0)."""
    body = assembly.solid(halves("hex20"), {"root": FIRST, "tip": SECOND}, clamped="x0")
    a = -4.0
    motion = assembly.Kinematics(acceleration=(a, 0.0, 0.0))
    u = equilibrium(body.operators, motion).displacement
    half = LENGTH / 2.0
    first = half * (SECOND.rho * half + FIRST.rho * half / 2.0) / FIRST.E
    second = SECOND.rho * half**2 / 2.0 / SECOND.E
    tip = u[body.dofs.of_nodes(body.sets["x1"], [0])]
    np.testing.assert_allclose(tip, -a * (first + second), rtol=1e-5)


def test_faults() -> None:
    with pytest.raises(MeshError, match='no set of cells named "middle"; its sets are: root, tip'):
        assembly.solid(halves(), {"root": FIRST, "middle": SECOND})
    with pytest.raises(MeshError, match="in no set with a material"):
        assembly.solid(halves(), {"root": FIRST})
    mesh = halves()
    mesh.cell_sets["all"] = [np.arange(5), np.arange(11)]
    with pytest.raises(MeshError, match="is in root and in all"):
        assembly.solid(mesh, {"root": FIRST, "all": SECOND})
    with pytest.raises(MeshError, match="sets are: none"):
        assembly.solid(distorted_mesh("hex8"), {"root": FIRST})
    mesh = halves()
    mesh.cells[1].data[3, [0, 1]] = mesh.cells[1].data[3, [1, 0]]
    with pytest.raises(MeshError, match="element 8 of the hexahedron cells"):
        assembly.solid(mesh, {"root": FIRST, "tip": SECOND})
