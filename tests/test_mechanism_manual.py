"""The manual's page on mechanisms: its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "mechanisms.md"


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    plain, loaded = names["mechanism"], names["loaded"]
    # The load and the weight change the driver's torque.
    torques = [m.driving(0.01)["A"] for m in (plain, loaded)]  # type: ignore[attr-defined]
    assert np.all(np.isfinite(torques)) and abs(torques[1] - torques[0]) > 1e-3
