"""The page to explore in a real browser: pointing, zoom, keys, touch, colours, missing parts.

What the page shows is compared with the datasets and with modes that are solved here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from modal.maps.classes import NAMES, classes
from studies.cli import html_report
from studies.registry import study
from studies.reporting.output import OutputFolder
from studies.slider_crank.machine import model
from tests.support.browser import browser, opened

pytestmark = pytest.mark.xdist_group("browser")

TRACKS, MAP, BARE = 0, 1, 2  # views of the page
STILL = {"reduced_motion": "reduce", "viewport": {"width": 1200, "height": 900}}
DOMAIN = "document.querySelector('.fm').explorer.chart.x.domain()"
SHARE = 0.1  # of the size of the machine: largest displacement, as the page says
# Displacements (phase 0 and −phase π/2) of all vertices of a body, world axes, and their nodes.
SHAPE = """([name]) => {
  const { machine } = document.querySelector(".fm").explorer;
  const part = machine.parts.find((one) => one.name === name);
  const m = part.objects[0].matrix.elements;
  const turned = (d) => [0, 1, 2].map((i) => m[i] * d[0] + m[4 + i] * d[1] + m[8 + i] * d[2]);
  const at = (phase) => {
    machine.phase = phase;
    machine.move();
    const out = [];
    for (let v = 0; v < part.rest.length; v += 3) {
      out.push(turned([0, 1, 2].map((i) => part.position.array[v + i] - part.rest[v + i])));
    }
    return out;
  };
  return { cosine: at(0), sine: at(-Math.PI / 2),
    node: Array.from(part.holder, (h) => part.nodes[h]) };
}"""


@pytest.fixture(scope="module")
def machine() -> assembly.Mechanism:
    return model(elements=4, rayleigh=(0.0, 5e-6))


@pytest.fixture(scope="module")
def tracks(machine: assembly.Mechanism) -> xr.Dataset:
    assert machine.period is not None
    times = np.linspace(0.0, machine.period, 13)
    return modal.track(machine, times=times, k=3, progress=False)


@pytest.fixture(scope="module")
def grid() -> tuple[assembly.Body, xr.Dataset]:
    """A beam that is spun about its own length: stable, divergence and flutter."""
    beam = assembly.beam(
        0.5, assembly.rectangle(0.034, 0.03), assembly.steel, 4, clamped="start", offset=0.1
    ).with_damping(b=2e-6)
    return beam, modal.stability_map(
        beam, omega=np.linspace(0.0, 1000.0, 12), epsilon=np.linspace(-1000.0, 1000.0, 8),
        axis=(1, 0, 0), k=3, progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page_file(
    machine: assembly.Mechanism,
    tracks: xr.Dataset,
    grid: tuple[assembly.Body, xr.Dataset],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    beam, charted = grid
    views = [
        modal.explorer_view(tracks, machine, title="one turn"),
        modal.explorer_view(charted, beam, title="map", states=24, modes=3, axis=(1, 0, 0)),
        modal.explorer_view(tracks, title="without a model"),
    ]
    return modal.write_explorer(tmp_path_factory.mktemp("explorer") / "page.html", views)


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def opened_page(running: Any, page_file: Path) -> Iterator[Any]:
    with opened(running, page_file, **STILL) as shown:
        shown.wait_for_selector(".fm-values dd")
        yield shown


@pytest.fixture
def page(opened_page: Any) -> Iterator[Any]:
    """The page at its first view, at rest."""
    opened_page.evaluate(
        "() => { const e = document.querySelector('.fm').explorer; e.setPlaying(false);"
        " e.open(0); }"
    )
    yield opened_page
    assert opened_page.faults == []


def open_view(page: Any, number: int) -> None:
    page.locator(".fm-tabs button").nth(number).click()


def values(page: Any) -> dict[str, str]:
    """The read-out by name."""
    names = page.locator(".fm-values dt").all_text_contents()
    return dict(zip(names, page.locator(".fm-values dd").all_text_contents(), strict=True))


def number(text: str) -> float:
    return float(text.split()[0].replace("−", "-"))


def place(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where values of the axes are on the screen."""
    px, py = page.evaluate(
        "([x, y]) => { const c = document.querySelector('.fm').explorer.chart;"
        " return [c.x(x), c.y(y)]; }",
        [x, y],
    )
    box = page.locator(".fm-chart svg").bounding_box()
    return box["x"] + px, box["y"] + py


