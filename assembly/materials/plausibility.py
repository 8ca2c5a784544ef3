"""Questions about values that are possible but probably a mistake.

A modulus given in MPa or a length in mm gives a model that runs and answers wrongly. Each check
compares a value with what real materials and machines have, and asks in one line by a
`PlausibilityWarning`; the computation goes on.

Ranges of moduli and densities follow the charts of Ashby, Materials Selection in Mechanical Design,
and are wider than these: densities may include attached masses, moduli those of porous or
anisotropic material.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Kind:
    """A kind of material: least and largest E (Pa), rho (kg/m³) and nu."""

    name: str
    E: tuple[float, float]
    rho: tuple[float, float]
    nu: tuple[float, float] = (-1.0, 0.5)

    def holds(self, E: float, nu: float | None, rho: float) -> bool:
        """Whether the constants are inside all ranges; nu None is not compared."""
        pairs = [(E, self.E), (rho, self.rho)] + ([] if nu is None else [(nu, self.nu)])
        return all(low <= value <= high for value, (low, high) in pairs)


KINDS = (
    Kind("metal, with attached mass", (1e9, 8e11), (400.0, 1e6)),
    Kind("ceramic, glass, silicon, diamond, stone", (1e9, 1.3e12), (500.0, 2e4)),
    Kind("composite, fibre", (1e8, 1.3e12), (300.0, 5e3)),
    Kind("polymer, wood", (1e7, 5e10), (50.0, 2.4e3)),
    Kind("rubber", (1e6, 1e9), (500.0, 2.4e3)),
    Kind("gel, tissue, soft rubber", (1e2, 2e6), (800.0, 1.4e3), (0.41, 0.5)),
    Kind("foam, honeycomb, aerogel", (1e2, 5e10), (0.1, 800.0)),
)
FASTEST_WAVE = 3e4  # m/s; diamond has 18,000, carbon nanotubes 27,000
STIFF, STIFF_NU = 1e10, (-0.3, 0.47)  # above this E solids have such Poisson's ratios

# Constants to compare with when units are guessed: E (Pa) and rho (kg/m³).
REFERENCES = {
    "steel": (2.1e11, 7850.0),
    "stainless steel": (1.95e11, 7900.0),
    "cast iron": (1.2e11, 7200.0),
    "aluminium": (7.0e10, 2700.0),
    "aluminum": (7.0e10, 2700.0),
    "titanium": (1.14e11, 4430.0),
    "magnesium": (4.5e10, 1740.0),
    "copper": (1.2e11, 8960.0),
    "brass": (1.05e11, 8500.0),
    "bronze": (1.1e11, 8800.0),
    "nickel": (2.0e11, 8900.0),
    "tungsten": (4.0e11, 19300.0),
    "lead": (1.6e10, 11340.0),
    "silicon": (1.6e11, 2330.0),
    "glass": (7.0e10, 2500.0),
    "concrete": (3.0e10, 2400.0),
    "carbon fibre composite": (1.35e11, 1550.0),
    "glass fibre composite": (4.0e10, 1900.0),
    "wood": (1.1e10, 500.0),
    "plastic": (2.8e9, 1200.0),
    "rubber": (5e6, 1100.0),
}
MODULUS_UNITS = {"kPa": 1e3, "MPa": 1e6, "GPa": 1e9}
MODULUS_UNITS |= {"psi": 6894.757, "ksi": 6.894757e6, "Mpsi": 6.894757e9}
DENSITY_UNITS = {"g/cm³": 1e3, "kg/mm³": 1e9, "t/mm³": 1e12, "lb/in³": 27679.9, "g/m³": 1e-3}
NAMED_WITHIN = math.log10(3.0)  # of a material that has the name of a reference


def material_questions(E: float, nu: float | None, rho: float, name: str) -> list[tuple[str, str]]:
    """(key, question) of the constants that no known material has; E and rho both 1 are no units.

    name: of a known material is compared with that material.
    """
    if E == 1.0 and rho == 1.0:
        return []
    reference = REFERENCES.get(name.lower().replace("_", " "))
    named = (
        reference is None or max(_apart(E, reference[0]), _apart(rho, reference[1])) <= NAMED_WITHIN
    )
    real = any(kind.holds(E, nu, rho) for kind in KINDS) and E <= FASTEST_WAVE**2 * rho
    if not (real and named):
        return _unit_questions(E, rho, name.lower().replace("_", " ") if reference else None)
    if nu is not None and E >= STIFF and not STIFF_NU[0] <= nu <= STIFF_NU[1]:
        return [("nu", f"no material of E = {E:.3g} Pa has it; metals have 0.2 to 0.45")]
    return []


def _apart(value: float, reference: float) -> float:
    return abs(math.log10(value / reference))


def _unit_questions(
    E: float, rho: float, name: str | None, within: float = 0.35
) -> list[tuple[str, str]]:
    """Questions that name the units in which the constants would be those of a reference: the sum
    of the distances in log10 of E and rho from it is within so much."""
    candidates = []
    for reference, (E_known, rho_known) in REFERENCES.items():
        if name is not None and reference != name:
            continue
        for E_unit, E_factor in {"": 1.0, **MODULUS_UNITS}.items():
            for rho_unit, rho_factor in {"": 1.0, **DENSITY_UNITS}.items():
                distance = _apart(E * E_factor, E_known) + _apart(rho * rho_factor, rho_known)
                if distance <= within and (E_unit or rho_unit):
                    changed = bool(E_unit) + bool(rho_unit)
                    candidates.append((changed, distance, reference, E_unit, rho_unit))
    if candidates:
        _, _, reference, E_unit, rho_unit = min(candidates)
        E_known, rho_known = REFERENCES[reference]
        questions = []
        if E_unit:
            questions.append(("E", f"{reference} has E = {E_known:.3g} Pa; is this in {E_unit}?"))
        if rho_unit:
            text = f"{reference} has rho = {rho_known:g} kg/m³; is this in {rho_unit}?"
            questions.append(("rho", text))
        return questions
    if name is not None:
        E_known, rho_known = REFERENCES[name]
        key = "E" if _apart(E, E_known) >= _apart(rho, rho_known) else "rho"
        has = f"{name} has E = {E_known:.3g} Pa and rho = {rho_known:g} kg/m³"
        return [(key, f"{has}; is this another material?")]
    if not min(kind.rho[0] for kind in KINDS) <= rho <= max(kind.rho[1] for kind in KINDS):
        return [("rho", "no material has it; is this in kg/m³?")]
    text = f"no known material has it with rho = {rho:g} kg/m³; is E in Pa and rho in kg/m³?"
    return [("E", text)]


# A drill string is 40,000 times as long as it is wide, a helicopter blade 30 times, and lengths in
# mm make a part that is 5 times as long 5,000 times as long.
LONGEST, SHORTEST = 5_000.0, 0.05  # length of a beam over the depth of its section
THICKEST = 100.0  # thickness of a plane body over its size; a thickness of 1 m is per metre
HEAVIEST = 1e8  # kg: seven times the heaviest land vehicle, the excavator Bagger 288
FASTEST = 2_000.0  # m/s: flywheels of carbon fibre reach 1,400


class PlausibilityWarning(UserWarning):
    """A value that is probably a mistake, such as a modulus in MPa.

    Parameters
    ----------
    key : str
        The argument, or the place in a model file.
    value : object
        The value; None where there is none.
    question : str
        The question to the user.
    """

    def __init__(self, key: str, value: Any, question: str) -> None:
        super().__init__(key, value, question)
        self.key, self.value, self.question = key, value, question

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value!r}"
        return f"{self.key}{value}: {self.question}"


@contextmanager
def located(prefix: str, **others: str) -> Iterator[None]:
    """Puts a place before the key of every question asked inside: `prefix`, or that of the key."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        message = warning.message
        if isinstance(message, PlausibilityWarning):
            key = others.get(message.key, prefix) + message.key
            warnings.warn(PlausibilityWarning(key, message.value, message.question), stacklevel=3)
        else:
            warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)


