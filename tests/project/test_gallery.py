"""The manual's gallery: every example runs, the number it claims is the exact one, and no lines
that it prints contradict one another.

The exact numbers are taken here from the references, from tables, or by another route than in the
example.
"""

from __future__ import annotations

import io
import json
import math
import runpy
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import assembly
import modal
from tests.support.contradictions import contradictions
from tests.support.paths import REFERENCES, ROOT

# Real machines: no value of them is questioned.
pytestmark = pytest.mark.filterwarnings("error::assembly.PlausibilityWarning")

GALLERY = ROOT / "docs" / "gallery"
FIRST_CLAMPED = 4.730040744862704  # cos β cosh β = 1 (Blevins, Formulas for Natural Frequency)
MOST_LINES = 60


@pytest.fixture(autouse=True)
def no_windows() -> Iterator[None]:
    with matplotlib.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def run(name: str) -> dict[str, Any]:
    with redirect_stdout(io.StringIO()) as printed:
        example = runpy.run_path(str(GALLERY / f"{name}.py"))
    assert not contradictions(printed.getvalue()), printed.getvalue()
    return example


def bending(section: assembly.Section, second: float) -> float:
    """√(EI/ρA), m²/s, of steel."""
    return math.sqrt(assembly.steel.E * second / (assembly.steel.rho * section.A))


def test_every_example_is_short_and_tested() -> None:
    names = {path.stem for path in GALLERY.glob("*.py")}
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert names and not names - tested
    for path in GALLERY.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path.name


def test_blade_campbell() -> None:
    """The power series of the flap equation at η = 6; where 2× meets the flap mode itself."""
    table = json.loads((REFERENCES / "A1_flap.json").read_text())["values"]
    example = run("blade_campbell")
    assert example["found"] == pytest.approx(float(table["delta=0,eta=6"][0]), rel=1e-6)
    assert example["found"] == pytest.approx(example["published"], abs=1e-4)
    met = example["blade"].freeze(omega=example["resonance"], axis=(0, 0, 1))
    first = example["modal"].solve(met, k=1).eigenvalues[0].imag
    assert first == pytest.approx(2.0 * example["resonance"], rel=1e-4)


@pytest.mark.slow
def test_asymmetric_shaft() -> None:
    example = run("asymmetric_shaft")
    section = example["section"]
    exact = [FIRST_CLAMPED**2 * bending(section, I) for I in (section.Iz, section.Iy)]
    assert_allclose(example["found"], exact, rtol=1e-5)


@pytest.mark.slow
def test_follower_load() -> None:
    """Beck's load as in the literature; the first two frequencies go together, one of them
    grows."""
    example = run("follower_load")
    assert example["found"] == pytest.approx(20.0509, rel=2e-4)
    assert np.all(example["tracks"]["growth_rate"].values[:10] < 1e-6)


def test_internal_damping() -> None:
    example = run("internal_damping")
    assert_allclose(example["found"], 1.0 + example["ratios"], rtol=1e-5)


def test_root_locus() -> None:
    """W = Ω for damping that turns with the shaft, Ω/2 for full films: |n|/d of each. The locus
    crosses the axis where the dissipated power is zero: ω₁ (1 + c_e/c_i) (Genta 2005)."""
    example = run("root_locus")
    assert_allclose(example["ratios"], [[1.0, 0.5], [1.0, 0.5]], rtol=1e-9)
    speed, growing = example["tracks"]["omega"], example["tracks"]["growth_rate"] > 1e-6
    onset = float(speed[growing.any("mode")].min())
    assert 0.0 <= onset - 1.3 * example["critical"] <= float(speed[1])
    assert bool(((example["tracks"]["frequency"] * 2 * np.pi <= speed) | ~growing).all())


def test_coupled_blades() -> None:
    """Equal blades: the wire's energy ½ k (2w)² turns ω² into ω² + 2k w² for w of unit mass norm,
    to first order in k."""
    example = run("coupled_blades")
    assert example["found"] == pytest.approx(example["exact"], rel=2e-4)
    one = example["modal"].solve(example["one"], k=1)
    w = abs(one.right[example["tip"], 0])
    estimate = example["spring"] * w**2 / one.eigenvalues[0].imag
    assert example["found"] == pytest.approx(estimate, rel=0.02)


