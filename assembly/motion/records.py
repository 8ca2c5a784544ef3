"""Motions of records: through recorded positions and attitudes, or fitted to measured markers with
its uncertainty.

At each instant the rotation that fits the markers best is found by least squares (Kabsch, Acta
Cryst. A32, 1976; Arun, Huang & Blostein, IEEE PAMI 9, 1987); then quintic B-splines are fitted to
the centroid and to the quaternion by least squares, which smooths: their rates are ω = 2 q* ∘ q̇
and ε = 2 (q* ∘ q̈ + q̇* ∘ q̇) of the normalised quaternion, in body axes.

Uncertainty to first order: marker noise σ (each coordinate, independent) gives the small rotation
of one instant, in body axes, the covariance σ² Θ⁻¹ with Θ = Σ(|X|² I − XXᵀ), X from the centroid,
and the centroid σ²/N; the splines are linear in their data, so derivatives have that covariance
times the sum of squares of their weights (while the body turns little between two knots).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from assembly.errors import MotionError
from assembly.kinematics import Kinematics, skew
from assembly.magnitudes import POSITION, TIME
from assembly.types import Array


@dataclass(frozen=True)
class Sampled:
    """A motion through recorded positions and attitudes, interpolated with continuous ε and a_O.

    Parameters
    ----------
    times : array_like, shape (n,)
        s, increasing, n ≥ 4.
    positions : array_like, shape (n, 3)
        Origin of the frame, fixed axes, m.
    quaternions : array_like, shape (n, 4)
        (x, y, z, w), body to fixed axes, either sign.
    period : float, optional
        Time after which the motion repeats, s.

    Raises
    ------
    MotionError
        For a record that cannot be used.

    Notes
    -----
    Cubic splines: scipy's CubicSpline for positions and RotationSpline for attitudes.
    """

    times: Array
    positions: Array
    quaternions: Array
    period: float | None = field(default=None)

    def __post_init__(self) -> None:
        times = check_times(self.times, least=4)
        for name, width in (("positions", 3), ("quaternions", 4)):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (len(times), width):
                raise MotionError(
                    f"{name}: expected shape ({len(times)}, {width}), got {value.shape}"
                )
            bad = np.flatnonzero(~(np.abs(value) <= POSITION.largest).all(axis=1))
            if bad.size:
                raise MotionError(
                    f"{name}: row {bad[0]} (t = {times[bad[0]]:g} s) is not a finite number of at"
                    f" most {POSITION.largest:g}"
                )
            object.__setattr__(self, name, value)
        sizes = np.linalg.norm(self.quaternions, axis=1)
        if np.any(np.abs(sizes - 1.0) > 1e-2):
            row = int(np.abs(sizes - 1.0).argmax())
            raise MotionError(
                f"quaternions: row {row} has the norm {sizes[row]:.4g}; unit quaternions are needed"
            )
        object.__setattr__(self, "times", times)

    @cached_property
    def _splines(self) -> tuple[CubicSpline, RotationSpline]:
        attitudes = Rotation.from_quat(self.quaternions)
        return CubicSpline(self.times, self.positions), RotationSpline(self.times, attitudes)

    def at(self, t: float) -> Kinematics:
        """Kinematics at time t (s). Raises MotionError outside the recorded time."""
        check_inside(t, self.times)
        place, attitude = self._splines
        R = attitude(t).as_matrix()
        return Kinematics(attitude(t, 1), attitude(t, 2), R.T @ place(t, 2), R.T @ place(t, 1))

    def frame(self, t: float) -> tuple[Array, Array]:
        """Origin (3,), m, and rotation (3, 3) of the frame, body to fixed axes, at time t (s).

        Raises MotionError outside the recorded time.
        """
        check_inside(t, self.times)
        place, attitude = self._splines
        return np.asarray(place(t)), np.asarray(attitude(t).as_matrix())


def check_times(times: ArrayLike, least: int) -> Array:
    """Increasing finite times; MotionError otherwise."""
    t = np.asarray(times, dtype=float)
    if t.ndim != 1 or len(t) < least:
        raise MotionError(f"times: at least {least} instants are needed, got shape {t.shape}")
    inside = np.abs(t) <= TIME.largest
    if not np.all(inside):
        entry = int(np.argmin(inside))
        raise MotionError(
            f"times: entry {entry} is not a finite number of at most {TIME.largest:g} s"
        )
    steps = np.diff(t)
    if np.any(steps <= 0.0):
        row = int(steps.argmin()) + 1
        raise MotionError(f"times: must increase, but t[{row}] = {t[row]:g} ≤ t[{row - 1}]")
    if steps.min() < TIME.least:
        row = int(steps.argmin()) + 1
        raise MotionError(f"times: t[{row}] is less than {TIME.least:g} s after t[{row - 1}]")
    return t


def check_inside(t: float, times: Array) -> None:
    """MotionError when t is outside of a record."""
    if not times[0] <= t <= times[-1]:
        raise MotionError(
            f"t = {t:g} s is outside of the record, which is from {times[0]:g} to {times[-1]:g} s"
        )


DEGREE = 5


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of fitted kinematics, in body axes.

    Parameters
    ----------
    omega : ndarray, shape (3,)
        Of the angular velocity, rad/s.
    epsilon : ndarray, shape (3,)
        Of the angular acceleration, rad/s².
    acceleration : ndarray, shape (3,)
        Of the acceleration of the origin, m/s².
    """

    omega: Array
    epsilon: Array
    acceleration: Array