def point_at(page: Any, x: float, y: float) -> None:
    page.mouse.move(*place(page, x, y))


def chosen(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        "() => { const { point, mode, state } = document.querySelector('.fm').explorer.now;"
        " return { point, mode, at: state && state.point }; }"
    )
    return found


def similarity(first: np.ndarray, second: np.ndarray) -> float:
    overlap = abs(np.vdot(first, second)) ** 2
    return float(overlap / (np.vdot(first, first).real * np.vdot(second, second).real))


def shown_shape(page: Any, body: str) -> np.ndarray:
    """Complex displacements (N, 3) of the nodes of a body: means of their vertices."""
    found = page.evaluate(SHAPE, [body])
    moved = np.array(found["cosine"]) + 1j * np.array(found["sine"])
    node = np.array(found["node"])
    return np.array([moved[node == n].mean(axis=0) for n in np.unique(node)])


@pytest.mark.slow
def test_the_page_asks_for_nothing(running: Any, page_file: Path) -> None:
    with opened(running, page_file, **STILL) as page:
        page.wait_for_selector(".fm-values dd")
        assert [url for url in page.asked if not url.startswith(("data:", "blob:"))] == [
            page_file.as_uri()
        ]
        assert page.faults == []


@pytest.mark.slow
@pytest.mark.parametrize(("instant", "mode"), [(3, 0), (8, 2), (11, 1)])
def test_pointing_at_a_curve_shows_its_values(
    page: Any, tracks: xr.Dataset, instant: int, mode: int
) -> None:
    one = tracks.isel(time=instant, mode=mode)
    point_at(page, float(one["time"]), float(one["frequency"]))
    assert chosen(page)["point"] == instant and chosen(page)["mode"] == mode
    shown = values(page)
    assert number(shown["time"]) == pytest.approx(float(one["time"]), rel=1e-4)
    assert number(shown["frequency"]) == pytest.approx(float(one["frequency"]), rel=1e-4)
    assert number(shown["growth rate Re λ"]) == pytest.approx(float(one["growth_rate"]), rel=1e-4)
    assert shown["kind"] == str(one["kind"].values)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_the_shape_that_moves_is_the_mode(
    page: Any, machine: assembly.Mechanism, tracks: xr.Dataset, mode: int
) -> None:
    """Against modes solved here and put in fixed axes by the mechanism: MAC 1, size as stated."""
    one = tracks.isel(time=4, mode=mode)
    t = float(one["time"])
    point_at(page, t, float(one["frequency"]))
    modes = modal.solve(machine.freeze(t), k=6)
    which = int(np.abs(modes.eigenvalues - complex(one["eigenvalue"])).argmin())
    deployed = machine.deployed(t, modes.right[:, which])
    names = ("crank", "rod", "slider")
    found = np.concatenate([shown_shape(page, name) for name in names])
    expected = np.concatenate([deployed[name][1] for name in names])
    assert similarity(found, expected) > 1.0 - 1e-6
    at_rest = np.concatenate([
        [machine.position(t)[name][0] + X @ machine.position(t)[name][1].T
         for X in machine.bodies[name].dofs.coordinates] for name in names
    ])  # fmt: skip
    largest = np.linalg.norm(found, axis=1).max()
    size = page.evaluate("() => document.querySelector('.fm').explorer.view.size")
    assert size > 0.9 * np.ptp(at_rest, axis=0).max()
    assert 0.9 * SHARE * size < largest <= SHARE * size * (1.0 + 1e-4)


def test_the_wheel_zooms_a_chart_that_was_chosen(page: Any, tracks: xr.Dataset) -> None:
    at = float(tracks["time"][6]), float(tracks["frequency"][6, 1])

    def width() -> float:
        low, high = page.evaluate(f"() => {DOMAIN}")
        return float(high - low)

    whole = width()
    point_at(page, *at)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(50)
    assert width() == pytest.approx(whole)  # the wheel scrolls the page
    page.mouse.click(*place(page, *at))
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => ({DOMAIN})[1] - ({DOMAIN})[0] < {0.8 * whole}")
    point_at(page, *at)
    assert chosen(page)["point"] == 6  # the same value under the pointer
    page.keyboard.press("0")
    assert width() == pytest.approx(whole)
    page.get_by_label("zoom in (+)").click()
    assert width() == pytest.approx(whole / 1.6)


