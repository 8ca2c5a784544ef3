"""
Is a helicopter's rotor stable with one lag damper out?
=======================================================

Blades that lag on their hinges and a hub on its landing gear can feed each other: ground resonance.
With all dampers alike the equations are constant in multiblade coordinates. With one damper out
they keep the period of the rotation: frozen eigenvalues and averaged multiblade coordinates both
call the rotor stable where Floquet's theory finds growth (Hammond, J. American Helicopter Society
19 (4), 1974).
"""

import matplotlib.pyplot as plt
import numpy as np

import assembly
import modal

blade, moment, inertia, hinge = 94.9, 289.1, 1084.7, 0.3048  # kg, kg·m, kg·m², m
hub, spring, damping = (8026.6, 3283.6), 1240481.8, (51078.7, 25539.3)  # kg, N/m, N·s/m
blades = [[2], [3], [4], [5]]  # the lag angles, after the hub's x and y


class Rotor:
    """The hub's x and y, and four lag angles, by Lagrange's equations to first order."""

    def __init__(self, omega: float, dampers: tuple[float, ...]) -> None:
        self.omega, self.dampers, self.period = omega, dampers, 2.0 * np.pi / omega

    def freeze(self, t: float) -> assembly.FrozenSystem:
        w, psi, lag = self.omega, self.omega * t + 0.5 * np.pi * np.arange(4), np.arange(2, 6)
        across = moment * np.array([-np.sin(psi), np.cos(psi)])  # ∂²T/∂(ẋ, ẏ)∂ζ̇
        M = np.diag([hub[0] + 4 * blade, hub[1] + 4 * blade, *[inertia] * 4])
        K = np.diag([spring, spring, *[w**2 * hinge * moment] * 4])
        D, C = np.diag([*damping, *self.dampers]), np.zeros((6, 6))
        M[:2, lag], M[lag, :2] = across, across.T
        C[:2, lag] = -2.0 * w * moment * np.array([np.cos(psi), np.sin(psi)])
        K[:2, lag] = -(w**2) * across
        return assembly.FrozenSystem(M=M, C=C, D=D, K=K)


# %%
# All dampers: each multiblade mode e^{λT} is a Floquet multiplier. One out: three analyses.
speed = 250.0 * np.pi / 30.0
whole, broken = (Rotor(speed, (first, *[4067.5] * 3)) for first in (4067.5, 0.0))
fixed = modal.multiblade(whole, blades, speed)
exact = modal.solve(fixed.mean, k=6).growth_rate.max()
found = modal.floquet(whole, whole.period).growth_rate.max()
print(f"all dampers: growth {found:.6f} 1/s, by constant multiblade coordinates {exact:.6f} 1/s")

speeds = np.linspace(100.0, 400.0, 5) * np.pi / 30.0
verdict = modal.rotor_verdict(lambda omega: Rotor(omega, broken.dampers), speeds, blades)
modes = modal.floquet(broken, broken.period)
growth = modes.growth_rate.max()
print(f"one damper out: growth {growth:+.6f} 1/s, published data give +0.322031 1/s")

plt.plot(30.0 / np.pi * speeds, verdict["growth_rate"], "o-", label=verdict["analysis"].values)
plt.gca().set(xlabel="speed (rpm)", ylabel="largest growth rate (1/s)", title="one damper out")
plt.legend()
plt.show()