@dataclass(frozen=True)
class FittedMotion:
    """The motion fitted to markers. Made by `fit_markers`.

    Parameters
    ----------
    times : ndarray, shape (n,)
        s.
    reference : ndarray, shape (N, 3)
        Markers in body axes, m.
    noise : float
        Standard deviation of a marker's coordinate, m, from the residual of the rigid fit.
    residual : ndarray, shape (n,)
        Root mean square distance of the markers from the fitted rigid body, m.
    place, attitude, weights : BSpline
        Centroid, quaternion and smoothing weights over time.
    period : None
        A measured motion is not taken as periodic.
    """

    times: Array
    reference: Array
    noise: float
    residual: Array
    place: BSpline
    attitude: BSpline
    weights: BSpline

    period: None = None

    @cached_property
    def centroid(self) -> Array:
        """Centroid (3,) of the reference markers, body axes, m."""
        return np.asarray(self.reference.mean(axis=0))

    def frame(self, t: float) -> tuple[Array, Array]:
        """Origin (3,), m, and rotation (3, 3) of the frame, body to fixed axes, at time t (s).

        Raises MotionError outside the recorded time.
        """
        check_inside(t, self.times)
        R = Rotation.from_quat(self.attitude(t)).as_matrix()
        return self.place(t) - R @ self.centroid, np.asarray(R)

    def at(self, t: float) -> Kinematics:
        """Kinematics at time t (s). Raises MotionError outside the recorded time."""
        check_inside(t, self.times)
        q, rate, second = (self.attitude(t, k) for k in range(3))
        R = Rotation.from_quat(q).as_matrix()
        omega, epsilon = _body_rates(q, rate, second)
        arm = self.centroid
        turned = np.cross(epsilon, arm) + np.cross(omega, np.cross(omega, arm))
        velocity = R.T @ self.place(t, 1) - np.cross(omega, arm)
        return Kinematics(omega, epsilon, R.T @ self.place(t, 2) - turned, velocity)

    def uncertainty(self, t: float) -> Uncertainty:
        """One standard deviation of the kinematics at time t, from the noise of the markers.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        Uncertainty

        Raises
        ------
        MotionError
            Outside the recorded time.
        """
        check_inside(t, self.times)
        weights = np.array([self.weights(t, k) for k in range(3)])
        gain = weights @ weights.T
        X = self.reference - self.centroid
        turn = self.noise**2 * np.linalg.inv(np.sum(X**2) * np.eye(3) - X.T @ X)
        now, arm = self.at(t), skew(self.centroid)
        spin = skew(now.omega)
        # a_O = Rᵀ a_c − ε × arm − ω × (ω × arm), varied with R, ω and ε.
        carried = now.acceleration + (skew(now.epsilon) + spin @ spin) @ self.centroid
        by = (skew(carried), skew(spin @ self.centroid) + spin @ arm, arm)
        place = gain[2, 2] * self.noise**2 / len(X) * np.eye(3)
        for i in range(3):
            for j in range(3):
                place += gain[i, j] * by[i] @ turn @ by[j].T
        return Uncertainty(
            np.sqrt(gain[1, 1] * np.diag(turn)),
            np.sqrt(gain[2, 2] * np.diag(turn)),
            np.sqrt(np.diag(place)),
        )


