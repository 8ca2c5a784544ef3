"""Materials: what a volume of an elastic body is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.errors import MaterialError


@dataclass(frozen=True)
class Material:
    """A linear elastic isotropic material: E (Pa), nu (Poisson's ratio), rho (kg/m³).

    Raises MaterialError when a constant is outside its physical range.
    """

    E: float
    nu: float
    rho: float
    name: str = "material"

    def __post_init__(self) -> None:
        for symbol in ("E", "rho"):
            value = getattr(self, symbol)
            if not (np.isfinite(value) and value > 0.0):
                raise MaterialError(f"{self.name}: {symbol} must be positive, got {value!r}")
        if not (np.isfinite(self.nu) and -1.0 < self.nu < 0.5):
            raise MaterialError(f"{self.name}: nu must lie between -1 and 0.5, got {self.nu!r}")

    @property
    def G(self) -> float:
        """Shear modulus, Pa."""
        return self.E / (2.0 * (1.0 + self.nu))


steel = Material(E=210e9, nu=0.3, rho=7850.0, name="steel")
aluminium = Material(E=70e9, nu=0.33, rho=2700.0, name="aluminium")
titanium = Material(E=114e9, nu=0.34, rho=4430.0, name="titanium")
