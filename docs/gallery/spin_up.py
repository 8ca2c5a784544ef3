"""
Is a growing amplitude always an instability?
=============================================

A flat shaft without any damping speeds up. The frozen eigenvalues have real parts (the Euler term
has no symmetry) and the amplitudes really change, yet nothing is unstable: what stays is the
action, energy over frequency. So the change of the amplitude √E is known,
∫σ dt = ½ ln(ω_end/ω_start), and σ, the rate corrected for the motion of the frozen frame, gives it.
Re λ does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import trapezoid

import assembly
import modal

shaft = assembly.beam(1.0, assembly.rectangle(0.02, 0.03), assembly.steel, 10, clamped="both")
end, start, stop = 0.6, 50.0, 450.0  # s, rad/s
motion = assembly.ramp(epsilon=(stop - start) / end, omega=start, axis=(1, 0, 0))
times = np.linspace(0.0, end, 121)
tracks = modal.track(assembly.moving(shaft, motion), times=times, k=2)

# %%
# Mode by mode: the change of ln √E that σ and Re λ predict, and the exact one.
frequency = tracks["frequency"].values
exact = 0.5 * np.log(frequency[-1] / frequency[0])
found = trapezoid(tracks["growth_rate_corrected"].values, times, axis=0)
frozen = trapezoid(tracks["growth_rate"].values, times, axis=0)
for mode in range(2):
    print(f"mode {mode + 1}: ln √E changes by {exact[mode]:+.5f} exactly")
    print(f"        by σ {found[mode]:+.5f}, by Re λ alone {frozen[mode]:+.5f}")

# %%
# `growth_rate_action` leaves the breathing of the energy out. It is zero to round-off: by it an
# undamped spin-up is judged stable.
action = np.abs(tracks["growth_rate_action"].values).max()
print(f"largest growth rate of the action: {action:.1e} 1/s")

plt.figure(figsize=(7, 3.6))
for mode, colour in ((0, "tab:blue"), (1, "tab:orange")):
    rate, sigma = (tracks[name][:, mode] for name in ("growth_rate", "growth_rate_corrected"))
    plt.plot(times, rate, "-", color=colour, label=f"mode {mode + 1}, Re λ")
    plt.plot(times, sigma, "--", color=colour, label=f"mode {mode + 1}, σ")
plt.axhline(0.0, color="black", lw=0.8)
plt.xlabel("time (s)")
plt.ylabel("growth rate (1/s)")
plt.title("undamped shaft speeding up from 50 to 450 rad/s")
plt.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
plt.show()
