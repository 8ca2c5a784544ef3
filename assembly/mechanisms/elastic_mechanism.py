"""The independent degrees of freedom of a mechanism, and what vectors over them are."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.mechanisms.elastic_reduction import ElasticReduction, all_dofs
from assembly.mechanisms.rigid_mechanism import RigidMechanism
from assembly.types import Array, Inexact, Mask


class ElasticMechanism(RigidMechanism):
    """A mechanism whose joints, and drivers that hold, tie the degrees of freedom of its bodies."""

    _preferred: dict[str, str]  # for a joint, the body whose DOFs remain

    @cached_property
    def _reductions(self) -> dict[tuple[bool, ...], ElasticReduction]:
        return {}

    def held(self, driven: bool | None) -> Mask:
        """Which conditions (m,) tie the elastic DOFs."""
        rows = self.closure.rows
        return rows.held if driven is None else np.where(rows.driven, bool(driven), True)

    def elastic(self, driven: bool | None) -> ElasticReduction:
        """The independent DOFs where joints, and drivers that hold, tie the elastic ones."""
        held = self.held(driven)
        key = tuple(held.tolist())
        if key not in self._reductions:
            self._reductions[key] = ElasticReduction.chosen(self, held, self._preferred)
        return self._reductions[key]

    @cached_property
    def dofs(self) -> DofMap:
        """The degrees of freedom and nodes of all bodies, numbered in sequence; body axes."""
        return all_dofs(self.topology)

    def transformation(self, t: float, driven: bool | None = None) -> tuple[Any, Any, Any]:
        """The matrices T, Ṫ, T̈ of δ = T(t) q.

        Parameters
        ----------
        t : float
            s.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        T, rate, second : scipy.sparse.csr_matrix
            (all degrees of freedom, independent ones).

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        elastic = self.elastic(driven)
        _, pattern = elastic.pattern(True)
        T = elastic.transform(self.instant(t))
        first, rate, second = (pattern.matrix(T.data[k], rate=k > 0) for k in range(3))
        return first, rate, second

    def recover(self, t: float, q: Inexact, driven: bool | None = None) -> dict[str, Inexact]:
        """All degrees of freedom of every body from those of the frozen system.

        Parameters
        ----------
        t : float
            s.
        q : ndarray, shape (n, ...)
            Independent degrees of freedom, real or complex.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        dict of str to ndarray
            By body, in its own axes.

        Raises
        ------
        InputError
            For another length of `q`.
        """
        elastic = self.elastic(driven)
        _, pattern = elastic.pattern(True)
        if len(q) != len(pattern.masters):
            raise InputError(f"q: expected {len(pattern.masters)} DOFs, got {len(q)}")
        full = pattern.expand(np.asarray(q), elastic.transform(self.instant(t)).value)
        parts = np.split(full, self.topology.offsets[1:-1])
        return dict(zip(self.bodies, parts, strict=True))

    def deployed(
        self, t: float, q: Inexact | None = None, driven: bool | None = None
    ) -> dict[str, tuple[Array, Inexact]]:
        """Nodes and their displacements in fixed axes.

        Parameters
        ----------
        t : float
            s.
        q : ndarray, shape (n,), optional
            Degrees of freedom of the frozen system, real or complex; zero by default.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            By body: positions (N, 3) of the rigid motion and displacements (N, 3), m.
        """
        pose = self.state(t).pose
        shapes = {} if q is None else self.recover(t, q, driven)
        out = {}
        for i, (name, body) in enumerate(self.bodies.items()):
            nodes = pose.r[i] + body.dofs.coordinates @ pose.R[i].T
            moved = np.zeros_like(nodes) if q is None else body.dofs.displacement(shapes[name])
            out[name] = (nodes, moved @ pose.R[i].T)
        return out
