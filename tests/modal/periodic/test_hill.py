"""Stability charts of Mathieu's equation in the format of the maps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assembly.errors import InputError
from modal.periodic.hill import hill_chart
from tests.support.floquet_cases import mathieu, mathieu_tongues, meissner

STABLE, DIVERGENCE, FLUTTER = 0, 1, 2


@pytest.mark.slow
def test_mathieu_chart_has_its_tongues_where_scipy_has_them(tmp_path: Path) -> None:
    a, q = np.linspace(0.3, 4.6, 12), np.array([0.2, 0.9])
    chart = hill_chart(mathieu, np.pi, a=a, q=q, store=tmp_path / "chart.zarr")
    assert chart.verdict.dims == ("a", "q")
    assert bool(chart.done.all())
    for j, strength in enumerate(q):
        odd, even = mathieu_tongues(a, strength)
        due = np.where(odd, FLUTTER, np.where(even, DIVERGENCE, STABLE))
        np.testing.assert_array_equal(chart.verdict.values[:, j], due)
        # In the odd tongues the multiplier is negative: half the frequency of the excitation.
        np.testing.assert_allclose(chart.critical_frequency.values[odd, j], 0.5 / np.pi)
    again = hill_chart(mathieu, np.pi, a=a, q=q, store=tmp_path / "chart.zarr", resume=True)
    np.testing.assert_array_equal(again.growth_rate, chart.growth_rate)


def test_meissner_chart_passes_its_breaks_on() -> None:
    # A9_floquet.json: (1, 0.6) grows at 0.0764339363188594, (2, 0.5) is stable.
    chart = hill_chart(meissner, 2 * np.pi, delta=[1.0, 2.0], eps=[0.5, 0.6], breaks=[np.pi])
    assert float(chart.growth_rate.sel(delta=1.0, eps=0.6)) == pytest.approx(0.0764339363188594)
    assert int(chart.verdict.sel(delta=2.0, eps=0.5)) == STABLE


@pytest.mark.parametrize(
    "parameters, message", [(dict(a=[1.0]), "two or more"), (dict(a=[1.0], q=[np.nan]), "q: ")]
)
def test_bad_axes_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hill_chart(mathieu, np.pi, **parameters)
