"""P1–P5: held by right assemblies, and each of them broken by a wrong one."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
from assembly import FrozenSystem
from modal import properties, solve
from tests.support.quadratics import free, gyroscopic

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

    from modal.eigen.quadratic import companion

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


def pinned_about_a_point(kind: str) -> FrozenSystem:
    """Bodies that turn about one point, not about a principal axis: a couple holds them there."""
    motion = dict(omega=(30.0, 20.0, -50.0), epsilon=(100.0, 0.0, -300.0))
    if kind == "beam":
        return assembly.beam(1.0, SECTION, assembly.steel, 4, pinned="start").freeze(**motion)
    if kind == "accelerated beam":
        body = assembly.beam(1.0, SECTION, assembly.steel, 4, pinned="start")
        return body.freeze(acceleration=(9.8, 3.0, 1.0), **motion)
    size = (1.0, 0.2, 0.2)
    return assembly.gallery.block(2, 1, 1, size=size, clamped=None, pinned=[0]).freeze(**motion)


@pytest.mark.parametrize("kind", ["beam", "accelerated beam", "block"])
def test_p4_knows_the_couple_that_turns_with_a_body(kind: str) -> None:
    """K_G has the skew part ½ΦM̃Φᵀ of the couple M that a motion about a point needs.

    By hand for the beam of mass m along x, its pin at the origin: M = Jε + ω × Jω + m c × a with
    J = m L²/3 across (and the section's own polar share), which the report reads off K_G.
    """
    system = pinned_about_a_point(kind)
    assert not system.is_conservative
    report = properties(system)
    assert report.ok, str(report)
    (couple,) = (p for p in report["P4"] if p.statement.startswith("K_G"))
    assert "couple" in couple.statement and couple.verdict == "holds"
    assert {p.verdict for p in report["P1"] + report["P3"]} == {"holds"}
    if kind == "block":
        return
    A, Iy, Iz = SECTION.A, SECTION.Iy, SECTION.Iz
    rho, w, e = assembly.steel.rho, np.array([30.0, 20.0, -50.0]), np.array([100.0, 0.0, -300.0])
    J = rho * np.diag([Iy + Iz, A / 3.0 + Iy, A / 3.0 + Iz])
    M = J @ e + np.cross(w, J @ w)
    if kind == "accelerated beam":
        M += rho * A * 0.5 * np.cross([1.0, 0.0, 0.0], [9.8, 3.0, 1.0])
    assert f"{np.linalg.norm(M):.4g} N·m" in couple.note


@pytest.mark.parametrize("kind", ["beam", "block"])
@pytest.mark.parametrize("wrong", ["size", "place", "more"])
def test_p4_notices_a_skew_part_that_is_not_the_couples(kind: str, wrong: str) -> None:
    system = pinned_about_a_point(kind)
    K_G = system.K_G.toarray()
    symmetric, skew = 0.5 * (K_G + K_G.T), 0.5 * (K_G - K_G.T)
    if wrong == "size":
        K_G = symmetric + 1.0001 * skew
    elif wrong == "place":
        K_G = symmetric + np.roll(skew, 4, axis=(0, 1))  # not on rotations
    else:
        K_G = K_G + 1e-6 * np.triu(K_G, 1)
    report = properties(changed(system, K_G=K_G))
    assert "fails" in {p.verdict for p in report["P4"] if p.statement.startswith("K_G")}


def test_p5_holds_about_the_axis_of_a_body_pinned_at_a_point_and_not_of_a_pendulum() -> None:
    body = assembly.beam(1.0, SECTION, assembly.steel, 4, pinned="start")
    assert verdicts(body.freeze(omega=(0, 0, 60.0), epsilon=(0, 0, 500.0)))["P5"] == {"holds"}
    # The weight of an accelerated pin's body does not turn with it: K v is not zero, and right.
    hung = body.freeze(omega=(0, 0, 60.0), acceleration=(9.8, 0, 0))
    assert verdicts(hung)["P5"] == {"does not apply"}
    free_body = assembly.beam(1.0, SECTION, assembly.steel, 4)
    assert verdicts(free_body.freeze(omega=(0, 0, 60.0)))["P5"] == {"does not apply"}


def test_properties_report_on_instants_without_modes_or_without_a_conservative_whole() -> None:
    """Only zeros; a plane body pinned in its corner or middle that speeds up from rest."""
    rigid = assembly.rigid_body(2.0, 1e-3, planar=True).freeze()
    assert verdicts(rigid)["P1"] == {"does not apply"} and properties(rigid).ok
    for pinned, origin in (([0], (0.0, 0.0)), ([4], (-0.5, -0.5))):
        sheet = assembly.gallery.sheet(
            2, 2, size=(1.0, 1.0), origin=origin, clamped=None, pinned=pinned
        )
        for omega in (0.0, 80.0):
            system = sheet.freeze(omega=(0, 0, omega), epsilon=(0, 0, 2000.0))
            report = properties(system)
            assert report.ok, str(report)
            assert {p.verdict for p in report["P1"]} == {"holds"}
