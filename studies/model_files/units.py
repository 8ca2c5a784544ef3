"""Values with units: "150 mm", "1500 rpm", "20 N·m/rad". What comes out is SI."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

Dimension = tuple[int, int, int, int]  # exponents of m, kg, s, rad

_FORCE, _STRESS = (1, 1, -2, 0), (-1, 1, -2, 0)
UNITS: dict[str, tuple[float, Dimension]] = {
    "1": (1.0, (0, 0, 0, 0)),
    "m": (1.0, (1, 0, 0, 0)),
    "km": (1e3, (1, 0, 0, 0)),
    "cm": (1e-2, (1, 0, 0, 0)),
    "mm": (1e-3, (1, 0, 0, 0)),
    "um": (1e-6, (1, 0, 0, 0)),
    "µm": (1e-6, (1, 0, 0, 0)),
    "in": (0.0254, (1, 0, 0, 0)),
    "ft": (0.3048, (1, 0, 0, 0)),
    "kg": (1.0, (0, 1, 0, 0)),
    "g": (1e-3, (0, 1, 0, 0)),
    "t": (1e3, (0, 1, 0, 0)),
    "lb": (0.45359237, (0, 1, 0, 0)),
    "s": (1.0, (0, 0, 1, 0)),
    "ms": (1e-3, (0, 0, 1, 0)),
    "min": (60.0, (0, 0, 1, 0)),
    "rad": (1.0, (0, 0, 0, 1)),
    "deg": (np.pi / 180.0, (0, 0, 0, 1)),
    "°": (np.pi / 180.0, (0, 0, 0, 1)),
    "rev": (2.0 * np.pi, (0, 0, 0, 1)),
    "rpm": (np.pi / 30.0, (0, 0, -1, 1)),
    "Hz": (1.0, (0, 0, -1, 0)),
    "N": (1.0, _FORCE),
    "kN": (1e3, _FORCE),
    "MN": (1e6, _FORCE),
    "lbf": (4.4482216152605, _FORCE),
    "Pa": (1.0, _STRESS),
    "kPa": (1e3, _STRESS),
    "MPa": (1e6, _STRESS),
    "GPa": (1e9, _STRESS),
    "psi": (6894.757293168, _STRESS),
    "ksi": (6894757.293168, _STRESS),
}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_VALUE = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*)?$")
_FACTOR = re.compile(r"([^\d\s^*·/-]+|1)(?:\^?(-?\d))?$")


class UnitError(ValueError):
    """A text that is no value with a unit, or a unit of another kind."""


@dataclass(frozen=True)
class Unit:
    """A unit in words, and the dimensions that a value in SI may have.

    An angle counts as a number, except where `angular` says that it is what is measured: 50 Hz is
    not accepted for an angular velocity.
    """

    name: str
    accepted: tuple[Dimension, ...]
    angular: bool = False

    @classmethod
    def of(cls, *names: str, angular: bool = False) -> Unit:
        """The unit of the first name; the dimensions of all of them are accepted."""
        return cls(names[0], tuple(dimension(name)[1] for name in names), angular)

    def value(self, text: str) -> float:
        """The value of a text in SI. Raises UnitError that says what would be accepted."""
        match = _VALUE.match(text)
        if match is None or match[2] is None:
            raise UnitError(f'a number, or one with a unit as in "1.5 {self.name}"')
        factor, kind = dimension(match[2])
        if not any(self._same(kind, other) for other in self.accepted):
            raise UnitError(f"a value in {self.name}, not in {match[2].strip()}")
        return float(match[1]) * factor

    def _same(self, one: Dimension, other: Dimension) -> bool:
        return one == other if self.angular else one[:3] == other[:3]


def dimension(text: str) -> tuple[float, Dimension]:
    """Factor to SI and dimension of a product of units, as in "N·m/rad" or "kg m^2".

    Raises UnitError for a unit that is not in the table.
    """
    factor, total, sign = 1.0, np.zeros(4, dtype=int), 1
    for part in re.split(r"([*·/\s]+)", text.strip().translate(_SUPERSCRIPTS)):
        if not part.strip("*· \t"):
            continue
        if part.strip("*· \t") == "/":
            if sign < 0:
                raise UnitError(f"a unit with one / at most, got {text.strip()!r}")
            sign = -1
            continue
        match = _FACTOR.match(part)
        if match is None or match[1] not in UNITS:
            raise UnitError(f"a known unit ({', '.join(UNITS)}), got {part!r}")
        size, kind = UNITS[match[1]]
        power = sign * int(match[2] or 1)
        factor *= size**power
        total += power * np.array(kind)
    a, b, c, d = (int(v) for v in total)
    return factor, (a, b, c, d)
