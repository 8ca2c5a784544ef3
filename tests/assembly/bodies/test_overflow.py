"""Matrices that products overflow with, and masses at round-off: one clear line, or the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
import modal
from assembly.errors import AccuracyError, InputError, MaterialError
from assembly.system.frozen import FrozenSystem
from studies.__main__ import main

SPEEDS, RATES = np.linspace(0.0, 100.0, 12), np.linspace(0.0, 10.0, 3)


class Stiff:
    """A chain whose stiffness is of any size, at any speed."""

    def __init__(self, size: float) -> None:
        self.K = size * sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40))

    def freeze(self, omega: Any, epsilon: Any = 0.0, **_: Any) -> FrozenSystem:
        return FrozenSystem(M=np.eye(40), K=self.K)


RUNS: dict[str, Any] = {
    "solve": lambda model: modal.solve(model.freeze(10.0), k=3),
    "track": lambda model: modal.track(model, omega=SPEEDS, axis=(0, 0, 1), k=3),
    "map": lambda model: modal.stability_map(
        model, omega=SPEEDS, epsilon=RATES, axis=(0, 0, 1), k=3
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("size", [1e200, 1e300, 5e307])
def test_a_stiffness_that_overflows_is_one_clear_error(size: float, run: str) -> None:
    with pytest.raises(InputError, match="an entry has the size") as fault:
        RUNS[run](Stiff(size))
    assert "\n" not in str(fault.value) and "K" in str(fault.value)


@pytest.mark.parametrize("E", [1e200, 1e300, 1e308])
def test_a_material_that_overflows_is_refused(E: float) -> None:
    with pytest.raises(MaterialError, match="E: must be a positive modulus"):
        assembly.Material(E=E, nu=0.3, rho=7850.0)


def test_a_matrix_that_overflows_is_named() -> None:
    with pytest.raises(InputError, match="M: an entry has the size 1e"):
        modal.solve(FrozenSystem(M=1e200 * np.eye(3), K=np.eye(3)), k=1)
    with pytest.raises(InputError, match=r"C \+ D: an entry"):
        modal.solve(FrozenSystem(M=np.eye(3), D=1e200 * np.eye(3), K=np.eye(3)), k=1)


def test_the_command_line_refuses_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.toml"
    model.write_text(
        "[material.m]\nE = 1e300\nnu = 0.3\nrho = 7850\n"
        '[body.b]\nkind = "beam"\nlength = 1.0\nmaterial = "m"\nelements = 4\nclamped = "start"\n'
        'section = { shape = "rectangle", width = 0.05, height = 0.02 }\n'
        '[motion]\nkind = "spin"\naxis = [0, 0, 1]\nomega = 100.0\n[analysis]\nmodes = 2\n'
    )
    code = main(["track", str(model), "--times", "0:0.01:5", "--out", str(tmp_path / "out")])
    assert code == 2
    assert "material.m.E" in capsys.readouterr().err


def nearly_singular(mass: float, n: int, damping: float) -> tuple[FrozenSystem, np.ndarray]:
    """M with one shape of next to no mass, and the eigenvalues without it, by condensation.

    With M = diag(I, 0) in the basis Q the last unknown follows the others at once: without damping
    it is eliminated; with c = d I the reference is the generalised pencil, whose finite values are
    all that exist.
    """
    rng = np.random.default_rng(n)
    Q = la.qr(rng.standard_normal((n, n)))[0]
    M = Q @ np.diag(np.append(np.ones(n - 1), mass)) @ Q.T
    K = np.diag(np.arange(1.0, n + 1.0))
    C = damping * np.eye(n)
    Kq = Q.T @ K @ Q
    if damping == 0.0:
        condensed = Kq[:-1, :-1] - np.outer(Kq[:-1, -1], Kq[-1, :-1]) / Kq[-1, -1]
        exact = 1j * np.sqrt(la.eigvalsh(condensed))
    else:  # states (q, v of the massive ones): d q̇_n = −(K q)_n
        m = n - 1
        A = np.zeros((n + m, n + m))
        A[:m, n:] = np.eye(m)
        A[m, :n] = -Kq[m] / damping
        A[n:, :n], A[n:, n:] = -Kq[:m], -damping * np.eye(m)
        values = la.eigvals(A)
        exact = values[values.imag >= 0.0]
    exact = exact[np.argsort(abs(exact))]
    D = C if damping else None
    return FrozenSystem(M=0.5 * (M + M.T), K=K, D=D), exact


@pytest.mark.parametrize("backend", ["slepc", "scipy", "dense"])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("n", [6, 40])
@pytest.mark.parametrize("mass", [1e-12, 1e-14, 1e-16, 1e-20])
def test_the_count_leaves_out_what_is_infinite_to_round_off(
    mass: float, n: int, damping: float, backend: str
) -> None:
    system, exact = nearly_singular(mass, n, damping)
    for k in (4, len(exact)):
        modes = modal.solve(system, k=k, certify=True, backend=backend)
        assert modes.certified
        found = modes.eigenvalues[np.argsort(abs(modes.eigenvalues))][: len(exact)]
        np.testing.assert_allclose(found, exact[: len(found)], rtol=1e-6)


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("mass", [1e-13, 1e-14, 1e-15, 5e-16])
def test_all_modes_of_a_nearly_singular_mass_are_certified(mass: float, damping: float) -> None:
    for n in range(30, 42):
        system, exact = nearly_singular(mass, n, damping)
        modes = modal.solve(system, k=2 * n, certify=True)
        assert modes.certified and len(modes) >= len(exact)
        found = modes.eigenvalues[np.argsort(abs(modes.eigenvalues))][: len(exact)]
        np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_a_mode_without_mass_is_refused() -> None:
    with pytest.raises(AccuracyError, match="M must be positive definite"):
        modal.solve(nearly_singular(-1e-3, 6, 0.0)[0], k=6)
