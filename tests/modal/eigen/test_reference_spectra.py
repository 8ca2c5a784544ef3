"""Published and closed-form spectra: NLEVP, spinning shafts, the circulatory rotor, to 1e-9 by
every backend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from numpy.typing import NDArray

from assembly import FrozenSystem
from modal import Modes, solve
from tests.support.paths import REFERENCES

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
            zeros = int((lam == 0.0).sum())
            modes = solved(np.eye(2), C, K, 2 - zeros, backend)
            # Without external damping K vanishes at Ω = ω: no force holds the shaft in this frame.
            assert modes.deflated == 2 * zeros
            assert_same(modes.eigenvalues, lam[lam != 0.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_round_shaft(backend: str) -> None:
    """|ω − Ω| and ω + Ω of three modes in the rotating frame."""
    data = values("A5_shafts")["round_shaft"]
    omega = np.repeat(np.array(data["omega_n"], float), 2)
    for key, entry in data.items():
        if not key.startswith("Omega="):
            continue
        speed = float(key.split("=")[1])
        C = 2 * speed * la.block_diag(J, J, J)
        modes = solved(np.eye(6), C, np.diag(omega**2 - speed**2), 6, backend)
        expected = np.array(entry["rotating_frame_freq_|w-O|,(w+O)"], float).ravel()
        assert_same(modes.eigenvalues, 1j * expected)
        assert np.all(modes.eigenvalues.real == 0.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_asymmetric_shaft_is_unstable_between_its_critical_speeds(backend: str) -> None:
    """No growth outside √a < Ω < √b, and the largest growth where and what the closed form says."""
    data = values("A5_shafts")["asymmetric_shaft"]
    a, b = (float(data["parameters"][key]) for key in ("a", "b"))

    def growth(speed: float) -> float:
        K = np.diag([a - speed**2, b - speed**2])
        return float(solved(np.eye(2), 2 * speed * J, K, 2, backend).eigenvalues.real.max())

    low, high = (float(edge) for edge in data["unstable_range"])
    assert growth(low - 1e-4) == 0.0 and growth(high + 1e-4) == 0.0
    assert growth(low + 1e-6) > 0.0 and growth(high - 1e-6) > 0.0
    largest = data["max_growth"]
    assert growth(float(largest["Omega"])) == pytest.approx(float(largest["lambda"]), rel=1e-9)


def circulatory(key: str) -> tuple[Array, Array, Array]:
    """I, 2ΩJ + dI, diag(k₁, k₂) − Ω²I of a key "k1=4.0,k2=9.0,O=1.0,d=0.1" of A10."""
    given = dict(part.split("=") for part in key.split(","))
    k1, k2, speed, d = (float(given[x]) for x in ("k1", "k2", "O", "d"))
    return np.eye(2), 2 * speed * J + d * np.eye(2), np.diag([k1, k2]) - speed**2 * np.eye(2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_damped_circulatory_rotor(backend: str) -> None:
    """Stable, at both ends of the stable range of ε, and beyond."""
    for name, entry in values("A10_circulatory")["values"].items():
        if not isinstance(entry, dict) or "eps_crit_low,high" not in entry:
            continue
        M, C, K = circulatory(name)
        ends = np.array(entry["eps_crit_low,high"], float)
        for key, listed in entry.items():
            if key.startswith("at_eps="):
                # Keys print ε to ten digits; the entry is of the end of the range that is meant.
                eps = ends[np.abs(ends - float(key.split("=")[1])).argmin()]
                lam = solved(M, C, K + eps * J, 2, backend).eigenvalues
                marginal = lam[lam.real.argmax()]
                assert abs(marginal.real) < 1e-9 * abs(marginal)
                assert marginal.imag == pytest.approx(float(listed["flutter_freq"]), rel=1e-9)
            elif key.startswith("eigs_eps="):
                share = round(float(key.split("=")[1]) / ends[1], 6)
                assert share in (0.0, 0.5, 1.2)
                modes = solved(M, C, K + share * ends[1] * J, 2, backend)
                assert_same(modes.eigenvalues, complexes(listed))


@pytest.mark.parametrize("backend", BACKENDS)
def test_undamped_circulatory_rotor(backend: str) -> None:
    """Without damping: flutter beyond 2|ε| = |k₁ − k₂| at Ω = 0, at any ε when the shaft turns."""
    data = values("A10_circulatory")["values"]
    (turning,) = (name for name, entry in data.items() if isinstance(entry, list))
    M, C, K = circulatory(turning)
    eps = float(turning.split("eps=")[1])
    found = solved(M, C, K + eps * J, 2, backend).eigenvalues
    assert_same(found, complexes(data[turning]))
    assert found.real.max() > 0.0

    (still,) = (name for name, entry in data.items() if "eps_crit" in entry)
    M, C, K = circulatory(still)
    for key, listed in data[still].items():
        if key.startswith("eps="):
            found = solved(M, C, K + float(key.split("=")[1]) * J, 2, backend).eigenvalues
            # Without flutter two modes; with it a growing and a decaying one of one frequency.
            assert_same(found, complexes(listed))
