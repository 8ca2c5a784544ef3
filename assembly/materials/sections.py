"""Cross-sections of beams: areas, second moments, torsion and shear constants; axes, damping.

A section lies in its own y–z plane, x along the beam. `rectangle(width, height)` has its width
along y and its height along z: it bends in the x–y plane with E Iz, Iz = ∫y² dA = height·width³/12,
and in the x–z plane with E Iy, Iy = ∫z² dA = width·height³/12.

Damping is in proportion to stiffness, with six coefficients as BeamDyn has it: the resultants of
strain rates are √μ S √μ ε̇, S the section's stiffness and μ = diag(μ₁ … μ₆). BeamDyn's manual
("Damping Coefficient") has μ S ε̇: the same where S couples no two strains of different μ. Otherwise
μ S is not symmetric and may feed energy in; √μ S √μ never does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, as_numbers, check_kind
from assembly.errors import InputError, MaterialError, SectionError
from assembly.kinematics import as_vector
from assembly.magnitudes import AREA, DAMPING_STIFFNESS, LENGTH, SECOND_MOMENT, SHEAR_COEFFICIENT
from assembly.materials.materials import Material
from assembly.types import Array


@dataclass(frozen=True)
class Section:
    """A cross-section about the beam's axis (its centroid).

    Parameters
    ----------
    A : float
        Area, m².
    Iy, Iz : float
        Second moments ∫z² dA and ∫y² dA, m⁴.
    J : float
        Saint-Venant torsion constant, m⁴.
    shear_y, shear_z : float
        Timoshenko's shear coefficients k: the shear stiffness is k G A.
    Iyz : float
        Product moment ∫yz dA, m⁴.
    name : str
        Name in messages.

    Raises
    ------
    SectionError
        For values that no section has.
    """

    A: float
    Iy: float
    Iz: float
    J: float
    shear_y: float = 1.0
    shear_z: float = 1.0
    Iyz: float = 0.0
    name: str = "section"

    def __post_init__(self) -> None:
        limits = dict(A=AREA, Iy=SECOND_MOMENT, Iz=SECOND_MOMENT, J=SECOND_MOMENT)
        limits |= dict(shear_y=SHEAR_COEFFICIENT, shear_z=SHEAR_COEFFICIENT)
        for constant, limit in limits.items():
            limit.number(getattr(self, constant), f"{self.name}: {constant}", SectionError)
        if not np.isfinite(as_number(self.Iyz, f"{self.name}: Iyz", SectionError)):
            raise SectionError(f"{self.name}: Iyz must be finite, got {self.Iyz!r}")
        if self.Iyz**2 >= self.Iy * self.Iz:
            raise SectionError(
                f"{self.name}: Iyz² must be smaller than Iy·Iz, got Iyz={self.Iyz!r}"
            )

    def compliance(self, material: Material, shear: bool = True) -> Array:
        """Strains (γ, κ) of unit resultants (N, V_y, V_z, T, M_y, M_z).

        Parameters
        ----------
        material : Material
            Isotropic material.
        shear : bool
            False neglects the shear strains (Euler–Bernoulli).

        Returns
        -------
        ndarray, shape (6, 6)

        Raises
        ------
        MaterialError
            For an orthotropic material.
        """
        if not isinstance(material, Material):
            raise MaterialError(
                f"{self.name}: sections of beams are of isotropic material; give an orthotropic "
                f"one as 6×6 section matrices (assembly.blade)"
            )
        E, G = material.E, material.G
        C = np.zeros((6, 6))
        C[0, 0] = 1.0 / (E * self.A)
        if shear:
            C[1, 1] = 1.0 / (self.shear_y * G * self.A)
            C[2, 2] = 1.0 / (self.shear_z * G * self.A)
        C[3, 3] = 1.0 / (G * self.J)
        # M_y = E (Iy κ_y − Iyz κ_z), M_z = E (Iz κ_z − Iyz κ_y): σ = E (z κ_y − y κ_z).
        bending = E * np.array([[self.Iy, -self.Iyz], [-self.Iyz, self.Iz]])
        C[4:, 4:] = np.linalg.inv(bending)
        return C

    @property
    def second_moments(self) -> Array:
        """∫ s sᵀ dA (3, 3), m⁴, of the position s = (0, y, z) in the section."""
        return np.array([[0.0, 0.0, 0.0], [0.0, self.Iz, self.Iyz], [0.0, self.Iyz, self.Iy]])

    @property
    def depth(self) -> float:
        """Side (m) of the rectangle that has the section's larger radius of gyration."""
        return float(np.sqrt(12.0 * max(self.Iy, self.Iz) / self.A))

    @property
    def polar_radius_squared(self) -> float:
        """(Iy + Iz)/A, m²: the axial force's factor in torsional geometric stiffness (Wagner)."""
        return (self.Iy + self.Iz) / self.A


