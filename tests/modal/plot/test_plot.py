"""Plots of results: what is drawn is what the result holds, and nothing breaks with many modes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet

import assembly
import modal
from assembly import gallery
from assembly.errors import InputError
from modal.exchange.shape_set import outer_faces
from modal.plot.axes import distinct, remove_x_label, styles
from modal.plot.campbell_diagram import ORDER, WHIRL
from modal.plot.map_regions import _field, _upright
from modal.plot.placement import spread


@pytest.fixture(autouse=True)
def closed_figures() -> object:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rotor() -> assembly.Rotor:
    return assembly.rotor(
        [(1.5, assembly.circle(0.05))], assembly.steel, 6,
        discs=[assembly.Disc(0.5, 32.6, 0.33, 0.178)],
        bearings=[assembly.Bearing(x, (1e6, 8e5), 300.0) for x in (0.0, 1.5)],
    )  # fmt: skip


@pytest.fixture(scope="module")
def tracks(rotor: assembly.Rotor) -> xr.Dataset:
    speeds = np.linspace(0.0, 1000.0, 21)
    return modal.track(rotor, omega=speeds, k=4, progress=False)


def test_a_campbell_diagram_shows_frequencies_over_rpm_and_the_whirl(tracks: xr.Dataset) -> None:
    lines = modal.plot.campbell(tracks)
    ax = plt.gca()
    assert ax.get_xlabel() == "speed (rpm)" and "Hz" in ax.get_ylabel()
    rpm = tracks["omega"].values * 30.0 / np.pi
    for mode in range(4):
        words = tracks["whirl"].isel(mode=mode).values.astype(str)
        expected = tracks["frequency"].isel(mode=mode).values
        style = {"forward": "-", "backward": "--"}[words[-1]]
        mine = [
            line
            for line in lines
            if line.get_linestyle() == style and line.get_ydata()[-1] == expected[-1]
        ]
        assert len(mine) == 1
        there = np.isfinite(mine[0].get_ydata())
        np.testing.assert_array_equal(mine[0].get_ydata()[there], expected[there])
        np.testing.assert_allclose(mine[0].get_xdata(), rpm)
        assert np.all(there[words == words[-1]])


@pytest.mark.filterwarnings("error::UserWarning")
def test_orders_above_all_frequencies_are_left_out(rotor: assembly.Rotor) -> None:
    """At 9,000 rpm and above, once a turn is above 150 Hz: no label outside the picture."""
    modal.plot.campbell(modal.track(rotor, omega=[950.0, 1000.0], k=2, progress=False))
    plt.gcf().canvas.draw()
    low = plt.gca().get_xlim()[0]
    assert all(note.xy[0] >= low for note in plt.gca().texts)


def test_a_campbell_diagram_needs_a_speed() -> None:
    blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 4, clamped="start")
    over = modal.track(
        assembly.moving(blade, assembly.spin(10.0, (0, 0, 1))), times=[0.0, 0.1], k=2,
        progress=False,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"modal\.plot\.tracks"):
        modal.plot.campbell(over)
    with pytest.raises(InputError, match="whirl_axis"):
        modal.plot.campbell(over.rename(time="omega"), whirl=True)


@pytest.mark.parametrize("count", [3, 8, 9, distinct(), distinct() + 1, 1000])
@pytest.mark.parametrize("dashed", [True, False])
def test_no_two_modes_look_alike(count: int, dashed: bool) -> None:
    looks = {(str(s["color"]), s["ls"] if dashed else "") for s in styles(count, dashed=dashed)}
    # A colour map has 256 colours; neighbours of a thousand curves may share one.
    assert len(looks) == (count if count <= 256 else 236)


@pytest.mark.slow
def test_modes_of_a_campbell_diagram_with_whirl_differ_in_colour(rotor: assembly.Rotor) -> None:
    """The line style is the sense of whirl: nine modes have nine colours, and a colour bar."""
    tracks = modal.track(rotor, omega=[0.0, 100.0], k=9, progress=False)
    assert set(np.unique(tracks["whirl"].values.astype(str))) <= {"forward", "backward", "planar"}
    lines = modal.plot.campbell(tracks)
    assert len({str(line.get_color()) for line in lines}) == 9
    assert len(plt.gcf().axes) == 2


def test_growth_rates_of_many_modes_look_as_their_frequencies(rotor: assembly.Rotor) -> None:
    tracks = modal.track(rotor, omega=[0.0, 100.0], k=10, progress=False)
    upper, lower = plt.subplots(2)[1]
    looks = [
        [(line.get_color(), line.get_linestyle()) for line in draw(tracks, ax)]
        for draw, ax in ((modal.plot.frequencies, upper), (modal.plot.growth_rates, lower))
    ]
    assert looks[0] == looks[1] and len(set(looks[0])) == 10


@pytest.mark.slow
def test_many_modes_get_a_colour_bar_in_place_of_a_legend() -> None:
    at = np.linspace(0.0, 1.0, 5)
    many = xr.Dataset(
        {
            "frequency": (("omega", "mode"), at[:, None] + np.arange(1000.0)),
            "kind": (("omega", "mode"), np.full((5, 1000), "elastic")),
            "event": (("omega", "mode"), np.full((5, 1000), "none")),
        },
        coords={"omega": at},
    )
    assert len(modal.plot.tracks(many)) == 1000
    figure = plt.gcf()
    assert len(figure.axes) == 2 and figure.axes[0].get_legend() is None
    width, height = figure.get_size_inches() * figure.dpi
    box = figure.get_tightbbox().extents * figure.dpi
    assert box[2] <= 1.02 * width and box[3] <= 1.02 * height


def test_growth_axes_say_that_they_are_not_linear(tracks: xr.Dataset) -> None:
    modal.plot.growth_rates(tracks)
    assert "asinh" in plt.gca().get_ylabel()
    modal.plot.root_locus(tracks)
    assert "asinh" in plt.gca().get_xlabel()


def test_responses_are_drawn_as_they_are(rotor: assembly.Rotor) -> None:
    speeds = np.linspace(10.0, 500.0, 40)
    found = modal.unbalance_response(rotor, speeds, [(0.5, 1e-3, 0.2)], [(2, "uy"), (2, "uz")])
    q = found["displacement"].values
    amplitude, phase = modal.plot.bode(found)[::2]
    np.testing.assert_array_equal(amplitude.get_ydata(), np.abs(q[:, 0]))
    turned = np.exp(1j * np.radians(np.asarray(phase.get_ydata()))) * np.abs(q[:, 0])
    np.testing.assert_allclose(turned, q[:, 0], rtol=1e-12)
    real = modal.plot.nyquist(found)[1].get_xdata()
    np.testing.assert_array_equal(real, q[:, 1].real)
    orbit, start = modal.plot.orbit(found, 2, speeds[7] + 0.1)
    assert start.get_xdata()[0] == q[7, 0].real and start.get_ydata()[0] == q[7, 1].real
    assert np.max(orbit.get_xdata()) <= np.abs(q[7, 0]) * (1 + 1e-12)
    with pytest.raises(InputError, match="no probes uy and uz of node 3"):
        modal.plot.orbit(found, 3, 10.0)


def test_a_waterfall_is_over_frequency_and_the_parameter(rotor: assembly.Rotor) -> None:
    found = modal.frequency_response(
        rotor, np.linspace(1.0, 90.0, 7), {(2, "uy"): 1.0}, over={"omega": [0.0, 100.0, 300.0]}
    )
    mesh = modal.plot.waterfall(found, ("rotor", 2, "uy"))
    np.testing.assert_array_equal(
        np.ravel(mesh.get_array()), np.abs(found["displacement"].values[:, :, 0]).ravel()
    )
    with pytest.raises(InputError, match="waterfall"):
        modal.plot.response(found)


def test_outer_faces_of_a_block() -> None:
    """3 × 2 × 1 bricks: 2 (6 + 3 + 2) faces outside."""
    block = gallery.block(3, 2, 1, "hex20")
    (faces,) = outer_faces(block.cells)
    assert faces.shape == (22, 4)
    modes = modal.solve(block.freeze(), k=2)
    (artist,) = modal.plot.shape(block, modes, 2)
    assert len(artist.get_facecolor()) in (22, 1)
    with pytest.raises(InputError, match="from 1 to 2"):
        modal.plot.shape(block, modes, 0)


def made_up(**more: object) -> xr.Dataset:
    """A mode at 50 Hz that grows beyond 600 rad/s, one of 20 + Ω/2π/20 Hz, and one at 900 Hz."""
    speeds = np.linspace(0.0, 1000.0, 41)
    hertz = np.stack([0 * speeds + 50.0, 20.0 + speeds / (40.0 * np.pi), 0 * speeds + 900.0], 1)
    growth = np.zeros_like(hertz)
    growth[:, 0] = np.where(speeds > 600.0, 1.0, -1.0)
    growth[:, 1:] = -1.0
    event, place = np.full(hertz.shape, "none", dtype=object), np.full(hertz.shape, np.nan)
    event[25, 0], place[25, 0] = "flutter onset", 600.0
    names = ("omega", "mode")
    return xr.Dataset(
        {
            "frequency": (names, hertz, {"units": "Hz"}),
            "eigenvalue": (names, growth + 2j * np.pi * hertz),
            "kind": (names, np.full(hertz.shape, "elastic")),
            "event": (names, event.astype(str)),
            "event_at": (names, place),
            **more,
        },
        coords={"omega": speeds, "mode": np.arange(3)},
    )


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_a_campbell_diagram_marks_crossings_with_orders_and_onsets_with_their_speed() -> None:
    """1× meets 50 Hz at 3,000 rpm, and 20 + n/1200 Hz at n/60 = that: 1,263.2 rpm."""
    modal.plot.campbell(made_up(), orders=(1,))
    ax = plt.gca()
    marks = {str(line.get_label()): line.get_xydata() for line in ax.get_lines()}
    np.testing.assert_allclose(
        marks["crossing with an order"], [[3000.0, 50.0], [24000.0 / 19.0, 400.0 / 19.0]]
    )
    np.testing.assert_allclose(marks["flutter onset"], [[18000.0 / np.pi, 50.0]])
    assert {"3000", "1263", "5730", "1×", "1", "2"} <= set(texts(ax))


def test_what_is_unstable_has_a_band_and_modes_far_above_are_counted() -> None:
    modal.plot.campbell(made_up(), orders=(1,))
    ax = plt.gca()
    (band,) = [line for line in ax.get_lines() if line.get_linewidth() == 5.0]
    drawn = band.get_xdata()[np.isfinite(band.get_ydata())] * np.pi / 30.0
    speeds = made_up()["omega"].values
    np.testing.assert_allclose(drawn, [600.0, *speeds[speeds > 600.0]])  # from the onset on
    assert 50.0 < ax.get_ylim()[1] < 100.0 and "3" not in texts(ax)
    assert ax.get_legend().get_title().get_text() == "1 mode above, 900 to 900 Hz"


def test_planar_modes_and_orders_are_not_alike(tracks: xr.Dataset) -> None:
    """Orders are thin; the three senses of whirl differ in their dashes, not in colour."""
    modal.plot.campbell(tracks)
    orders = [line for line in plt.gca().get_lines() if line.get_linewidth() == ORDER["lw"]]
    assert len(orders) == 3 and all(line.get_linestyle() == "-" for line in orders)
    assert len({str(WHIRL[sense]) for sense in ("forward", "backward", "planar")}) == 3
    modal.plot.campbell(made_up(whirl=(("omega", "mode"), np.full((41, 3), "planar"))))
    assert all(line.get_linestyle() == "-" for line in plt.gca().get_lines()[:3])


def test_lines_on_one_another_share_a_name() -> None:
    same = made_up()
    same["frequency"][:, 1] = 50.0
    modal.plot.campbell(same, orders=(1,))
    assert "1, 2" in texts(plt.gca())


@given(st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=8), st.floats(0.5, 20.0))
def test_labels_are_spread_no_further_than_needed(centres: list[float], gap: float) -> None:
    """Gaps hold; the mean stays; what is apart is left alone."""
    rising = np.sort(centres)
    placed = spread(rising, gap)
    assert np.all(np.diff(placed) >= gap - 1e-9)
    assert placed.mean() == pytest.approx(rising.mean(), abs=1e-9)
    if np.all(np.diff(rising) >= gap):
        np.testing.assert_allclose(placed, rising, atol=1e-9)


def plane(damped: bool = True) -> xr.Dataset:
    """Unstable where x + y/2 > 1.3: growth x + y/2 − 1.3, or zero where stable without damping."""
    x, y = np.linspace(0.0, 2.0, 9), np.linspace(0.0, 1.0, 5)
    rate = x[:, None] + 0.5 * y - 1.3
    unstable = rate > 0.0
    names = ("x", "y")
    return xr.Dataset(
        {
            "growth_rate": (names, rate if damped else np.where(unstable, rate, 0.0)),
            "verdict": (names, np.where(unstable, 2, 0)),
            "proof": (names, np.full(rate.shape, 1)),
        },
        coords={"x": x, "y": y},
    )


def test_the_boundary_of_a_map_is_where_the_growth_rate_is_zero() -> None:
    """A plane is interpolated exactly; the fine grid has the same boundary."""
    mesh = modal.plot.map(plane())
    lines = [line for line in plt.gca().collections if isinstance(line, QuadContourSet)]
    (boundary,) = [c.get_paths()[0].vertices for c in lines if not c.filled]
    np.testing.assert_allclose(boundary @ [1.0, 0.5], 1.3, atol=1e-12)
    corners = mesh.get_coordinates()
    centres = 0.25 * (corners[1:, 1:] + corners[1:, :-1] + corners[:-1, 1:] + corners[:-1, :-1])
    away = np.abs(centres @ [1.0, 0.5] - 1.3) > 1e-6
    assert np.array_equal(mesh.get_array() == 2, centres @ [1.0, 0.5] > 1.3, equal_nan=False) or (
        np.array_equal((mesh.get_array() == 2)[away], (centres @ [1.0, 0.5] > 1.3)[away])
    )


def test_without_damping_the_boundary_is_halfway_between_the_points() -> None:
    field = _field(_upright(plane(damped=False)))
    assert np.array_equal(field > 0.0, plane()["verdict"].values.T == 2)
    assert field[0, 5] == pytest.approx(-field[0, 6])  # x = 1.25 and 1.5: zero at 1.375


@pytest.mark.parametrize("size", [(3.4, 2.7), (7.0, 4.0), (10.0, 5.6)])
def test_the_legend_of_a_map_takes_less_than_a_fifth(size: tuple[float, float]) -> None:
    grid = plane()
    grid["verdict"][:2, :2], grid["verdict"][8, 4] = -1, 1
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    modal.plot.map(grid, ax)
    figure.draw_without_rendering()
    legend = ax.get_legend()
    box = legend.get_window_extent()
    assert box.height < 0.2 * figure.bbox.height and box.x0 >= 0 and box.x1 <= figure.bbox.width
    hatches = {patch.get_hatch() for patch in legend.get_patches()}
    shades = {patch.get_facecolor() for patch in legend.get_patches()}
    assert len(hatches) == len(shades) == 4


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_nothing_is_drawn_in_the_colour_of_the_ground(style: str, tracks: xr.Dataset) -> None:
    with plt.style.context(style):
        ax = plt.subplots()[1]
        modal.plot.campbell(tracks, ax)
        ground = to_rgb(ax.get_facecolor())
        shades = [line.get_color() for line in ax.get_lines()] + [t.get_color() for t in ax.texts]
        contrast = [np.abs(np.subtract(to_rgb(shade), ground)).max() for shade in shades]
        assert min(contrast) > 0.3


@pytest.mark.slow
def test_labels_are_placed_in_the_size_that_is_drawn() -> None:
    """Small axes, below them another: each speed is nearest to its own point, and none overlap."""
    shaft = assembly.beam(0.5, assembly.rectangle(0.034, 0.03), assembly.steel, 3, clamped="start")
    speeds = np.linspace(0.0, 1000.0, 21)
    tracks = modal.track(shaft.with_damping(b=2e-6), omega=speeds, axis=(1, 0, 0), k=4)
    with plt.style.context({"figure.constrained_layout.use": True}):
        fig, (ax, other) = plt.subplots(2, 1, figsize=(3.4, 6.4))
        modal.plot.campbell(tracks, ax)
        other.set_title("two\nlines")
        for size in ((3.4, 6.4), (8.0, 5.0)):
            fig.set_size_inches(size)
            fig.canvas.draw()
            labels = [t for t in ax.texts if t.get_text().isdigit() and len(t.get_text()) > 2]
            boxes = [label.get_window_extent() for label in labels]
            points = np.array([ax.transData.transform(label.xy) for label in labels])  # type: ignore[attr-defined]
            assert len(labels) >= 3
            for n, box in enumerate(boxes):
                assert not any(box.overlaps(later) for later in boxes[n + 1 :])
                centre = np.array([0.5 * (box.x0 + box.x1), 0.5 * (box.y0 + box.y1)])
                half = 0.5 * np.array([box.width, box.height])
                away = np.hypot(*np.maximum(np.abs(points - centre) - half, 0.0).T)
                assert away[n] <= away.min() + 1.0


def test_names_of_lines_stand_clear_of_marks_and_of_the_frame() -> None:
    """The line of mode 1 ends inside, at the onset: its name is far from all marked points."""
    shaft = assembly.beam(0.5, assembly.rectangle(0.034, 0.03), assembly.steel, 3, clamped="start")
    speeds = np.linspace(0.0, 1000.0, 21)
    tracks = modal.track(shaft.with_damping(b=2e-6), omega=speeds, axis=(1, 0, 0), k=4)
    fig, ax = plt.subplots(figsize=(10.0, 4.0), layout="constrained")
    modal.plot.campbell(tracks, ax)
    fig.canvas.draw()
    frame = ax.get_window_extent()
    marks = [t for t in ax.texts if t.get_text().isdigit() and len(t.get_text()) > 2]
    named = {t.get_text(): t for t in ax.texts if t not in marks}
    inside = named["1"]
    place = ax.transData.transform(inside.xy)  # type: ignore[attr-defined]
    for mark in marks:
        apart = ax.transData.transform(mark.xy) - place  # type: ignore[attr-defined]
        assert np.hypot(*apart) > 30.0 and not mark.get_window_extent().overlaps(
            inside.get_window_extent()
        )
    for name in ("1×", "2"):
        assert named[name].get_window_extent().x0 > frame.x1


def test_speeds_whose_marks_lie_on_one_another_share_a_text() -> None:
    """50 and 50.01 Hz meet 1× at 3,000 and 3,000.6 rpm; both are named, once."""
    near = made_up()
    near["frequency"][:, 1] = 50.01
    modal.plot.campbell(near, orders=(1,))
    seen = [text.get_text() for text in plt.gca().texts if text.get_visible()]
    assert "3000, 3001" in seen and "3001" not in seen


def test_low_speeds_are_written_with_decimals() -> None:
    """A mode of 0.3 Hz meets 3× at 6 rpm, over 4 to 12 rpm."""
    slow = made_up().assign_coords(omega=np.linspace(4.0, 12.0, 41) * np.pi / 30.0)
    slow["frequency"][:] = [0.3, 0.301, 2.0]
    slow["event"][:] = "none"
    modal.plot.campbell(slow, orders=(3,))
    assert "6.00, 6.02" in texts(plt.gca())


@pytest.mark.parametrize(("size", "points"), [((3.4, 2.8), 10.0), ((8.0, 4.5), 18.0)])
def test_texts_of_a_rotor_with_pairs_of_modes_do_not_overlap(
    size: tuple[float, float], points: float, tracks: xr.Dataset
) -> None:
    with plt.style.context({"font.size": points}):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        modal.plot.campbell(tracks, ax)
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text()[:1].isdigit()
                 and text.get_visible() and "×" not in text.get_text()]  # fmt: skip
        assert len(boxes) > 6
        for n, box in enumerate(boxes):
            assert not any(box.shrunk(0.9, 0.9).overlaps(other) for other in boxes[n + 1 :])
        legend = ax.get_legend()
        assert legend is not None
        extent = legend.get_window_extent()
        assert extent.x0 >= 0.0 and extent.x1 <= figure.bbox.width


def test_a_narrow_root_locus_says_where_it_begins_and_ends(tracks: xr.Dataset) -> None:
    figure, ax = plt.subplots(figsize=(3.4, 2.8), layout="constrained")
    modal.plot.root_locus(tracks, ax)
    figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None and [t.get_text() for t in legend.get_texts()] == ["0", "1000"]
    assert legend.get_title().get_text() == "angular velocity (rad/s)"
    extent = legend.get_window_extent()
    assert extent.x0 >= 0.0 and extent.x1 <= figure.bbox.width


def test_a_legend_moves_up_where_the_label_of_the_axis_is_removed(tracks: xr.Dataset) -> None:
    figure, (ax, _) = plt.subplots(2, 1, sharex=True, layout="constrained")
    modal.plot.growth_rates(tracks, ax)
    heights = []
    for change in (lambda: None, lambda: remove_x_label(ax)):
        change()
        figure.canvas.draw()
        heights.append(ax.get_window_extent().y0 - ax.get_legend().get_window_extent().y1)
    assert ax.get_xlabel() == "" and 0.0 < heights[1] < 0.5 * heights[0]


@pytest.mark.parametrize("height", [2.55, 2.8, 4.0])
def test_the_label_of_short_axes_is_not_cut_off(height: float) -> None:
    grid = plane()
    grid = grid.assign_coords(
        y=grid["y"].assign_attrs(long_name="angular acceleration", units="rad/s2")
    )
    figure, ax = plt.subplots(figsize=(3.4, height), layout="constrained")
    modal.plot.map(grid, ax)
    figure.canvas.draw()
    box = ax.yaxis.label.get_window_extent()
    assert box.y0 >= 0.0 and box.y1 <= figure.bbox.height


def test_a_legend_leaves_the_axes_four_fifths_of_a_narrow_figure(rotor: assembly.Rotor) -> None:
    forced = modal.unbalance_response(rotor, np.linspace(10.0, 500.0, 9), [(0.5, 1e-3, 0.0)])
    for draw, result in ((modal.plot.response, forced), (modal.plot.tracks, made_up())):
        fig, ax = plt.subplots(figsize=(3.4, 3.4), layout="constrained")
        draw(result, ax)  # type: ignore[operator]
        fig.canvas.draw()
        legend, box = ax.get_legend(), ax.get_window_extent()
        assert legend is not None and legend.get_window_extent().y1 < box.y0
        assert box.width > 0.7 * fig.bbox.width
    fig, ax = plt.subplots(figsize=(11.0, 4.0), layout="constrained")
    modal.plot.response(forced.isel(probe=[0]), ax)
    fig.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None and legend.get_window_extent().x0 > ax.get_window_extent().x1


def test_tracks_are_named_at_their_ends_and_those_that_lie_on_one_another_together() -> None:
    at = np.linspace(0.0, 1.0, 5)
    tracks = xr.Dataset(
        {
            "frequency": (("time", "mode"), np.tile([10.0, 10.0 + 1e-9, 30.0], (5, 1))),
            "kind": (("time", "mode"), np.full((5, 3), "elastic")),
        },
        coords={"time": at},
    )
    fig, ax = plt.subplots(figsize=(3.4, 3.4), layout="constrained")
    modal.plot.frequencies(tracks, ax)
    fig.canvas.draw()
    names = [text for text in ax.texts if text.get_visible()]
    assert [text.get_text() for text in names] == ["1, 2", "3"]
    edge = ax.get_window_extent().x1
    assert all(edge <= text.get_window_extent().x0 for text in names)
    assert all(text.get_window_extent().x1 <= fig.bbox.width for text in names)
