"""Frozen matrices of a planar mechanism against its full nonlinear equations, written here anew.

A quick-return mechanism: an elastic crank whose acceleration is not zero, an elastic slotted lever,
and a rigid block with offset pin and offset centre that slides along the lever where a node turns.
The independent model has material points in fixed axes, geometrically exact beams (finite rotation,
Reissner's strains, Przemieniecki's interpolation), steady resultants from the statics of each link,
and joints closed by Newton in fixed axes. Dampers between points and the fixed axes resist the
steady motion as well: one case has them. Tangents by complex step and central differences, so
every term of T, Ṫ, T̈, of the prestress and of the joints' second derivatives is seen.
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
from tests.support.constrained_motion import ConstrainedMotion, masters

Array = NDArray[np.float64]
Any = NDArray[np.inexact]

SOFT = assembly.Material(E=5e4, nu=0.25, rho=3.0)
SECTION = assembly.rectangle(0.12, 0.10)
CRANK, LEVER = 0.4, 1.3
PIVOT = np.array([-0.7, 0.1])
PIN, GUIDE, CENTRE = np.array([0.02, -0.03]), np.array([0.01, 0.05]), np.array([-0.04, 0.06])
MASS, INERTIA = 0.05, 2e-4
LAW = assembly.Uniform(rate=3.0, start=0.4, acceleration=-2.5)
T, STEP, NODE = 0.31, 0.01, 1
TIMES = [T + k * STEP for k in range(-3, 4)]


def mechanism(held: bool, guide: str, damping: float) -> assembly.Mechanism:
    def damped(body: assembly.Body, node: int) -> assembly.Body:
        return assembly.attach_damper(body, node, damping) if damping else body

    def link(length: float, elements: int, node: int) -> assembly.Body:
        return damped(assembly.beam(length, SECTION, SOFT, elements, planar=True), node)

    ends = {"lever": NODE, "block": GUIDE}
    slide = (guide, ends.pop(guide), *ends.popitem())
    return assembly.Mechanism(
        {
            "crank": link(CRANK, 2, 1),
            "lever": link(LEVER, 2, 2),
            "block": damped(
                assembly.rigid_body(MASS, INERTIA, centre=(*CENTRE, 0), planar=True), 0
            ),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "block", PIN, name="B"),
            assembly.revolute("ground", PIVOT, "lever", "start", name="C"),
            assembly.prismatic(*slide, axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", LAW, held=held)],
        initial={"lever": (*PIVOT, 0.1), "block": (0.37, 0.15, 0.1)},
    )


def turned(angle: object, v: Any) -> Any:
    """Plane vectors (..., 2) turned by an angle, also a complex one."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1]], axis=-1)


def shapes(L: float) -> list[list[Polynomial]]:
    """u, v, φ of (u₁, v₁, φ₁, u₂, v₂, φ₂) by x/L, φ = v′ − γ (Przemieniecki)."""
    shear = 5.0 / 6.0 * SOFT.G * SECTION.A
    p = 12.0 * SOFT.E * SECTION.Iz / (shear * L**2)
    f = 1.0 / (1.0 + p)
    v = [
        f * Polynomial([1.0 + p, -p, -3.0, 2.0]),
        f * L * Polynomial([0.0, 1.0 + p / 2.0, -2.0 - p / 2.0, 1.0]),
        f * Polynomial([0.0, p, 3.0, -2.0]),
        f * L * Polynomial([0.0, -p / 2.0, p / 2.0 - 1.0, 1.0]),
    ]
    turn = [
        f / L * Polynomial([0.0, -6.0, 6.0]),
        f * Polynomial([1.0 + p, -4.0 - p, 3.0]),
        f / L * Polynomial([0.0, 6.0, -6.0]),
        f * Polynomial([0.0, p - 2.0, 3.0]),
    ]
    zero = Polynomial([0.0])
    along = [Polynomial([1.0, -1.0]), zero, zero, Polynomial([0.0, 1.0]), zero, zero]
    return [
        along,
        [zero, v[0], v[1], zero, v[2], v[3]],
        [zero, turn[0], turn[1], zero, turn[2], turn[3]],
    ]


