"""Fingerprints of mechanisms with large links, without the matrices of the whole mechanism.

Every link is restricted to a few seeded random shapes; the frozen systems of the mechanism of these
links then represent those of the mechanism itself, as yᵀAx represents a matrix A.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.bodies.reduced import ReducedBody, fixed_operators
from assembly.mechanisms.mechanism import Mechanism, MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism, link_slaves
from assembly.system.frozen import FrozenSystem
from modal.reduction.link_space import Link, links_of
from modal.types import Index


class LinkProbe:
    """Small frozen systems that represent those of mechanisms of the same links.

    first: one of the large ones.
    """

    def __init__(self, first: MechanismSystem) -> None:
        self._first = first.mechanism
        slaves = link_slaves(self._first, first.driven)
        loads = links_of(self._first)
        self._links = {name: _sampled(link, slaves[name]) for name, link in loads.items()}
        self._small: tuple[Mechanism, ReducedMechanism] | None = None

    def system(self, system: FrozenSystem) -> FrozenSystem:
        """The small system of a large one; of another kind, the system itself."""
        if not isinstance(system, MechanismSystem):
            return system
        if self._small is None or self._small[0] is not system.mechanism:
            small = ReducedMechanism(system.mechanism, self._links, system.driven, self._first)
            self._small = system.mechanism, small
        prestress = system.prestress
        return self._small[1].freeze(system.t, system.transport, prestress, system.driven)


def _sampled(link: Link, slaves: Index, shapes: int = 4) -> ReducedBody:
    """The link in the unit displacements of the slaves, its rigid motions and random shapes."""
    body, operators = link.body, fixed_operators(link.body, link.stressing, link.units)
    M, K = operators["M", 0], operators["K", 0]
    units = np.zeros((body.size, len(slaves)))
    units[slaves, np.arange(len(slaves))] = 1.0
    random = np.random.default_rng(53).choice([-1.0, 1.0], (body.size, shapes))
    diagonal = np.abs(K.tocsr().diagonal())
    random *= (1.0 / np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max())))[:, None]
    fields = body.dofs.rigid_fields()
    X = np.hstack([units, fields[:, np.abs(fields).max(axis=0) > 0.0], random])
    gram = X.T @ (M @ X)
    scale = 1.0 / np.sqrt(np.diag(gram))
    # Cholesky's factor, which round-off changes little, unlike vectors of eigenvalues.
    L = la.cholesky(scale[:, None] * gram * scale, lower=True)
    V = np.asarray(la.solve_triangular(L, (X * scale).T, lower=True).T)
    matrices = np.stack([V.T @ np.asarray(operator @ V) for operator in operators.values()])
    numbers = {key: k for k, key in enumerate(operators)}
    return ReducedBody.of(body, V, slaves, numbers, matrices, link.stressing.shape[1])