@pytest.mark.slow
def test_slider_crank() -> None:
    """σ predicts the amplitude at least three times as well as Re λ."""
    example = run("slider_crank")
    assert example["corrected"] < 0.015 and example["frozen"] > 3.0 * example["corrected"]
    assert example["mean"] == pytest.approx(example["exponents"].growth_rate.max(), rel=0.03)


def test_spin_up() -> None:
    """The action E/ω of an undamped vibration stays while its frequency drifts (Arnold,
    Mathematical Methods of Classical Mechanics, §52)."""
    example = run("spin_up")
    frequency = example["frequency"]
    assert_allclose(example["found"], 0.5 * np.log(frequency[-1] / frequency[0]), atol=2e-4)
    assert np.all(np.abs(example["frozen"] - example["exact"]) > 0.04)
    assert example["action"] < 1e-3 * np.abs(example["tracks"]["growth_rate"].values).max()


@pytest.mark.slow
def test_stability_map() -> None:
    """Every point of the map against the closed form, apart from those on the boundary."""
    example = run("stability_map")
    first = FIRST_CLAMPED**2 * bending(example["section"], example["section"].Iy)
    exact = [-example["damping"] * (first - 300.0), example["damping"] * (first + 300.0)]
    assert_allclose(example["found"], exact, rtol=1e-4)
    speed, rate = np.meshgrid(example["speeds"], example["rates"], indexing="ij")
    low, high = (example["damping"] * (speed + sign * first) for sign in (-1.0, 1.0))
    stable = (rate > low) & (rate < high)
    clear = np.minimum(abs(rate - low), abs(rate - high)) > 2.0
    verdict = example["grid"]["verdict"].transpose("omega", "epsilon").values
    assert np.array_equal(verdict[clear] == 0, stable[clear])


def test_robot_arm() -> None:
    """Stretched: a cantilever with a mass, by a series of static deflections (Rayleigh's quotient
    from above, Dunkerley's rule from below)."""
    example = run("robot_arm")
    assert example["found"] == pytest.approx(example["exact"], rel=1e-5)
    EI = assembly.steel.E * example["section"].Iz
    line, reach, payload = example["line"], example["reach"], example["payload"]
    flexible = reach**3 / (3.0 * EI)
    beam = 1.8751040687119611**4 * EI / (line * reach**4)
    below = math.sqrt(1.0 / (1.0 / beam + payload * flexible)) / (2.0 * math.pi)
    above = math.sqrt(1.0 / (flexible * (payload + 33.0 / 140.0 * line * reach))) / (2.0 * math.pi)
    assert below < example["found"] < above < 1.01 * below


@pytest.mark.slow
def test_joint_stiffness() -> None:
    """A beam on a spring about its root with a mass at its tip: det = 0 of the four conditions."""
    example = run("joint_stiffness")
    EI, L = assembly.steel.E * example["section"].Iz, example["length"]
    line, payload = example["line"], example["payload"]

    def determinant(b: float, gear: float) -> float:
        s, c, sh, ch = np.sin(b), np.cos(b), np.sinh(b), np.cosh(b)
        spring, mass = gear * L / EI, payload / (line * L) * b
        return float(np.linalg.det([
            [0.0, 1.0, 0.0, 1.0],
            [spring, b, spring, -b],
            [-s, -c, sh, ch],
            [-c + mass * s, s + mass * c, ch + mass * sh, sh + mass * ch],
        ]))  # fmt: skip

    for gear, found in zip(example["gears"], example["frequency"], strict=True):
        below = math.sqrt(2.0 * math.pi * found * L**2 / math.sqrt(EI / line))
        exact = brentq(lambda b, k=gear: determinant(b, k), 0.98 * below, 1.02 * below, xtol=1e-12)
        assert exact == pytest.approx(below, rel=1e-5)
    assert (example["bound"] < example["frequency"]).all()
    assert example["sag"] == pytest.approx(-example["moment"] / 2e4, rel=1e-7)


