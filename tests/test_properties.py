"""P1–P5: held by right assemblies, and each of them broken by a wrong one."""

from __future__ import annotations

import numpy as np
import pytest
from quadratics import free, gyroscopic

import assembly
from assembly import FrozenSystem
from modal import properties, solve

SECTION = assembly.rectangle(0.05, 0.02)


def pinned_beam() -> FrozenSystem:
    body = assembly.beam(1.0, SECTION, assembly.steel, 8, planar=True, pinned="start")
    return body.freeze(omega=(0, 0, 60.0), epsilon=(0, 0, 500.0))


def verdicts(system: FrozenSystem) -> dict[str, set[str]]:
    report = properties(system)
    return {p.name: {q.verdict for q in report[p.name]} for p in report.properties}


def changed(system: FrozenSystem, **parts: object) -> FrozenSystem:
    names = ("C", "D", "K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")
    return system.only(*names, **parts)


def test_a_pinned_spinning_beam_has_them_all() -> None:
    report = properties(pinned_beam())
    assert report.ok
    assert {p.name for p in report.properties if p.verdict == "holds"} == {
        "P1",
        "P2",
        "P3",
        "P4",
        "P5",
    }
    text = str(report)
    assert "P5" in text and "holds" in text


def test_p1_is_round_off_for_modes_and_not_for_other_pairs() -> None:
    """The number reported, and the same expression of a frequency a millionth off, by hand."""
    system = gyroscopic(20, seed=3)
    assert properties(system)["P1"][0].found < 1e-13
    modes = solve(system, k=3)
    u, omega = modes.right[:, 1], modes.eigenvalues[1].imag * (1.0 + 1e-6)
    gamma = (-1j * u.conj() @ (system.C @ u)).real
    terms = [-(omega**2) * (u.conj() @ (system.M @ u)).real, -omega * gamma]
    terms.append((u.conj() @ (system.K @ u)).real)
    assert abs(sum(terms)) > 1e-8 * max(abs(t) for t in terms)


def test_p2_counts_and_fails_when_k_holds_the_rigid_field() -> None:
    assert verdicts(free(20, 2, seed=1))["P2"] == {"holds"}
    assert "4 zeros" in properties(free(20, 2, seed=1))["P2"][0].note
    assert "2 zeros" in properties(free(20, 2, seed=1, coupled=True))["P2"][0].note
    held = free(20, 2, seed=1)
    K = held.K.toarray() + 1e-3 * np.eye(20)
    assert verdicts(changed(held, K=K))["P2"] == {"fails"}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("C", lambda A: A + 1e-6 * np.abs(A)),
        ("K_omega2", lambda A: -A),
        ("K_G", lambda A: A + 1e-6 * np.triu(A, 1)),
        ("K_epsilon", lambda A: np.abs(A)),
        ("K", lambda A: A - 1e-3 * np.abs(A).max() * np.eye(len(A))),
    ],
)
def test_p4_notices_a_matrix_of_the_wrong_class(name: str, wrong) -> None:  # type: ignore[no-untyped-def]
    system = pinned_beam()
    broken = changed(system, **{name: wrong(getattr(system, name).toarray())})
    assert "fails" in {p.verdict for p in properties(broken)["P4"]}


def test_p5_notices_a_wrong_geometric_stiffness() -> None:
    system = pinned_beam()
    broken = changed(system, K_G=1.001 * system.K_G)
    assert verdicts(broken)["P5"] == {"fails"}
    assert verdicts(pinned_beam())["P5"] == {"holds"}


def test_p5_does_not_apply_to_a_clamped_or_a_resting_body() -> None:
    clamped = assembly.beam(1.0, SECTION, assembly.steel, 4, clamped="start")
    assert verdicts(clamped.freeze(omega=(0, 0, 60.0)))["P5"] == {"does not apply"}
    pinned = assembly.beam(1.0, SECTION, assembly.steel, 4, planar=True, pinned="start")
    assert verdicts(pinned.freeze())["P5"] == {"does not apply"}


def test_elastic_modes_beside_a_nearly_defective_pair() -> None:
    """A pinned beam whose spin changes: one zero, λ = −0.0015 next to it, elastic modes a million
    times that.

    The reference keeps away from zero altogether: eigenvalues of the pencil by LAPACK's QZ.
    """
    import scipy.linalg as la

    from modal.state import companion

    body = assembly.beam(1.0, SECTION, assembly.steel, 12, planar=True, pinned="start")
    system = body.freeze(omega=(0, 0, 50.0), epsilon=(0, 0, 500.0))
    scale = 1e4  # rad/s, balances the two halves of the pencil
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    lam = scale * la.eigvals(*companion(M, C / scale, K / scale**2))
    elastic = np.sort(lam.imag[lam.imag > 100.0])[:6]
    for backend in ("dense", "scipy", "slepc"):
        modes = solve(system, k=7, backend=backend)
        assert modes.deflated == 1
        np.testing.assert_array_equal(modes.kind, ["rigid"] + ["elastic"] * 6)
        np.testing.assert_allclose(modes.eigenvalues[1:].imag, elastic, rtol=1e-8)
        assert modes.backward_error.max() <= 1e-10