@dataclass(frozen=True)
class ExactBeam:
    """A link with its frame: stations, and what is asked of them."""

    length: float
    elements: int

    @cached_property
    def stations(self) -> tuple[Array, Array, Array, Array]:
        """Weights, positions along, N (stations, 3, n) and N′."""
        L, n = self.length / self.elements, 3 * (self.elements + 1)
        x, w = np.polynomial.legendre.leggauss(6)
        x, w = (x + 1.0) / 2.0, w / 2.0
        own = shapes(L)
        N = np.zeros((self.elements * len(x), 3, n))
        dN, along = np.zeros_like(N), np.zeros(len(N))
        for e in range(self.elements):
            rows, cols = slice(e * len(x), (e + 1) * len(x)), slice(3 * e, 3 * e + 6)
            N[rows, :, cols] = np.array([[p(x) for p in row] for row in own]).transpose(2, 0, 1)
            dN[rows, :, cols] = np.array(
                [[p.deriv()(x) / L for p in row] for row in own]
            ).transpose(2, 0, 1)
            along[rows] = (e + x) * L
        return np.tile(w * L, self.elements), along, N, dN

    def points(self, d: Any) -> Any:
        """Material points in body axes (stations, 3 heights, 2)."""
        _, along, N, _ = self.stations
        moved = N @ d
        heights = np.polynomial.legendre.leggauss(3)[0] * SECTION_HEIGHT / 2.0
        s = np.stack([np.zeros(3), heights], axis=1)
        axis = np.stack([along, np.zeros_like(along)], axis=1) + moved[:, :2]
        return axis[:, None] + turned(moved[:, None, 2], np.broadcast_to(s, (len(along), 3, 2)))

    @cached_property
    def masses(self) -> Array:
        w = np.polynomial.legendre.leggauss(3)[1] / 2.0
        return SOFT.rho * SECTION.A * np.outer(self.stations[0], w)

    def energy(self, d: Any, resultants: Array) -> complex:
        """Strain energy; the undeformed shape carries the resultants N, V, M (stations, 3)."""
        w, _, N, dN = self.stations
        phi, slope = (N @ d)[:, 2], dN @ d
        stretched = turned(-phi, np.stack([1.0 + slope[:, 0], slope[:, 1]], axis=1))
        gamma, shear, kappa = stretched[:, 0] - 1.0, stretched[:, 1], slope[:, 2]
        axial = np.sqrt((1.0 + slope[:, 0]) ** 2 + slope[:, 1] ** 2) - 1.0
        steady = resultants[:, 0] * axial + resultants[:, 1] * shear + resultants[:, 2] * kappa
        rigid = 0.5 * SOFT.E * SECTION.A * gamma**2 + 0.5 * SOFT.E * SECTION.Iz * kappa**2
        rigid = rigid + 0.5 * (5.0 / 6.0) * SOFT.G * SECTION.A * shear**2
        return complex(w @ (steady + rigid))


SECTION_HEIGHT = 0.12  # in the plane: the width of `SECTION`
BEAMS = {"crank": ExactBeam(CRANK, 2), "lever": ExactBeam(LEVER, 2)}
SIZES = {"crank": 9, "lever": 9, "block": 3}
DAMPED = {"crank": np.array([CRANK / 2.0, 0.0]), "lever": np.array([LEVER, 0.0])}
SPANS = {"crank": slice(0, 9), "lever": slice(9, 18), "block": slice(18, 21)}


