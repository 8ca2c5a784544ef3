"""The matrices of a rotor in multiblade coordinates, at an azimuth and in the mean.

With q = W(t) z (modal/periodic/coleman.py) the equations of z are

    WᵀMW z̈ + [WᵀVW + 2 WᵀMẆ] ż + [WᵀKW + WᵀVẆ + WᵀMẄ] z = WᵀQ,    V = C + D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.tolerances import ROUND_OFF
from modal.periodic.tolerances import DENSE

MATRICES = {"M": ("M",), "C": ("C", "D"), "K": tuple(p for p in PARTS if p not in ("M", "C", "D"))}

Parts = dict[str, Any]  # the parts that are not zero, full or sparse (n, n)


def transformed(system: FrozenSystem, W: Any, rate: Any, second: Any) -> Parts:
    """The parts of a frozen system in multiblade coordinates, each in the part where it belongs.

    W, Ẇ, Ẅ (n, n), of its degrees of freedom.
    """
    full = system.n <= DENSE
    if full:
        W, rate, second = (A.toarray() if sp.issparse(A) else A for A in (W, rate, second))
    matrices = {
        name: getattr(system, name).toarray() if full else getattr(system, name)
        for name in PARTS
        if not system.parts[name].is_zero
    }
    parts: Parts = {name: _product(W, A, W) for name, A in matrices.items()}
    M = matrices["M"]
    _add(parts, "K_transport", _product(W, M, second))
    _add(parts, "C", 2.0 * _product(W, M, rate))
    for name, target in (("C", "K_transport"), ("D", "K_D")):
        if name in matrices:
            _add(parts, target, _product(W, matrices[name], rate))
    return parts


def frozen(parts: Parts, **attributes: Any) -> FrozenSystem:
    """The frozen system of the parts."""
    return FrozenSystem(**{name: _mirrored(A) for name, A in parts.items()}, **attributes)


def mean(samples: Sequence[Parts]) -> Parts:
    """The mean of every part."""
    names = sorted({name for parts in samples for name in parts})
    return {name: sum(p[name] for p in samples if name in p) / len(samples) for name in names}


def variation(samples: Sequence[Parts], average: Parts) -> Mapping[str, float]:
    """Largest difference of M, C + D and all stiffness from the mean, relative.

    Frobenius norms, every degree of freedom scaled by the root of its mean inertia. C is compared
    with the larger of its own norm and the root of those of M and K.
    """
    inertia = np.maximum(average["M"].diagonal(), np.finfo(float).tiny)
    root = 1.0 / np.sqrt(inertia)

    def total(parts: Parts, names: Sequence[str]) -> Any:
        return sum((parts[name] for name in names if name in parts), start=0.0 * average["M"])

    def size(A: Any) -> float:
        if sp.issparse(A):
            return float(sp.linalg.norm(A.multiply(root[:, None]).multiply(root)))
        return float(np.linalg.norm(root[:, None] * A * root))

    whole = {key: size(total(average, names)) for key, names in MATRICES.items()}
    whole["C"] = max(whole["C"], float(np.sqrt(whole["M"] * whole["K"])))
    out = {}
    for key, names in MATRICES.items():
        steady = total(average, names)
        worst = max(size(total(parts, names) - steady) for parts in samples)
        out[key] = worst / whole[key] if whole[key] > 0.0 else 0.0
    return out


def _add(parts: Parts, name: str, A: Any) -> None:
    parts[name] = parts[name] + A if name in parts else A


def _product(W: Any, A: Any, X: Any) -> Any:
    """WᵀAX without the entries that are round-off of their sums."""
    B, size = W.T @ (A @ X), ROUND_OFF * (abs(W).T @ (abs(A) @ abs(X)))
    if not sp.issparse(B):
        return np.where(np.abs(B) > size, B, 0.0)
    B = sp.csr_matrix(B.multiply(abs(B) > size))
    B.eliminate_zeros()
    return B


def _mirrored(A: Any) -> Any:
    """A symmetric or skew matrix without the round-off of its symmetry; others as they are."""
    size = _largest(A)
    for sign in (1.0, -1.0):
        if _largest(A - sign * A.T) <= ROUND_OFF * size:
            return 0.5 * (A + sign * A.T)
    return A


def _largest(A: Any) -> float:
    return float(abs(A).max())
