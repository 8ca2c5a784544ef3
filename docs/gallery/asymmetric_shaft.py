"""
Which speeds must a shaft that is not round avoid?
==================================================

A shaft with two different bending stiffnesses, seen in the axes that turn with it. Between its two
bending frequencies it is unstable at any amplitude: no balancing helps. Without damping the range
is exactly the one between the two frequencies of the shaft at rest (Dimentberg, 1961).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal

section, steel = assembly.rectangle(0.020, 0.024), assembly.steel
slender = dict(theory="euler-bernoulli", rotary_inertia=False)
shaft = assembly.beam(1.0, section, steel, elements=16, clamped="both", **slender)


def growth(speed: float) -> float:
    """The largest growth rate that exceeds its own error bound, 1/s; zero if there is none."""
    modes = modal.solve(shaft.freeze(omega=speed, axis=(1, 0, 0)), k=2)
    return float(np.max(modes.growth_rate * (modes.growth_rate > modes.error_bound)))


# %%
# A coarse scan finds the unstable range, bisection its two ends (to a growth of 1e-3 1/s).
speeds = np.linspace(500.0, 950.0, 46)
rates = np.array([growth(speed) for speed in speeds])
first, last = np.flatnonzero(rates > 0.0)[[0, -1]]
found = [
    brentq(lambda speed: growth(speed) - 1e-3, speeds[a], speeds[a + 1], xtol=1e-6)
    for a in (first - 1, last)
]

# %%
# Exact: ω = β² √(EI/ρA) / L², cos β cosh β = 1, for the two bending stiffnesses.
beta = brentq(lambda b: np.cos(b) * np.cosh(b) - 1.0, 4.0, 5.0)
moments = np.array([section.Iz, section.Iy])
exact = beta**2 * np.sqrt(steel.E * moments / (steel.rho * section.A))
print(f"unstable from {found[0]:.3f} to {found[1]:.3f} rad/s")
print(f"exact         {exact[0]:.3f} to {exact[1]:.3f} rad/s")

plt.figure(figsize=(7, 3.4))
plt.plot(speeds, rates, "o-", ms=3, label="growth rate")
plt.axvspan(*exact, color="tab:orange", alpha=0.2, label="between the bending\nfrequencies at rest")
plt.xlabel("speed (rad/s)")
plt.ylabel("largest Re λ (1/s)")
plt.title("shaft with two bending stiffnesses, no damping")
plt.legend(loc="upper right")
plt.show()