class ExactMechanism(ConstrainedMotion):
    """The nonlinear equations in the masters q that the mechanism under test has chosen."""

    T, step = T, STEP

    def __init__(self, held: bool, guide: str, damping: float) -> None:
        self.held, self.guide, self.damping = held, guide, damping
        self.rigid = mechanism(held, guide, damping)
        self.drag = np.concatenate([np.zeros(len(self.masses) - 3), np.full(3, damping)])
        self.masters = masters(self.rigid.transformation(T)[0].toarray())
        self.slaves = np.setdiff1d(np.arange(21), self.masters)
        self.frames = {t: self._frame(t) for t in TIMES}
        self.resultants = {name: self._resultants(name) for name in BEAMS}
        self.torque = self.rigid.driving(T)["A"]

    def _frame(self, t: float) -> dict[str, tuple[Array, float]]:
        found = self.rigid.position(t)
        return {
            name: (r[:2], float(np.arctan2(R[1, 0], R[0, 0]))) for name, (r, R) in found.items()
        }

    def _resultants(self, name: str) -> Array:
        """N, V, M at the stations: what the part beyond needs to move as it does."""
        beam, motion = BEAMS[name], self.rigid.kinematics(T)[name]
        reactions = self.rigid.reactions(T)
        angle = self.frames[T][name][1]
        # Loads beyond the station, in the axes of the link: (position, force, moment).
        ends = []
        if name == "crank":
            ends.append((CRANK, turned(-angle, -reactions["B"].force[:2]), 0.0))
        else:
            # What the slide exerts on the lever, moved to the node that carries it.
            sign = -1.0 if self.guide == "lever" else 1.0
            node = np.array([LEVER / 2.0 * NODE, 0.0])
            block = self.rigid.position(T)["block"]
            at = turned(-angle, (block[0] + block[1] @ [*GUIDE, 0])[:2] - self.frames[T][name][0])
            arm = at - node if self.guide == "lever" else np.zeros(2)
            force = turned(-angle, sign * reactions["D"].force[:2])
            moment = sign * reactions["D"].moment[2] + arm[0] * force[1] - arm[1] * force[0]
            ends.append((node[0], force, moment))
        velocity = self.rigid.place(T, name, DAMPED[name])[1][:2]
        ends.append((DAMPED[name][0], turned(-angle, -self.damping * velocity), 0.0))
        x, w = np.polynomial.legendre.leggauss(4)
        out = []
        for s in beam.stations[1]:
            reach = beam.length - s
            where, weight = s + reach * (x + 1.0) / 2.0, reach * w / 2.0
            spin = motion.omega[2] ** 2
            a = (
                np.stack([-spin * where, motion.epsilon[2] * where], axis=1)
                + motion.acceleration[:2]
            )
            load = -SOFT.rho * SECTION.A * a
            couple = -SOFT.rho * SECTION.Iz * motion.epsilon[2]
            force = weight @ load
            moment = weight @ ((where - s) * load[:, 1]) + couple * reach
            for place, f, m in ends:
                if place > s:
                    force, moment = force + f, moment + m + (place - s) * f[1]
            out.append([force[0], force[1], moment])
        return np.array(out)

    def gaps(self, d: Any, t: float) -> Any:
        return np.array([self._gaps(row, t) for row in d])

    def _gaps(self, d: Any, t: float) -> Any:
        frame = self.frames[t]

        def node(name: str, k: int, X: float) -> Any:
            r, angle = frame[name]
            u = d[SPANS[name]][3 * k : 3 * k + 3]
            return r + turned(angle, np.array([X, 0.0]) + u[:2]), angle + u[2]

        (root, _), (tip, _) = node("crank", 0, 0.0), node("crank", 2, CRANK)
        (pivot, _), (slot, slope) = node("lever", 0, 0.0), node("lever", NODE, LEVER / 2.0)
        r, angle = frame["block"]
        u = d[SPANS["block"]]
        pin, guide = (r + turned(angle, u[:2] + turned(u[2], p)) for p in (PIN, GUIDE))
        normal = turned(slope if self.guide == "lever" else angle + u[2], np.array([0.0, 1.0]))
        gaps = [
            *root,
            *(tip - pin),
            *(pivot - PIVOT),
            normal @ (guide - slot),
            angle + u[2] - slope,
        ]
        return np.array([*gaps, d[2]] if self.held else gaps)

    def points(self, d: Any, t: float) -> Any:
        return np.array([self._points(row, t) for row in d])

    def _points(self, d: Any, t: float) -> Any:
        frame, out = self.frames[t], []
        for name, beam in BEAMS.items():
            r, angle = frame[name]
            out.append((r + turned(angle, beam.points(d[SPANS[name]]))).reshape(-1, 2))
        r, angle = frame["block"]
        u = d[SPANS["block"]]
        radius = np.sqrt(INERTIA / MASS)
        ring = CENTRE + radius * np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
        out.append(r + turned(angle, u[:2] + turned(u[2], ring)))
        for name, node in (("crank", 1), ("lever", 2)):
            origin, turn = frame[name]
            moved = DAMPED[name] + d[SPANS[name]][3 * node : 3 * node + 2]
            out.append((origin + turned(turn, moved))[None])
        out.append((r + turned(angle, u[:2]))[None])
        return np.concatenate(out)

    @cached_property
    def masses(self) -> Array:
        links = [b.masses.ravel() for b in BEAMS.values()]
        return np.concatenate([*links, np.full(3, MASS / 3.0), np.zeros(3)])

    def potential(self, d: Any) -> Any:
        return np.array([self._potential(row) for row in d])

    def _potential(self, d: Any) -> complex:
        total = sum(b.energy(d[SPANS[n]], self.resultants[n]) for n, b in BEAMS.items())
        return total - (0.0 if self.held else self.torque * d[2])


CASES = [
    (True, "lever", 0.0),
    (False, "lever", 0.0),
    (True, "block", 0.0),
    (True, "lever", 0.2),
    (False, "block", 0.2),
]
NAMES = ["held", "free", "guided by the block", "damped", "free and damped"]


@pytest.fixture(scope="module", params=CASES, ids=NAMES)
def both(request: pytest.FixtureRequest) -> tuple[ExactMechanism, assembly.FrozenSystem]:
    exact = ExactMechanism(*request.param)
    return exact, exact.rigid.freeze(T)


Both = tuple[ExactMechanism, assembly.FrozenSystem]


def test_steady_state_is_in_balance(both: Both) -> None:
    exact, system = both
    exact.check_balance(system)


def test_mass_and_damping(both: Both) -> None:
    exact, system = both
    exact.check_mass_and_damping(system, 1e-9)


@pytest.mark.slow
def test_stiffness_is_the_tangent_of_the_residual(both: Both) -> None:
    exact, system = both
    expected = exact.tangent(system.n, 7e-4)
    # The parts of the motion count: each is far above the tolerance.
    moving = [system.K_epsilon, system.K_omega2, system.K_G, system.K_transport]
    assert min(abs(part).max() for part in moving) > 1e-3 * abs(system.K_G).max()
    tolerance = 1e-6 * abs(system.K_G).max()
    assert_allclose(system.stiffness.toarray(), expected, rtol=0, atol=tolerance)
