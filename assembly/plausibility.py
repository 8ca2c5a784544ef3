"""Questions about values that can be computed with and that hardly anybody means.

A modulus given in MPa or a length in mm gives a model that runs and answers wrongly. Each check
compares a value with what real materials and machines have, and asks in one line by a
`PlausibilityWarning`; the computation goes on. `assembly.known_materials` has the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assembly.known_materials import material_questions

if TYPE_CHECKING:
    from assembly.body import Body
    from assembly.elements.cells import CellBlock

Array = NDArray[np.float64]

# A drill string is 40,000 times as long as it is wide, a helicopter blade 30 times, and lengths in
# mm make a part that is 5 times as long 5,000 times as long.
LONGEST, SHORTEST = 5_000.0, 0.05  # length of a beam over the depth of its section
THICKEST = 100.0  # thickness of a plane body over its size; a thickness of 1 m is per metre
HEAVIEST = 1e8  # kg: seven times the heaviest land vehicle, the excavator Bagger 288
FASTEST = 2_000.0  # m/s: flywheels of carbon fibre reach 1,400
OFF_AXIS = 1e-3  # distance of the centre of mass from the axis over the size of the body


class PlausibilityWarning(UserWarning):
    """A value that is probably a mistake, such as a modulus in MPa.

    key: the argument, or the place in a model file. value: as given, None where nothing is.
    question: in words.
    """

    def __init__(self, key: str, value: Any, question: str) -> None:
        super().__init__(key, value, question)
        self.key, self.value, self.question = key, value, question

    def __str__(self) -> str:
        given = "" if self.value is None else f" = {self.value!r}"
        return f"{self.key}{given}: {self.question}"


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
        _ask(key, dict(E=stiffest, nu=nu, rho=rho)[key], question, stacklevel=5)


def check_slenderness(length: float, depth: float) -> None:
    """Asks about a beam's length (m) that does not go with the depth (m) of its section."""
    ratio = length / depth
    if not SHORTEST <= ratio <= LONGEST:
        _ask(
            "length",
            length,
            f"the beam is {ratio:.2g} times as long as its section is deep ({depth:.3g} m); are"
            " length and section both in m?",
        )


def check_thickness(thickness: float, size: float) -> None:
    """Asks about a plane body that is much thicker than large; a thickness of 1 m is per metre."""
    if thickness != 1.0 and thickness > THICKEST * size:
        _ask(
            "thickness",
            thickness,
            f"the body is {thickness / size:.2g} times as thick as it is large ({size:.3g} m); are"
            " thickness and mesh both in m?",
        )


def check_mass(mass: float, key: str, value: Any) -> None:
    """Asks about a body that is heavier than any machine part, kg."""
    if mass > HEAVIEST:
        unit = "is this in kg" if key == "mass" else "are its lengths in m"
        _ask(key, value, f"the body has a mass of {mass:.2g} kg; {unit}?")


def check_speed(speed: float, key: str, value: Any, unit: str) -> None:
    """Asks about a point that moves faster than any machine part, m/s."""
    if speed > FASTEST:
        text = f"a point of the body moves at {speed:.3g} m/s"
        _ask(key, value, f"{text}; is this in {unit}, and are lengths in m?")


def check_rotation(body: Body, omega: Array) -> None:
    """Asks about a body that turns too fast about an axis through the origin; omega (3,), rad/s."""
    speed = np.linalg.norm(np.cross(omega, body.dofs.coordinates), axis=1).max(initial=0.0)
    check_speed(float(speed), "omega", float(np.linalg.norm(omega)), "rad/s")


def check_support(body: Body, axis: Array) -> None:
    """Asks about a body that nothing holds and that turns about an axis beside its centre of mass.

    axis: (3,), of the rotation, through the origin. A free body turns about its centre of mass: to
    turn about another point takes a force, so a clamp, a pin or a spring is missing.
    """
    if body.fixed.any():
        return
    along = body.dofs.rigid_fields()[:, :3]
    K = body.operators.K.tocsr()
    if np.abs(K @ along).max(initial=0.0) > 1e-9 * np.abs(K.data).max(initial=0.0):
        return  # springs to the frame hold it
    mass = np.diag(along.T @ (body.operators.M.tocsr() @ along)).max()
    unit = np.asarray(axis) / np.linalg.norm(axis)
    # The inertia loads of ω = 1 about the axis add up to m times the arm of the centre of mass.
    coefficients = np.concatenate([unit**2, unit[[0, 0, 1]] * unit[[1, 2, 2]], np.zeros(6)])
    arm = float(np.linalg.norm(along.T @ (body.inertia_loads @ coefficients))) / mass
    if arm > OFF_AXIS * max(float(np.ptp(body.dofs.coordinates, axis=0).max()), arm):
        _ask(
            "clamped",
            None,
            f"nothing holds the body, and its centre of mass is {arm:.3g} m from the axis it turns"
            " about; is `clamped` or `pinned` missing?",
        )


def corner_volume(points: Array, block: CellBlock) -> float:
    """Volume (m³) of solid cells, or area (m²) of plane ones, from their corners."""
    X = points[block.nodes]
    if block.kind.startswith("tetra"):
        return float(np.abs(np.linalg.det(X[:, 1:4] - X[:, :1])).sum() / 6.0)
    if block.kind.startswith("hexahedron"):
        edges = [((0, 1), (3, 2), (4, 5), (7, 6)), ((0, 3), (1, 2), (4, 7), (5, 6))]
        edges.append(((0, 4), (1, 5), (2, 6), (3, 7)))
        means = [sum(X[:, b] - X[:, a] for a, b in four) / 4.0 for four in edges]
        return float(np.abs(np.linalg.det(np.stack(means, axis=1))).sum())
    last = 2 if block.kind.startswith("triangle") else 3
    across = np.cross(X[:, last] - X[:, 1], X[:, 2 if last == 3 else 1] - X[:, 0])
    return float(0.5 * np.linalg.norm(across, axis=1).sum())


def _ask(key: str, value: Any, question: str, stacklevel: int = 4) -> None:
    warnings.warn(PlausibilityWarning(key, value, question), stacklevel=stacklevel)
