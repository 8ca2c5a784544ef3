"""Where PETSc and SLEPc are not installed: the same solutions, counts and modes by scipy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import assembly
import modal
from assembly.errors import InputError, SingularSystemError
from assembly.gallery import block
from assembly.linalg import factorization
from assembly.linalg.factorization import SMALL, Factorization, Structure
from assembly.linalg.without_petsc import CholmodFactor


@contextmanager
def no_petsc() -> Iterator[None]:
    """A block in which neither is found, whatever imported them before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "petsc4py", None)
        patch.setitem(sys.modules, "slepc4py", None)
        yield


def laplacian(side: int) -> sp.csr_matrix:
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    unit = sp.identity(side)
    terms = [(one, unit, unit), (unit, one, unit), (unit, unit, one)]
    return sp.csr_matrix(sum(sp.kron(sp.kron(a, b), c) for a, b, c in terms))


@pytest.mark.parametrize("structure", ["spd", "symmetric", "general"])
def test_systems_above_the_small_ones_are_solved(structure: Structure) -> None:
    A = laplacian(12)
    assert A.shape[0] > SMALL
    b = np.random.default_rng(1).standard_normal((A.shape[0], 2)) * (1.0 + 0.5j)
    with no_petsc(), Factorization(A, structure) as factor:
        assert np.abs(A @ factor.solve(b) - b).max() < 1e-11
        assert np.abs(A @ factor.solve_transposed(b[:, 0]) - b[:, 0]).max() < 1e-11


@pytest.mark.parametrize("side", [6, 16])  # LAPACK's LDLᵀ, and SuperLU's without pivoting
def test_negative_eigenvalues_are_counted(side: int) -> None:
    shift = 0.9
    one = 2.0 * (1.0 - np.cos(np.arange(1, side + 1) * np.pi / (side + 1)))
    expected = int((one[:, None, None] + one[:, None] + one < shift).sum())
    A = sp.csr_matrix(laplacian(side) - shift * sp.identity(side**3))
    with no_petsc(), Factorization(A, "symmetric", small=0) as factor:
        assert factor.negative_pivots == expected > 0
    with no_petsc(), pytest.raises(SingularSystemError, match="positive definite"):
        Factorization(A, "spd", small=0)


def test_above_its_reach_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factorization, "LARGE", 100)
    with no_petsc(), pytest.raises(InputError, match=r"of 216 .* petsc4py is missing: conda insta"):
        Factorization(laplacian(6), "spd", small=0)
    Factorization(laplacian(6), "spd", small=0).destroy()  # with PETSc there is no such limit


def test_factors_on_disk_need_petsc(tmp_path: Path) -> None:
    with no_petsc(), pytest.raises(InputError, match="petsc4py is missing"):
        with assembly.linear_solver(out_of_core=tmp_path):
            pass


def test_modes_are_the_same() -> None:
    """A solid by the block method, a beam by ARPACK in place of Krylov–Schur."""
    section = assembly.rectangle(0.05, 0.02)
    shaft = assembly.beam(1.0, section, assembly.steel, 20, clamped="start")
    for body, way in ((block(10, 7, 7), "block"), (shaft, "Arnoldi")):
        system = body.freeze(omega=(0.0, 0.0, 50.0))
        expected = modal.solve(system, k=4).eigenvalues
        with no_petsc():
            modes = modal.solve(system, k=4, certify=body is shaft)
        assert way in modes.solver
        np.testing.assert_allclose(modes.eigenvalues, expected, rtol=1e-10)


def test_cholmod_solves_and_refuses_what_is_not_definite() -> None:
    pytest.importorskip("sksparse")
    A = laplacian(12)
    b = np.random.default_rng(1).standard_normal((A.shape[0], 3))
    with no_petsc(), Factorization(A, "spd") as factor:
        assert isinstance(factor._factor, CholmodFactor)
        assert np.abs(A @ factor.solve(b) - b).max() < 1e-12
        assert np.abs(A @ factor.solve(b[:, 0]) - b[:, 0]).max() < 1e-12
    for shift in (0.9, 12.0):  # indefinite, and negative definite
        with no_petsc(), pytest.raises(SingularSystemError, match="positive definite"):
            Factorization(sp.csr_matrix(A - shift * sp.identity(A.shape[0])), "spd")
