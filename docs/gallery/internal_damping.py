"""
How much external damping keeps a rotor from whirling?
======================================================

Damping inside a shaft (fits, splines, the material) turns with it. Above the first critical speed
ω₁ it feeds the whirl instead of braking it, and only damping against the surroundings holds it
back. With external damping c_e and internal damping c_i of the mode the rotor is stable up to
ω₁ (1 + c_e/c_i) (Genta, Dynamics of Rotating Systems, 2005).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal

length, section, steel = 1.0, assembly.circle(0.03), assembly.steel
line = steel.rho * section.A  # kg/m
critical = (np.pi / length) ** 2 * np.sqrt(steel.E * section.Iy / line)  # ω₁, rad/s
internal = 1e-6  # s, of a force b K that turns with the shaft: c_i = b ω₁²
slender = dict(theory="euler-bernoulli", rotary_inertia=False)


def rotor(ratio: float) -> assembly.Rotor:
    """c_e / c_i = ratio: dampers all along the shaft, rigid bearings at its ends."""
    damper = ratio * internal * critical**2 * line * length / 20
    spots = np.linspace(0.0, length, 21)[1:-1]
    dampers = [assembly.Bearing(x, stiffness=0.0, damping=damper) for x in spots]
    ends = [assembly.Bearing(x, stiffness=np.inf) for x in (0.0, length)]
    held = dict(bearings=[*ends, *dampers], internal_damping=internal)
    return assembly.rotor([(length, section)], steel, elements=20, **held, **slender)


def onset(ratio: float) -> float:
    """The speed, rad/s, at which the largest growth rate becomes positive."""
    model, guess = rotor(ratio), critical * (1.0 + ratio)

    def growth(speed: float) -> float:
        return float(modal.solve(model.freeze(omega=speed), k=4).growth_rate.max())

    return float(brentq(growth, 0.9 * guess, 1.1 * guess, xtol=1e-6))


# %%
# The onset for five amounts of external damping, as a multiple of the critical speed.
ratios = np.array([0.0, 0.25, 0.5, 1.0, 1.5])
found = np.array([onset(ratio) for ratio in ratios]) / critical
exact = 1.0 + ratios
for ratio, ours, true in zip(ratios, found, exact, strict=True):
    print(f"c_e/c_i = {ratio:4.2f}: stable up to {ours:.5f} ω₁, exact {true:.5f}")

plt.figure(figsize=(6, 3.4))
plt.plot(ratios, found, "o", label="onset found")
plt.plot(ratios, exact, "-", lw=1, label="$1 + c_e/c_i$")
plt.xlabel("external over internal damping, $c_e/c_i$")
plt.ylabel("onset over critical speed")
plt.title("round shaft with internal damping")
plt.legend(loc="upper left")
plt.show()
