"""Elasticity tensors c (3, 3, 3, 3), σ_ij = c_ijkl ε_kl, and their plane parts."""

from __future__ import annotations

import numpy as np

from assembly.materials.materials import Material, Orthotropic
from assembly.types import Array


def elasticity(material: Material | Orthotropic) -> Array:
    """c of a material, Pa: λ δ_ij δ_kl + μ (δ_ik δ_jl + δ_il δ_jk) for an isotropic one."""
    if isinstance(material, Orthotropic):
        return _orthotropic(material)
    E, nu = material.E, material.nu
    lame = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    one = np.eye(3)
    shear = np.einsum("ik,jl->ijkl", one, one) + np.einsum("il,jk->ijkl", one, one)
    return np.asarray(lame * np.einsum("ij,kl->ijkl", one, one) + material.G * shear)


def _orthotropic(material: Orthotropic) -> Array:
    """c from the engineering constants, rotated from material directions into body axes."""
    c = np.zeros((3, 3, 3, 3))
    normal = np.linalg.inv(material.compliance)
    for i in range(3):
        for j in range(3):
            c[i, i, j, j] = normal[i, j]
    for (i, j), G in zip(((0, 1), (0, 2), (1, 2)), material.G, strict=True):
        c[i, j, i, j] = c[i, j, j, i] = c[j, i, i, j] = c[j, i, j, i] = G
    R = np.asarray(material.axes, dtype=float)
    return np.asarray(np.einsum("abcd,ai,bj,ck,dl->ijkl", c, R, R, R, R, optimize=True))


def plane_strain(c: Array) -> Array:
    """c (2, 2, 2, 2) when no strain leaves the plane."""
    return np.ascontiguousarray(c[:2, :2, :2, :2])


def plane_stress(c: Array) -> Array:
    """c (2, 2, 2, 2) when no stress leaves the plane: the strains ε_i3 are condensed out.

    σ_i3 = 0 gives ε_k3 from the in-plane strains (Schur complement; the shears count twice).
    """
    out = np.array([c[0, 2, :, :], c[1, 2, :, :], c[2, 2, :, :]])  # σ_13, σ_23, σ_33 per strain
    from_plane = out[:, :2, :2].reshape(3, 4)
    doubled = np.array([2.0, 2.0, 1.0])
    from_normal = out[:, [0, 1, 2], [2, 2, 2]] * doubled
    to_plane = c[:2, :2, [0, 1, 2], [2, 2, 2]].reshape(4, 3) * doubled
    reduced = c[:2, :2, :2, :2].reshape(4, 4) - to_plane @ np.linalg.solve(from_normal, from_plane)
    return np.ascontiguousarray(reduced.reshape(2, 2, 2, 2))
