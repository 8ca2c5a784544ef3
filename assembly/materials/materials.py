"""Materials: what a volume of an elastic body is made of, and its elasticity tensor c (3, 3, 3, 3),
σ_ij = c_ijkl ε_kl, with the plane parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.arguments import as_number, as_numbers, check_kind
from assembly.errors import MaterialError
from assembly.magnitudes import DENSITY, MODULUS
from assembly.materials.plausibility import check_material
from assembly.types import Array


@dataclass(frozen=True)
class Material:
    """A linear elastic isotropic material.

    A PlausibilityWarning is issued where no known material has such constants.

    Parameters
    ----------
    E : float
        Young's modulus, Pa.
    nu : float
        Poisson's ratio, between −1 and 0.5.
    rho : float
        Density, kg/m³.
    name : str
        Name in messages.

    Raises
    ------
    MaterialError
        When a constant is outside its physical range.
    """

    E: float
    nu: float
    rho: float
    name: str = "material"

    def __post_init__(self) -> None:
        MODULUS.number(self.E, f"{self.name}: E", MaterialError)
        DENSITY.number(self.rho, f"{self.name}: rho", MaterialError)
        if not -1.0 < as_number(self.nu, f"{self.name}: nu", MaterialError) < 0.5:
            raise MaterialError(f"{self.name}: nu must lie between -1 and 0.5, got {self.nu!r}")
        check_material(self.E, self.nu, self.rho, self.name)

    @property
    def G(self) -> float:
        """Shear modulus, Pa."""
        return self.E / (2.0 * (1.0 + self.nu))


@dataclass(frozen=True)
class Orthotropic:
    """A linear elastic material with three planes of symmetry, for solid and plane elements.

    Parameters
    ----------
    E : tuple of three float
        (E1, E2, E3), Pa.
    nu : tuple of three float
        (ν12, ν13, ν23); ν_ij is the contraction along j under tension along i.
    G : tuple of three float
        (G12, G13, G23), Pa.
    rho : float
        Density, kg/m³.
    axes : array_like, shape (3, 3)
        Rows: the material directions 1, 2, 3 in body axes, orthonormal.
    name : str
        Name in messages.

    Raises
    ------
    MaterialError
        For values that give no positive definite stiffness.
    """

    E: tuple[float, float, float]
    nu: tuple[float, float, float]
    G: tuple[float, float, float]
    rho: float
    axes: tuple[tuple[float, float, float], ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    name: str = "material"

    def __post_init__(self) -> None:
        for symbol, count in (("E", 3), ("nu", 3), ("G", 3)):
            value = as_numbers(getattr(self, symbol), f"{self.name}: {symbol}", MaterialError)
            if value.shape != (count,) or not np.all(np.isfinite(value)):
                raise MaterialError(f"{self.name}: {symbol} must be three numbers, got {value}")
            if symbol != "nu":
                MODULUS.check(value, f"{self.name}: {symbol}", MaterialError)
        DENSITY.number(self.rho, f"{self.name}: rho", MaterialError)
        axes = as_numbers(self.axes, f"{self.name}: axes", MaterialError)
        if axes.shape != (3, 3) or np.abs(axes @ axes.T - np.eye(3)).max() > 1e-9:
            raise MaterialError(f"{self.name}: axes must be three orthonormal directions")
        if np.linalg.eigvalsh(self.compliance)[0] <= 0.0:
            raise MaterialError(
                f"{self.name}: nu = {self.nu} with E = {self.E} gives a stiffness that is not"
                " positive definite"
            )
        check_material(self.E, None, self.rho, self.name)

    @property
    def compliance(self) -> Array:
        """Normal strains per normal stress in material directions, (3, 3), 1/Pa."""
        (E1, E2, E3), (nu12, nu13, nu23) = self.E, self.nu
        return np.array(
            [
                [1.0 / E1, -nu12 / E1, -nu13 / E1],
                [-nu12 / E1, 1.0 / E2, -nu23 / E2],
                [-nu13 / E1, -nu23 / E2, 1.0 / E3],
            ]
        )


def check_is_material(material: object) -> None:
    """MaterialError unless it is a material."""
    check_kind(
        material, (Material, Orthotropic), "material", "a material such as assembly.steel",
        MaterialError,
    )  # fmt: skip


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


steel = Material(E=210e9, nu=0.3, rho=7850.0, name="steel")
aluminium = Material(E=70e9, nu=0.33, rho=2700.0, name="aluminium")
titanium = Material(E=114e9, nu=0.34, rho=4430.0, name="titanium")
