"""
How does a robot arm's first frequency change as it folds?
==========================================================

Two elastic links, two motors that follow their commands, a payload. The first frequency decides how
fast the controller may be, and it depends on where the arm is. At rest and stretched the arm is a
cantilever with a mass at its tip, whose frequency is exact.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal

section, steel, payload, end = assembly.tube(0.06, 0.052), assembly.steel, 5.0, 1.2
slender = dict(planar=True, theory="euler-bernoulli", rotary_inertia=False)
upper = assembly.beam(0.7, section, steel, elements=8, **slender)
fore = assembly.attach_mass(assembly.beam(0.5, section, steel, 8, **slender), "end", payload)


def command(angle: float):
    """From 0 at rest to `angle` at rest in `end` seconds: angle, rate, acceleration."""
    path = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6]) * angle
    return lambda t: tuple(path.deriv(k)(t / end) / end**k for k in range(3))


arm = assembly.Mechanism(
    {"upper": upper, "fore": fore},
    [
        assembly.revolute("ground", (0, 0), "upper", "start", name="shoulder"),
        assembly.revolute("upper", "end", "fore", "start", name="elbow"),
    ],
    [assembly.driver("shoulder", command(0.8)), assembly.driver("elbow", command(2.4))],
    initial={"fore": (0.7, 0.0, 0.0)},
)
times = np.linspace(0.0, end, 31)
frequency = modal.track(arm, times=times, k=2)["frequency"].isel(mode=0).values

# %%
# Exact: 1 + cos β cosh β + μ β (cos β sinh β − sin β cosh β) = 0, μ payload over mass of the arm.
line, reach = steel.rho * section.A, 1.2
mu, cos, sin, cosh, sinh = payload / (line * reach), np.cos, np.sin, np.cosh, np.sinh
beta = brentq(
    lambda b: 1 + cos(b) * cosh(b) + mu * b * (cos(b) * sinh(b) - sin(b) * cosh(b)), 0.1, 1.9
)
exact = beta**2 * np.sqrt(steel.E * section.Iz / line) / reach**2 / (2 * np.pi)
found = frequency[0]
print(f"stretched: {found:.5f} Hz, exact {exact:.5f} Hz; folded: {frequency[-1]:.2f} Hz")

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
for t in times[::6]:
    for body, (nodes, _) in arm.deployed(t, np.zeros(arm.freeze(t).n)).items():
        left.plot(nodes[:, 0], nodes[:, 1], color="tab:blue" if body == "upper" else "tab:orange")
left.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", title="the arm, every 0.24 s")
right.plot(times, frequency)
right.set(xlabel="time (s)", ylabel="first frequency (Hz)", title="stiffer as it folds")
plt.show()
