"""The operators of one instant in a projection, and which images of shapes follow from others.

Q(λ) is written as Σ p_u(λ) A_u of symmetric and skew operators A_u. Proportional damping, aM + bK,
takes the images of the mass and the stiffness. With an isotropic interpolation the mass is m ⊗ I,
the Coriolis and Euler matrices are m ⊗ w̃ (docs/theory.md, "One body in a moving frame"): their
images are those of the mass, rotated node by node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.linalg.combination import Combination, Kronecker, Operator
from modal.eigen.mirror_parts import Part
from modal.eigen.quadratic import Quadratic
from modal.types import Array, Complex, Mask


@dataclass(frozen=True)
class Unit:
    """One operator A = (I ⊗ rotation) S, or S itself, with its coefficient in Q(λ).

    Parameters
    ----------
    stored : str
        Name of the matrix S whose images of the shapes are stored.
    sign : int
        +1 for a symmetric A, −1 for a skew one.
    polynomial : ndarray, shape (3,)
        Coefficients of 1, λ and λ².
    rotation : ndarray, shape (d, d), optional
    """

    stored: str
    sign: int
    polynomial: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array | None = None

    def weight(self, lam: Complex, transposed: Mask) -> Complex:
        """The coefficient in Q(λ), or in its transpose, for every λ."""
        c0, c1, c2 = self.polynomial
        return np.asarray(np.where(transposed, self.sign, 1) * (c0 + lam * (c1 + lam * c2)))

    def rotated(self, image: NDArray[Any]) -> NDArray[Any]:
        """A q from S q, (n, p)."""
        if self.rotation is None:
            return image
        out, d = np.zeros_like(image), len(self.rotation)
        for i, j in np.argwhere(self.rotation):
            out[i::d] += self.rotation[i, j] * image[j::d]
        return out


class Operators:
    """The units of an instant by name, and the matrices that are applied to shapes.

    The unit "stiffness" is the symmetric part of K; its images are not computed by a product.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        mass, stiffness = quadratic.mass_part, quadratic.stiffness_parts.symmetric
        self.matrices: dict[str, Operator] = {"mass": _applied(mass)}
        self.units = {"stiffness": Unit("stiffness", 1), "mass": Unit("mass", 1)}
        self._add("stiffness", 0, 1.0)
        self._add("mass", 2, 1.0)
        symmetric = [("stiffness", stiffness), ("mass", mass)]
        gyroscopic = quadratic.damping_parts.skew
        self._place("damping", quadratic.damping_parts.symmetric, 1, 1, symmetric)
        self._place("gyroscopic", gyroscopic, -1, 1, [], mass)
        circulatory = quadratic.stiffness_parts.skew
        self._place("circulatory", circulatory, -1, 0, [("gyroscopic", gyroscopic)], mass)

    def _add(self, name: str, power: int, factor: float) -> None:
        polynomial = self.units[name].polynomial.copy()
        polynomial[power] += factor
        self.units[name] = replace(self.units[name], polynomial=polynomial)

    def _place(
        self,
        name: str,
        part: Part | None,
        sign: int,
        power: int,
        others: Iterable[tuple[str, Part | None]],
        mass: Part | None = None,
    ) -> None:
        """Enter λ^power × part: multiples of others first, then what remains as its own unit."""
        for other_name, other in others:
            if part is None or other is None:
                continue
            factor, part = part.without_multiple(other)
            if factor:
                self._add(other_name, power, factor)
        if part is None or (part.terms is None and part.matrix.nnz == 0):
            return
        rotation = None if mass is None else _rotation(part, mass)
        if rotation is None:
            self.matrices[name] = _applied(part)
            self.units[name] = Unit(name, sign)
        else:
            self.units[name] = Unit("mass", sign, rotation=rotation)
        self._add(name, power, 1.0)


def _kronecker(part: Part) -> Kronecker | None:
    """The part as one Kronecker product, if all its terms have one scalar matrix."""
    if part.terms is None or part.terms.is_zero:
        return None
    if not all(isinstance(A, Kronecker) for _, A in part.terms.terms):
        return None
    first = part.terms.terms[0][1]
    if any(A.m is not first.m or A.a.shape != first.a.shape for _, A in part.terms.terms):
        return None
    return Kronecker(first.m, np.sum([c * A.a for c, A in part.terms.terms], axis=0))


def _applied(part: Part) -> Operator:
    """The cheaper form of the part for a product: Kronecker products are not expanded."""
    terms = () if part.terms is None else tuple(part.terms.merged())
    expanded = not terms or not all(isinstance(A, Kronecker) for _, A in terms)
    applied: Operator = part.matrix if expanded else Combination(terms[0][1].shape, terms)
    return applied


def _rotation(part: Part, mass: Part) -> Array | None:
    """The small matrix a with part = (I ⊗ a) mass, or None."""
    small, whole = _kronecker(part), _kronecker(mass)
    if small is None or whole is None or not whole.scalar or small.m is not whole.m:
        return None
    return np.asarray(small.a / whole.scalar)
