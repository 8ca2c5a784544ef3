"""What springs, bearings and films hold is no rigid motion: its modes take part in the verdict.

The shaft on springs and dampers that turn with it has the same growth rates in the frame that does
not turn, where the dampers are c and the cross-coupled stiffness ±cΩ. A rigid one becomes unstable
at its suspension frequency √(2k/m) (Genta, Dynamics of Rotating Systems, 2005, section 6.2).
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
import modal
from assembly import gallery
from assembly.bodies.body import Body
from assembly.bodies.rotor_parts import Bearing, Disc
from assembly.bodies.rotors import Rotor
from assembly.dofs import DofMap
from assembly.system.frozen import FrozenSystem
from assembly.system.supports import unresisted
from modal.reduction.affine import common_motions

AXIS = (1.0, 0.0, 0.0)
STIFFNESS, DAMPING, AXIAL = 1e5, 200.0, 1e6
CIRCLE = assembly.circle(0.06)


def spectrum(system: FrozenSystem) -> np.ndarray:
    """All eigenvalues, by LAPACK on M⁻¹."""
    n = system.n
    lower = -la.solve(
        system.M.toarray(), np.hstack([system.stiffness.toarray(), system.damping.toarray()])
    )
    return la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))


def shaft() -> Body:
    """A steel shaft, 60 mm × 1 m; springs and dampers at its ends turn with it."""
    body = assembly.beam(length=1.0, section=CIRCLE, material=assembly.steel, elements=8)
    for node in (0, 8):
        k = np.diag([AXIAL if node == 0 else 0.0, STIFFNESS, STIFFNESS])
        d = np.diag([0.0, DAMPING, DAMPING])
        body = assembly.attach_spring(body, node, stiffness=k, damping=d)
    return body


def shaft_from_outside(spin: float) -> FrozenSystem:
    """The same shaft in the frame that does not spin: force −c(ẏ − Ω × y) of each damper."""
    k = np.array([[STIFFNESS, DAMPING * spin], [-DAMPING * spin, STIFFNESS]])
    ends = [Bearing(x, k, DAMPING) for x in (0.0, 1.0)]
    return assembly.rotor([(1.0, CIRCLE)], assembly.steel, 8, bearings=ends).freeze(spin)


def test_the_suspension_modes_of_a_shaft_on_springs_are_elastic() -> None:
    body = shaft()
    assert body.rigid.shape == (54, 1)  # the turn about its axis: springs on the axis leave it free
    modes = modal.solve(body.freeze(400.0, axis=AXIS), k=8)
    assert set(modes.kind) == {"elastic"}
    growth = spectrum(shaft_from_outside(400.0)).real.max()
    assert growth == pytest.approx(34.97, abs=0.005)
    assert modes.eigenvalues.real.max() == pytest.approx(growth, rel=1e-6)


@pytest.mark.slow
def test_a_track_finds_the_onset_of_a_shaft_on_turning_dampers() -> None:
    mass = assembly.steel.rho * CIRCLE.A
    rigid = np.sqrt(2.0 * STIFFNESS / mass)
    assert rigid == pytest.approx(94.93, abs=0.01)
    speeds = np.linspace(0.98 * rigid, 1.01 * rigid, 31)
    tracks = modal.track(shaft(), omega=speeds, axis=AXIS, k=6)
    found = speeds[(tracks.event.values == "flutter onset").any(axis=1)]
    stable = [spectrum(shaft_from_outside(w)).real.max() < 1e-6 for w in speeds]
    assert found.tolist() == [speeds[stable.index(False)]]
    assert found[0] == pytest.approx(rigid, rel=0.01)  # the shaft bends a little


@pytest.mark.slow
def test_the_map_and_the_crosscheck_of_a_shaft_on_turning_dampers() -> None:
    omega = np.array([80.0, 120.0, 400.0])
    grid = modal.stability_map(shaft(), omega=omega, epsilon=np.array([0.0, 1e-9]), axis=AXIS, k=6)
    growth = [spectrum(shaft_from_outside(w)).real.max() for w in omega[1:]]
    assert grid.verdict.values[:, 0].tolist() == [0, 2, 2]
    np.testing.assert_allclose(grid.growth_rate.values[1:, 0], growth, rtol=1e-5)
    steady = assembly.moving(shaft(), assembly.spin(400.0, axis=AXIS))
    check = modal.crosscheck(steady, times=np.linspace(0.0, 0.05, 11), k=6)
    assert check.confirmed
    assert float(check.dataset.transient_rate.max()) == pytest.approx(growth[1], rel=1e-3)


def on_films(c: float) -> Rotor:
    """A shaft with a disc in the middle on two oil films, K = ½cω[[0, 1], [−1, 0]]."""

    def film(spin: float) -> np.ndarray:
        return 0.5 * c * spin * np.array([[0.0, 1.0], [-1.0, 0.0]])

    disc = Disc.solid(0.5, 0.3, 0.05, 0.04, assembly.steel)
    ends = [Bearing(x, film, c) for x in (0.0, 1.0)]
    return assembly.rotor(
        [(1.0, assembly.circle(0.05))], assembly.steel, 8, discs=[disc], bearings=ends
    )


@pytest.mark.parametrize("c", [1e3, 3e3, 1e4])
@pytest.mark.parametrize("spin", [200.0, 600.0, 1200.0])
def test_oil_whirl_is_an_elastic_instability(c: float, spin: float) -> None:
    system = on_films(c).freeze(spin)
    modes = modal.solve(system, k=6)
    growth = spectrum(system).real.max()
    assert growth > 10.0
    elastic = modes.eigenvalues[np.asarray(modes.kind) == "elastic"]
    assert elastic.real.max() == pytest.approx(growth, rel=1e-6)


def test_oil_films_hold_nothing_at_rest_and_everything_at_speed() -> None:
    class Films:
        def freeze(self, omega: float, c: float) -> FrozenSystem:
            return on_films(c).freeze(omega)

    assert on_films(1e3).freeze(0.0).rigid.shape[1] == 4
    grid = modal.stability_map(
        Films(), omega=np.array([0.0, 300.0, 600.0]), c=np.array([1e3, 1e4]), k=6
    )
    assert grid.verdict.values.tolist() == [[0, 0], [2, 2], [2, 2]]


def test_a_family_keeps_the_motions_that_are_rigid_at_all_its_points() -> None:
    rng = np.random.default_rng(0)
    shared, one, other = rng.standard_normal((3, 7, 2))
    first = np.hstack([shared, one]) @ rng.standard_normal((4, 4))
    second = np.hstack([shared, other]) @ rng.standard_normal((4, 4))
    found = common_motions(first, second)
    assert found.shape == (7, 2)
    assert np.linalg.matrix_rank(np.hstack([found, shared]), 1e-9) == 2
    assert common_motions(first, first) is first
    assert common_motions(first, np.zeros((7, 0))).shape == (7, 0)


def free_beam() -> Body:
    section = assembly.rectangle(0.05, 0.02)
    return assembly.beam(length=1.0, section=section, material=assembly.steel, elements=6)


@pytest.mark.parametrize(
    ("springs", "left"),
    [
        ({}, 6),
        ({0: 1e3}, 3),  # a ball joint that gives
        ({0: 1e3, 6: 1e3}, 1),  # the turn about the line of the two
        ({0: np.diag([0.0, 1e-3, 0.0]), 6: 1e9}, 2),  # however soft
        ({3: np.eye(6)}, 0),
    ],
)
def test_rigid_motions_are_those_that_no_spring_resists(springs: dict, left: int) -> None:
    body = free_beam()
    for node, stiffness in springs.items():
        body = assembly.attach_spring(body, node, stiffness=stiffness)
    assert body.rigid.shape[1] == left
    K = body.freeze().K
    assert abs(K @ body.rigid).max(initial=0.0) <= 1e-12 * abs(K).max()


def test_springs_within_a_body_and_dampers_resist_no_rigid_motion() -> None:
    body = assembly.attach_spring(free_beam(), 1, 4, stiffness=1e5, damping=10.0)
    body = assembly.attach_damper(body, 2, 50.0)
    assert body.rigid.shape[1] == 6
    assert body.freeze((0.0, 0.0, 100.0)).rigid.shape[1] == 6


@pytest.mark.parametrize("held", ["one node", "a soft foundation"])
def test_the_springs_within_given_matrices_count(held: str) -> None:
    """The translations and turns of a block given as M and K, with and without springs in K."""
    block = gallery.block(3, 2, 2, "hex8", clamped=None)
    M, K = block.operators.M.tocsr(), block.operators.K.tocsr()
    X = block.dofs.coordinates
    assert assembly.from_matrices(M, K, X).rigid.shape[1] == 6
    spring = np.zeros(block.size)
    if held == "one node":
        spring[:3] = 1e4
        left = 3
    else:
        spring[:] = 10.0
        left = 0
    found = assembly.from_matrices(M, K + sp.diags(spring), X)
    assert found.rigid.shape[1] == left


def test_skew_stiffness_resists() -> None:
    motions = np.eye(4)
    film = np.zeros((4, 4))
    film[0, 1], film[1, 0] = 1e-3, -1e-3
    stiff = 1e9 * np.diag([0.0, 0.0, 1.0, 0.0])
    left = unresisted(motions, sp.csr_matrix(stiff), sp.csr_matrix(film))
    np.testing.assert_allclose(abs(left[:, 0]), [0.0, 0.0, 0.0, 1.0], atol=1e-15)


def test_a_spring_makes_the_free_drive_of_a_mechanism_elastic() -> None:
    """A rigid bar on a torsion spring: ω² = k/J, and no zero eigenvalue."""
    J, k = 0.3, 120.0
    bar = assembly.rigid_body(2.0, (0.2, 0.2, J), planar=True)
    free = assembly.Mechanism(
        {"bar": bar},
        [assembly.revolute("ground", (0.0, 0.0), "bar", "origin", name="A")],
        [assembly.driver("A", 0.0, held=False)],
    )
    assert free.freeze(0.0).rigid.shape[1] == 1
    turn = np.zeros((6, 6))
    turn[5, 5] = k
    sprung = assembly.Mechanism(
        {"bar": assembly.attach_spring(bar, 0, stiffness=turn)},
        [assembly.revolute("ground", (0.0, 0.0), "bar", "origin", name="A")],
        [assembly.driver("A", 0.0, held=False)],
    )
    system = sprung.freeze(0.0)
    assert system.rigid.shape[1] == 0
    modes = modal.solve(system, k=1)
    assert modes.kind.tolist() == ["elastic"]
    assert modes.eigenvalues[0] == pytest.approx(1j * np.sqrt(k / J), rel=1e-12)


def test_a_shape_that_motion_makes_limp_is_no_rigid_motion() -> None:
    """Jeffcott's rotor at its critical speed, in its own frame: K + K(ω²) = 0 on springs K.

    With z = x + iy the equation is z̈ + (c + 2iω)ż = 0: λ = 0 and −c − 2iω.
    """
    omega, c = 100.0, 3.0
    skew = np.array([[0.0, -1.0], [1.0, 0.0]])
    eye = np.eye(2)
    system = FrozenSystem(
        M=eye, C=2.0 * omega * skew, K=omega**2 * eye, K_omega2=-(omega**2) * eye, D=c * eye
    )
    modes = modal.solve(system, k=2)
    assert modes.deflated == 2
    assert modes.kind.tolist() == ["elastic"]
    assert modes.eigenvalues[0] == pytest.approx(-c + 2j * omega, rel=1e-12)
    bare = FrozenSystem(M=eye, K=0.0 * eye, D=c * eye)
    assert set(modal.solve(bare, k=2).kind) == {"rigid"}


def test_prestress_statics_and_vibration_know_the_same_supports() -> None:
    """A mass on a spring, however soft: the statics hold it by the spring, not by its node."""
    dofs = DofMap.regular(np.array([[0.5, 0.0, 0.0]]), (0, 1, 2))
    mass = assembly.attach_mass(Body(dofs, (), np.zeros(3, dtype=bool)), 0, 2.0)
    body = assembly.attach_spring(mass, 0, stiffness=1e-6)
    assert not body.statics.held.any() and mass.statics.held.all()
    load = body.statics.inertia_loads[:, :1]
    np.testing.assert_allclose(body.statics.response(load), load / 1e-6, rtol=1e-12)