def test_satellite() -> None:
    """Twelve zeros removed, pairs whole; the exact frequencies hold the momenta: ∫w dm = 0."""
    example = run("satellite")
    found, modes, body = example["found"], example["modes"], example["satellite"]
    assert modes.deflated == 12
    assert_allclose(found[::2], found[1::2], rtol=1e-10)
    assert_allclose(found, example["exact"], rtol=1e-5)
    momenta = body.rigid.T @ (body.freeze().M @ modes.right)
    assert np.abs(momenta).max() < 1e-6 * np.sqrt(example["mass"])


def test_rotating_cable() -> None:
    example = run("rotating_cable")
    assert_allclose(example["found"], np.sqrt([1.0, 6.0, 15.0]), rtol=5e-4)
    assert example["modes"].deflated == 2  # the rigid rotation in the plane stays exactly zero
    lag = np.delete(example["modes"].eigenvalues.imag / example["speed"], example["out"])
    assert_allclose(lag[:2], np.sqrt([5.0, 14.0]), rtol=1e-3)


@pytest.mark.slow
def test_rotor_damper_out() -> None:
    """Liouville: the exponents add up to the mean of −tr M⁻¹(C + D), whatever the dampers; growth
    of Hammond's rotor at 250 rpm; the other two analyses miss it."""
    example = run("rotor_damper_out")
    assert example["found"] == pytest.approx(example["exact"], abs=1e-9)
    assert_allclose(
        [example["found"], example["modes"].growth_rate.max()], [-0.329525, 0.322031], atol=1e-6
    )
    broken = example["broken"]
    times = broken.period * np.arange(32) / 32
    traces = []
    for t in times:
        system = broken.freeze(float(t))
        traces.append(np.trace(np.linalg.solve(system.M.toarray(), system.damping.toarray())))
    total = np.log(np.abs(example["modes"].multipliers)).sum()
    assert total == pytest.approx(-float(np.mean(traces)) * broken.period, rel=1e-9)
    at = example["verdict"].sel(omega=example["speed"], method="nearest")["growth_rate"]
    assert at.sel(analysis="floquet") > 0.3 and (at.drop_sel(analysis="floquet") < 0.0).all()


@pytest.mark.slow
def test_figure_kinds() -> None:
    """One damper out: it grows by Floquet's theory, and by 0.322 1/s at 250 rpm (Hammond's data).
    The sheets hold twelve kinds of figure, no two alike, and differ from look to look."""
    example = run("figure_kinds")
    grows = example["verdicts"]["growth_rate"].sel(analysis="floquet").values
    assert grows[3] == pytest.approx(0.322, abs=1e-3)
    assert {kind[0].__name__ for kind in example["kinds"]} | {"verdict", "campbell", "growth"} == {
        getattr(modal.plot, name).__name__
        for name in modal.plot.__all__
        if name != "instability_box"
    }
    sheets = [example[name] for name in ("columns", "dark", "grey", "deuteranopia")]
    assert len({sheet.tobytes() for sheet in sheets}) == 4
    height, width = np.array(sheets[0].shape[:2]) // [4, 3]
    cells = {
        sheets[0][i * height :, j * width :][:height, :width].tobytes()
        for i in range(4)
        for j in range(3)
    }
    assert len(cells) == 12


@pytest.mark.slow
def test_figures() -> None:
    """A shaft clamped at one end diverges from its lower to its higher bending frequency at rest
    (Dimentberg 1961), and flutters above by its internal damping."""
    example = run("figures")
    onsets = example["onsets"]
    still = np.abs(modal.solve(example["shaft"].freeze(), k=2).eigenvalues.imag)
    found = [
        float(onsets["event_at"].values[onsets["event"].values == f"{kind} onset"].min())
        for kind in ("divergence", "flutter")
    ]
    assert_allclose(found, np.sort(still), rtol=2e-3)
