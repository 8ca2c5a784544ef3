"""
Which instants of a mechanism really lose energy?
=================================================

An elastic slider-crank over one turn, its first mode released at the start. Every frozen instant
says that the mode decays at the same steady rate, Re λ. In the time integration of the full
equations it does not: the moving mechanism does work on its own vibration. σ, the rate
corrected for the motion of the frozen frame, follows that.
"""

import matplotlib.pyplot as plt
import numpy as np

import modal
import studies
from studies.slider_crank.comparison import compare_with_transient
from studies.slider_crank.figures import amplitude

mechanism = studies.slider_crank.model(
    crank=0.15, rod=0.30, speed_rpm=1500, elements=4, rayleigh=(0.0, 5e-6)
)
times = np.linspace(0.0, mechanism.period, 49)
tracks = modal.track(mechanism, times=times, k=2)
compared = compare_with_transient(mechanism, tracks, turns=1)

# %%
# The largest error of the amplitude over the turn, against the time integration.
integrated = compared["amplitude"].values
corrected, frozen = (
    float(np.abs(compared[f"amplitude_{name}"].values / integrated - 1.0).max())
    for name in ("corrected", "frozen")
)
print(f"amplitude by σ within {100 * corrected:.2f} %, by Re λ alone within {100 * frozen:.2f} %")

# %%
# Over a whole turn the gains and losses cancel but for the damping. That is what stability over
# many turns depends on: the Floquet exponents.
exponents = modal.floquet(mechanism, mechanism.period, k=4)
print(exponents)
mean = float(np.mean(tracks["growth_rate_corrected"].values[:-1, 0]))
print(f"first mode: mean σ {mean:.3f} 1/s; Floquet, slowest {exponents.growth_rate.max():.3f} 1/s")

fig, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
first = tracks.isel(mode=0)
upper.plot(times, first["growth_rate"], label="Re λ, frozen")
upper.plot(times, first["growth_rate_corrected"], "--", label="σ, corrected")
upper.axhline(0.0, color="black", lw=0.8)
upper.set(ylabel="growth rate (1/s)", title="first mode of a slider-crank at 1500 rpm")
upper.legend(loc="lower right")
amplitude(compared, lower)
plt.show()
