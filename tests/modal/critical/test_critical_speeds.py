"""Critical speeds: closed forms, published rotors, Campbell crossings, certificates."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import modal
from assembly.errors import InputError

STEEL = assembly.steel


class Jeffcott:
    """A disc in the middle of a massless shaft, two stiffnesses, damping."""

    def __init__(self, mass: float, stiffness: tuple[float, float], damping: float = 0.0) -> None:
        self.mass, self.stiffness, self.damping = mass, stiffness, damping

    def freeze(self, omega: float) -> assembly.FrozenSystem:
        return assembly.FrozenSystem(
            M=self.mass * np.eye(2), K=np.diag(self.stiffness), D=self.damping * np.eye(2)
        )


class RigidDisc:
    """Tilting of a disc on its bearings: I_d φ̈ + Ω I_p J φ̇ + k φ = 0."""

    def __init__(self, diametral: float, polar: float, stiffness: float) -> None:
        self.diametral, self.polar, self.stiffness = diametral, polar, stiffness

    def freeze(self, omega: float) -> assembly.FrozenSystem:
        J = np.array([[0.0, 1.0], [-1.0, 0.0]])
        return assembly.FrozenSystem(
            M=self.diametral * np.eye(2), C=omega * self.polar * J, K=self.stiffness * np.eye(2)
        )


def test_jeffcott() -> None:
    """ω = √(k/m) in each plane; with damping √(k/m − (c/2m)²) (Genta, 2005)."""
    found = modal.critical_speeds(Jeffcott(20.0, (2e6, 3e6)), (0.0, 1000.0), k=4)
    np.testing.assert_allclose(found, np.sqrt([1e5, 1.5e5]), rtol=1e-12)
    assert found.certified and found.method == "eigenproblem" and len(found) == 2
    damped = modal.critical_speeds(Jeffcott(20.0, (2e6, 3e6), 800.0), (0.0, 1000.0), k=4)
    np.testing.assert_allclose(damped, np.sqrt([1e5 - 400.0, 1.5e5 - 400.0]), rtol=1e-12)
    assert damped.certified and damped.method == "Campbell"
    assert "none missing" in str(damped)


@pytest.mark.parametrize(("polar", "count"), [(0.3, 2), (0.9, 1)])
def test_synchronous_tilting(polar: float, count: int) -> None:
    """Ω² = k / (I_d ∓ I_p): a disc (I_p > I_d) has no forward critical speed."""
    found = modal.critical_speeds(RigidDisc(0.5, polar, 2e4), (0.0, 2000.0), k=4)
    exact = [2e4 / (0.5 + polar), 2e4 / (0.5 - polar)][:count]
    np.testing.assert_allclose(found, np.sqrt(exact), rtol=1e-12)
    assert found.certified


def stepped(elements: int = 8, **options: object) -> assembly.Rotor:
    return assembly.rotor(
        [(0.4, assembly.circle(0.05)), (0.6, assembly.circle(0.06))],
        STEEL,
        elements,
        discs=[assembly.Disc.solid(0.4, 0.3, 0.05, 0.04, STEEL)],
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.slow
def test_both_ways_agree_and_each_speed_is_on_the_line() -> None:
    """The Hermitian eigenproblem against crossings of followed modes; λ(Ω) = iΩ by LAPACK."""
    plain = stepped(bearings=[assembly.Bearing(0.0, 1e7), assembly.Bearing(1.0, (1e7, 2e7))])
    found = modal.critical_speeds(plain, (100.0, 4000.0), k=6)
    assert found.method == "eigenproblem" and found.certified
    assert {"forward", "backward"} <= set(found.whirl)
    for speed in found:
        system = plain.freeze(omega=speed)
        values = modal.solve(system, k=40, backend="dense").eigenvalues
        assert abs(values - 1j * speed).min() < 1e-8 * speed
    as_function = stepped(
        bearings=[assembly.Bearing(0.0, lambda w: 1e7), assembly.Bearing(1.0, (1e7, 2e7), 1e-3)]
    )
    followed = modal.critical_speeds(as_function, (100.0, 4000.0), k=6)
    assert followed.method == "Campbell" and followed.complete
    np.testing.assert_allclose(followed, found, rtol=1e-9)


# Nelson and McVaugh (J. Eng. Industry 98, 1976): 18 pieces, here in inches, of which their
# centimetres are the rounded values; the end of the last piece is 14 in. ri and ro of each piece.
STATIONS = (0, 0.5, 2, 3, 3.5, 4, 4.2, 4.5, 5, 5.3, 6.5, 7.5, 9, 10.5, 11.3, 12, 12.4, 13.6, 14)
INNER = (0, 0, 0, 0, 0, 0, 0.6, 0.7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.6)
OUTER = (0.2, 0.4, 0.3, 0.8, 0.8, 1.3, 1.3, 1, 1, 0.5, 0.5, 0.6, 0.6, 0.5, 0.5, 1.5, 0.8, 0.8)
NELSON_MCVAUGH = {"backward": (15470, 46612, 64752), "forward": (17159, 49983, 96457)}  # rpm


def test_rotor_of_nelson_and_mcvaugh() -> None:
    """Undamped isotropic bearings at stations 11 and 15, elements with rotary inertia and without
    shear as theirs; data of three digits give the published speeds to 0.15 %."""
    x, inner, outer = (0.0254 * np.array(values) for values in (STATIONS, INNER, OUTER))
    sections = [
        assembly.tube(2 * o, 2 * i) if i else assembly.circle(2 * o)
        for i, o in zip(inner, outer, strict=True)
    ]
    rotor = assembly.rotor(
        list(zip(np.diff(x), sections, strict=True)),
        assembly.Material(E=2.078e11, nu=0.3, rho=7806.0),
        9,  # one element for each piece: none is longer than a ninth of the shaft
        discs=[assembly.Disc(x[4], 1.401, 0.00203, 0.00136)],
        bearings=[assembly.Bearing(x[k], 4.378e7) for k in (10, 14)],
        theory="euler-bernoulli",
    )
    assert len(rotor.body.dofs.coordinates) == 19
    found = modal.critical_speeds(rotor, (100.0, 11000.0), k=6)
    assert found.certified and found.method == "eigenproblem"
    rpm = np.asarray(found) * 30.0 / np.pi
    for direction, published in NELSON_MCVAUGH.items():
        np.testing.assert_allclose(rpm[np.array(found.whirl) == direction], published, rtol=1.5e-3)


def test_bearings_from_a_table() -> None:
    """Between the speeds of a table of a linear law the table is that law."""
    speeds = np.linspace(50.0, 2000.0, 14)
    table = assembly.speed_table(speeds, 8e6 + 3e3 * speeds)
    damper = assembly.speed_table(speeds, np.stack([400.0 + 0.0 * speeds] * 2, axis=1))
    tabled = stepped(bearings=[assembly.Bearing(x, table, damper) for x in (0.0, 1.0)])
    law = stepped(
        bearings=[assembly.Bearing(x, lambda w: 8e6 + 3e3 * w, 400.0) for x in (0.0, 1.0)]
    )
    span = (100.0, 600.0)
    first, second = (modal.critical_speeds(r, span, k=2, points=9) for r in (tabled, law))
    assert first.certified and second.certified and len(first) == 2
    np.testing.assert_allclose(first, second, rtol=1e-9)
    with pytest.raises(InputError, match=r"table reaches from 50 to 2000 rad/s"):
        tabled.freeze(omega=10.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(span=(100.0, 50.0)), "span"),
        (dict(span=5.0), "span"),
        (dict(span=(0.0, 100.0), k=0), "k"),
        (dict(span=(0.0, 100.0), points=True), "points"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        modal.critical_speeds(Jeffcott(1.0, (1.0, 1.0)), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("speeds", "values", "message"),
    [
        ([1.0], [2.0], "speeds"),
        ([1.0, 1.0], [2.0, 3.0], "speeds"),
        ([1.0, 2.0], [[1.0, 2.0, 3.0]] * 2, "values"),
        ([1.0, 2.0], [1.0, np.nan], "finite"),
    ],
)
def test_bad_tables(speeds: list[float], values: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        assembly.speed_table(speeds, values)