def test_keys_move_through_points_and_modes(page: Any, tracks: xr.Dataset) -> None:
    page.locator(".fm-chart").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert (chosen(page)["point"], chosen(page)["mode"]) == (2, 1)
    expected = float(tracks["frequency"][2, 1])
    assert number(values(page)["frequency"]) == pytest.approx(expected, rel=1e-4)
    assert "mode 2" in page.locator(".fm-live").text_content()  # what a screen reader says
    page.keyboard.press("End")
    assert chosen(page)["point"] == tracks.sizes["time"] - 1
    camera = "() => document.querySelector('.fm').explorer.machine.camera.position.toArray()"
    before = np.array(page.evaluate(camera))
    page.locator(".fm-machine").focus()
    page.keyboard.press("ArrowLeft")
    turned = np.array(page.evaluate(camera))
    page.keyboard.press("+")
    nearer = np.array(page.evaluate(camera))
    page.keyboard.press("0")
    assert np.linalg.norm(turned - before) > 0.01
    assert np.linalg.norm(nearer - turned) > 0.01
    np.testing.assert_allclose(page.evaluate(camera), before, atol=1e-9)


@pytest.mark.slow
def test_space_starts_and_stops_the_vibration(page: Any) -> None:
    def phase() -> float:
        return float(page.evaluate("() => document.querySelector('.fm').explorer.machine.phase"))

    canvas = page.locator(".fm-machine canvas")
    page.locator(".fm-chart").focus()
    start, picture = phase(), canvas.screenshot()
    page.wait_for_timeout(150)
    assert phase() == start  # motion is reduced by the system: it waits to be asked
    page.keyboard.press(" ")
    page.wait_for_function(
        f"() => Math.abs(document.querySelector('.fm').explorer.machine.phase - {start}) > 0.8"
    )
    page.keyboard.press(" ")
    stopped = phase()
    assert canvas.screenshot() != picture
    page.wait_for_timeout(150)
    assert phase() == stopped


@pytest.mark.slow
def test_pointing_at_a_cell_of_a_map(page: Any, grid: tuple[assembly.Body, xr.Dataset]) -> None:
    """Its values, and a shape from a point of the same verdict; a click keeps the choice."""
    _, charted = grid
    code = classes(charted).transpose("omega", "epsilon").values
    assert {0, 1, 2} <= set(np.unique(code))
    open_view(page, MAP)
    rng = np.random.default_rng(2)
    for i, j in zip(rng.integers(0, 12, 6), rng.integers(0, 8, 6), strict=True):
        one = charted.isel(omega=i, epsilon=j)
        point_at(page, float(one["omega"]), float(one["epsilon"]))
        found, shown = chosen(page), values(page)
        assert found["point"] == 8 * i + j
        assert shown["verdict"] == NAMES[code[i, j]]
        growth = number(shown["growth rate of the instant"])
        assert growth == pytest.approx(float(one["growth_rate"]), rel=1e-4)
        assert code.ravel()[found["at"]] == code[i, j]
        pressed = page.locator(".fm-modes button[aria-pressed=true]").text_content()
        if found["at"] == found["point"]:  # the mode that moves is the one that grows most
            assert number(pressed.split("Re λ")[1]) == pytest.approx(
                float(one["growth_rate"]), rel=1e-3, abs=1e-4
            )
    first, second = ([float(charted[d][k]) for d in ("omega", "epsilon")] for k in (2, 5))
    page.mouse.click(*place(page, *first))
    point_at(page, *second)
    assert chosen(page)["point"] == 8 * 2 + 2
    page.keyboard.press("Escape")
    point_at(page, *second)
    assert chosen(page)["point"] == 8 * 5 + 5


def test_a_complex_mode_turns_in_its_own_sense(
    page: Any, grid: tuple[assembly.Body, xr.Dataset]
) -> None:
    """At a point of flutter the shape is complex; its conjugate would have another MAC."""
    beam, charted = grid
    open_view(page, MAP)
    code = classes(charted).transpose("omega", "epsilon").values
    points = page.evaluate(
        "() => document.querySelector('.fm').explorer.shapes.map((s) => s.point)"
    )
    point = next(p for p in points if code.ravel()[p] == 2)
    page.evaluate(f"() => document.querySelector('.fm').explorer.choose({point}, null)")
    i, j = divmod(point, 8)
    omega, epsilon = float(charted["omega"][i]), float(charted["epsilon"][j])
    modes = modal.solve(beam.freeze(omega=omega, epsilon=epsilon, axis=(1, 0, 0)), k=3)
    vector = modes.right[:, int(np.argmax(modes.eigenvalues.real))]
    expected = beam.free_dofs.displacement(vector)
    assert similarity(expected, expected.conj()) < 0.9
    assert similarity(shown_shape(page, "beam"), expected) > 1.0 - 1e-6


