"""Forces of large displacements in motion: beams, bars, rigid masses, solids.

Against the power balance of material points whose velocities are differences of their positions,
and against differences of the forces themselves. The positions of the beam's points are written
here with rotation matrices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import assembly
import assembly.gallery
from assembly.elements.family import ElementFamily, Passage

Array = NDArray[np.float64]

OMEGA = np.array([3.0, -2.0, 4.0])
SOFT = assembly.Material(1e4, 0.45, 1000.0)  # strain forces do not swamp those of inertia
RAYLEIGH = (0.7, 0.02)
MU = (0.01, 0.03, 0.02, 0.05, 0.04, 0.06)


def bodies(material: assembly.Material = assembly.steel) -> dict[str, assembly.Body]:
    section = assembly.rectangle(0.05, 0.02)
    beam = assembly.beam(1.0, section, material, 3, pitch=(0.1, 0.5))
    placed = beam.placed((0.2, -0.1, 0.3), Rotation.from_rotvec([0.4, 0.2, -0.3]).as_matrix())
    inertia = np.array([[9.0, 0.5, -0.4], [0.5, 6.0, 0.7], [-0.4, 0.7, 8.0]])
    return {
        "beam": beam,
        "classical beam": assembly.beam(
            1.0, section, material, 2, theory="euler-bernoulli", rotary_inertia=False
        ),
        "placed": placed,
        "offset": assembly.beam(
            1.0, section, material, 2, end_offsets=[(0.1, 0.05, 0.2), (0.0, -0.1, 0.1)]
        ),
        "weld": assembly.weld([beam, assembly.beam(0.5, section, material, 2).placed((1, 0, 0))]),
        "sections": assembly.beam(
            1.0,
            section,
            material,
            2,
            pitch=(0.1, 0.5),
            mu=MU,
            end_offsets=[(0.1, 0.05, 0.2), (0.0, -0.1, 0.1)],
        ).placed((0.2, -0.1, 0.3), Rotation.from_rotvec([0.4, 0.2, -0.3]).as_matrix()),
        "rigid": assembly.rigid_body(2.0, inertia, centre=(0.1, 0.2, -0.3)),
        "bar": assembly.bar(1.0, section, material, 3),
        "solid": assembly.gallery.block(2, 1, 1, "hex8", (0.2, 0.1, 0.1), material=material),
    }


def passage(body: assembly.Body, seed: int = 0) -> Passage:
    rng = np.random.default_rng(seed)
    u, v, a = rng.normal(size=(3, body.size)) * np.array([[0.06], [1.0], [5.0]])
    return Passage(u, v, a, OMEGA, rng.normal(size=12), RAYLEIGH)


def rate_force(family: ElementFamily, at: Passage) -> Array:
    """What velocities and accelerations add to the forces of a family."""
    still = replace(at, v=0.0 * at.v, a=0.0 * at.a)
    return np.asarray(family.force(at) - family.force(still))


def total_force(body: assembly.Body, at: Passage) -> Array:
    """All inertia and damping of the motion relative to the frame."""
    ops = body.operators
    linear = ops.M @ at.a + sum(2.0 * w * (G @ at.v) for w, G in zip(at.omega, ops.G, strict=True))
    linear = linear + ops.D @ at.v
    return np.asarray(linear + sum(rate_force(f, at) for f in body.families))


@pytest.mark.parametrize("name", list(bodies()))
def test_tangents_are_the_derivatives_of_the_force(name: str) -> None:
    body = bodies()[name]
    at = passage(body)
    beyond = [f.tangents(at)[0] for f in body.families]
    M, C, D, K = (np.sum([b[k].toarray() for b in beyond], axis=0) for k in range(4))

    def along(what: str, direction: Array, h: float) -> Array:
        r = {}
        for k in (-2, -1, 1, 2):
            state = replace(at, **{what: getattr(at, what) + k * h * direction})
            r[k] = sum(rate_force(f, state) for f in body.families)
        return np.asarray((8.0 * (r[1] - r[-1]) - (r[2] - r[-2])) / (12.0 * h))

    for matrix, what, h in ((M, "a", 1.0), (C + D, "v", 1.0), (K, "u", 2e-4)):
        for direction in np.random.default_rng(1).normal(size=(2, body.size)):
            found, expected = matrix @ direction, along(what, direction, h)
            assert np.abs(expected).max() > 0.0 or name in ("bar", "solid")
            size = abs(matrix).max() * np.abs(direction).max()
            noise = 1e-14 * np.abs(sum(rate_force(f, at) for f in body.families)).max()
            assert_allclose(found, expected, rtol=0, atol=2e-8 * size + noise / h)


@pytest.mark.parametrize("name", ["beam", "placed", "offset", "weld", "rigid", "solid"])
def test_power_of_inertia_and_its_virtual_work(name: str) -> None:
    """vᵀ force = d/dt of the kinetic energy relative to the frame; Coriolis has no power."""
    body = bodies(SOFT)[name]
    at = replace(passage(body), rayleigh=(0.0, 0.0))

    def kinetic(t: float) -> float:
        """½ vᵀM(u)v along u + v t + ½ a t²."""
        v = at.v + t * at.a
        state = replace(at, u=at.u + t * at.v + 0.5 * t * t * at.a, v=v, a=v, omega=0.0 * OMEGA)
        momentum = replace(state, v=0.0 * v)
        return 0.5 * float(v @ total_force(body, momentum))

    h = 1e-4
    rate = (8.0 * (kinetic(h) - kinetic(-h)) - (kinetic(2 * h) - kinetic(-2 * h))) / (12.0 * h)
    drag = body.operators.D @ at.v
    assert at.v @ (total_force(body, at) - drag) == pytest.approx(rate, rel=1e-8)


def test_six_equal_coefficients_of_sections_are_damping_in_proportion_to_stiffness() -> None:
    """At any displacement and motion, with arms: Rayleigh's b and mu = (b, b, b, b, b, b)."""
    b = 0.02

    def force(**options: Any) -> Array:
        body = assembly.beam(
            1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 2, pitch=(0.1, 0.5),
            end_offsets=[(0.1, 0.05, 0.2), (0.0, -0.1, 0.1)], **options,
        )  # fmt: skip
        at = passage(body)
        return total_force(body, replace(at, rayleigh=(0.0, 0.0 if options else b)))

    rayleigh, sections = force(), force(mu=6 * [b])
    assert_allclose(sections, rayleigh, rtol=0, atol=1e-10 * np.abs(rayleigh).max())


