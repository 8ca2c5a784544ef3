"""The result of a step, and the interface of every integrator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from modal.types import Array

Force: TypeAlias = "Callable[[float], Array]"  # generalised forces (n,) over time, s


@dataclass(frozen=True)
class Stages:
    """Values inside one step. With them work integrals have the order of the method.

    nodes, weights (s,): quadrature on [0, 1]. q, v (s, n): displacement and velocity there. work
    (3,), J: of loads, drives and dampers over the step, of nonlinear equations.
    """

    nodes: Array
    weights: Array
    q: Array
    v: Array
    work: Array | None = None


@dataclass(frozen=True)
class State:
    """Displacement and velocity (n,), and the acceleration or momentum that a method carries."""

    q: Array
    v: Array
    carried: Array


class Integrator(Protocol):
    """A one-step method of declared order."""

    @property
    def order(self) -> int: ...
    def start(self, t: float, h: float, q: Array, v: Array) -> State: ...
    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]: ...
    def change_step(self, t: float, state: State, new: float) -> State: ...
    def destroy(self) -> None: ...