def test_growth_axes_say_that_they_are_not_linear(page: Any) -> None:
    page.locator(".fm-quantity").select_option(label="growth rate Re λ")
    assert "symlog" in " ".join(page.locator(".fm-label").all_text_contents())


def test_pointing_at_the_machine_names_body_and_node(page: Any) -> None:
    box = page.locator(".fm-machine canvas").bounding_box()
    hint = page.locator(".fm-hint")
    for share in np.linspace(0.1, 0.9, 17):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        if hint.is_visible():
            break
    assert any(f"{name}, node " in hint.text_content() for name in ("crank", "rod", "slider"))


@pytest.mark.slow
@pytest.mark.parametrize("view", [TRACKS, MAP])
def test_a_phone(running: Any, page_file: Path, view: int, tracks: xr.Dataset) -> None:
    """A narrow page does not scroll sideways, and a tap chooses."""
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with opened(running, page_file, reduced_motion="reduce", **phone) as page:
        page.wait_for_selector(".fm-values dd")
        open_view(page, view)
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        page.locator(".fm-chart").scroll_into_view_if_needed()
        if view == TRACKS:
            at = float(tracks["time"][5]), float(tracks["frequency"][5, 2])
            page.touchscreen.tap(*place(page, *at))
            assert chosen(page)["point"] == 5 and chosen(page)["mode"] == 2
        else:
            page.touchscreen.tap(*place(page, 0.0, 0.0))
            assert values(page)["verdict"] == NAMES[0]
        small = page.evaluate(
            "() => [...document.querySelectorAll('.fm button')].filter((b) => b.offsetParent)"
            ".map((b) => b.offsetHeight).filter((h) => h < 36).length"
        )
        assert small == 0 and page.faults == []


@pytest.mark.slow
def test_light_and_dark(running: Any, page_file: Path) -> None:
    """As the system says, and the button says otherwise; text has a contrast of at least 4.5."""
    luminance = """() => ["color", "backgroundColor"].map((key) => {
      const rgb = getComputedStyle(document.body)[key].match(/[0-9.]+/g).slice(0, 3);
      const [r, g, b] = rgb.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92
        : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b; })"""
    for scheme in ("light", "dark"):
        with opened(running, page_file, color_scheme=scheme, **STILL) as page:
            page.wait_for_selector(".fm-values dd")
            for pressed in range(3):  # as the system, dark, light
                text, back = page.evaluate(luminance)
                dark = (scheme, "dark", "light")[pressed] == "dark"
                assert (back < 0.05) if dark else (back > 0.9)
                assert (max(text, back) + 0.05) / (min(text, back) + 0.05) > 4.5
                page.locator(".fm-theme button").click()


def test_without_3_d_graphics_the_values_remain(
    running: Any, page_file: Path, tracks: xr.Dataset
) -> None:
    off = """const get = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.startsWith("webgl") ? null : get.call(this, kind, ...rest);
      };"""
    with opened(running, page_file, before=off, **STILL) as page:
        page.wait_for_selector(".fm-values dd")
        assert "WebGL" in page.locator(".fm-message").text_content()
        one = tracks.isel(time=7, mode=1)
        point_at(page, float(one["time"]), float(one["frequency"]))
        assert number(values(page)["frequency"]) == pytest.approx(float(one["frequency"]), rel=1e-4)
        assert page.locator(".fm-message").is_visible()


def test_without_shapes_the_page_says_so(page: Any, tracks: xr.Dataset) -> None:
    open_view(page, BARE)
    assert "No mode shapes" in page.locator(".fm-message").text_content()
    point_at(page, float(tracks["time"][2]), float(tracks["frequency"][2, 0]))
    assert chosen(page) == {"point": 2, "mode": 0, "at": None}
    open_view(page, TRACKS)
    assert not page.locator(".fm-message").is_visible()


def test_without_javascript_the_page_says_so(running: Any, page_file: Path) -> None:
    with opened(running, page_file, java_script_enabled=False) as page:
        assert "needs JavaScript" in page.locator("body").inner_text()
        assert "Unpacking" not in page.locator("body").inner_text()