def rectangle(width: float, height: float, shear: float = 5.0 / 6.0) -> Section:
    """A rectangle, width along y and height along z.

    Parameters
    ----------
    width, height : float
        Sides, m.
    shear : float
        Timoshenko's shear coefficient.

    Returns
    -------
    Section

    Raises
    ------
    SectionError
        For impossible dimensions.

    Notes
    -----
    The torsion constant is Saint-Venant's series (Timoshenko and Goodier, Theory of Elasticity,
    §109).
    """
    _positive("rectangle", width=width, height=height)
    long, short = max(width, height), min(width, height)
    n = np.arange(1, 60, 2)
    series = np.sum(np.tanh(n * np.pi * long / (2.0 * short)) / n**5)
    # Σ 1/n⁵ over odd n beyond the series is its tail with tanh = 1 to round-off.
    tail = 31.0 / 32.0 * 1.0369277551433699 - np.sum(1.0 / n**5)
    J = long * short**3 * (1.0 / 3.0 - 64.0 * short / (np.pi**5 * long) * (series + tail))
    A, Iy, Iz = width * height, width * height**3 / 12.0, height * width**3 / 12.0
    return Section(A, Iy, Iz, float(J), shear, shear, name="rectangle")


def circle(diameter: float, nu: float = 0.3, shear: float | None = None) -> Section:
    """A full circle.

    Parameters
    ----------
    diameter : float
        m.
    nu : float
        Poisson's ratio for the shear coefficient.
    shear : float, optional
        Shear coefficient; 6(1+ν)/(7+6ν) by default (Cowper, J. Appl. Mech. 33, 1966).

    Returns
    -------
    Section

    Raises
    ------
    SectionError
        For impossible dimensions.
    """
    _positive("circle", diameter=diameter)
    return _round("circle", diameter, 0.0, nu, shear)


def tube(outer: float, inner: float, nu: float = 0.3, shear: float | None = None) -> Section:
    """A round tube.

    Parameters
    ----------
    outer, inner : float
        Diameters, m.
    nu : float
        Poisson's ratio for the shear coefficient.
    shear : float, optional
        Shear coefficient; by default that of Cowper (J. Appl. Mech. 33, 1966).

    Returns
    -------
    Section

    Raises
    ------
    SectionError
        For impossible dimensions.
    """
    _positive("tube", outer=outer, inner=inner)
    if inner >= outer:
        raise SectionError(f"tube: inner diameter {inner!r} must be smaller than outer {outer!r}")
    return _round("tube", outer, inner, nu, shear)


def _round(name: str, outer: float, inner: float, nu: float, shear: float | None) -> Section:
    """A round section of two diameters, with Cowper's shear coefficient where none is given."""
    if not -1.0 < as_number(nu, f"{name}: nu", SectionError) < 0.5:
        raise SectionError(f"{name}: nu must lie between -1 and 0.5, got {nu!r}")
    m2 = (inner / outer) ** 2
    whole = (1.0 + m2) ** 2
    cowper = 6.0 * (1.0 + nu) * whole / ((7.0 + 6.0 * nu) * whole + (20.0 + 12.0 * nu) * m2)
    k = cowper if shear is None else shear
    second = np.pi * (outer**4 - inner**4) / 64.0
    area = np.pi * (outer**2 - inner**2) / 4.0
    return Section(area, second, second, 2.0 * second, k, k, name=name)