def fit_markers(
    times: ArrayLike, markers: ArrayLike, reference: ArrayLike, smoothing: float | None = None
) -> FittedMotion:
    """A rigid motion from marker records.

    Parameters
    ----------
    times : array_like, shape (n,)
        s.
    markers : array_like, shape (n, N, 3)
        Measured positions in fixed axes, m, N ≥ 3.
    reference : array_like, shape (N, 3)
        The same markers in body axes, m, not on one line.
    smoothing : float, optional
        Time between the spline's knots, s; faster motions are smoothed out. Default: eight
        sampling intervals.

    Returns
    -------
    FittedMotion

    Raises
    ------
    MotionError
        For a record that cannot be used; the message names the marker and the instant.

    Notes
    -----
    Least squares at each instant (Kabsch, Acta Cryst. A32, 1976), then quintic B-splines.
    """
    t = check_times(times, least=DEGREE + 1)
    X = _check_reference(reference)
    x = _check_markers(markers, t, len(X))
    arms = X - X.mean(axis=0)
    centre = x.mean(axis=1)
    attitudes = best_rotations(arms, x - centre[:, None])
    fitted = np.einsum("nij,aj->nai", attitudes, arms)
    left = x - centre[:, None] - fitted
    noise = np.sqrt(np.sum(left**2) / (len(t) * max(3 * len(X) - 6, 1)))
    basis, weights = _smoother(t, 8.0 * np.median(np.diff(t)) if smoothing is None else smoothing)
    q = _continuous(Rotation.from_matrix(attitudes).as_quat())
    return FittedMotion(
        times=t,
        reference=X,
        noise=float(noise),
        residual=np.sqrt(np.mean(np.sum(left**2, axis=2), axis=1)),
        place=BSpline(basis, weights @ centre, DEGREE),
        attitude=BSpline(basis, weights @ q, DEGREE),
        weights=BSpline(basis, weights, DEGREE),
    )


def best_rotations(arms: Array, seen: Array) -> Array:
    """R (n, 3, 3) that minimise Σ|R X_a − x_a|² at each instant; arms (N, 3), seen (n, N, 3)."""
    U, _, Vt = np.linalg.svd(np.einsum("nai,aj->nij", seen, arms))
    flip = np.ones((len(seen), 3))
    flip[:, 2] = np.sign(np.linalg.det(U @ Vt))
    return np.asarray((U * flip[:, None, :]) @ Vt)


def _smoother(t: Array, spacing: float) -> tuple[Array, Array]:
    """Knots, and the matrix (coefficients, n) from data to the least-squares spline."""
    if not (np.isfinite(spacing) and spacing > 0.0):
        raise MotionError(f"smoothing: must be a positive time in s, got {spacing!r}")
    pieces = max(1, round((t[-1] - t[0]) / spacing))
    if pieces + DEGREE > len(t):
        raise MotionError(
            f"smoothing: knots every {spacing:g} s need {pieces + DEGREE} samples, not {len(t)}"
        )
    inner = np.linspace(t[0], t[-1], pieces + 1)
    knots = np.concatenate([[t[0]] * DEGREE, inner, [t[-1]] * DEGREE])
    design = BSpline.design_matrix(t, knots, DEGREE).toarray()
    if np.linalg.cond(design) > 1e10:
        raise MotionError("smoothing: the record has gaps longer than the time between knots")
    return knots, np.linalg.pinv(design)


def _continuous(q: Array) -> Array:
    """Quaternions (n, 4) with signs chosen so that neighbours agree."""
    agree = np.sign(np.einsum("ni,ni->n", q[1:], q[:-1]))
    return np.asarray(
        q * np.concatenate([[1.0], np.cumprod(np.where(agree == 0.0, 1.0, agree))])[:, None]
    )


def _body_rates(q: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """ω and ε in body axes of the normalised quaternion (x, y, z, w) from the spline's derivatives.

    With s = |q|: vec(2 q* ∘ q̇)/s² is ω for any ṡ, which only enters the real part; then
    ε = vec(2 q* ∘ q̈)/s² − 2 (q·q̇)/s² ω.
    """
    size = q @ q
    omega = 2.0 * _conjugate_times(q, rate) / size
    return omega, 2.0 * _conjugate_times(q, second) / size - 2.0 * (q @ rate) / size * omega


def _conjugate_times(p: Array, q: Array) -> Array:
    """The vector part of p* ∘ q."""
    return np.asarray(p[3] * q[:3] - q[3] * p[:3] - np.cross(p[:3], q[:3]))


def _check_reference(reference: ArrayLike) -> Array:
    X = np.asarray(reference, dtype=float)
    if X.ndim != 2 or X.shape[1] != 3 or len(X) < 3 or not POSITION.accepts(X):
        raise MotionError(
            f"reference: expected at least three markers (N, 3), finite, got shape {X.shape}"
        )
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    if sizes[1] <= 1e-6 * sizes[0]:
        raise MotionError("reference: the markers lie on one line; rotation about it is not seen")
    return X


def _check_markers(markers: ArrayLike, t: Array, count: int) -> Array:
    x = np.asarray(markers, dtype=float)
    if x.shape != (len(t), count, 3):
        raise MotionError(f"markers: expected shape ({len(t)}, {count}, 3), got {x.shape}")
    bad = np.argwhere(~(np.abs(x) <= POSITION.largest).all(axis=2))
    if len(bad):
        row, marker = bad[0]
        raise MotionError(
            f"markers: marker {marker} at t = {t[row]:g} s (row {row}) is not a number "
            f"of at most {POSITION.largest:g} m; "
            f"drop or repair the instant"
        )
    return x
