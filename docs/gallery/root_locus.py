"""
Which modes of a rotor can become unstable at all?
==================================================

Damping takes energy from every mode; only forces that are not symmetric can give it back. The ratio
of the two bounds the frequency of an unstable mode: its Im λ lies between −W and W (*Theory*,
"A verdict on all modes"). For damping that turns with the shaft W is the speed Ω itself, so that
nothing is unstable below the first critical speed. For two full oil films of cross stiffness cΩ/2
and damping c it is Ω/2: oil whip starts above twice the critical speed (Newkirk & Taylor, 1925).
"""

import matplotlib.pyplot as plt
import numpy as np

import assembly
import modal
from modal.plot import instability_box, root_locus

length, section, steel = 1.0, assembly.circle(0.03), assembly.steel
line = steel.rho * section.A  # kg/m
critical = (np.pi / length) ** 2 * np.sqrt(steel.E * section.Iy / line)  # ω₁, rad/s
slender = dict(theory="euler-bernoulli", rotary_inertia=False)
ends, inner = (0.0, length), np.linspace(0.0, length, 21)[1:-1]

internal, film = 2e-6, 1000.0  # s, and N·s/m
outside = 0.3 * internal * critical**2 * line * length / 20  # N·s/m: 0.3 of the internal damping
dampers = [assembly.Bearing(x, stiffness=0.0, damping=outside) for x in inner]
rigid = [assembly.Bearing(x, stiffness=np.inf) for x in ends]
dry = assembly.rotor([(length, section)], steel, 20, bearings=[*rigid, *dampers],
                     internal_damping=internal, **slender)  # fmt: skip


def oil(speed: float) -> np.ndarray:
    """Stiffness of a full film about its centre, N/m, beside a spring."""
    return np.array([[1e7, 0.5 * film * speed], [-0.5 * film * speed, 1e7]])


films = [assembly.Bearing(x, stiffness=oil, damping=film) for x in ends]
wet = assembly.rotor([(length, section)], steel, 20, bearings=films, **slender)

# %%
# The box at two speeds: W/Ω is 1 for internal damping, 1/2 for the films.
speeds = (0.9 * critical, 1.8 * critical)
boxes = [[modal.stability(model.freeze(omega=w)).box for model in (dry, wet)] for w in speeds]
ratios = np.array([[box.angular_frequency for box in row] for row in boxes]) / np.array([speeds]).T
print("W/Ω of internal damping and of oil films:", ratios[0], ratios[1])
for speed in speeds:
    print(f"{speed:.0f} rad/s:", modal.stability(dry.freeze(omega=speed)))

tracks = modal.track(dry, omega=np.linspace(0.0, 2.0 * critical, 41), k=6)
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
root_locus(tracks, ax)
instability_box(modal.stability(dry.freeze(omega=2.0 * critical)).box, ax)
ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
plt.show()