def check_material(E: ArrayLike, nu: float | None, rho: float, name: str) -> None:
    """Asks about E (Pa) and rho (kg/m³) that no known material has together.

    E: the modulus, or several of an orthotropic material. nu: None for an orthotropic one.
    """
    stiffest = float(np.max(E))
    for key, question in material_questions(stiffest, nu, float(rho), name):
        ask(key, dict(E=stiffest, nu=nu, rho=rho)[key], question, stacklevel=5)


def check_slenderness(length: float, depth: float) -> None:
    """Asks about a beam's length (m) that does not go with the depth (m) of its section."""
    ratio = length / depth
    if not SHORTEST <= ratio <= LONGEST:
        ask(
            "length",
            length,
            f"the beam is {ratio:.2g} times as long as its section is deep ({depth:.3g} m); are"
            " length and section both in m?",
        )


def check_thickness(thickness: float, size: float) -> None:
    """Asks about a plane body that is much thicker than large; a thickness of 1 m is per metre."""
    if thickness != 1.0 and thickness > THICKEST * size:
        ask(
            "thickness",
            thickness,
            f"the body is {thickness / size:.2g} times as thick as it is large ({size:.3g} m); are"
            " thickness and mesh both in m?",
        )


def check_mass(mass: float, key: str, value: Any) -> None:
    """Asks about a body that is heavier than any machine part, kg."""
    if mass > HEAVIEST:
        unit = "is this in kg" if key == "mass" else "are its lengths in m"
        ask(key, value, f"the body has a mass of {mass:.2g} kg; {unit}?")


def check_speed(speed: float, key: str, value: Any, unit: str) -> None:
    """Asks about a point that moves faster than any machine part, m/s."""
    if speed > FASTEST:
        text = f"a point of the body moves at {speed:.3g} m/s"
        ask(key, value, f"{text}; is this in {unit}, and are lengths in m?")


def ask(key: str, value: Any, question: str, stacklevel: int = 4) -> None:
    warnings.warn(PlausibilityWarning(key, value, question), stacklevel=stacklevel)
