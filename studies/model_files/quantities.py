"""The types of values in a model file: numbers of a size that the formulas can represent, with or
without a unit."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from assembly import magnitudes
from studies.model_files.units import Unit, UnitError


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
_FORCE = Unit.of("N", "N m")
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
Force = Annotated[float, _in_unit(_FORCE), _of_size(magnitudes.ENTRY), _schema("N or N·m")]
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
