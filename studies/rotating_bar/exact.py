"""Closed forms the rotating-bar study is measured against."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem

Array = NDArray[np.float64]


def element_frequencies(
    elements: int, length: float, wave_speed: float, omega: float, count: int
) -> Array:
    """Natural frequencies (rad/s) of a fixed–free chain of linear bar elements that turns.

    Row j of the chain, K/M = (c/h)² 6 (1 − cos θ)/(2 + cos θ) with θ = (2n − 1)π/2N, less the
    centrifugal ω²; the same formula made references/A3_axial_bar.json.
    """
    n = np.arange(1, count + 1)
    theta = (2 * n - 1) * np.pi / (2 * elements)
    h = length / elements
    squared = (wave_speed / h) ** 2 * 6.0 * (1.0 - np.cos(theta)) / (2.0 + np.cos(theta))
    return np.asarray(np.sqrt(squared - omega**2))


def continuum_frequencies(length: float, wave_speed: float, omega: float, count: int) -> Array:
    """√(((2n − 1)πc/2L)² − ω²), rad/s, of ρü − Eu″ − ρω²u = 0, fixed–free."""
    n = np.arange(1, count + 1)
    return np.asarray(np.sqrt(((2 * n - 1) * np.pi * wave_speed / (2.0 * length)) ** 2 - omega**2))


def response(system: FrozenSystem, push: Array, frequency: float, times: Array) -> Array:
    """q(t), (len(times), n), of M q̈ + D q̇ + S q = Q + push sin(frequency t) from rest.

    push: (n,) N. D must be diagonal in the modes of (S, M); a multiple of K is, because the
    centrifugal part of S is −ω²M for a bar that only stretches. Modal superposition: every mode is
    a damped oscillator under a constant and a harmonic force, solved in closed form.
    """
    M, S, D = (A.toarray() for A in (system.M, system.stiffness, system.damping))
    squared, shapes = la.eigh(S, M)
    decay = 0.5 * np.einsum("ik,ij,jk->k", shapes, D, shapes)
    steady, swing = shapes.T @ system.Q, shapes.T @ push
    root = np.sqrt(decay.astype(complex) ** 2 - squared)
    first, second = -decay + root, -decay - root
    gain = swing / (squared - frequency**2 + 2j * decay * frequency)
    # η = a/ω² + Im(H e^{iΩt}) + c₁e^{r₁t} + c₂e^{r₂t}, with η(0) = η'(0) = 0.
    at_rest = steady / squared + gain.imag
    moving = (1j * frequency * gain).imag
    c1 = (second * at_rest - moving) / (first - second)
    c2 = -at_rest - c1
    t = times[:, None]
    eta = steady / squared + (gain * np.exp(1j * frequency * t)).imag
    eta = eta + (c1 * np.exp(first * t) + c2 * np.exp(second * t)).real
    return np.asarray(eta @ shapes.T)
