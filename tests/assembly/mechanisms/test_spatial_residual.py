"""Frozen matrices of a mechanism in space against its full nonlinear equations.

As test_mechanism_residual.py, in space: an elastic crank on a hinge that is skew to it, a
ball, an elastic coupler, a universal joint, and a rigid rocker on a skew hinge. Finite rotations
everywhere, so that moments on turning nodes, directions carried by nodes, and the beams' own
second-order terms have to fit each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from assembly.kinematics import skew, unit_axis
from tests.support.beam_shapes import bending_shapes, coefficients, turned
from tests.support.constrained_motion import ConstrainedMotion, masters

Array = NDArray[np.float64]
Any = NDArray[np.inexact]

SOFT = assembly.Material(E=5e4, nu=0.25, rho=3.0)
WIDTH, HEIGHT = 0.12, 0.07
SECTION = assembly.rectangle(WIDTH, HEIGHT)
CRANK, COUPLER = 0.3, 1.1
HINGE = unit_axis((0.15, -0.2, 1.0))
FORK, CROSS = unit_axis((0.1, 0.6, 0.8)), unit_axis((1.0, 0.2, -0.1))
PIVOT, TILT, ROCKED = (
    np.array([1.1, -0.5, 0.2]),
    unit_axis((0.2, 0.9, 0.3)),
    np.array([0.1, 0.55, 0.1]),
)
MASS, CENTRE = 0.04, np.array([0.05, 0.2, -0.03])
INERTIA = np.array([[9.0, 0.5, -0.4], [0.5, 6.0, 0.7], [-0.4, 0.7, 8.0]]) * 1e-4
PUSHED, DEAD, FOLLOWER = np.array([0.2, -0.1, 0.3]), (0.02, -0.05, 0.04), (-0.03, 0.02, 0.05)
LAW = assembly.Uniform(rate=3.0, start=0.3, acceleration=-2.0)
T, STEP = 0.27, 0.005
TIMES = [T + k * STEP for k in range(-3, 4)]
SPANS = {"crank": slice(0, 12), "coupler": slice(12, 30), "rocker": slice(30, 36)}
X_AXIS = np.array([1.0, 0.0, 0.0])


def mechanism(held: bool) -> assembly.Mechanism:
    return assembly.Mechanism(
        {
            "crank": assembly.beam(CRANK, SECTION, SOFT, 1),
            "coupler": assembly.beam(COUPLER, SECTION, SOFT, 2),
            "rocker": assembly.rigid_body(MASS, INERTIA, centre=CENTRE),
        },
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "start", axis_second=HINGE, name="A"),
            assembly.spherical("crank", "end", "coupler", "start", name="B"),
            assembly.universal(
                "coupler", "end", "rocker", ROCKED, axis=FORK, axis_second=CROSS, name="C"
            ),
            assembly.revolute(
                "ground", PIVOT, "rocker", (0, 0, 0), axis=TILT, axis_second=(0, 0, 1), name="D"
            ),
        ],
        [assembly.driver("A", LAW, held=held)],
        loads=[
            assembly.Load("rocker", PUSHED, DEAD),
            assembly.Load("rocker", PUSHED, FOLLOWER, follower=True),
        ],
        initial={"rocker": (*PIVOT, 0, 0, 0)},
    )


@dataclass(frozen=True)
class ExactBeam:
    """A beam along x of its frame: stations, material points, energy, for states d (k, n)."""

    length: float
    elements: int

    @cached_property
    def stations(self) -> tuple[Array, Array, Array, Array]:
        """Weights, positions along, N (stations, 6, n) and N′."""
        L, n = self.length / self.elements, 6 * (self.elements + 1)
        x, w = np.polynomial.legendre.leggauss(6)
        x, w = (x + 1.0) / 2.0, w / 2.0
        own = self._shapes(L)
        N = np.zeros((self.elements * len(x), 6, n))
        dN, along = np.zeros_like(N), np.zeros(len(N))
        for e in range(self.elements):
            rows, cols = slice(e * len(x), (e + 1) * len(x)), slice(6 * e, 6 * e + 12)
            N[rows, :, cols] = np.array([[p(x) for p in r] for r in own]).transpose(2, 0, 1)
            dN[rows, :, cols] = np.array([[p.deriv()(x) / L for p in r] for r in own]).transpose(
                2, 0, 1
            )
            along[rows] = (e + x) * L
        return np.tile(w * L, self.elements), along, N, dN

    @staticmethod
    def _shapes(L: float) -> list[list[Polynomial]]:
        shear = 12.0 * SOFT.E / (5.0 / 6.0 * SOFT.G * SECTION.A * L**2)
        N = [[Polynomial([0.0])] * 12 for _ in range(6)]
        for row in (0, 3):
            N[row][row], N[row][row + 6] = Polynomial([1.0, -1.0]), Polynomial([0.0, 1.0])
        v, theta = bending_shapes(shear * SECTION.Iz, L)
        for k, column in enumerate((1, 5, 7, 11)):
            N[1][column], N[5][column] = v[k], theta[k]
        w, theta = bending_shapes(shear * SECTION.Iy, L)
        for k, (column, sign) in enumerate([(2, 1.0), (4, -1.0), (8, 1.0), (10, -1.0)]):
            N[2][column], N[4][column] = sign * w[k], -sign * theta[k]
        return N

    @cached_property
    def _section(self) -> tuple[Array, Array]:
        g = np.array([-1.0, 1.0]) / np.sqrt(3.0) / 2.0
        y, z = np.meshgrid(g * WIDTH, g * HEIGHT, indexing="ij")
        return np.stack([0.0 * y.ravel(), y.ravel(), z.ravel()], axis=1), np.full(4, 0.25)

    @cached_property
    def masses(self) -> Array:
        return SOFT.rho * SECTION.A * np.outer(self.stations[0], self._section[1])

    def points(self, d: Any) -> Any:
        """(k, stations, 4, 3) in body axes."""
        _, along, N, _ = self.stations
        moved = np.einsum("qij,kj->kqi", N, d)
        s = np.broadcast_to(self._section[0], (*moved.shape[:2], 4, 3))
        return (along[:, None] * X_AXIS + moved[..., :3])[:, :, None] + turned(
            moved[:, :, None, 3:], s
        )

    def energy(self, d: Any, F: Array, Mo: Array) -> Any:
        """(k,): the undeformed shape carries F and Mo (stations, 3)."""
        w, _, N, dN = self.stations
        phi, slope = np.einsum("qij,kj->kqi", N[:, 3:], d), np.einsum("qij,kj->kqi", dN, d)
        gamma = turned(phi, X_AXIS + slope[..., :3], -1.0) - X_AXIS
        _, f2, f3 = (f[..., None] for f in coefficients((phi * phi).sum(-1)))
        across = np.cross(phi, slope[..., 3:])
        kappa = slope[..., 3:] - f2 * across + f3 * np.cross(phi, across)
        axial = np.sqrt(((X_AXIS + slope[..., :3]) ** 2).sum(-1)) - 1.0
        E, G, A = SOFT.E, SOFT.G, SECTION.A
        stiff = np.array(
            [E * A, 5 / 6 * G * A, 5 / 6 * G * A, G * SECTION.J, E * SECTION.Iy, E * SECTION.Iz]
        )
        both = np.concatenate([gamma, kappa], axis=-1)
        density = F[:, 0] * axial + (gamma[..., 1:] * F[:, 1:]).sum(-1) + (kappa * Mo).sum(-1)
        density = density + 0.5 * (both**2) @ stiff
        density = density + 0.5 * (WIDTH**2 + HEIGHT**2) / 12.0 * F[:, 0] * kappa[..., 0] ** 2
        return density @ w


BEAMS = {"crank": ExactBeam(CRANK, 1), "coupler": ExactBeam(COUPLER, 2)}


class ExactMechanism(ConstrainedMotion):
    T, step = T, STEP

    def __init__(self, held: bool) -> None:
        self.held, self.rigid = held, mechanism(held)
        self.masters = masters(self.rigid.transformation(T)[0].toarray())
        self.slaves = np.setdiff1d(np.arange(36), self.masters)
        self.frames = {t: self.rigid.position(t) for t in TIMES}
        self.resultants = {name: self._resultants(name) for name in BEAMS}
        self.torque = self.rigid.driving(T)["A"]

    def _resultants(self, name: str) -> tuple[Array, Array]:
        beam, motion = BEAMS[name], self.rigid.kinematics(T)[name]
        after = self.rigid.reactions(T)["B" if name == "crank" else "C"]
        R = self.frames[T][name][1]
        end_force, end_moment = -R.T @ after.force, -R.T @ after.moment
        A = skew(motion.epsilon) + skew(motion.omega) @ skew(motion.omega)
        J = SOFT.rho * np.diag([0.0, SECTION.Iz, SECTION.Iy])
        units = np.eye(3)
        couple = -sum(np.cross(units[i], A @ units[i]) * J[i, i] for i in range(3))
        x, w = np.polynomial.legendre.leggauss(4)
        F, Mo = [], []
        for s in beam.stations[1]:
            reach = beam.length - s
            where, weight = s + reach * (x + 1.0) / 2.0, reach * w / 2.0
            load = -SOFT.rho * SECTION.A * (where[:, None] * (A @ X_AXIS) + motion.acceleration)
            F.append(end_force + weight @ load)
            arms = (where - s)[:, None] * X_AXIS
            moment = end_moment + np.cross(reach * X_AXIS, end_force)
            Mo.append(moment + weight @ np.cross(arms, load) + reach * couple)
        return np.array(F), np.array(Mo)

    def gaps(self, d: Any, t: float) -> Any:
        frame = self.frames[t]

        def node(name: str, k: int, X: Array) -> tuple[Any, Any]:
            r, R = frame[name]
            u = d[:, SPANS[name]][:, 6 * k : 6 * k + 6]
            return r + (X + u[:, :3]) @ R.T, u[:, 3:]

        def vector(name: str, theta: Any, v: Array) -> Any:
            return turned(theta, np.broadcast_to(v, theta.shape)) @ frame[name][1].T

        root, root_turn = node("crank", 0, 0.0 * X_AXIS)
        tip, _ = node("crank", 1, CRANK * X_AXIS)
        start, _ = node("coupler", 0, 0.0 * X_AXIS)
        end, end_turn = node("coupler", 2, COUPLER * X_AXIS)
        origin, rock = node("rocker", 0, 0.0 * X_AXIS)
        side, low = np.cross(TILT, X_AXIS), np.cross(TILT, np.cross(TILT, X_AXIS))
        hinge, tilted = vector("crank", root_turn, HINGE), vector("rocker", rock, np.eye(3)[2])
        fork, across = vector("coupler", end_turn, FORK), vector("rocker", rock, CROSS)
        out = [
            root, hinge[:, :2], tip - start, end - origin - vector("rocker", rock, ROCKED),
            (fork * across).sum(-1)[:, None], origin - PIVOT, (tilted @ side)[:, None],
            (tilted @ low)[:, None],
        ]  # fmt: skip
        if self.held:
            out.append(np.sin(self.angle(d))[:, None])
        return np.concatenate(out, axis=1)

    @staticmethod
    def angle(d: Any) -> Any:
        """Elastic rotation of the crank's root about its hinge."""
        w = unit_axis(np.cross(HINGE, X_AXIS))
        seen = turned(d[:, 3:6], np.broadcast_to(w, (len(d), 3)))
        return np.arctan2((seen @ np.cross(HINGE, w)).real, (seen @ w).real) + 1j * (
            (seen @ np.cross(HINGE, w)).imag * (seen @ w).real
            - (seen @ w).imag * (seen @ np.cross(HINGE, w)).real
        ) / ((seen @ w).real ** 2 + (seen @ np.cross(HINGE, w)).real ** 2)

    def points(self, d: Any, t: float) -> Any:
        out = []
        for name, beam in BEAMS.items():
            r, R = self.frames[t][name]
            out.append((r + beam.points(d[:, SPANS[name]]) @ R.T).reshape(len(d), -1, 3))
        r, R = self.frames[t]["rocker"]
        u = d[:, None, SPANS["rocker"]]
        s = np.broadcast_to(self._rocker_points, (len(d), 6, 3))
        out.append(r + (u[..., :3] + turned(u[..., 3:], s)) @ R.T)
        return np.concatenate(out, axis=1)

    @cached_property
    def _rocker_points(self) -> Array:
        """Six equal masses with the rocker's inertia."""
        sizes, axes = np.linalg.eigh(0.5 * np.trace(INERTIA) * np.eye(3) - INERTIA)
        arms = (np.sqrt(3.0 * sizes / MASS) * axes).T
        return CENTRE + np.concatenate([arms, -arms])

    @cached_property
    def masses(self) -> Array:
        return np.concatenate([*(b.masses.ravel() for b in BEAMS.values()), np.full(6, MASS / 6.0)])

    def potential(self, d: Any) -> Any:
        total = sum(b.energy(d[:, SPANS[n]], *self.resultants[n]) for n, b in BEAMS.items())
        return total if self.held else total - self.torque * self.angle(d)

    def work(self, d: Any) -> Any:
        _, R = self.frames[T]["rocker"]
        u = d[:, SPANS["rocker"]]
        pushed = (u[:, :3] + turned(u[:, 3:], np.broadcast_to(PUSHED, (len(d), 3)))).imag @ R.T
        follower = R @ turned(u[:1, 3:].real, np.array([FOLLOWER]))[0]
        return pushed @ (np.array(DEAD) + follower)


Both = tuple[ExactMechanism, assembly.FrozenSystem]


@pytest.fixture(scope="module", params=[True, False], ids=["held", "free"])
def both(request: pytest.FixtureRequest) -> Both:
    exact = ExactMechanism(request.param)
    return exact, exact.rigid.freeze(T)


def test_steady_state_is_in_balance(both: Both) -> None:
    exact, system = both
    exact.check_balance(system)


def test_mass_and_damping(both: Both) -> None:
    exact, system = both
    exact.check_mass_and_damping(system, 1e-8)


@pytest.mark.slow
def test_stiffness_is_the_tangent_of_the_residual(both: Both) -> None:
    exact, system = both
    expected = exact.tangent(system.n, 4e-4)
    moving = [system.K_epsilon, system.K_omega2, system.K_G, system.K_transport]
    assert min(abs(part).max() for part in moving) > 1e-3 * abs(system.K_G).max()
    tolerance = 1e-6 * abs(system.K_G).max()
    assert_allclose(system.stiffness.toarray(), expected, rtol=0, atol=tolerance)
