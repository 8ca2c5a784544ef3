"""Cases of a test, of which some take long."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def with_slow(cases: Iterable[Any], slow: Collection[str]) -> list[Any]:
    """The cases, those of these names (or with these as attribute `name`) marked slow."""

    def name(case: Any) -> str:
        return str(case if isinstance(case, str) else case.name)

    return [
        pytest.param(case, marks=pytest.mark.slow) if name(case) in slow else case for case in cases
    ]
