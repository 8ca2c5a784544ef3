"""What a body is made of, with what follows from it without a matrix over all families, and its
report in words: size, mass, supports, node sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.dofs import COMPONENTS, DofMap
from assembly.elements.family import ElementFamily
from assembly.system.supports import compatible, unresisted
from assembly.types import Array, Index, Mask


@dataclass(frozen=True)
class BodyData:
    """Degrees of freedom, element families, supports and damping; the fields of `Body`."""

    dofs: DofMap
    families: tuple[ElementFamily, ...]
    fixed: Mask
    hold: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    rayleigh: tuple[float, float] = (0.0, 0.0)
    name: str = "body"
    sets: Mapping[str, Index] = field(default_factory=dict)
    made_from: str = ""

    @property
    def size(self) -> int:
        """Number of degrees of freedom before supports."""
        return len(self.dofs)

    @cached_property
    def free(self) -> Index:
        """Numbers of the degrees of freedom that supports leave."""
        return np.flatnonzero(~self.fixed)

    @cached_property
    def frame_stiffness(self) -> tuple[sp.csr_matrix, ...]:
        """What resists rigid motions, a matrix a family."""
        matrices = (f.stiffness().tocsr() for f in self.families if f.resists_rigid_motions)
        return tuple(A for A in matrices if A.nnz)

    def unresisted(self, held: Mask) -> Array:
        """Rigid motions that leave the held degrees of freedom at rest and that no spring resists.

        Parameters
        ----------
        held : ndarray of bool, shape (n,)

        Returns
        -------
        ndarray, shape (n, m)
        """
        fields = self.dofs.rigid_fields()
        scale = 1.0 + np.abs(self.dofs.coordinates).max(initial=0.0)
        fields = fields[:, np.abs(fields).max(axis=0, initial=0.0) > 0.0]
        return unresisted(compatible(fields, held, scale), *self.frame_stiffness)


LISTED = 12  # node sets, or numbers of an array, that are written out


def body_report(body: BodyData, inertia_loads: Array) -> str:
    """The lines of `print(body)`."""
    X, dofs = body.dofs.coordinates, body.dofs
    names = [COMPONENTS[c] for c in sorted(set(dofs.component.tolist()))]
    lines = [
        f"body {body.name}: {len(X)} nodes, {body.size} degrees of freedom ({', '.join(names)}), "
        f"{len(body.free)} free"
    ]
    if body.made_from:
        lines.append(f"  made from {body.made_from}")
    low, high = X.min(axis=0), X.max(axis=0)
    spans = ", ".join(f"{a} {p:.6g} to {q:.6g}" for a, p, q in zip("xyz", low, high, strict=True))
    lines.append(f"  extent (m): {spans}")
    lines += _mass(body, inertia_loads)
    held = np.unique(dofs.node[body.fixed])
    if len(held):
        lines.append(f"  supports: {int(body.fixed.sum())} held at {_nodes(held)}")
    if len(body.hold):
        lines.append(f"  pinned: {len(body.hold)} carry the reaction of the hub")
    if not len(held) and not len(body.hold):
        lines.append("  supports: none")
    a, b = body.rayleigh
    if a or b:
        lines.append(f"  damping: {a:g} M + {b:g} K")
    for name, nodes in list(body.sets.items())[:LISTED]:
        lines.append(f"  set {name}: {_nodes(nodes)}")
    if len(body.sets) > LISTED:
        lines.append(f"  and {len(body.sets) - LISTED} more sets")
    return "\n".join(lines)


def _mass(body: BodyData, inertia_loads: Array) -> list[str]:
    """Total mass and centre, from the inertia loads of a unit acceleration."""
    fields = body.dofs.rigid_fields()
    along = int(np.argmax(np.abs(fields[:, :3]).max(axis=0)))  # a bar moves along x only
    loads = inertia_loads[:, 9 + along]
    mass = -float(fields[:, along] @ loads)
    if not mass > 0.0:
        return []
    lines = [f"  mass: {mass:.6g} kg"]
    if fields[:, :3].any(axis=0).all():
        unit = inertia_loads[:, 9:12]
        moments = -fields[:, 3:].T @ unit  # ∫ρ (e_k × X)·e_j, whose skew part is the mass × centre
        centre = -np.array([moments[1, 2], moments[2, 0], moments[0, 1]]) / mass
        lines[0] += ", centre (m): " + ", ".join(f"{v:.6g}" for v in centre + 0.0)
    return lines


def _nodes(nodes: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> str:
    """Up to six node numbers, or how many there are."""
    if len(nodes) > 6:
        return f"{len(nodes)} nodes"
    return ("node " if len(nodes) == 1 else "nodes ") + ", ".join(str(n) for n in nodes.tolist())
