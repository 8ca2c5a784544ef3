"""What a body is made of, with what follows from it without a matrix over all families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
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
        """What resists rigid motions (ElementFamily.frame_stiffness), a matrix a family."""
        matrices = (family.frame_stiffness().tocsr() for family in self.families)
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
