"""The propeller moment in solids: torsion of a rotating flat blade, flat and upright.

A section of second moments I_y, I_z that turns by φ about the blade's axis feels the centrifugal
moment −Ω²ρ(I_z − I_y)φ per length (flat blade: I_z, in the plane of rotation, the larger). Whatever
the mode's shape along the blade, its squared frequency gains Ω²(I_z − I_y)/(I_y + I_z). The
tension's own stiffening (Wagner) is the same for the flat and the upright blade: half their
difference is the propeller moment alone.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import assembly
from assembly import gallery

LENGTH, WIDTH, HEIGHT, HUB = 0.8, 0.09, 0.03, 0.25
ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
SPEEDS = (0.0, 200.0, 400.0)


def blade(b: float, h: float) -> assembly.Body:
    return gallery.block(12, 2, 2, "hex20", (LENGTH, b, h), (HUB, -b / 2, -h / 2), ALLOY)


def first_torsion(body: assembly.Body, omega: float) -> float:
    """Squared frequency of the mode most like x·(rotation about x), (rad/s)²; spin about z."""
    system = body.freeze((0.0, 0.0, omega))
    squares, modes = spla.eigsh(system.stiffness, 10, system.M, sigma=0.0)
    X = body.dofs.coordinates
    twist = ((X[:, :1] - HUB) * np.cross([1.0, 0.0, 0.0], X)).ravel()[body.free]
    return float(squares[abs(modes.T @ (system.M @ twist)).argmax()])


def test_half_the_difference_of_flat_and_upright_blades() -> None:
    flat = np.array([first_torsion(blade(WIDTH, HEIGHT), w) for w in SPEEDS])
    upright = np.array([first_torsion(blade(HEIGHT, WIDTH), w) for w in SPEEDS])
    Iz, Iy = WIDTH**3 * HEIGHT, HEIGHT**3 * WIDTH
    exact = np.array(SPEEDS) ** 2 * (Iz - Iy) / (Iz + Iy)
    assert flat[0] == pytest.approx(upright[0], rel=1e-9)
    np.testing.assert_allclose((flat - upright)[1:] / 2.0, exact[1:], rtol=5e-3)
