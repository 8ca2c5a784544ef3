"""
How fast may a rotor speed up?
==============================

Angular acceleration acts on the vibration like a circulatory force (the Euler term): it feeds one
sense of whirl and brakes the other. A map over speed and acceleration shows what damping allows.
For a round shaft with damping d per unit of mass the frozen instant is stable exactly for

    −d (ω₁ − Ω) < ε < d (ω₁ + Ω),    Ω < ω₁

(Routh–Hurwitz; `tests/references/A10_circulatory.json`).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal
from modal.plot.map_regions import verdict

damping, section, steel = 2.0, assembly.circle(0.02), assembly.steel  # 1/s
slender = dict(theory="euler-bernoulli", rotary_inertia=False)
shaft = assembly.beam(1.0, section, steel, elements=12, clamped="both", **slender)
shaft = shaft.with_damping(a=damping)
speeds, rates = np.linspace(0.0, 600.0, 31), np.linspace(-1500.0, 2500.0, 41)
# Four modes: above 510 rad/s the one that grows, of frequency ω₁ + Ω, is not among the lowest two.
grid = modal.stability_map(shaft, omega=speeds, epsilon=rates, axis=(1, 0, 0), k=4)
print(f"largest error bound on the map: {float(grid['error_bound'].max()):.1e} 1/s")

# %%
# One boundary in full: at 300 rad/s, how fast may it slow down and speed up?
beta = brentq(lambda b: np.cos(b) * np.cosh(b) - 1.0, 4.0, 5.0)
first = beta**2 * np.sqrt(steel.E * section.Iy / (steel.rho * section.A))  # rad/s


def growth(rate: float) -> float:
    modes = modal.solve(shaft.freeze(omega=300.0, epsilon=rate, axis=(1, 0, 0)), k=2)
    return float(modes.growth_rate.max())


found = [brentq(growth, 0.0, end, xtol=1e-6) for end in (-1500.0, 2500.0)]
exact = [-damping * (first - 300.0), damping * (first + 300.0)]
print(f"stable from {found[0]:.2f} to {found[1]:.2f} rad/s²")
print(f"exact       {exact[0]:.2f} to {exact[1]:.2f} rad/s²")

fig, ax = plt.subplots(figsize=(7, 3.8))
verdict(grid, ax)
ax.plot(speeds, -damping * (first - speeds), "k--", lw=1)
ax.plot(speeds, damping * (first + speeds), "k--", lw=1)
ax.set(ylim=(rates[0], rates[-1]), title="round shaft with damping; dashed: exact")
plt.show()
