"""Orders of convergence of plane and solid elements, against an exact elastic mode of a box.

With the normal displacement of every face held and the tangential one free, the shear field
u = (b sin(πx/a)cos(πy/b), −a cos(πx/a)sin(πy/b)), in proportion to the wave numbers, is a mode:
ω² = (G/ρ)(π²/a² + π²/b²). Frequencies of elements of degree p converge with order 2p.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import assembly
from assembly import gallery
from tests.support.continua import PLANES, SOLIDS

A, B = 1.0, 0.7
EXACT = np.sqrt(assembly.steel.G / assembly.steel.rho * ((np.pi / A) ** 2 + (np.pi / B) ** 2))
ORDER = {"tet4": 2, "tet10": 4, "hex8": 2, "hex20": 4, "t3": 2, "t6": 4, "q4": 2, "q8": 4}


def error(element: str, n: int) -> float:
    if element in SOLIDS:
        made = gallery.block(n, n, 1, element, (A, B, A / n), clamped=None)
    else:
        made = gallery.sheet(n, n, element, (A, B), clamped=None, state="strain")
    fixed = np.zeros(made.size, dtype=bool)
    for face, nodes in made.sets.items():
        fixed[made.dofs.of_nodes(nodes, ["xyz".index(face[0])])] = True
    system = replace(made, fixed=fixed).freeze()
    near = spla.eigsh(system.K, 3, system.M, sigma=0.99 * EXACT**2, return_eigenvectors=False)
    found = np.sqrt(near)
    return float(abs(found / EXACT - 1.0).min())


@pytest.mark.parametrize("element", SOLIDS + PLANES)
def test_frequency_converges_with_the_order_of_the_family(element: str) -> None:
    counts = (6, 12) if ORDER[element] == 4 else (10, 20)
    coarse, fine = (error(element, n) for n in counts)
    assert fine < 2e-2
    assert np.log2(coarse / fine) == pytest.approx(ORDER[element], abs=0.25)
