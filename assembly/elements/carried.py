"""Families on DOFs of their own that follow linearly from the DOFs of a body."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from assembly.elements.family import ElementFamily


class CarriedFamily(ElementFamily):
    """A family `inner` with the body's DOFs brought to its own by B, (inner size, size)."""

    inner: ElementFamily
    B: sp.csr_matrix

    def _carried(self, A: Any) -> sp.csr_matrix:
        return sp.csr_matrix(self.B.T @ A.tocsr() @ self.B)

    def mass(self) -> sp.csr_matrix:
        return self._carried(self.inner.mass())

    def stiffness(self) -> sp.csr_matrix:
        return self._carried(self.inner.stiffness())

    def frame_stiffness(self) -> sp.csr_matrix:
        return self._carried(self.inner.frame_stiffness())

    def gyroscopic(self) -> tuple[sp.csr_matrix, ...]:
        return tuple(self._carried(A) for A in self.inner.gyroscopic())

    def centrifugal(self) -> tuple[sp.csr_matrix, ...]:
        return tuple(self._carried(A) for A in self.inner.centrifugal())

    def damping(self) -> sp.csr_matrix:
        return self._carried(self.inner.damping())

    def external_damping(self) -> sp.csr_matrix:
        return self._carried(self.inner.external_damping())
