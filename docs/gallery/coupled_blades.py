"""
Do two frequencies cross, or veer away from each other?
=======================================================

Two blades joined by a weak spring at their tips (a lacing wire), one of them mistuned by up to 3 %.
As the mistuning passes zero, their frequencies come near each other and veer away; the modes trade
blades. At a crossing a blade keeps its mode and its fatigue test; at a veering it does not.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import assembly
import modal

spring = 20.0  # N/m, across the plane of rotation
blade = assembly.beam(0.5, assembly.rectangle(0.03, 0.006), assembly.steel, 10, clamped="start")
turning = dict(omega=150.0, axis=(0, 0, 1))
one = blade.freeze(**turning)
n, tip = one.n, one.dofs.index(10, 2)  # uz of node 10


class Pair:
    """Both blades on one rotor; `mistuning` changes the elastic stiffness of the second."""

    def freeze(self, mistuning: float) -> assembly.FrozenSystem:
        ends = sp.csr_matrix(([1.0, -1.0], ([tip, n + tip], [0, 0])), shape=(2 * n, 1))
        wire = spring * (ends @ ends.T)
        K = sp.block_diag([one.K, (1.0 + mistuning) * one.K]) + wire
        both = {name: sp.block_diag([getattr(one, name)] * 2) for name in ("M", "C", "K_omega2")}
        return assembly.FrozenSystem(K=K, K_G=sp.block_diag([one.K_G] * 2), **both)


# %%
# 24 values, none of them at the veering: its gap is found between them.
mistuning = np.linspace(-0.03, 0.03, 24)
tracks = modal.track(Pair(), mistuning=mistuning, k=2)
where = np.argwhere(tracks["event"].values == "veering")
found = float(tracks["gap"].values[tuple(where[0])])

# %%
# Exact, by symmetry: equal blades vibrate together (the wire is idle) or against each other (each
# on a spring of twice the stiffness to its frame).
stiff = assembly.attach_spring(blade, 10, stiffness=np.diag([0.0, 0.0, 2.0 * spring]))
alone, against = (modal.solve(body.freeze(**turning), k=1) for body in (blade, stiff))
exact = float((against.eigenvalues[0] - alone.eigenvalues[0]).imag)
print(f"veering, gap {found:.6f} rad/s, exact {exact:.6f} rad/s")

plt.figure(figsize=(7, 3.6))
plt.plot(100 * mistuning, tracks["frequency"], "o-", ms=3)
plt.xlabel("mistuning of the second blade (%)")
plt.ylabel("frequency (Hz)")
plt.title("first flap of two blades joined by a weak spring")
plt.legend(["mode 1", "mode 2"], loc="upper left")
plt.show()
