"""Model data perturbed by a relative amount: a result that rests on a last bit changes.

With FROZEN_MOTION_PERTURBATION=1e-13 in the environment every material has another E and rho, and
every FrozenSystem that a test module makes has another M, C + D and K. All parts that multiply the
same derivative get one factor, so that symmetries, null spaces and what cancels stay as they are.
`make kernels` runs the numerical tests so.
"""

from __future__ import annotations

import sys
import zlib
from typing import Any

import assembly
from assembly import FrozenSystem, Material

VARIABLE = "FROZEN_MOTION_PERTURBATION"
GROUPS = {
    "M": ("M",),
    "C": ("C", "D"),
    "K": ("K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport"),
}


def factor(what: str, size: float) -> float:
    """1 + size × a number between −1 and 1 that belongs to the word."""
    return 1.0 + size * (zlib.crc32(what.encode()) / 2**31 - 1.0)


def perturb(size: float) -> None:
    """From here on the materials, and the systems made by test modules, are perturbed."""
    check = Material.__post_init__
    make = FrozenSystem.__init__

    def perturbed(material: Material) -> None:
        check(material)
        for name in ("E", "rho"):
            value = float(getattr(material, name)) * factor(name, size)
            object.__setattr__(material, name, value)

    def of_matrices(
        system: FrozenSystem, M: Any, C: Any = None, K: Any = None, **others: Any
    ) -> None:
        parts = {"M": M, "C": C, "K": K, **others}
        if sys._getframe(1).f_globals["__name__"].startswith("tests."):
            for group, names in GROUPS.items():
                for name in names:
                    if parts.get(name) is not None:
                        parts[name] = scaled(parts[name], factor(group, size))
        make(system, **parts)

    Material.__post_init__ = perturbed  # type: ignore[method-assign]
    FrozenSystem.__init__ = of_matrices  # type: ignore[assignment, method-assign]
    for material in (assembly.steel, assembly.aluminium, assembly.titanium):
        perturbed(material)


def scaled(matrix: Any, by: float) -> Any:
    """A matrix, a list or a combination times a number; what holds no numbers stays as it is."""
    if hasattr(matrix, "scaled"):
        return matrix.scaled(by)
    try:
        if hasattr(matrix, "shape"):
            return matrix * by
        return [[x * by for x in row] for row in matrix]
    except TypeError:
        return matrix
