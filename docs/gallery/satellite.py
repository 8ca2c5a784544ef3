"""
What are the modes of something that is held by nothing?
========================================================

A satellite: a rigid hub with two round booms. It has six rigid motions and so twelve zero
eigenvalues, in defective pairs, which eigensolvers smear out into spurious slow modes. Here they
are removed exactly. Of round booms every bending frequency is double: both members must be there.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal

length, mass, inertia = 5.0, 200.0, 60.0  # of a boom, m; of the hub, kg and kg m²
section, alloy = assembly.tube(0.05, 0.046), assembly.aluminium
slender = dict(theory="euler-bernoulli", rotary_inertia=False)
booms = assembly.beam(2 * length, section, alloy, 40, start=(-length, 0, 0), **slender)
satellite = assembly.attach_mass(booms, 20, mass, inertia)  # node 20 is the middle
modes = modal.solve(satellite.freeze(), k=8)
print(modes)

# %%
# Exact for a boom: w = A cos + B cosh + C sin + D sinh of βx, free at its end. The hub moves with
# both booms (2 EI w''' = m ω² w at x = 0) or turns with them (2 EI w'' = −J ω² w').
rhoA = alloy.rho * section.A
m, J = mass / (2 * rhoA * length), inertia / (2 * rhoA * length**3)


def condition(b: float, turns: bool) -> float:
    """A determinant that vanishes at the exact β L = b."""
    c, C, s, S = np.cos(b), np.cosh(b), np.sin(b), np.sinh(b)
    moves = [[0, 0, 1, 1], [b * m, b * m, 1, -1]]
    rotates = [[1, 1, 0, 0], [-1, 1, b**3 * J, b**3 * J]]
    hub = rotates if turns else moves
    return float(np.linalg.det(np.array([*hub, [-c, C, -s, S], [s, S, -c, C]])) / C)


grid, roots = np.linspace(0.3, 6.0, 400), []
for turns in (True, False):
    signs = np.sign([condition(b, turns) for b in grid])
    spans = [grid[i : i + 2] for i in np.flatnonzero(np.diff(signs))]
    roots += 2 * [brentq(condition, *span, args=(turns,), xtol=1e-13) for span in spans]  # y, z
found = modes.eigenvalues.imag
exact = np.sort(roots)[:8] ** 2 * np.sqrt(alloy.E * section.Iy / rhoA) / length**2
for ours, true in zip(found, exact, strict=True):
    print(f"{ours:10.5f} rad/s, exact {true:10.5f} rad/s")

component, x = satellite.free_dofs.component, satellite.free_dofs.coordinates[:, 0]
for mode in (0, 2):
    y, z = (modes.right[component == direction, mode].real for direction in (1, 2))
    across = y if np.abs(y).max() > np.abs(z).max() else z
    plt.plot(x, across / np.abs(across).max(), label=f"{modes.frequency[mode]:.3f} Hz")
plt.gca().set(xlabel="x (m)", ylabel="displacement, largest 1", title="first two bending shapes")
plt.legend(loc="lower left")
plt.show()
