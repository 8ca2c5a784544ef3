"""
When does a thrust make a column flutter?
=========================================

A rocket engine or a jet pushes along the part it sits on and turns with it. Such a follower load
has no potential: statics finds no buckling at all, and the column fails by flutter when two of its
frequencies meet. Beck (Z. angew. Math. Phys. 3, 1952): at 20.0509 EI/L².
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import assembly
import modal

length, section, steel = 1.0, assembly.rectangle(0.01, 0.02), assembly.steel
slender = dict(theory="euler-bernoulli", rotary_inertia=False)
beam = assembly.beam(length, section, steel, elements=10, planar=True, **slender)
unit = steel.E * section.Iz / length**2  # N


class Column:
    """A model is anything with `freeze`: here of the thrust, in units of EI/L²."""

    def freeze(self, thrust: float) -> assembly.FrozenSystem:
        foot = assembly.revolute("ground", (0, 0), "column", "start", name="foot")
        push = assembly.Load("column", "end", (-thrust * unit, 0.0), follower=True)
        clamp = assembly.driver("foot", 0.0)  # a motor that holds still
        return assembly.Mechanism({"column": beam}, [foot], [clamp], loads=[push]).freeze(0.0)


def growth(thrust: float) -> float:
    return float(modal.solve(Column().freeze(thrust), k=2).growth_rate.max())


# %%
# Two frequencies meet, and from there one motion grows.
thrusts = np.linspace(0.0, 26.0, 14)
tracks = modal.track(Column(), thrust=thrusts, k=2)
events = tracks["event"].values
onset = float(thrusts[np.flatnonzero((events == "flutter onset").any(axis=1))[0]])

# %%
# The onset lies in the step before; here to a growth rate of 1e-3 of the frequency at rest.
small = 1e-3 * 2.0 * np.pi * float(tracks["frequency"][0, 0])
found = brentq(lambda thrust: growth(thrust) - small, onset - 2.0, onset + 1.0, xtol=1e-6)
published = 20.0509
print(f"flutter from {found:.4f} EI/L², published {published}")

fig, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6))
upper.plot(thrusts, tracks["frequency"], ".-")
lower.plot(thrusts, tracks["growth_rate"], ".-")
upper.set(ylabel="frequency (Hz)", title="column under a follower load (dotted: Beck)")
lower.set(xlabel="thrust (EI/L²)", ylabel="Re λ (1/s)")
for ax in (upper, lower):
    ax.axvline(published, color="black", ls=":", lw=1)
plt.show()
