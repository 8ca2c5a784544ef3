"""Prescribed motions of one body: analytic, sampled, fitted to markers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from tests.support.tumble import exact, tumble

Array = NDArray[np.float64]


def assert_close(found: assembly.Kinematics, wanted: assembly.Kinematics, *atol: float) -> None:
    assert_allclose(found.omega, wanted.omega, atol=atol[0])
    assert_allclose(found.epsilon, wanted.epsilon, atol=atol[1])
    assert_allclose(found.acceleration, wanted.acceleration, atol=atol[2])


@pytest.mark.parametrize(
    ("motion", "omega", "epsilon"),
    [
        (assembly.spin(5.0, axis=(0, 3, 4)), [0, 3, 4], [0, 0, 0]),
        (assembly.ramp(2.0, omega=1.0), [0, 0, 2.0], [0, 0, 2.0]),
        (assembly.swing(0.4, 6.0), [0, 0, 2.4 * np.cos(3.0)], [0, 0, -14.4 * np.sin(3.0)]),
        (assembly.Steady(omega=(1, 2, 3), epsilon=(4, 5, 6)), [1, 2, 3], [4, 5, 6]),
        (assembly.FunctionMotion(lambda t: ((t, 0, 0), (1, 0, 0), 0.0)), [0.5, 0, 0], [1, 0, 0]),
    ],
)
def test_analytic_motions(
    motion: assembly.Motion, omega: list[float], epsilon: list[float]
) -> None:
    now = motion.at(0.5)
    assert_allclose(now.omega, omega, atol=1e-14)
    assert_allclose(now.epsilon, epsilon, atol=1e-14)


def test_a_moving_body_freezes_like_the_body_at_that_instant() -> None:
    beam = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 4, clamped="start")
    model = assembly.moving(beam, assembly.ramp(50.0, omega=10.0, axis=(0, 0, 1)))
    system = model.freeze(0.2)
    same = beam.freeze(omega=(0, 0, 20.0), epsilon=(0, 0, 50.0))
    for name in ("C", "K_epsilon", "K_omega2", "K_G"):
        assert_allclose(getattr(system, name).toarray(), getattr(same, name).toarray(), rtol=1e-14)
    assert system.parameters["t"] == 0.2
    assert assembly.moving(beam, assembly.spin(10.0)).period == pytest.approx(0.2 * np.pi)
    assert (
        assembly.moving(beam, lambda t: ((0, 0, t), 0.0, 0.0)).freeze(3.0).parameters["omega"][2]
        == 3
    )


REFERENCE = np.array([[0.1, 0, 0], [0.4, 0.05, 0], [0.2, 0.3, 0.02], [0.3, 0.1, 0.25]])


def record(t: Array, noise: float, rng: np.random.Generator) -> Array:
    r, R = tumble(t)
    seen = r[:, None] + np.einsum("nij,aj->nai", R.as_matrix(), REFERENCE)
    return seen + noise * rng.normal(size=seen.shape)


def test_markers_without_noise_give_the_motion_back() -> None:
    t = np.linspace(0.0, 2.0, 401)
    motion = assembly.fit_markers(
        t, record(t, 0.0, np.random.default_rng(0)), REFERENCE, smoothing=0.05
    )
    for s in (0.3, 1.234, 1.9):
        assert_close(motion.at(s), exact(s), 1e-6, 2e-4, 1e-4)
        r, R = tumble(np.array(s))
        place, attitude = motion.frame(s)
        assert_allclose(place, r, atol=1e-8)
        assert_allclose(attitude, R.as_matrix(), atol=1e-8)
    assert motion.noise < 1e-12 and motion.residual.max() < 1e-12


def test_rates_of_a_fitted_motion_are_those_of_its_own_frame() -> None:
    """Also where smoothing is so coarse that the quaternion's spline leaves the unit sphere."""
    t = np.linspace(0.0, 2.0, 401)
    seen = record(t, 0.0, np.random.default_rng(0))
    motion = assembly.fit_markers(t, seen, REFERENCE, smoothing=1.0)
    s, h = 0.9, 1e-4
    q = motion.attitude(s)
    assert abs(q @ motion.attitude(s, 1)) > 1e-4
    R = {k: motion.frame(s + k * h)[1] for k in (-1, 0, 1)}
    W = R[0].T @ (R[1] - R[-1]) / (2 * h)
    assert_allclose(motion.at(s).omega, [W[2, 1], W[0, 2], W[1, 0]], atol=1e-6)
    ahead, behind = motion.at(s + h).omega, motion.at(s - h).omega
    assert_allclose(motion.at(s).epsilon, (ahead - behind) / (2 * h), atol=1e-6)
    place = [motion.frame(s + k * h)[0] for k in (-1, 0, 1)]
    a = R[0].T @ (place[2] - 2 * place[1] + place[0]) / h**2
    assert_allclose(motion.at(s).acceleration, a, atol=1e-5)


