"""Questions about values that are possible but probably a mistake.

A modulus given in MPa or a length in mm gives a model that runs and answers wrongly. Each check
compares a value with what real materials and machines have, and asks in one line by a
`PlausibilityWarning`; the computation goes on. `assembly.known_materials` has the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.materials.known_materials import material_questions

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
