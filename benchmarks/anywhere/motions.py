"""Rigid motions drawn at random: steady rates, and motions in time of one body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

import assembly
from benchmarks.anywhere.models import Model, pick, spread


def frozen(rng: Generator, model: Model) -> tuple[assembly.FrozenSystem, str]:
    """The body at rest, or turning, at times spinning up; and that in words."""
    parameters, words = rates(rng, model)
    return model.body.freeze(**parameters), words


def rates(rng: Generator, model: Model) -> tuple[dict[str, Any], str]:
    """Arguments of `freeze`, and them in words."""
    omega = pick(rng, 0.0, 1.0, 1.0) * spread(rng, 0.01, 0.8) * model.frequency
    epsilon = pick(rng, 0.0, 0.0, 1.0) * spread(rng, 1e-3, 0.03) * model.frequency**2
    words = f"ω {omega:.3g} rad/s, ε {epsilon:.3g} rad/s²"
    if model.is_rotor:
        return dict(omega=omega, epsilon=epsilon), words
    axis = np.array(model.axis)
    return dict(omega=omega * axis, epsilon=epsilon * axis), words


def in_time(rng: Generator, model: Model, periodic: bool) -> tuple[Any, float, str]:
    """(moving body, span or period in s, words): a swing; where it need not be periodic, a ramp."""
    w = model.frequency
    if periodic or rng.random() < 0.5:
        frequency, amplitude = spread(rng, 0.02, 2.0) * w, spread(rng, 0.05, 0.8)
        motion = assembly.swing(amplitude, frequency, axis=model.axis)
        period = 2.0 * np.pi / frequency
        words = f"swinging ±{amplitude:.2g} rad at {frequency:.3g} rad/s"
        span = period if periodic else min(period, 2.0 * np.pi / w)
        return assembly.moving(model.body, motion), span, words
    epsilon, omega = spread(rng, 1e-3, 0.03) * w**2, spread(rng, 0.01, 0.3) * w
    motion = assembly.ramp(epsilon, omega, axis=model.axis)
    words = f"spinning up from {omega:.3g} rad/s by {epsilon:.3g} rad/s²"
    return assembly.moving(model.body, motion), 2.0 * np.pi / w, words
