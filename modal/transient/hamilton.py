"""Hamilton's first-order form in displacement and momentum.

Vlase, Nicolescu & Marin, Mathematics 2020, 8, 1401, eq. 8–13, corrected (docs/theory.md).

    p = M q̇ + G q,    q̇ = M⁻¹(p − G q),    ṗ = Gᵀ q̇ − S q − D q̇ − N q + F

G = G(ω) of one body, in general half the skew part of C; S the symmetric stiffness (the elastic K
counts once: −½[k]{δ} in eq. 13 is a misprint); N the part without a potential. The Euler
matrix K(ε) and Ṁ do not appear: they are Ġ and the symmetric part of C, which the derivative of p
contains. That holds when C + Cᵀ = 2 Ṁ and the skew part of the stiffness is Ġ, that is for the
consistent form of a mechanism (transport=True, docs/theory.md). Models that are not of this form
are rejected.

The paper's momentum also has the constant terms of the rigid motion, ∫ρNᵀ(ṙ_O + ω̃ r): they shift
p by a function of time, whose derivative is part of the load Q, and change nothing in q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from assembly.errors import InputError
from modal.eigen.tolerances import GROUP
from modal.reduction.interpolation import CHECKS, irregular
from modal.transient.equations import SecondOrderModel
from modal.transient.tolerances import NEGLIGIBLE, REMEMBERED
from modal.types import Array

Matrix = Any  # a sparse matrix, or the values of one on a shared pattern


@dataclass(frozen=True)
class CanonicalInstant:
    """M, G, S + N, the coefficient of q in −ṗ, and Gᵀ − D, that of q̇ in ṗ, each (n, n)."""

    M: Matrix
    G: Matrix
    on_displacement: Matrix
    on_velocity: Matrix

    def momentum(self, q: Array, v: Array) -> Array:
        """p = M q̇ + G q."""
        return np.asarray(self.M @ v + self.G @ q)


class CanonicalModel:
    """The canonical form of a second-order model over a span of time.

    Raises InputError when the model is not of Lagrange's form (see the module's docstring).
    """

    def __init__(self, equations: SecondOrderModel, t_span: tuple[float, float]) -> None:
        self.equations = equations
        self.mass_is_constant, self.gyroscopic_is_constant = self._inspect(*t_span)
        self._recent = lru_cache(maxsize=REMEMBERED)(self._instant)

    def at(self, t: float) -> CanonicalInstant:
        """The canonical matrices at t."""
        return self._recent(0.0 if self.equations.constant else t)

    def _instant(self, t: float) -> CanonicalInstant:
        here, S = self.equations.at(t), self.equations.potential(t)
        G, D, N = _gyroscopic(here), here.D, here.K_D
        if self.mass_is_constant:
            D = D + 0.5 * (here.C + here.C.T)
        if self.gyroscopic_is_constant:
            N = N + (here.stiffness - here.K_D - S)
        return CanonicalInstant(here.M, G, S + N, G.T - D)

    def _inspect(self, t0: float, t1: float) -> tuple[bool, bool]:
        if self.equations.constant:
            return True, True
        mass, gyroscopic = True, True
        rates = []
        for t in t0 + (t1 - t0) * irregular(CHECKS):
            delta = GROUP * (t1 - t0)
            before, here, after = (self.equations.at(s) for s in (t - delta, t, t + delta))
            M_rate = (after.M - before.M) / (2.0 * delta)
            G_rate = (_gyroscopic(after) - _gyroscopic(before)) / (2.0 * delta)
            mass &= _largest(M_rate) == 0.0
            gyroscopic &= _largest(G_rate) == 0.0
            rates.append((float(t), here, M_rate, G_rate))
        for t, here, M_rate, G_rate in rates:
            if not mass:
                symmetric = 0.5 * (here.C + here.C.T)
                _compare("C + Cᵀ", "2 dM/dt", t, here.C, symmetric, M_rate)
            if not gyroscopic:
                skew = here.stiffness - here.K_D - self.equations.potential(t)
                law = "half the rate of C's"
                _compare("the skew part of K", law, t, here.stiffness, skew, G_rate)
        return mass, gyroscopic


def _gyroscopic(here: Any) -> Matrix:
    """G, half the skew part of C."""
    return 0.25 * (here.C - here.C.T)


def _compare(
    name: str,
    law: str,
    t: float,
    whole: Matrix,
    found: Matrix,
    due: Matrix,
    tolerance: float = 1e-5,
) -> None:
    """whole: the matrix of which `found` is a part. tolerance: of ‖Ṁ‖, ‖Ġ‖ and the part's own size;
    the error of central differences."""
    size = max(_largest(found), _largest(due))
    if _largest(found - due) > tolerance * size + NEGLIGIBLE * _largest(whole):
        gap = _largest(found - due) / size
        raise InputError(
            f"formalism: Hamilton's form needs {name} = {law}; at t = {t:.6g} s they differ by "
            f"{gap:.1e} of their size: put damping in D and circulatory terms in K_D, use "
            'transport=True, or formalism="lagrange"'
        )


def _largest(A: Matrix) -> float:
    return float(abs(A.data).max()) if A.nnz else 0.0
