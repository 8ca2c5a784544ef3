"""Degrees of freedom by node and component."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assembly.dofs import COMPONENTS, DofMap
from assembly.errors import InputError

DOFS = DofMap.regular(np.zeros((3, 3)), (0, 1, 5))


@pytest.mark.parametrize("component", [0, 1, 5])
def test_a_component_has_a_number_and_a_name(component: int) -> None:
    number = DOFS.index(2, component)
    assert (DOFS.node[number], DOFS.component[number]) == (2, component)
    assert DOFS.index(2, COMPONENTS[component]) == number


@pytest.mark.parametrize(
    ("node", "component", "line"),
    [
        (1, "uz", "node 1 has no DOF uz"),
        (1, 2, "node 1 has no DOF uz"),
        (7, "uy", "node 7 has no DOF uy"),
        (1, "y", "component: expected one of ux, uy, uz, rx, ry, rz or 0 to 5, got 'y'"),
        (1, 6, "component: expected one of ux, uy, uz, rx, ry, rz or 0 to 5, got 6"),
        (1, None, "component: expected one of ux, uy, uz, rx, ry, rz or 0 to 5, got None"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(node: int, component: Any, line: str) -> None:
    with pytest.raises(InputError) as fault:
        DOFS.index(node, component)
    assert str(fault.value) == line
