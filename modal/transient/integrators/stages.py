"""What every integrator hands back from a step, and what it must offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from modal.types import Array


@dataclass(frozen=True)
class Stages:
    """Values inside one step, with which work integrals are evaluated to the method's own order.

    nodes, weights (s,): quadrature on [0, 1]. q, v (s, n): displacement and velocity there.
    """

    nodes: Array
    weights: Array
    q: Array
    v: Array


@dataclass(frozen=True)
class State:
    """Displacement and velocity (n,), and what else a method carries (acceleration or momentum)."""

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
