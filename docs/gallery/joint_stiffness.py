"""
Is the first mode in the links or in the gears?
===============================================

An arm of one link with a payload, on a gear. With a soft gear the first frequency is √(k/I), I the
inertia of the rigid arm about the joint; with a stiff one that of a cantilever with a mass at its
tip. In between, the two flexibilities nearly add up (Dunkerley's rule, a lower bound).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal

section, steel, length, payload = assembly.tube(0.06, 0.052), assembly.steel, 1.2, 5.0
slender = dict(planar=True, theory="euler-bernoulli", rotary_inertia=False)
link = assembly.attach_mass(assembly.beam(length, section, steel, 8, **slender), "end", payload)


def arm(stiffness: float | None) -> assembly.Mechanism:
    """The arm stretched out in a vertical plane; None is a rigid drive."""
    return assembly.Mechanism(
        {"link": link},
        [assembly.revolute("ground", (0, 0), "link", "start", name="gear")],
        [assembly.driver("gear", 0.0, stiffness=stiffness)],
        gravity=(0, -9.81, 0),
    )


gears = np.geomspace(1e3, 1e6, 25)
frequency = np.array([modal.solve(arm(k).freeze(0.0), k=1).frequency[0] for k in gears])

# %%
# Both limits in closed form, and the sag: weight over stiffness.
line = steel.rho * section.A
inertia = line * length**3 / 3.0 + payload * length**2
soft = np.sqrt(gears / inertia) / (2.0 * np.pi)
mu, cos, sin, cosh, sinh = payload / (line * length), np.cos, np.sin, np.cosh, np.sinh
beta = brentq(
    lambda b: 1 + cos(b) * cosh(b) + mu * b * (cos(b) * sinh(b) - sin(b) * cosh(b)), 0.1, 1.9
)
stiff = beta**2 * np.sqrt(steel.E * section.Iz / line) / length**2 / (2.0 * np.pi)
bound = 1.0 / np.sqrt(1.0 / soft**2 + 1.0 / stiff**2)
sag = float(arm(2e4).deflections(0.0)["gear"][0])
moment = 9.81 * (line * length**2 / 2.0 + payload * length)
print(f"sag {1e3 * sag:.4f} mrad, weight over stiffness {-1e3 * moment / 2e4:.4f} mrad")
print(f"above Dunkerley's bound by {(frequency / bound - 1).max():.1e} at most")

plt.figure(figsize=(7, 3.6))
plt.loglog(gears, frequency, "o", ms=4, label="gear and link")
plt.loglog(gears, soft, "--", label="gear alone")
plt.axhline(stiff, ls="-.", color="tab:green", label="link alone")
plt.loglog(gears, bound, "k:", label="Dunkerley")
plt.ylim(0.8 * frequency[0], 1.5 * stiff)
plt.xlabel("stiffness of the gear (N m/rad)")
plt.ylabel("first frequency (Hz)")
plt.legend()
plt.show()
