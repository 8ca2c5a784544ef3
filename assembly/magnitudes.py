"""Magnitudes that the formulas can represent: others overflow or vanish in double precision.

The limits are far outside of what can be built. They keep products such as E·width·height³/length³
and their squares finite. Whether a value is likely is a question for `assembly.plausibility`.
Relative differences that are none, and limits of counts, stand here too, for all rooms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, as_numbers, shown
from assembly.errors import InputError


@dataclass(frozen=True)
class Magnitude:
    """Limits of the size of a physical quantity: its name, unit, least and largest size.

    zero: 0 is accepted as well. signed: both signs are accepted.
    """

    name: str
    unit: str
    least: float
    largest: float
    zero: bool = False
    signed: bool = False

    def accepts(self, values: ArrayLike) -> bool:
        """Whether all values are numbers inside the limits."""
        array = np.asarray(values, dtype=float)
        size = np.abs(array) if self.signed else array
        inside = (size >= self.least) & (size <= self.largest)
        return bool(np.all(inside | (array == 0.0) if self.zero else inside))

    @property
    def expected(self) -> str:
        """What is accepted, in words."""
        zero = "0, or " if self.zero else ""
        size = " of either sign, its size" if self.signed else ""
        limits = f"between {self.least:g} and {self.largest:g} {self.unit}".rstrip()
        return f"{zero}a {self.name}{size} {limits}"

    def check(self, values: ArrayLike, what: str, error: type[InputError] = InputError) -> None:
        """Raises the error, naming what, unless all values are inside the limits."""
        array = as_numbers(values, what, error)
        if not self.accepts(array):
            raise error(f"{what}: must be {self.expected}, got {array.tolist()!r}")

    def number(self, value: object, what: str, error: type[InputError] = InputError) -> float:
        """The value as a float; the error, naming what, unless it is one number inside."""
        number = as_number(value, what, error)
        self.check(number, what, error)
        return number


def check_count(value: object, what: str, least: int = 1, largest: int | None = None) -> None:
    """Raises InputError, naming what, unless the value is a whole number within the limits."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:  # type: ignore[operator]
        raise InputError(f"{what}: must be a whole number of at least {least}, got {shown(value)}")
    if largest is not None and value > largest:  # type: ignore[operator]
        raise InputError(f"{what}: must be at most {largest:,}, got {value}")


MOST_ELEMENTS = 1_000_000  # and most points of an axis: more are an error of the one who asks

ENTRIES = 2**22  # numbers that are worked on, or sent, at once: 32 MiB
MOST_STEPS = 500  # of an iteration that gains its digits one by one; then it is given up
# Share of the argument that is the step of a central difference: round-off and curvature then make
# errors of one size.
DIFFERENCE = float(np.cbrt(np.finfo(float).eps))

# Relative differences that are none: of sums of products, of what keeps half of its digits, of what
# is computed from data in two ways, of data that other programs have written with seven digits, and
# of what has three digits: approximations that are compared, and drawings.
ROUND_OFF = 1e-12
HALF = 1e-8
EQUAL = 1e-9
WRITTEN = 1e-6
ALIKE = 1e-3

LENGTH = Magnitude("positive length", "m", 1e-12, 1e9)
POSITION = Magnitude("coordinate", "m", 0.0, 1e9, signed=True)
AREA = Magnitude("positive area", "m²", 1e-24, 1e18)
SECOND_MOMENT = Magnitude("positive second moment", "m⁴", 1e-48, 1e36)
SHEAR_COEFFICIENT = Magnitude("positive coefficient", "", 1e-12, 1e12)
MODULUS = Magnitude("positive modulus", "Pa", 1e-6, 1e21)
DENSITY = Magnitude("positive density", "kg/m³", 1e-12, 1e12)
MASS = Magnitude("mass", "kg", 1e-30, 1e18, zero=True)
INERTIA = Magnitude("moment of inertia", "kg m²", 1e-54, 1e36, zero=True)
INERTIA_ENTRY = Magnitude("moment of inertia", "kg m²", 0.0, INERTIA.largest, signed=True)
ENTRY = Magnitude("matrix entry", "in SI units", 0.0, 1e30, signed=True)
DAMPING_MASS = Magnitude("coefficient a", "1/s", 1e-30, 1e12, zero=True)
DAMPING_STIFFNESS = Magnitude("coefficient b", "s", 1e-30, 1e6, zero=True)
TIME = Magnitude("time of a record", "s", 1e-15, 1e15, zero=True, signed=True)
RATE = Magnitude("rate", "rad/s or m/s", 1e-12, 1e12, zero=True, signed=True)
SPEED_RPM = Magnitude("speed", "rpm", 1e-9, 1e12, zero=True, signed=True)
ACCELERATION = Magnitude("acceleration", "rad/s² or m/s²", 1e-24, 1e24, zero=True, signed=True)
