"""Wrong periods are refused, whole multiples of the right one are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.periodic.floquet import floquet
from modal.periodic.sampling import check_period
from modal.transient.equations import FirstOrderModel, SecondOrderModel

# sin 2π(t + P) = sin 2πt at t = 0.37 P: one instant does not tell this P from a period of 1 s.
COINCIDENCE = 3.0 / 3.48
WRONG = [0.5, COINCIDENCE, 0.8137, 1.5, 1.01, 1e-4, 1e-7]


def matrix(t: float) -> np.ndarray:
    return np.array([[0.0, 1.0], [-4.0 - np.sin(2.0 * np.pi * t), -0.1]])


class Changing:
    """Three unknowns, of whose matrices `part` alone changes, by a part in a thousand."""

    def __init__(self, part: str) -> None:
        self.part = part

    def freeze(self, t: float) -> FrozenSystem:
        change = 1e-3 * np.sin(2.0 * np.pi * t) * np.diag([1.0, 0.0, 2.0])
        parts: dict[str, Any] = dict(M=np.eye(3), C=np.zeros((3, 3)), K=1e6 * np.eye(3))
        size = {"M": 1.0, "K": 1e6, "K_G": 1.0}.get(self.part, 1.0)
        parts[self.part] = parts.get(self.part, 0.0) + size * change
        return FrozenSystem(**parts)


@pytest.mark.parametrize("period", WRONG)
def test_a_wrong_period_of_a_callable(period: float) -> None:
    with pytest.raises(InputError, match="does not repeat itself") as fault:
        floquet(matrix, period, t0=0.1)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("part", ["M", "C", "D", "K", "K_G", "K_epsilon"])
@pytest.mark.parametrize("period", WRONG)
def test_a_wrong_period_of_each_part(part: str, period: float) -> None:
    equations = SecondOrderModel(Changing(part))
    with pytest.raises(InputError, match=f"{part} changes"):
        check_period(equations, period, 0.1, ())


@pytest.mark.parametrize("part", ["M", "C", "D", "K", "K_G", "K_epsilon"])
@pytest.mark.parametrize("period", [1.0, 2.0, 7.0, 1.0 + 1e-8])
def test_a_whole_multiple_is_a_period(part: str, period: float) -> None:
    check_period(SecondOrderModel(Changing(part)), period, 0.1, ())
    check_period(FirstOrderModel(matrix), period, 0.1, ())


def test_constant_matrices_have_every_period() -> None:
    constant = FrozenSystem(M=np.eye(2), K=np.diag([1.0, 4.0]), C=[[0.0, 1.0], [-1.0, 0.0]])
    for period in (0.3, 1.0, 7.7):
        check_period(SecondOrderModel(constant), period, 0.0, ())


def test_round_off_of_a_part_that_is_nothing_is_no_change() -> None:
    rng = np.random.default_rng(4)

    class Noisy:
        def freeze(self, t: float) -> FrozenSystem:
            noise = rng.normal(size=(2, 2))
            return FrozenSystem(
                M=np.eye(2), K=1e8 * np.eye(2), K_transport=1e-6 * noise, C=1e-10 * noise
            )

    check_period(SecondOrderModel(Noisy()), 0.7, 0.0, ())


def test_instants_at_a_jump_are_not_compared() -> None:
    golden = 0.5 * (np.sqrt(5.0) - 1.0)

    def jumping(t: float) -> np.ndarray:
        # The jump is at one of the instants looked at; round-off decides the side it falls on.
        up = (t - 1e-13 * np.floor(t)) % 1.0 < golden
        return np.array([[0.0, 1.0], [-4.0 + float(up), 0.0]])

    check_period(FirstOrderModel(jumping), 1.0, 0.0, (golden,))
