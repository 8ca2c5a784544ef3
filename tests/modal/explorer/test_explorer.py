"""What the page to explore is made of: skins, shapes in order and phase, packed numbers."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from assembly import gallery
from assembly.errors import InputError, StorageError
from modal.explorer import views
from modal.explorer.mode_states import in_phase, indices
from modal.explorer.page import packed, section
from modal.explorer.skins import coarsened, skin_of
from tests.support.paths import ROOT

AXIS = (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def blade() -> assembly.Body:
    return assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 4, clamped="start")


@pytest.fixture(scope="module")
def tracks(blade: assembly.Body) -> xr.Dataset:
    return modal.track(blade, omega=np.linspace(0.0, 300.0, 9), axis=AXIS, k=3, progress=False)


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    """Of a closed surface whose triangles point outwards (divergence theorem)."""
    a, b, c = points[triangles].transpose(1, 0, 2)
    return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(("width", "height"), [(0.05, 0.02), (0.3, 0.1)])
def test_a_beam_is_drawn_with_its_own_rectangle(width: float, height: float) -> None:
    """A rectangle's sides follow from EI/EA = h²/12; the prism is closed, its volume b h L."""
    beam = assembly.beam(2.0, assembly.rectangle(width, height), assembly.steel, 5, name="b")
    assert sorted(np.linalg.norm(beam.sections[0], axis=1)) == pytest.approx(
        sorted([width / 2.0, height / 2.0]), rel=1e-12
    )
    skin = skin_of(beam, 2.0)
    assert volume(skin.points[skin.holder] + skin.arm, skin.triangles) == pytest.approx(
        2.0 * width * height, rel=1e-9
    )


def test_a_round_beam_is_drawn_round() -> None:
    """A circle of radius r has I/A = r²/4."""
    beam = assembly.beam(1.0, assembly.circle(0.08), assembly.steel, 2)
    skin = skin_of(beam, 1.0)
    np.testing.assert_allclose(np.linalg.norm(skin.arm, axis=1), 0.04, rtol=1e-9)


def test_a_turned_and_welded_beam_keeps_its_section() -> None:
    part = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 3)
    frame = assembly.weld([part, part.placed((1.0, 0.0, 0.0), np.pi / 2.0)])
    lines = np.concatenate([nodes for _, nodes in frame.cells])
    span = np.diff(frame.dofs.coordinates[lines], axis=1)[:, 0]
    np.testing.assert_allclose(np.linalg.norm(span, axis=1), 1.0 / 3.0, rtol=1e-12)
    np.testing.assert_allclose(np.einsum("ei,eki->ek", span, frame.sections), 0.0, atol=1e-15)
    np.testing.assert_allclose(
        np.sort(np.linalg.norm(frame.sections, axis=2), axis=1), np.tile([0.01, 0.025], (6, 1)),
        rtol=1e-12,
    )  # fmt: skip


def test_a_solid_is_drawn_by_its_outer_faces() -> None:
    """3 × 2 × 1 bricks: 22 faces, two triangles each, around the volume of the block."""
    block = gallery.block(3, 2, 1, "hex20")
    skin = skin_of(block, 1.0)
    corners = block.dofs.coordinates
    assert len(skin.triangles) == 44
    assert volume(skin.points[skin.holder] + skin.arm, skin.triangles) == pytest.approx(
        np.ptp(corners, axis=0).prod()
    )


def test_a_fine_surface_is_coarsened_and_stays_where_it_is() -> None:
    """A sphere of 2562 nodes at 300: nodes of the sphere, its volume to a tenth, closed."""
    rng = np.linspace(0.0, 1.0, 60)
    u, v = np.meshgrid(2.0 * np.pi * rng[:-1], np.pi * rng[1:-1])
    X = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1).reshape(-1, 3)
    number = np.arange(len(X)).reshape(u.shape)
    right, down = np.roll(number, -1, axis=1), number[1:]
    quads = np.stack([number[:-1], down, right[1:], right[:-1]], axis=-1).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    nodes, few, _ = coarsened(X, np.arange(len(X)), triangles, triangles[:, :2], most=300)
    assert len(nodes) <= 300 and set(few.ravel()) <= set(nodes.tolist())
    assert volume(X, few) == pytest.approx(volume(X, triangles), rel=0.1)
    assert all(len(set(row)) == 3 for row in few.tolist())


def test_phases_follow_the_last_shape() -> None:
    rng = np.random.default_rng(1)
    last = rng.normal(size=(5, 6)) + 1j * rng.normal(size=(5, 6))
    turned = in_phase(last * np.exp(2.1j) * 7.0, last, reach=0.1)
    ratio = turned / last
    np.testing.assert_allclose(ratio.imag, 0.0, atol=1e-12)
    assert np.all(ratio.real > 0.0)
    real = in_phase(rng.normal(size=(5, 6)) * np.exp(0.7j), None, reach=0.1)
    np.testing.assert_allclose(real.imag, 0.0, atol=1e-12)
    weights = np.repeat([1.0, 0.1], 3)
    assert np.abs(turned * weights).max() == pytest.approx(1.0)