def i_profile(width: float, height: float, flange: float, web: float) -> Section:
    """A doubly symmetric I: flanges along y, web along z.

    Parameters
    ----------
    width : float
        Width of the flanges, m.
    height : float
        Whole height, m.
    flange, web : float
        Thicknesses, m.

    Returns
    -------
    Section

    Raises
    ------
    SectionError
        For impossible dimensions.

    Notes
    -----
    Thin-walled: the web carries V_z, 5/6 of the flanges V_y, the torsion constant is Σ b t³/3.
    Warping restraint is not included.
    """
    _positive("i_profile", width=width, height=height, flange=flange, web=web)
    if 2.0 * flange >= height or web >= width:
        raise SectionError(
            f"i_profile: flange {flange!r} and web {web!r} do not fit in {width!r} × {height!r}"
        )
    clear = height - 2.0 * flange
    A = 2.0 * width * flange + clear * web
    Iy = (width * height**3 - (width - web) * clear**3) / 12.0
    Iz = (2.0 * flange * width**3 + clear * web**3) / 12.0
    J = (2.0 * width * flange**3 + (height - flange) * web**3) / 3.0
    shear_y = 5.0 / 6.0 * 2.0 * width * flange / A
    return Section(A, Iy, Iz, J, shear_y, height * web / A, name="i_profile")


def _positive(shape: str, **sizes: float) -> None:
    for name, value in sizes.items():
        LENGTH.number(value, f"{shape}: {name}", SectionError)


def check_is_section(section: object) -> None:
    """SectionError unless it is a section."""
    expected = "a section such as assembly.rectangle(0.05, 0.02)"
    check_kind(section, Section, "section", expected, SectionError)


def section_axes(tangent: ArrayLike, section_y: ArrayLike, pitch: ArrayLike) -> Array:
    """Columns (t, y, z) of the section axes in body axes, (..., 3, 3), at pitch angles (...,).

    tangent: (3,) or (..., 3) unit vectors. Raises InputError when section_y lies along the tangent.
    """
    pitch = np.asarray(pitch, dtype=float)
    t = np.broadcast_to(np.asarray(tangent, dtype=float), (*pitch.shape, 3))
    direction = as_vector(section_y, "section_y")
    y = direction - (t @ direction)[..., None] * t
    size = np.linalg.norm(y, axis=-1, keepdims=True)
    if np.any(size < 1e-8 * np.linalg.norm(direction)) or not np.any(direction):
        raise InputError("section_y: must not lie along the beam: it is the section's y axis")
    y = y / size
    z = np.cross(t, y)
    c, s = np.cos(pitch)[..., None], np.sin(pitch)[..., None]
    return np.stack([t, c * y + s * z, c * z - s * y], axis=-1)


def turned(matrices: Array, frames: Array) -> Array:
    """6×6 section matrices (..., 6, 6) from section axes into body axes; frames (..., 3, 3)."""
    Q = np.zeros((*frames.shape[:-2], 6, 6))
    Q[..., :3, :3] = Q[..., 3:, 3:] = frames
    return np.asarray(Q @ matrices @ Q.swapaxes(-1, -2))


def section_mu(mu: ArrayLike) -> Array:
    """The six coefficients, s, checked; a number stands for six equal ones."""
    values = as_numbers(mu, "mu")
    if values.shape not in ((), (6,)):
        raise InputError(f"mu: expected six coefficients, s, got shape {values.shape}")
    DAMPING_STIFFNESS.check(values, "mu")
    return np.broadcast_to(values, (6,)).copy()


def viscous_compliance(compliance: Array, mu: Array) -> Array:
    """C D C (..., 6, 6) with D = √μ C⁻¹ √μ: the power that rates of resultants dissipate.

    Strains that the compliance C (..., 6, 6) leaves out (shear of Euler–Bernoulli) dissipate
    nothing.
    """
    strains = np.flatnonzero(np.einsum("...ii->...i", compliance).reshape(-1, 6).any(axis=0))
    pick = (..., strains[:, None], strains)
    C = compliance[pick]
    root = np.sqrt(mu[strains])
    out = np.zeros_like(compliance)
    out[pick] = C @ (root[:, None] * np.linalg.inv(C) * root) @ C
    return out