@pytest.mark.slow
def test_reported_uncertainty_is_the_scatter_of_repeated_records() -> None:
    """Monte Carlo: 200 records with fresh noise; a standard deviation of 200 has 5 % of its own."""
    rng, noise, s = np.random.default_rng(1), 2e-4, 1.1
    t = np.linspace(0.0, 2.0, 401)
    fits = [
        assembly.fit_markers(t, record(t, noise, rng), REFERENCE, smoothing=0.1) for _ in range(200)
    ]
    told = fits[0].uncertainty(s)
    assert np.mean([f.noise for f in fits]) == pytest.approx(noise, rel=0.01)
    for name in ("omega", "epsilon", "acceleration"):
        seen = np.std([getattr(f.at(s), name) for f in fits], axis=0)
        assert_allclose(getattr(told, name), seen, rtol=0.2, err_msg=name)
        wanted = np.mean([getattr(f.at(s), name) for f in fits], axis=0)
        assert np.all(
            np.abs(wanted - getattr(exact(s), name)) < 5 * seen / np.sqrt(200) + 2e-3 * seen
        )


def test_a_mirror_image_is_not_a_rotation() -> None:
    """Flat markers with noise: the best orthogonal matrix may be a reflection, the rotation is
    kept."""
    flat = REFERENCE * [1, 1, 0]
    t = np.linspace(0.0, 1.0, 20)
    r, R = tumble(t)
    seen = r[:, None] + np.einsum("nij,aj->nai", R.as_matrix(), flat)
    seen += 1e-3 * np.random.default_rng(2).normal(size=seen.shape)
    motion = assembly.fit_markers(t, seen, flat, smoothing=0.2)
    assert np.linalg.det(motion.frame(0.5)[1]) == pytest.approx(1.0)
    assert_allclose(motion.frame(0.5)[1], tumble(np.array(0.5))[1].as_matrix(), atol=0.02)


def fit(**change: object) -> object:
    t = np.linspace(0.0, 1.0, 40)
    given: dict[str, object] = dict(
        times=t, markers=record(t, 0.0, np.random.default_rng(0)), reference=REFERENCE
    )
    return assembly.fit_markers(**(given | change))  # type: ignore[arg-type]


def with_gap() -> Array:
    x = record(np.linspace(0.0, 1.0, 40), 0.0, np.random.default_rng(0))
    x[7, 2, 1] = np.nan
    return x


SAMPLES = dict(
    times=np.arange(5.0), positions=np.zeros((5, 3)), quaternions=np.tile([0, 0, 0, 1.0], (5, 1))
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fit(markers=with_gap()), "marker 2 at t = 0.179487 s"),
        (lambda: fit(reference=REFERENCE[:2]), "at least three markers"),
        (lambda: fit(reference=REFERENCE[:3]), r"expected shape \(40, 3, 3\)"),
        (lambda: fit(reference=np.outer(np.arange(4.0), [1, 2, 3])), "on one line"),
        (lambda: fit(times=np.zeros(40)), "must increase"),
        (lambda: fit(smoothing=1e-3), "need 1005 samples"),
        (lambda: fit(smoothing=-1.0), "positive time"),
        (lambda: fit().at(1.5), "outside of the record"),  # type: ignore[attr-defined]
        (lambda: assembly.Sampled(**SAMPLES).at(-0.1), "outside of the record"),  # type: ignore[arg-type]
        (
            lambda: assembly.Sampled(**(SAMPLES | dict(positions=np.zeros((4, 3))))),
            "expected shape",
        ),  # type: ignore[arg-type]
        (lambda: assembly.Sampled(**(SAMPLES | dict(quaternions=np.ones((5, 4))))), "norm 2"),  # type: ignore[arg-type]
        (
            lambda: assembly.moving(assembly.beam(1, assembly.circle(0.1), assembly.steel, 1), 3),
            "function of time",
        ),  # type: ignore[arg-type]
        (lambda: assembly.FunctionMotion(lambda t: (1, 2)).at(0.0), "expected Kinematics"),  # type: ignore[arg-type,return-value]
        (lambda: assembly.swing(0.1, -2.0), "angular_frequency: must be positive"),
    ],
)
def test_bad_records_are_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(assembly.MotionError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
