"""Random machines assembled by the package: rotors, turning beams, mechanisms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

import assembly
from assembly.bodies.rotor_parts import Bearing, Disc
from assembly.system.frozen import PARTS
from tests.support.machines import Machine, spread


def rotor(rng: Generator, elements: int = 0) -> Machine:
    """A shaft with discs, on springs, films or seals, with internal damping."""
    return Machine(rotor_model(rng, elements).freeze(spread(rng, 10.0, 3e3)))


def rotor_model(rng: Generator, elements: int = 0) -> assembly.Rotor:
    count = elements or int(rng.integers(3, 8))
    radius, length = spread(rng, 0.01, 0.08), spread(rng, 0.4, 2.0)
    k = spread(rng, 1e5, 1e9)
    discs = [
        Disc(float(at), m, 0.02 * m, 0.011 * m)
        for at, m in zip(
            rng.uniform(0.1, 0.9, 2) * length, np.exp(rng.uniform(0.0, 4.0, 2)), strict=True
        )
    ]
    bearings = [_bearing(rng, at, k) for at in (0.0, length)]
    if rng.random() < 0.5:
        bearings.append(_film(rng, float(rng.uniform(0.2, 0.8)) * length))
    return assembly.rotor(
        [(length, assembly.circle(2.0 * radius))],
        assembly.steel,
        count,
        discs=discs[: int(rng.integers(0, 3))],
        bearings=bearings,
        internal_damping=spread(rng, 1e-7, 1e-4) * rng.choice([0.0, 1.0]),
    )


def _bearing(rng: Generator, at: float, k: float) -> Bearing:
    if rng.random() < 0.3:
        return _film(rng, at)
    ratio = spread(rng, 0.3, 1.0)
    return Bearing(at, [k, ratio * k], spread(rng, 1e-6, 1e-3) * k * rng.choice([0.0, 1.0]))


def _film(rng: Generator, at: float) -> Bearing:
    """K = [[k, cκΩ], [−cκΩ, k]], damping c: a full film for κ = 1/2 and k = 0."""
    c, k, share = (
        spread(rng, 1e2, 1e5),
        spread(rng, 1e3, 1e7) * rng.choice([0.0, 1.0]),
        rng.uniform(0.2, 0.6),
    )

    def stiffness(spin: float) -> np.ndarray:
        cross = c * share * spin
        return np.array([[k, cross], [-cross, k]])

    return Bearing(at, stiffness, c)


def turning_beam(rng: Generator, elements: int = 0) -> Machine:
    """A beam that turns and spins up, with Rayleigh damping or dampers."""
    model = beam_model(rng, elements)
    rates = (
        rng.standard_normal(3) * spread(rng, 1.0, 300.0),
        rng.standard_normal(3) * spread(rng, 1.0, 1e4),
    )
    return Machine(model.freeze(omega=rates[0], epsilon=rates[1]))


def beam_model(rng: Generator, elements: int = 0) -> assembly.Body:
    count = elements or int(rng.integers(2, 6))
    section = assembly.rectangle(spread(rng, 0.01, 0.05), spread(rng, 0.01, 0.05))
    beam = assembly.beam(
        length=spread(rng, 0.3, 1.5), section=section, material=assembly.steel, elements=count,
        clamped="start", offset=float(rng.choice([0.0, 0.2])),
    )  # fmt: skip
    kind = rng.random()
    if kind < 0.6:
        return beam.with_damping(a=spread(rng, 1e-3, 10.0), b=spread(rng, 1e-8, 1e-5))
    if kind < 0.8:
        return assembly.attach_damper(beam, count, spread(rng, 1e-1, 1e2))
    return beam


def slider_crank(rng: Generator) -> Machine:
    """An elastic slider-crank at a random instant, its links damped or not."""
    from studies import slider_crank as study

    model = study.model(
        crank=0.15, rod=0.30, speed_rpm=spread(rng, 100.0, 6000.0), elements=int(rng.integers(1, 3))
    )
    transport = bool(rng.random() < 0.5)
    system = model.freeze(t=float(rng.uniform(0.0, 0.04)), transport=transport)
    if rng.random() < 0.3:
        return Machine(system)
    K, M = (0.5 * (A + A.T) for A in (system.K, system.M))
    D = spread(rng, 1e-7, 1e-4) * K + spread(rng, 1.0, 300.0) * M
    return Machine(system.only(*PARTS, D=system.D + D))


ASSEMBLED: dict[str, Callable[[Generator], Machine]] = {
    "rotors": rotor,
    "turning beams": turning_beam,
    "mechanisms": slider_crank,
}