def test_a_browser_that_cannot_unpack_is_told(running: Any, page_file: Path) -> None:
    before = "delete window.DecompressionStream;"
    with opened(running, page_file, before=before, **STILL) as page:
        page.wait_for_function("() => document.body.innerText.includes('too old')")
        assert not page.locator(".fm").is_visible()


@pytest.mark.slow
def test_the_address_leads_to_the_point(running: Any, page_file: Path, page: Any) -> None:
    """A fixed choice is in the address; the page opened with it shows the same."""
    open_view(page, MAP)
    page.evaluate("() => { const e = document.querySelector('.fm').explorer; e.step(2, 1); }")
    expected, hash = chosen(page), page.evaluate("location.hash")
    assert hash == f"#view=2&point={expected['point'] + 1}&mode={expected['mode'] + 1}"
    for asked, due in ((hash, expected), ("#view=9&point=1", None), ("#view=1&point=999", None)):
        with opened(running, page_file, **STILL) as other:
            other.goto(page_file.as_uri() + asked)
            other.reload()
            other.wait_for_selector(".fm-values dd")
            assert chosen(other) == (due or chosen(other)) and other.faults == []
            if due:
                assert values(other) == values(page)
    page.locator(".fm-chart").press("Escape")
    assert page.evaluate("location.hash") == ""


def test_unstable_modes_are_marked_in_the_list(
    page: Any, grid: tuple[assembly.Body, xr.Dataset]
) -> None:
    """▲ at the mode that flutters, none at a stable point, none of damped tracks."""
    assert not any("▲" in text for text in page.locator(".fm-modes button").all_text_contents())
    open_view(page, MAP)  # at the point that grows most
    marked = ["▲" in text for text in page.locator(".fm-modes button").all_text_contents()]
    beam, charted = grid
    worst = charted.isel(charted["growth_rate"].argmax(...))
    at = {name: float(worst[name]) for name in ("omega", "epsilon")}
    modes = modal.solve(beam.freeze(axis=(1, 0, 0), **at), k=3)
    assert marked == (modes.growth_rate > modes.error_bound).tolist() and any(marked)


def test_a_frozen_interval_of_zero_is_explained(page: Any) -> None:
    page.evaluate(
        "() => { const e = document.querySelector('.fm').explorer;"
        " const q = e.view.quantities.find((one) => one.name === 'frozen_interval');"
        " q.values[0] = 0; e.choose(0, 0); }"
    )
    assert values(page)["frozen interval"].endswith("of this instant do not stand for the motion")


def test_a_map_says_whose_growth_rate_it_shows(
    running: Any, page: Any, grid: tuple[assembly.Body, xr.Dataset], tmp_path: Path
) -> None:
    """Frozen states have rates of the instant, a Hill chart those of the motion."""
    numbers = ".fm-quantity option"
    open_view(page, MAP)
    assert "growth rate of the instant" in page.locator(numbers).all_text_contents()

    def oscillator(speed_rpm: float, drive: float) -> Any:
        return lambda t: np.array([[0.0, 1.0], [-speed_rpm - drive * np.cos(2.0 * t), -0.1]])

    chart = modal.hill_chart(oscillator, np.pi, speed_rpm=[0.5, 1.0], drive=[0.0, 0.5])
    path = modal.write_explorer(tmp_path / "chart.html", [modal.explorer_view(chart)])
    with opened(running, path, **STILL) as other:
        other.wait_for_selector(".fm-values dd")
        texts = other.locator(numbers).all_text_contents()
        assert "growth rate of the motion" in texts and other.faults == []
        assert not any("instant" in text for text in texts)


@pytest.mark.parametrize(("width", "unfolded"), [(390, False), (1200, True)])
def test_a_report_folds_its_provenance_on_a_phone(
    running: Any, tmp_path: Path, width: int, unfolded: bool
) -> None:
    out = OutputFolder(tmp_path / "out", "bar")
    dataset = xr.Dataset(attrs={"package": "frozen-motion"})
    html_report.write(out, study("rotating-bar"), {}, dataset, "numbers")
    viewport = {"width": width, "height": 800}
    with opened(running, out.path / "report.html", viewport=viewport) as shown:
        row = shown.locator(".provenance td", has_text="frozen-motion").first
        assert row.is_visible() == unfolded
        shown.locator(".provenance summary").click()
        assert row.is_visible() != unfolded and shown.faults == []