def test_small_motions_of_a_beam_are_the_linear_ones() -> None:
    """At the undeformed shape nothing is added to M and 2G; damping is aM + bK."""
    body = bodies()["beam"]
    rest = np.zeros(body.size)
    beyond = body.families[0].tangents(Passage(rest, rest, rest, OMEGA, np.zeros(12), RAYLEIGH))[0]
    M, K = body.operators.M.tocsr(), body.operators.K.tocsr()
    for extra, size in ((beyond.M, abs(M).max()), (beyond.C, abs(M).max())):
        assert abs(extra).max() < 1e-13 * size
    expected = RAYLEIGH[0] * M + RAYLEIGH[1] * K
    assert abs(beyond.D - expected).max() < 1e-13 * abs(expected).max()


@pytest.mark.parametrize("name", ["beam", "solid"])
def test_damping_resists_no_rigid_motion(name: str) -> None:
    """Strain rates vanish where a strained body turns as a whole; damping of the undeformed K
    would resist."""
    body = bodies()[name]
    at, spin = passage(body), np.array([0.3, -0.5, 0.7])
    nodal = at.u[body.dofs.component < 3].reshape(-1, 3) + body.dofs.coordinates
    v = np.zeros(body.size)
    v[body.dofs.component < 3] = np.cross(spin, nodal).ravel()
    if name == "beam":
        phi = at.u[body.dofs.component >= 3].reshape(-1, 3)
        wide = [_left_jacobian(row) for row in phi]
        turns = [np.linalg.solve(J, spin) for J in wide]
        v[body.dofs.component >= 3] = np.ravel(turns)
    still = replace(at, v=v, a=0.0 * v, rayleigh=(0.0, 1.0), omega=0.0 * OMEGA)
    with_damping, without = (
        body.families[0].force(replace(still, rayleigh=(0.0, b))) for b in (1.0, 0.0)
    )
    K = body.operators.K.tocsr()
    # The frame of a beam element, a mean of rotation vectors, turns with it to third order.
    limit = 2e-5 if name == "beam" else 1e-12
    assert np.abs(with_damping - without).max() < limit * np.abs(K @ v).max()


def test_damping_of_sections_resists_no_rigid_motion_and_takes_energy() -> None:
    """Of a strained beam with six different coefficients; D of the undeformed one would resist."""
    section = assembly.rectangle(0.05, 0.02)
    damped, plain = (
        assembly.beam(1.0, section, assembly.steel, 3, pitch=(0.1, 0.5), mu=mu) for mu in (MU, 0.0)
    )
    at, spin = replace(passage(damped), rayleigh=(0.0, 0.0)), np.array([0.3, -0.5, 0.7])
    d = at.u.reshape(-1, 6)
    v = np.hstack(
        [
            np.cross(spin, damped.dofs.coordinates + d[:, :3]),
            [np.linalg.solve(_left_jacobian(phi), spin) for phi in d[:, 3:]],
        ]
    ).ravel()

    def drag(v: Array) -> Array:
        state = replace(at, v=v, a=0.0 * v, omega=0.0 * OMEGA)
        return total_force(damped, state) - total_force(plain, state)

    linear = damped.operators.D.tocsr()
    assert np.abs(drag(v)).max() < 2e-5 * np.abs(linear @ v).max()
    for motion in np.random.default_rng(2).normal(size=(5, damped.size)):
        assert motion @ drag(motion) > 0.0


def _left_jacobian(phi: Array) -> Array:
    """ω = J φ̇ in the axes before the rotation, by differences of scipy's rotations."""
    h = 1e-6
    columns = []
    for e in np.eye(3):
        after, before = (Rotation.from_rotvec(phi + s * h * e) for s in (1.0, -1.0))
        columns.append((after * before.inv()).as_rotvec() / (2.0 * h))
    return np.stack(columns, axis=1)
