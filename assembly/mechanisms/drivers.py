"""Drivers of a mechanism: motors that prescribe the motion of a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from assembly.motion.laws import Law, as_law


@dataclass(frozen=True)
class Driver:
    """A motor: prescribes the angle (rad) or the displacement (m) of a joint by a law of time.

    Parameters
    ----------
    joint : str
        Name of the joint.
    law : Law
        (q, q̇, q̈) over time.
    held : bool
        Whether the driver also constrains the elastic degrees of freedom. A driver that does not
        only maintains the rigid motion: its force is applied as a load, and the rigid velocity
        field of the mechanism stays free.
    of : {"angle", "displacement", None}
        Which motion of a cylindrical joint.
    """

    joint: str
    law: Law
    held: bool = True
    of: Literal["angle", "displacement"] | None = None


def driver(
    joint: str,
    law: Law | float | Callable[[float], tuple[float, float, float]],
    *,
    held: bool = True,
    of: Literal["angle", "displacement"] | None = None,
) -> Driver:
    """A driver of a joint.

    Parameters
    ----------
    joint : str
        Name of a revolute, prismatic or cylindrical joint.
    law : float, Law or callable
        A constant rate (rad/s or m/s), a law, or a function t → (q, q̇, q̈).
    held : bool
        Whether the driver also constrains the elastic degrees of freedom; see `Driver`.
    of : {"angle", "displacement", None}
        Which motion of a cylindrical joint.

    Returns
    -------
    Driver

    Raises
    ------
    MotionError
        For a law that is none of these.
    """
    return Driver(joint, as_law(law), held, of)
