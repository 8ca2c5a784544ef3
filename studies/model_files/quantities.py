"""The types of values in a model file: numbers of a size that the formulas can represent, with or
without a unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from assembly import magnitudes
from studies.reporting.ranges import nearest

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


def expected(it: str) -> PydanticCustomError:
    """The error of a value of which something else is expected."""
    return PydanticCustomError("expected", "expected {it}", {"it": it})


def in_si(text: str, units: str, angular: bool = False) -> float:
    """The value in SI of a number with a unit, as in "1.5 mm".

    units: what is accepted, " or " between them. An angle counts as a number, except where
    `angular` says that it is what is measured: 50 Hz is not accepted for an angular velocity.
    Raises PydanticCustomError that says what would be accepted.
    """
    names, compared = units.split(" or "), slice(4 if angular else 3)
    match = _VALUE.match(text)
    if match is None or match[2] is None:
        raise expected(f'a number, or one with a unit as in "1.5 {names[0]}"')
    factor, kind = dimension(match[2])
    if kind[compared] not in [dimension(name)[1][compared] for name in names]:
        raise expected(f"a value in {names[0]}, not in {match[2].strip()}")
    return float(match[1]) * factor


def dimension(text: str) -> tuple[float, Dimension]:
    """Factor to SI and dimension of a product of units, as in "N·m/rad" or "kg m^2".

    Raises PydanticCustomError for a unit that is not in the table.
    """
    factor, total, sign = 1.0, np.zeros(4, dtype=int), 1
    for part in re.split(r"([*·/\s]+)", text.strip().translate(_SUPERSCRIPTS)):
        if not part.strip("*· \t"):
            continue
        if part.strip("*· \t") == "/":
            if sign < 0:
                raise expected(f"a unit with one / at most, got {text.strip()!r}")
            sign = -1
            continue
        match = _FACTOR.match(part)
        if match is None or match[1] not in UNITS:
            raise expected(f"a known unit ({', '.join(UNITS)}), got {part!r}")
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

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, values: Any) -> Any:
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                hint = {"key": key, "hint": nearest(key, cls.model_fields)}
                raise PydanticCustomError("unknown_key", "unknown key; {hint}", hint)
        return values

    def arguments(self, *without: str) -> dict[str, Any]:
        """The values by key, without those keys, for the function that has arguments of these
        names."""
        return {key: value for key, value in self if key not in without}


@dataclass(frozen=True)
class Quantity:
    """A number of a size that the formulas can represent: in SI, or a text with a unit.

    Stands in `Annotated[float, Quantity(...)]`.

    Parameters
    ----------
    magnitude : Magnitude
        The sizes that are accepted.
    units : str, optional
        Units in SI with " or " between them; by default those of the magnitude, "" where a text is
        not accepted.
    angular : bool
        As of `in_si`.
    """

    magnitude: magnitudes.Magnitude
    units: str | None = None
    angular: bool = False

    @property
    def unit_names(self) -> str:
        """The units, " or " between them."""
        return self.magnitude.unit if self.units is None else self.units

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        of_size = core_schema.no_info_after_validator_function(self._of_size, handler(source))
        if not self.unit_names:
            return of_size

        def read(value: Any) -> Any:
            text = isinstance(value, str)
            return in_si(value, self.unit_names, self.angular) if text else value

        return core_schema.no_info_before_validator_function(read, of_size)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        if not self.unit_names:
            return handler(schema)
        number = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*[^\s\d].*$"
        text = {"type": "string", "pattern": number}
        return {"anyOf": [{"type": "number"}, text], "x-unit": self.unit_names}

    def _of_size(self, value: float) -> float:
        if not self.magnitude.accepts(value):
            raise expected(self.magnitude.expected)
        return value


_ANGLE = magnitudes.Magnitude("angle", "rad", 0.0, 1e9, signed=True)
_COMPONENT = magnitudes.Magnitude("component", "", 0.0, 1e9, signed=True)
_TIME = magnitudes.Magnitude("positive time", "s", 1e-24, 1e12)

Number = Annotated[float, Quantity(_COMPONENT)]
Length = Annotated[float, Quantity(magnitudes.LENGTH)]
Position = Annotated[float, Quantity(magnitudes.POSITION)]
Angle = Annotated[float, Quantity(_ANGLE, angular=True)]
Time = Annotated[float, Quantity(_TIME)]
Rate = Annotated[float, Quantity(magnitudes.RATE, "rad/s", angular=True)]
SlideRate = Annotated[float, Quantity(magnitudes.RATE, "m/s")]
Rpm = Annotated[float, Quantity(magnitudes.SPEED_RPM, "")]
Acceleration = Annotated[float, Quantity(magnitudes.ACCELERATION)]
Modulus = Annotated[float, Quantity(magnitudes.MODULUS)]
Density = Annotated[float, Quantity(magnitudes.DENSITY)]
Mass = Annotated[float, Quantity(magnitudes.MASS)]
Inertia = Annotated[float, Quantity(magnitudes.INERTIA)]
InertiaEntry = Annotated[float, Quantity(magnitudes.INERTIA_ENTRY)]
Area = Annotated[float, Quantity(magnitudes.AREA)]
SecondMoment = Annotated[float, Quantity(magnitudes.SECOND_MOMENT)]
DampingMass = Annotated[float, Quantity(magnitudes.DAMPING_MASS)]
DampingStiffness = Annotated[float, Quantity(magnitudes.DAMPING_STIFFNESS)]
Entry = Annotated[float, Quantity(magnitudes.ENTRY, "")]
StiffnessEntry = Annotated[float, Quantity(magnitudes.ENTRY, "N/m or N·m/rad or N/rad")]
DampingEntry = Annotated[float, Quantity(magnitudes.ENTRY, "N·s/m or N·m·s/rad or N·s/rad")]
Stiffness = Annotated[StiffnessEntry, Field(ge=0.0)]
DampingCoefficient = Annotated[DampingEntry, Field(ge=0.0)]
Force = Annotated[float, Quantity(magnitudes.ENTRY, "N or N·m")]
UnbalanceSize = Annotated[float, Quantity(magnitudes.ENTRY, "kg m")]

Elements = Annotated[int, Field(ge=1, le=100_000)]
Node = Annotated[int, Field(ge=0, le=2**53)]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Point = Annotated[list[Position], Field(min_length=2, max_length=3)]
Point3 = Annotated[list[Position], Field(min_length=3, max_length=3)]
Direction = Annotated[list[Number], Field(min_length=2, max_length=3)]
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]
StiffnessRow = Annotated[list[StiffnessEntry], Field(min_length=3, max_length=6)]
DampingRow = Annotated[list[DampingEntry], Field(min_length=3, max_length=6)]
StiffnessMatrix = list[StiffnessRow]
DampingMatrix = list[DampingRow]
Place = str | Node | Point
