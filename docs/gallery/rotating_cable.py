"""
How do I bring in the matrices of another program?
==================================================

A tether spun about one end has no bending stiffness: the centrifugal tension alone holds it. M, K
and the geometric stiffness per unit of ω² stand here for what another program exports. Frozen
Motion makes the Coriolis and centrifugal terms from M and the coordinates. Exact frequencies out
of the plane are Ω √(n(n+1)/2) for n = 1, 3, 5, … (Legendre's equation); in the plane the square is
less by Ω², and the first is the rigid rotation.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import assembly
import modal

length, count, line, stiffness, speed = 100.0, 100, 0.1, 1e6, 2.0  # m, kg/m, N, rad/s
h = length / count
x = np.linspace(0.0, length, count + 1)
slope = sp.diags([-1.0, 1.0], [0, 1], shape=(count, count + 1)) / h  # strain of each element
middle = sp.diags([0.5, 0.5], [0, 1], shape=(count, count + 1))
mass = line * h * (middle.T @ middle + h**2 / 12 * slope.T @ slope)
axial = stiffness * h * slope.T @ slope
# Tension per unit of ω², ½ ρA (L² − x²), averaged over each element.
tension = 0.5 * line * (length**2 - (x[1:] ** 2 + x[1:] * x[:-1] + x[:-1] ** 2) / 3)
across = slope.T @ sp.diags(tension * h) @ slope

# %%
# Degrees of freedom node by node: x, y, z. The tension acts across the tether.
cable = assembly.from_matrices(
    sp.kron(mass, np.eye(3)),
    sp.kron(axial, np.diag([1.0, 0.0, 0.0])),
    coordinates=np.column_stack([x, 0 * x, 0 * x]),
    clamped=[0],
    geometric={"zz": sp.kron(across, np.diag([0.0, 1.0, 1.0]))},
)
modes = modal.solve(cable.freeze(omega=speed, axis=(0, 0, 1)), k=7)
print(modes)

# %%
# Out of the plane of rotation: modes that move along z.
along_z = np.abs(modes.right[cable.free_dofs.component == 2])
out = np.flatnonzero(along_z.max(axis=0) > 0.5 * np.abs(modes.right).max(axis=0))[:3]
found = modes.eigenvalues.imag[out] / speed
n = np.array([1, 3, 5])
exact = np.sqrt(n * (n + 1) / 2)
for ours, true in zip(found, exact, strict=True):
    print(f"{ours:.5f} Ω, exact {true:.5f} Ω")

for mode, value in zip(out, found, strict=True):
    shape = modes.right[cable.free_dofs.component == 2, mode].real
    plt.plot(x[1:], shape / shape[-1], label=f"{value:.3f} Ω")
plt.gca().set(xlabel="distance from the axis (m)", ylabel="uz, one at the tip")
plt.title("tether spun about one end: modes out of the plane")
plt.legend(loc="lower left")
plt.show()
