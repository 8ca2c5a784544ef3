"""Published and closed-form spectra: NLEVP, spinning shafts, the circulatory rotor, to 1e-9 by
every backend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from numpy.typing import NDArray

from assembly import FrozenSystem
from modal import Modes, solve

REFERENCES = Path(__file__).parent / "references"
J = np.array([[0.0, -1.0], [1.0, 0.0]])
Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
BACKENDS = ("dense", "scipy", "slepc")


def values(name: str) -> Any:
    return json.loads((REFERENCES / f"{name}.json").read_text())


def complexes(entries: list[dict[str, str]]) -> Complex:
    return np.array([complex(float(e["re"]), float(e["im"])) for e in entries])


def solved(M: Array, C: Array, K: Array, count: int, backend: str) -> Modes:
    """The modes of M, C, K, hidden among thirty stiffer oscillators by a random rotation.

    So small a problem would otherwise be solved by LAPACK whatever the backend.
    """
    n, extra = len(M), 30
    rng = np.random.default_rng(n)
    scale = (la.norm(K, 2) + la.norm(C, 2) ** 2) / la.eigvalsh(M)[0]
    high = 50.0 * scale * rng.uniform(1.0, 3.0, extra)
    Q = la.qr(rng.standard_normal((n + extra, n + extra)))[0]
    wide = [
        la.block_diag(A, B)
        for A, B in ((M, np.eye(extra)), (C, np.zeros((extra, extra))), (K, np.diag(high)))
    ]
    M, C, K = (Q.T @ A @ Q for A in wide)
    given = {"M": 0.5 * (M + M.T), "C": C, "K": K}
    if np.array_equal(wide[1], -wide[1].T):
        given["C"] = 0.5 * (C - C.T)
    if np.array_equal(wide[2], wide[2].T):
        given["K"] = 0.5 * (K + K.T)
    return solve(FrozenSystem(**given), k=count, backend=backend)


def assert_same(found: Complex, expected: Complex) -> None:
    """The same set with Im λ ≥ 0, to 1e-9 of the largest-but-not-stiff |λ| each."""
    expected = expected[expected.imag >= 0.0]
    assert len(found) == len(expected)
    distance = np.abs(found[:, None] - expected[None, :])
    assert sorted(distance.argmin(axis=1)) == list(range(len(expected)))
    np.testing.assert_array_less(distance.min(axis=1), 1e-9 * np.maximum(np.abs(found), 1e-3))


def wiresaw(n: int, v: float) -> tuple[Array, Array, Array]:
    """NLEVP wiresaw1: the transverse vibration of a wire moving at speed v."""
    j = np.arange(1, n + 1)
    a, b = np.meshgrid(j, j, indexing="ij")
    odd = (a + b) % 2 == 1
    C = np.where(odd, 4.0 * a * b * v / np.where(odd, a**2 - b**2, 1), 0.0)
    return np.eye(n) / 2, C, np.diag(j**2 * np.pi**2 * (1 - v**2) / 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("n", "v"), [(10, 0.01), (10, 0.5), (10, 0.9), (4, 0.5), (6, 1.05)])
def test_nlevp_wiresaw(n: int, v: float, backend: str) -> None:
    expected = np.array(values("B_nlevp")["values"][f"wiresaw1(n={n},v={v})"]["eigs[re,im]"], float)
    modes = solved(*wiresaw(n, v), n, backend)
    assert_same(modes.eigenvalues, expected[:, 0] + 1j * expected[:, 1])
    assert np.all(modes.eigenvalues.real == 0.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nlevp_spring(backend: str) -> None:
    """Overdamped: ten real eigenvalues."""
    expected = np.array(values("B_nlevp")["values"]["spring(n=5 default)"]["eigs[re,im]"], float)
    T = 3.0 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    modes = solved(np.eye(5), 10.0 * T, 5.0 * T, 10, backend)
    assert_same(modes.eigenvalues, expected[:, 0] + 0j)


def asymmetric_shafts() -> Iterator[tuple[Array, Array, Array, Complex]]:
    """M = I, C = 2ΩJ, K = diag(a − Ω², b − Ω²): nondimensional, and three modes of a steel
    shaft."""
    data = values("A5_shafts")
    for key, entry in data["asymmetric_shaft"]["values"].items():
        speed = float(key.split("=")[1])
        K = np.diag([1.0 - speed**2, 1.44 - speed**2])
        yield np.eye(2), 2 * speed * J, K, complexes(entry["lambda"])
    steel = data["asymmetric_shaft_dimensional"]
    soft = np.array(steel["omega_y_(stiffness EIz, bending in y)"], float)
    stiff = np.array(steel["omega_z"], float)
    for key, entry in steel.items():
        if key.startswith("Omega="):
            speed = float(key.split("=")[1])
            K = np.diag(np.stack([soft**2, stiff**2], axis=1).ravel() - speed**2)
            lam = np.concatenate([complexes(entry[f"n={j}"]) for j in (1, 2, 3)])
            yield np.eye(6), 2 * speed * la.block_diag(J, J, J), K, lam


@pytest.mark.parametrize("backend", BACKENDS)
def test_asymmetric_shafts(backend: str) -> None:
    for M, C, K, expected in asymmetric_shafts():
        # Listed with Re λ ≥ 0, Im λ ≥ 0; a real λ comes with its mirror image.
        expected = np.concatenate([expected, -expected[(expected.imag == 0.0) & (expected != 0.0)]])
        zeros = 2 * int((expected == 0.0).sum())
        expected = expected[expected != 0.0]
        modes = solved(M, C, K, len(expected), backend)
        assert modes.deflated == zeros  # at a critical speed: one Jordan block of size two
        assert_same(modes.eigenvalues, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_internal_and_external_damping(backend: str) -> None:
    """z = y₁ + i y₂ of the reference: both unknowns have λ and its conjugate."""
    for case in values("A5_shafts")["internal_external_damping"]["cases"]:
        omega, inner, outer = (float(case[x]) for x in ("omega_n", "c_int", "c_ext"))
        for key, entry in case["lambda"].items():
            speed = float(key.split("=")[1])
            C = (inner + outer) * np.eye(2) + 2 * speed * J
            K = (omega**2 - speed**2) * np.eye(2) + outer * speed * J
            lam = complexes(entry)
            lam = np.where(lam.imag < 0.0, lam.conj(), lam)
            if np.any(lam == 0.0):
                continue  # K vanishes altogether: no stiffness left to invert
            assert_same(solved(np.eye(2), C, K, 2, backend).eigenvalues, lam)


@pytest.mark.parametrize("backend", BACKENDS)
def test_circulatory_rotor(backend: str) -> None:
    checked = 0
    for name, entry in values("A10_circulatory")["values"].items():
        given = dict(part.split("=") for part in name.split(","))
        k1, k2, speed, d = (float(given[x]) for x in ("k1", "k2", "O", "d"))
        cases = {"eps": entry} if isinstance(entry, list) else entry
        for key, listed in cases.items():
            if not (isinstance(listed, list) and isinstance(listed[0], dict)):
                continue
            eps = float(given["eps"] if "eps" in given else key.split("=")[1])
            K = np.diag([k1, k2]) - speed**2 * np.eye(2) + eps * J
            lam = complexes(listed)
            tolerance_of_key = solved(np.eye(2), 2 * speed * J + d * np.eye(2), K, 2, backend)
            found = tolerance_of_key.eigenvalues
            # The key gives ε to ten digits, the eigenvalues are of the full ε.
            expected = lam[lam.imag >= 0.0]
            distance = np.abs(found[:, None] - expected[None, :]).min(axis=1)
            np.testing.assert_array_less(distance, 2e-9 * np.abs(found))
            checked += 1
    assert checked >= 18
