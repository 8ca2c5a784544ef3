"""The joint coordinates' frame changes frozen spectra, not the motion: transients agree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import assembly
import modal
from tests.support.constrained_motion import masters

Array = NDArray[np.float64]

SOFT = assembly.Material(E=2e4, nu=0.3, rho=20.0)
START, END = 0.05, 0.12


def slider_crank(coordinates: dict[str, str]) -> assembly.Mechanism:
    def link(length: float) -> assembly.Body:
        section = assembly.rectangle(0.08, 0.05)
        return assembly.beam(length, section, SOFT, 1, planar=True).with_damping(a=0.4)

    return assembly.Mechanism(
        {
            "crank": link(0.3),
            "rod": link(0.7),
            "slider": assembly.rigid_body(0.4, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", assembly.Uniform(rate=4.0, acceleration=3.0))],
        coordinates=coordinates,
    )


def transient(
    mechanism: assembly.Mechanism, delta: Array, rate: Array, transport: bool = True
) -> Array:
    """All unknowns at END, from those at START, with loads, by a high-order integrator."""
    first = mechanism.transformation(START)[0].toarray()
    kept = masters(first)
    n = len(kept)

    def motion(t: float, x: Array) -> Array:
        now = mechanism.freeze(t, transport=transport)
        q, v = x[:n], x[n:]
        force = now.Q - now.damping @ v - now.stiffness @ q
        return np.concatenate([v, np.linalg.solve(now.M.toarray(), force)])

    start = np.concatenate([delta[kept], rate[kept]])
    found = solve_ivp(motion, (START, END), start, method="DOP853", rtol=1e-7, atol=1e-9)
    shape = mechanism.recover(END, found.y[:n, -1])
    return np.concatenate(list(shape.values()))


def test_the_equations_transform_between_frames() -> None:
    """With q₁ = S q₂: M₂ = SᵀM₁S, C₂ = Sᵀ(C₁S + 2M₁Ṡ), K₂ = Sᵀ(K₁S + C₁Ṡ + M₁S̈), Q₂ = SᵀQ₁."""
    first, second = (
        slider_crank({"B": "crank", "C": "rod"}),
        slider_crank({"B": "rod", "C": "slider"}),
    )
    kept = masters(first.transformation(START)[0].toarray())
    S, S_rate, S_second = (x.toarray()[kept] for x in second.transformation(START))
    one, two = first.freeze(START), second.freeze(START)
    M, C, K = one.M.toarray(), one.damping.toarray(), one.stiffness.toarray()
    pairs = [
        (two.M.toarray(), S.T @ M @ S),
        (two.damping.toarray(), S.T @ (C @ S + 2.0 * M @ S_rate)),
        (two.stiffness.toarray(), S.T @ (K @ S + C @ S_rate + M @ S_second)),
        (two.Q, S.T @ one.Q),
    ]
    assert np.abs(S_second).max() > 1.0
    for found, expected in pairs:
        assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())


@pytest.mark.slow
def test_transients_agree_between_frames_only_with_transport() -> None:
    """Joint B in the crank's or in the rod's axes; joint C in the rod's or the slider's, which are
    fixed axes."""
    turning = slider_crank({"B": "crank", "C": "rod"})
    fixed = slider_crank({"B": "rod", "C": "slider"})
    frames = [m.freeze(START).frame for m in (turning, fixed)]
    assert "B in crank, C in rod" in frames[0] and "B in rod, C in slider" in frames[1]
    T, T_rate, _ = (x.toarray() for x in turning.transformation(START))
    rng = np.random.default_rng(5)
    q, v = 1e-2 * rng.normal(size=T.shape[1]), np.zeros(T.shape[1])
    delta, rate = T @ q, T @ v + T_rate @ q
    first, second = (transient(m, delta, rate) for m in (turning, fixed))
    size = np.abs(first).max()
    assert size > 1e-3
    assert_allclose(second, first, atol=1e-5 * size)
    literal = [transient(m, delta, rate, transport=False) for m in (turning, fixed)]
    assert np.abs(literal[0] - literal[1]).max() > 1e-3 * size


def test_frozen_spectra_depend_on_the_frame() -> None:
    """Why the dataset names it: the same instant, other eigenvalues."""
    spectra = []
    for choice in ({"C": "rod"}, {"C": "slider"}):
        now = slider_crank(choice).freeze(START)
        n, M = now.n, now.M.toarray()
        A = np.block(
            [
                [np.zeros((n, n)), np.eye(n)],
                [-np.linalg.solve(M, k.toarray()) for k in (now.stiffness, now.damping)],
            ]
        )
        spectra.append(np.sort(np.abs(np.linalg.eigvals(A))))
    assert np.abs(spectra[0] - spectra[1]).max() > 1e-3


def turning_slider_crank(coordinates: dict[str, str], held: bool) -> assembly.Mechanism:
    material = assembly.Material(E=2e8, nu=0.3, rho=1500.0)

    def link(length: float) -> assembly.Body:
        section = assembly.rectangle(0.02, 0.02)
        return assembly.beam(length, section, material, 1, planar=True).with_damping(b=3e-5)

    return assembly.Mechanism(
        {"crank": link(0.1), "rod": link(0.3), "slider": assembly.rigid_body(0.05, planar=True)},
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 60.0, held=held)],
        initial={"rod": (0.1, 0, 0), "slider": (0.4, 0, 0)},
        coordinates=coordinates,
    )


@pytest.mark.slow
@pytest.mark.parametrize("held", [True, False])
def test_floquet_multipliers_do_not_depend_on_the_frame(held: bool) -> None:
    """T repeats after a period, so the monodromies of two frames are similar.

    Stiffness-proportional damping makes the fast modes' multipliers smaller than 1e-80: they must
    not be taken for the slow ones (as those of P⁻¹ once were, with errors of 1e-25).
    """
    frames = ({"B": "crank", "C": "rod"}, {"B": "rod", "C": "slider"})
    pair = [turning_slider_crank(frame, held) for frame in frames]
    assert pair[0].period is not None
    found = [modal.floquet(m, pair[0].period, method="dense", tolerance=1e-9) for m in pair]
    sizes = [np.abs(modes.multipliers) for modes in found]
    assert sizes[0][3] > 0.5
    assert_allclose(sizes[0][:4], sizes[1][:4], rtol=1e-7)
