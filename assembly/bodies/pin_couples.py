"""The couple by which a pin holds a node, which rotates with the node."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.kinematics import skew
from assembly.types import Array, Index


def held_couples(dofs: DofMap, hold: Index, reaction: Array) -> sp.csr_matrix:
    """½ M̃ (n, n) on the rotations of each held node, M the couple that holds it.

    The couple of a pin rotates with its node. On the rotation vector its virtual work is
    ½ (φ × M)·δφ beyond M·δφ. It vanishes for a hinge and in the plane.

    Parameters
    ----------
    dofs : DofMap
        The n degrees of freedom of the body.
    hold : ndarray of int
        Degrees of freedom that carry a reaction.
    reaction : ndarray
        Forces and couples on them, N and N·m.
    """
    component, node_of = dofs.component[hold], dofs.node[hold]
    nodes, counts = np.unique(node_of[component >= 3], return_counts=True)
    nodes = nodes[counts > 1]
    shape = (len(dofs), len(dofs))
    if not nodes.size:
        return sp.csr_matrix(shape)
    couples = sp.lil_matrix(shape)
    for node in nodes:
        of_node = (component >= 3) & (node_of == node)
        rows, axes = hold[of_node], component[of_node] - 3
        M = np.zeros(3)
        M[axes] = reaction[of_node]
        couples[np.ix_(rows, rows)] = 0.5 * skew(M)[np.ix_(axes, axes)]
    return sp.csr_matrix(couples)
