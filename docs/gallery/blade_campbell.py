"""
Where does a blade meet its excitation?
=======================================

A Campbell diagram: the frequencies of a blade on a rotor over the speed, and the multiples of the
speed that excite it. Rotation stiffens the blade, so the resonances are not where the frequencies
at rest put them. The first flap frequency is held against the power-series solution of the
rotating Euler–Bernoulli cantilever (Wright, Smith, Thresher & Wang, J. Appl. Mech. 49, 1982).
"""

import matplotlib.pyplot as plt
import numpy as np

import assembly
import modal
from modal.plot import campbell

length = 0.5  # m
section = assembly.rectangle(0.03, 0.012)  # wide in the plane of rotation, thin across it
slender = dict(theory="euler-bernoulli", rotary_inertia=False)
blade = assembly.beam(length, section, assembly.steel, elements=24, clamped="start", **slender)
speeds = np.linspace(0.0, 400.0, 41)  # rad/s
tracks = modal.track(blade, omega=speeds, axis=(0, 0, 1), k=4)

# %%
# Resonance: where the first mode (flap) meets twice the speed. The frequency is known at 41 speeds
# and smooth between them.
flap = tracks["frequency"].isel(mode=0).values * 2.0 * np.pi  # rad/s
resonance = np.interp(0.0, 2.0 * speeds - flap, speeds)
at_rest = 0.5 * flap[0]
print(f"2x excites flap at {resonance:.1f} rad/s; frequencies at rest say {at_rest:.1f}")

# %%
# The table of 1982 is in multiples of √(EI/ρAL⁴): at a speed of 6 the frequency is 7.3604.
unit = np.sqrt(assembly.steel.E * section.Iy / (assembly.steel.rho * section.A)) / length**2
found = modal.solve(blade.freeze(omega=6.0 * unit, axis=(0, 0, 1)), k=1).eigenvalues[0].imag / unit
published = 7.3604
print(f"first flap frequency at η = 6: {found:.4f}, published {published}")

fig, ax = plt.subplots(figsize=(7, 4))
campbell(tracks, ax, orders=(1, 2, 4))
rpm, hertz = resonance * 30.0 / np.pi, resonance / np.pi
ax.plot(rpm, hertz, "o", color="black", mfc="none", ms=9, label="2× meets flap")
ax.set_title("blade on a rotor: flap (1, 3), lag (2, 4) and excitation orders")
ax.legend(loc="upper left", bbox_to_anchor=(1.05, 1.0))
plt.show()
