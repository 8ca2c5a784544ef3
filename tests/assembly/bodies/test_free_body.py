"""The free planar body of references/A8_free_body.json, exact: how far freezing can mislead."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
import scipy.linalg as la
from scipy.cluster.hierarchy import fcluster, linkage

import assembly
from assembly.bodies.body import Body
from assembly.system.frozen import FrozenSystem
from tests.support.paths import REFERENCES

TABLE = json.loads((REFERENCES / "A8_free_body.json").read_text())
ROWS = (
    "C+Komega2+KG",
    "C+Komega2_noKG",
    "C_only",
    "C+KG_noKomega2",
    "C+Komega2+KG+Keps(eps=0.5)",
    "Omega=0",
)
SPIN, RATE = 3.0, 0.5
CLUSTER = 1e-3  # wider than √ε scatter, narrower than any gap of the table but the slow pair's


@cache
def free_beam() -> Body:
    """Three cubic elements, EA = 4900, EI = ρA = L = 1, no rotary inertia, centred on the axis."""
    section = assembly.Section(A=1.0, Iy=1.0 / 4900.0, Iz=1.0 / 4900.0, J=1e-4)
    alloy = assembly.Material(E=4900.0, nu=0.0, rho=1.0)
    return assembly.beam(
        1.0,
        section,
        alloy,
        3,
        theory="euler-bernoulli",
        planar=True,
        rotary_inertia=False,
        start=(-0.5, 0.0, 0.0),
    )


def row_system(row: str) -> FrozenSystem:
    spinning = free_beam().freeze((0.0, 0.0, SPIN))
    if row == "C+Komega2+KG":
        return spinning
    if row == "C+Komega2_noKG":
        return spinning.only("C", "K", "K_omega2")
    if row == "C_only":
        return spinning.only("C", "K")
    if row == "C+KG_noKomega2":
        return spinning.only("C", "K", "K_G")
    if row == "Omega=0":
        return free_beam().freeze()
    speeding = free_beam().freeze((0.0, 0.0, SPIN), (0.0, 0.0, RATE))
    # The table's K_G is that of ω² alone: the free body's ε load has no torque to balance it.
    return speeding.only("C", "K", "K_omega2", "K_epsilon", K_G=spinning.parts["K_G"])


def eigenvalues(system: FrozenSystem) -> np.ndarray:
    n = system.n
    M = system.M.toarray()
    lower = -la.solve(M, np.hstack([system.stiffness.toarray(), system.damping.toarray()]))
    return la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))


@pytest.mark.parametrize("row", ROWS)
def test_row_of_the_table(row: str) -> None:
    exact = np.array([complex(float(v["re"]), float(v["im"])) for v in TABLE["values"][row]])
    found = eigenvalues(row_system(row))
    found = found[np.argsort(np.abs(found))][: len(exact)]  # the table has the slowest 14 of 24
    points = np.stack([exact.real, exact.imag], axis=1)
    labels = fcluster(linkage(points, "single"), CLUSTER, "distance")
    nearest = np.abs(found[:, None] - exact).argmin(axis=1)
    for cluster in np.unique(labels):
        wanted, got = exact[labels == cluster], found[labels[nearest] == cluster]
        assert len(got) == len(wanted)
        scale = max(1.0, abs(wanted.mean()))
        if len(wanted) == 1:
            # The slow pair of the ε row is a nearly defective pair: round-off is magnified.
            tolerance = 1e-8 if abs(wanted[0]) < 1e-2 else 1e-9 * scale
            assert abs(got[0] - wanted[0]) < tolerance
        else:
            assert abs(got.mean() - wanted.mean()) < 1e-10 * scale
            assert np.abs(got - wanted.mean()).max() < 1e-5 * scale


@pytest.mark.parametrize(
    ("row", "zeros"), [("C+Komega2+KG", 2), ("C_only", 4), ("C+KG_noKomega2", 2), ("Omega=0", 6)]
)
def test_null_chain_takes_exactly_the_zeros_out(row: str, zeros: int) -> None:
    """A P = A − A X (YᵀBX)⁻¹YᵀB has the other eigenvalues, and the chain's are exact zeros."""
    system = row_system(row)
    chain = system.null_chain
    assert chain is not None and chain.count == zeros
    n = system.n
    zero = np.zeros((n, n))
    A = np.block([[zero, np.eye(n)], [-system.stiffness.toarray(), -system.damping.toarray()]])
    B = np.block([[np.eye(n), zero], [zero, system.M.toarray()]])
    X, Y = chain.right, chain.left
    gram = Y.T @ B @ X
    # The subspace is invariant and its restriction is nilpotent: every eigenvalue on it is zero.
    block = la.solve(gram, Y.T @ A @ X)
    assert np.abs(A @ X - B @ X @ block).max() < 1e-10 * np.abs(A).max()
    assert np.abs(np.linalg.matrix_power(block, 2)).max() < 1e-10
    complement = la.null_space(Y.T @ B)
    rest = la.lstsq(B @ complement, A @ complement)[0]
    left = la.eigvals(rest)
    assert len(left) == 2 * n - zeros
    assert np.abs(left).min() > 0.5
