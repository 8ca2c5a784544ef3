"""Every point of small stability maps beside the truth: models whose operators a map shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import modal
from assembly.errors import FrozenMotionError
from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem
from benchmarks.verdict_large import chain, random_matrices
from benchmarks.verdict_local import negative_damper
from benchmarks.verdict_machines import full_damping, jeffcott, pendulum_chain
from benchmarks.verdict_models import beam_model
from modal.proofs.judge import PROOFS, WORDS
from tests.support.machines import Machine, spread

SIDE = 5  # points of a grid along either parameter
MOST = 40  # elements of a beam


@dataclass(frozen=True)
class Loaded:
    """A machine whose spin and circulatory forces are scaled: freeze(spin, load)."""

    system: FrozenSystem

    def freeze(self, spin: float, load: float) -> FrozenSystem:
        factors = dict(C=spin, K_D=load * spin)
        parts = {
            name: Combination.of(
                self.system.n,
                [factors.get(name, 1.0) * c for c, _ in part.terms],
                [A for _, A in part.terms],
            )
            for name, part in self.system.parts.items()
        }
        return FrozenSystem(**parts, rigid=self.system.rigid)


def loaded(make: Callable[[Generator], Machine], rng: Generator) -> tuple[Any, dict[str, Any]]:
    """A model and the axes of its map."""
    spins = np.linspace(0.0, spread(rng, 0.5, 2.0), SIDE)
    return Loaded(make(rng).system), dict(
        spin=spins, load=np.linspace(0.0, spread(rng, 0.5, 5.0), SIDE)
    )


def beam(rng: Generator) -> tuple[Any, dict[str, Any]]:
    """A beam over speed and acceleration."""
    model = beam_model(rng, int(rng.integers(4, 14)))
    omega = np.linspace(0.0, spread(rng, 10.0, 600.0), SIDE)
    limit = spread(rng, 10.0, 1e5)
    return model, dict(
        omega=omega, epsilon=np.linspace(-limit, limit, SIDE), axis=rng.standard_normal(3)
    )


MODELS: dict[str, Callable[[Generator], tuple[Any, dict[str, Any]]]] = {
    "shafts on films": lambda rng: loaded(chain, rng),
    "random matrices": lambda rng: loaded(random_matrices, rng),
    "turning beams": beam,
    "Jeffcott rotors on films": lambda rng: loaded(jeffcott, rng),
    "pendulums, follower load": lambda rng: loaded(pendulum_chain, rng),
    "damping everywhere": lambda rng: loaded(full_damping, rng),
    "negative dampers": lambda rng: loaded(lambda r: negative_damper(r, 60, 120), rng),
}


def map_points(count: int, seed: int) -> Iterator[tuple[str, int, str, str, str, Machine]]:
    """Kind, seed, point, verdict, proof and machine of every point of `count` maps."""
    names = list(MODELS)
    for i in range(count):
        name, number = names[i % len(names)], 100_000 * seed + 50_000 + i
        model, axes = MODELS[name](np.random.default_rng(number))
        try:
            grid = modal.stability_map(model, k=2, progress=False, threads=1, **axes)
        except FrozenMotionError as fault:
            print(f"  {name}, seed {number}: {type(fault).__name__}: {fault}")
            continue
        constants = {key: value for key, value in axes.items() if key == "axis"}
        dims = grid["verdict"].dims
        for index in np.ndindex(grid["verdict"].shape):
            point = {dim: float(grid[dim].values[j]) for dim, j in zip(dims, index, strict=True)}
            code = int(grid["proof"].values[index])
            verdict = WORDS[int(grid["verdict"].values[index])]
            where = ", ".join(f"{key} = {value:.6g}" for key, value in point.items())
            yield (
                name,
                number,
                where,
                verdict,
                PROOFS[code],
                Machine(model.freeze(**constants, **point)),
            )
