"""Blades with kinks: two stations at one place, without an arc between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
from assembly.bodies.blades import BladeTable, rigid_section_mass
from tests.support.beam_models import BLADE_ALLOY as ALLOY
from tests.support.beam_models import SHAPE, frequencies, section_matrices, swept_table

ROOT, TIP, SWEEP = 1.6, 0.7, 0.8  # m, m, rad
DIRECTION = np.array([np.cos(SWEEP), 0.3 * np.sin(SWEEP), np.sqrt(0.91) * np.sin(SWEEP)])


def uniform(s: np.ndarray, axis: np.ndarray) -> BladeTable:
    K, M = section_matrices()
    return BladeTable(s, axis, 0.0 * s, np.tile(K, (len(s), 1, 1)), np.tile(M, (len(s), 1, 1)))


def kinked(parts: int = 1) -> BladeTable:
    """A straight root and a straight tip at an angle, `parts` stations apart each."""
    here, there = ROOT * np.linspace(0, 1, parts + 1), TIP * np.linspace(0, 1, parts + 1)
    ex = np.eye(3)[0]
    axis = np.concatenate([here[:, None] * ex, ROOT * ex + there[:, None] * DIRECTION])
    return uniform(np.concatenate([here, ROOT + there]), axis)


def test_a_kinked_blade_is_the_weld_of_its_parts() -> None:
    root = assembly.beam(ROOT, SHAPE, ALLOY, 4)
    tip = assembly.beam(TIP, SHAPE, ALLOY, 4, start=(ROOT, 0, 0), direction=DIRECTION)
    welded = assembly.weld([root, tip], clamped=0)
    motion = ((10.0, -20.0, 50.0), (100.0, 50.0, -30.0), (3.0, 2.0, 1.0))
    for prestress in ("linear", "nonlinear"):
        one = assembly.blade(kinked(), refine=4, clamped="start").freeze(
            *motion, prestress=prestress
        )
        two = welded.freeze(*motion, prestress=prestress)
        for name in ("M", "C", "K", "K_epsilon", "K_omega2", "K_G"):
            a, b = (getattr(system, name).toarray() for system in (one, two))
            assert_allclose(a, b, atol=1e-8 * abs(b).max(), err_msg=f"{prestress}: {name}")


def test_kinked_blades_converge_and_arcs_of_small_radius_converge_to_them() -> None:
    """Order two with Timoshenko's theory; an arc of radius r about the kink is off by its length,
    order one in r."""
    spin = (0.0, 15.0, 30.0)

    def found(table: BladeTable, refine: int) -> np.ndarray:
        return frequencies(assembly.blade(table, refine=refine, clamped="start").freeze(spin), 5)

    coarse, middle, fine = (found(kinked(), n) for n in (4, 8, 16))
    order = np.log2((coarse - middle) / (middle - fine))
    assert np.all(order > 1.7), order
    exact = (4.0 * fine - middle) / 3.0

    def rounded(radius: float) -> BladeTable:
        cut = radius * np.tan(0.5 * SWEEP)
        e, n = np.eye(3)[0], DIRECTION - np.cos(SWEEP) * np.eye(3)[0]
        n = n / np.linalg.norm(n)
        angle = np.linspace(0.0, SWEEP, 13)[1:-1]
        arc = (ROOT - cut) * e + radius * (
            np.sin(angle)[:, None] * e + (1.0 - np.cos(angle))[:, None] * n
        )
        here = np.linspace(0.0, ROOT - cut, 25)
        there = np.linspace(cut, TIP, 11)
        axis = np.concatenate([here[:, None] * e, arc, ROOT * e + there[:, None] * DIRECTION])
        steps = np.linalg.norm(np.diff(axis, axis=0), axis=1)
        return uniform(np.append(0.0, np.cumsum(steps)), axis)

    errors = [np.abs(found(rounded(r), 1) / exact - 1.0).max() for r in (0.2, 0.1)]
    assert errors[1] < 0.6 * errors[0] and errors[1] < 5e-2


def test_both_sides_of_a_kink_have_their_own_sections() -> None:
    """A step of twist and stiffness at a kink of no angle: the weld of two beams."""
    table = kinked()
    straight = np.concatenate([table.s, table.s, table.s]).reshape(3, -1).T * np.eye(3)[0]
    scale = np.array([1.0, 1.0, 0.5, 0.5])[:, None, None]
    twist = np.array([0.1, 0.1, 0.6, 0.6])
    stepped = replace(
        table, axis=straight, twist=twist, stiffness=scale * table.stiffness, mass=table.mass
    )
    soft = replace(ALLOY, E=0.5 * ALLOY.E)
    root = assembly.beam(ROOT, SHAPE, ALLOY, 2, pitch=0.1)
    tip = assembly.beam(TIP, SHAPE, soft, 2, pitch=0.6, start=(ROOT, 0, 0))
    a = assembly.blade(stepped, refine=2).freeze((0.0, 0.0, 30.0))
    b = assembly.weld([root, tip]).freeze((0.0, 0.0, 30.0))
    for name in ("M", "K", "K_omega2"):
        one, two = getattr(a, name).toarray(), getattr(b, name).toarray()
        assert_allclose(one, two, atol=1e-9 * abs(two).max(), err_msg=name)


def test_smooth_tables_are_as_before() -> None:
    """A station doubled where spline and matrices are smooth: only the spline's end conditions."""
    table = swept_table(9)
    parts = [*range(5), *range(4, 9)]
    names = ("s", "axis", "twist", "stiffness", "mass")
    doubled = BladeTable(**{name: getattr(table, name)[parts] for name in names})
    assert len(doubled.smooth_parts) == 2
    s = np.linspace(table.s[0], table.s[-1], 41)
    assert_allclose(doubled.curve()(s), table.curve()(s), atol=1e-6)
    assert_allclose(doubled.turn(s), table.turn(s), atol=1e-6)
    scale = abs(table.stiffness).max()
    found, expected = (t.matrices("stiffness", s) for t in (doubled, table))
    assert_allclose(found, expected, atol=1e-12 * scale)
    one, two = (
        frequencies(assembly.blade(t, clamped="start").freeze(), 4) for t in (table, doubled)
    )
    assert_allclose(one, two, rtol=1e-6)


BAD = [
    (dict(s=[0.0, 0.5, 0.4, 1.0]), "s must increase, or be the same twice at a kink; station 2"),
    (dict(s=[0.0, 0.5, 0.5, 0.5]), "station 3 is at 0.5"),
    (dict(s=[0.0, 0.0, 0.5, 1.0]), "station 1 has the s of the one before it"),
    (dict(axis=np.diag([1.0, 0, 0, 0])[:, :3] * 0 + [[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 1, 0]]),
     "station 2 has the s of the one before it, as at a kink, but is 1 m away"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "says"), BAD)
def test_kinks_that_are_none(change: dict[str, object], says: str) -> None:
    table = kinked()
    good = dict(
        s=table.s, axis=table.axis, twist=table.twist, stiffness=table.stiffness, mass=table.mass
    )
    BladeTable(**good)
    with pytest.raises(assembly.InputError, match=says):
        BladeTable(**(good | change))  # type: ignore[arg-type]


def test_a_kink_at_an_end_is_refused() -> None:
    table = kinked()
    rows = [0, 0, 1]
    with pytest.raises(assembly.InputError, match="a kink at an end joins nothing"):
        BladeTable(
            table.s[rows], table.axis[rows], table.twist[rows], table.stiffness[rows],
            rigid_section_mass(np.ones(3), 0.0, 0.0, np.eye(3)),
        )  # fmt: skip