@pytest.mark.parametrize(("sizes", "most"), [((9,), 4), ((41, 41), 100), ((2, 50), 10)])
def test_points_with_shapes_are_spread_over_all(sizes: tuple[int, ...], most: int) -> None:
    chosen = np.array(indices(sizes, most))
    assert 2 ** len(sizes) <= len(chosen) <= max(most, 2 ** len(sizes))
    np.testing.assert_array_equal(chosen.min(axis=0), 0)
    np.testing.assert_array_equal(chosen.max(axis=0), np.array(sizes) - 1)


def test_shapes_are_in_the_order_of_the_tracks(blade: assembly.Body, tracks: xr.Dataset) -> None:
    view = modal.explorer_view(tracks, blade, axis=AXIS)
    for state in view.states:
        row = tracks["eigenvalue"].values[state.index[0]]
        np.testing.assert_allclose(state.eigenvalues, row, rtol=1e-6, atol=1e-6)
    swapped = tracks.isel(mode=[2, 0, 1])
    other = modal.explorer_view(swapped, blade, states=2, axis=AXIS)
    np.testing.assert_allclose(
        np.abs(other.states[0].fields[[1, 2, 0]]), np.abs(view.states[0].fields), atol=1e-6
    )


@pytest.mark.slow
def test_shapes_of_a_solid_link_from_its_basis_are_those_of_full_solves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The full solutions are those of `modal.solve` on the whole mechanism."""
    machine = gallery.solid_slider_crank((6, 1, 1), damping=(1.0, 1e-6))(80.0)
    times = np.linspace(0.0, 0.05, 9)
    tracks = modal.track(machine, times=times, k=3, progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(views, "solve", None)
        view = modal.explorer_view(tracks, machine, states=3)
    assert [state.index for state in view.states] == [(0,), (4,), (8,)]
    skins = [body for _, body in view.bodies]
    for state in view.states:
        t = float(times[state.index])
        full = modal.solve(machine.freeze(t), k=6)
        for mode, eigenvalue in enumerate(state.eigenvalues):
            distance = np.abs(full.eigenvalues - eigenvalue) / np.abs(eigenvalue)
            assert distance.min() < 1e-7
            vectors = np.asarray(full.right)[:, [int(distance.argmin())]]
            parts = []
            for one, skin in zip(
                modal.placed_bodies(machine, {"time": t}, vectors), skins, strict=True
            ):
                field = np.zeros((len(one.body.dofs.coordinates), 6), dtype=complex)
                field[one.body.dofs.node, one.body.dofs.component] = one.vectors[:, 0]
                parts.append(field[skin.nodes])
            expected, found = np.concatenate(parts).ravel(), state.fields[mode].ravel()
            cosine = abs(np.vdot(expected, found))
            cosine /= np.linalg.norm(expected) * np.linalg.norm(found)
            assert cosine > 1.0 - 1e-6


def test_a_mode_that_the_model_does_not_have_has_no_shape(
    blade: assembly.Body, tracks: xr.Dataset
) -> None:
    wrong = tracks.copy(deep=True)
    wrong["eigenvalue"][:, 1] *= 1.3
    view = modal.explorer_view(wrong, blade, states=3, axis=AXIS)
    assert all(
        np.isnan(state.eigenvalues).tolist() == [False, True, False] for state in view.states
    )
    packed_modes = unpacked(packed([view]))[0]["states"][0]["modes"]
    assert packed_modes[1] is None and packed_modes[0] is not None


def test_packed_shapes_are_the_shapes(blade: assembly.Body, tracks: xr.Dataset) -> None:
    """16-bit numbers: each component to half a step of 1/32767 of the largest."""
    view = modal.explorer_view(tracks, blade, axis=AXIS)
    (data,) = unpacked(packed([view]))
    assert data["kind"] == "tracks" and data["rotates"] and not data["flat"]
    field = view.states[4].fields[1]
    shape = data["states"][4]["modes"][1]
    numbers = np.frombuffer(base64.b64decode(shape["values"]), dtype=np.int16).astype(float)
    parts = numbers.reshape(2 if shape["real"] else 4, -1, 3)
    count = len(parts) // 2
    for k, own in enumerate((field[:, :3], field[:, 3:])):
        found = parts[k * count] * shape["scale"][k]
        assert np.abs(found - own.real).max() <= 0.51 * shape["scale"][k]
    assert data["quantities"][0]["values"] == pytest.approx(tracks["frequency"].values.ravel())


def test_a_page_that_would_be_too_large_keeps_fewer_shapes(
    blade: assembly.Body, tracks: xr.Dataset
) -> None:
    view = modal.explorer_view(tracks, blade, axis=AXIS)
    (whole,), (small,) = unpacked(packed([view])), unpacked(packed([view], limit=2000))
    assert len(whole["states"]) == 9 and 1 <= len(small["states"]) < 9
    assert small["quantities"] == whole["quantities"]


def test_names_cannot_break_out_of_the_page(tracks: xr.Dataset, tmp_path: Path) -> None:
    title = "</script><b>bold</b>"
    view = modal.explorer_view(tracks, title=title)
    text = modal.write_explorer(tmp_path / "page.html", view, title=title).read_text("utf-8")
    assert "<b>bold" not in text and "&lt;b&gt;bold" in text
    assert unpacked(packed([view]))[0]["title"] == title
    assert not re.search(r'(src|href)="(?!data:)', section([view]))


def test_what_cannot_be_shown_is_refused(
    blade: assembly.Body, tracks: xr.Dataset, tmp_path: Path
) -> None:
    class Own:
        """A model without geometry."""

        def freeze(self, omega: float) -> assembly.FrozenSystem:
            return blade.freeze(omega=omega, axis=AXIS)

    with pytest.raises(InputError, match=r"modal\.track"):
        modal.explorer_view(xr.Dataset({"x": ("y", np.zeros(2))}))
    with pytest.raises(InputError, match="Own has no geometry"):
        modal.explorer_view(tracks, Own())
    with pytest.raises(InputError, match="at least 2"):
        modal.explorer_view(tracks, blade, states=1, axis=AXIS)
    with pytest.raises(InputError, match=r"\.html"):
        modal.write_explorer(tmp_path / "page.txt", modal.explorer_view(tracks))
    with pytest.raises(InputError, match="at least one"):
        modal.write_explorer(tmp_path / "page.html", [])
    with pytest.raises(StorageError, match="could not be written"):
        modal.write_explorer(tmp_path / "none" / "page.html", modal.explorer_view(tracks))


def test_a_model_of_ones_own_is_drawn_by_its_geometry(
    blade: assembly.Body, tracks: xr.Dataset
) -> None:
    class Own:
        def freeze(self, omega: float) -> assembly.FrozenSystem:
            return blade.freeze(omega=omega, axis=AXIS)

    view = modal.explorer_view(
        tracks, Own(), geometry=lambda point, vectors: modal.placed_bodies(blade, point, vectors)
    )
    same = modal.explorer_view(tracks, blade, axis=AXIS)
    np.testing.assert_allclose(view.states[3].fields, same.states[3].fields, atol=1e-9)


def test_a_rotor_is_drawn_with_its_discs() -> None:
    """A uniform disc has I_p = m r²/2."""
    rotor = assembly.rotor(
        [(1.0, assembly.circle(0.04))], assembly.steel, 4,
        discs=[assembly.Disc(0.5, 10.0, 0.2, 0.11)],
        bearings=[assembly.Bearing(x, (1e6, 1e6), 0.0) for x in (0.0, 1.0)],
    )  # fmt: skip
    shown = modal.track(rotor, omega=[0.0, 100.0], k=2, progress=False)
    ((_, skin),) = modal.explorer_view(shown, rotor).bodies
    assert np.linalg.norm(skin.arm[:, 1:], axis=1).max() == pytest.approx(np.sqrt(2 * 0.2 / 10.0))


def test_a_moving_body_is_drawn_where_it_is(blade: assembly.Body) -> None:
    model = assembly.moving(blade, assembly.spin(np.pi, AXIS))
    shown = modal.track(model, times=[0.0, 0.5, 1.0], k=2, progress=False)
    view = modal.explorer_view(shown, model)
    tips = [state.poses[0, :, :3] @ [1.0, 0.0, 0.0] for state in view.states]
    np.testing.assert_allclose(tips, [[1, 0, 0], [0, 1, 0], [-1, 0, 0]], atol=1e-12)


def test_the_library_is_the_one_that_the_tool_builds() -> None:
    """The versions of package.json are those in the licences, which stand before the code."""
    root = ROOT
    wanted = json.loads((root / "tools/explorer_libraries/package.json").read_text("utf-8"))
    assets = root / "modal/explorer/assets"
    licences = (assets / "libraries_licences.txt").read_text("utf-8")
    code = gzip.decompress((assets / "libraries.js.gz").read_bytes()).decode()
    for name, version in wanted["dependencies"].items():
        assert f"\n{name} {version}\n" in licences
    assert licences.strip() in code and "libraries=" in code
    assert f'"{wanted["dependencies"]["three"].split(".")[1]}"' in code  # three's REVISION
