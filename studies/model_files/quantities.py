"""The types of values in a model file: numbers of a size that the formulas can represent, with or
without a unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from assembly import magnitudes

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


class Strict(BaseModel):
    """Unknown keys are errors, and so are values of another type (true or "1" for a number)."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


def _of_size(magnitude: magnitudes.Magnitude) -> AfterValidator:
    """Checks that a number has a size that the formulas can represent."""

    def check(value: float) -> float:
        if not magnitude.accepts(value):
            raise PydanticCustomError("magnitude", "expected {it}", {"it": magnitude.expected})
        return value

    return AfterValidator(check)


def _in_unit(unit: Unit) -> BeforeValidator:
    """Reads a text with a unit; numbers are SI."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return unit.value(value)
        except UnitError as fault:
            raise PydanticCustomError("unit", "expected {it}", {"it": str(fault)}) from None

    return BeforeValidator(read)


def _schema(unit: str) -> WithJsonSchema:
    """For editors: a number in SI, or a text with a unit."""
    text = {"type": "string", "pattern": r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*[^\s\d].*$"}
    return WithJsonSchema({"anyOf": [{"type": "number"}, text], "x-unit": unit})


_STIFFNESS = Unit.of("N/m", "N m/rad", "N/rad")
_DAMPING = Unit.of("N s/m", "N m s/rad", "N s/rad")
_LOAD = Unit.of("N", "N m")
_TURN = Unit.of("rad/s", angular=True)

_ANGLE = magnitudes.Magnitude("angle", "rad", 0.0, 1e9, signed=True)
_COMPONENT = magnitudes.Magnitude("component", "", 0.0, 1e9, signed=True)

Number = Annotated[float, _of_size(_COMPONENT)]
Length = Annotated[float, _in_unit(Unit.of("m")), _of_size(magnitudes.LENGTH), _schema("m")]
Position = Annotated[float, _in_unit(Unit.of("m")), _of_size(magnitudes.POSITION), _schema("m")]
Angle = Annotated[float, _in_unit(Unit.of("rad", angular=True)), _of_size(_ANGLE), _schema("rad")]
Time = Annotated[float, _in_unit(Unit.of("s")), Field(gt=0.0, le=1e12), _schema("s")]
Rate = Annotated[float, _in_unit(_TURN), _of_size(magnitudes.RATE), _schema("rad/s")]
SlideRate = Annotated[float, _in_unit(Unit.of("m/s")), _of_size(magnitudes.RATE), _schema("m/s")]
Rpm = Annotated[float, _of_size(magnitudes.SPEED_RPM)]
Acceleration = Annotated[
    float,
    _in_unit(Unit.of("rad/s^2", "m/s^2")),
    _of_size(magnitudes.ACCELERATION),
    _schema("rad/s² or m/s²"),
]
Modulus = Annotated[float, _in_unit(Unit.of("Pa")), _of_size(magnitudes.MODULUS), _schema("Pa")]
Density = Annotated[
    float, _in_unit(Unit.of("kg/m^3")), _of_size(magnitudes.DENSITY), _schema("kg/m³")
]
Mass = Annotated[float, _in_unit(Unit.of("kg")), _of_size(magnitudes.MASS), _schema("kg")]
Inertia = Annotated[
    float, _in_unit(Unit.of("kg m^2")), _of_size(magnitudes.INERTIA), _schema("kg m²")
]
InertiaEntry = Annotated[
    float, _in_unit(Unit.of("kg m^2")), _of_size(magnitudes.INERTIA_ENTRY), _schema("kg m²")
]
Area = Annotated[float, _in_unit(Unit.of("m^2")), _of_size(magnitudes.AREA), _schema("m²")]
SecondMoment = Annotated[
    float, _in_unit(Unit.of("m^4")), _of_size(magnitudes.SECOND_MOMENT), _schema("m⁴")
]
DampingMass = Annotated[
    float, _in_unit(Unit.of("1/s")), _of_size(magnitudes.DAMPING_MASS), _schema("1/s")
]
DampingStiffness = Annotated[
    float, _in_unit(Unit.of("s")), _of_size(magnitudes.DAMPING_STIFFNESS), _schema("s")
]
Entry = Annotated[float, _of_size(magnitudes.ENTRY)]
StiffnessEntry = Annotated[
    float, _in_unit(_STIFFNESS), _of_size(magnitudes.ENTRY), _schema("N/m or N·m/rad")
]
DampingEntry = Annotated[
    float, _in_unit(_DAMPING), _of_size(magnitudes.ENTRY), _schema("N·s/m or N·m·s/rad")
]
Stiffness = Annotated[StiffnessEntry, Field(ge=0.0)]
DampingCoefficient = Annotated[DampingEntry, Field(ge=0.0)]
Force = Annotated[float, _in_unit(_LOAD), _of_size(magnitudes.ENTRY), _schema("N or N·m")]
UnbalanceSize = Annotated[
    float, _in_unit(Unit.of("kg m")), _of_size(magnitudes.ENTRY), _schema("kg m")
]

Node = Annotated[int, Field(ge=0, le=2**53)]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Point = Annotated[list[Position], Field(min_length=2, max_length=3)]
Point3 = Annotated[list[Position], Field(min_length=3, max_length=3)]
Direction = Annotated[list[Number], Field(min_length=2, max_length=3)]
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]
StiffnessRow = Annotated[list[StiffnessEntry], Field(min_length=3, max_length=6)]
DampingRow = Annotated[list[DampingEntry], Field(min_length=3, max_length=6)]
Place = str | Node | Point
