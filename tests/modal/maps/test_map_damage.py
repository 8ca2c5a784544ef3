"""Every kind of damage to a stored map: mended to the bits that were there, or refused in one line.

The expected values are those of the map before it was damaged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from assembly.errors import StorageError
from modal.maps.stability_maps import stability_map
from modal.maps.store import MapStore
from tests.support.affine_families import Planar

AXES = dict(omega=np.linspace(0.1, 2.4, 23), epsilon=np.linspace(-0.3, 0.3, 21))  # 3 × 3 tiles
TILE = "1/1"  # the one that is damaged
Damage = Callable[[Path], None]


def shaft() -> Planar:
    n4 = np.arange(1.0, 13.0) ** 4
    return Planar(np.column_stack([n4, 1.44 * n4]), damping=0.01)


def compute(store: Path, resume: bool = True) -> xr.Dataset:
    return stability_map(shaft(), k=4, store=store, resume=resume, progress=False, **AXES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("whole") / "map.zarr"
    compute(store)
    return store


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "map.zarr"))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def deleted(path: Path) -> None:
    path.unlink()


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(bytes(data))


def zero_filled(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


def another(path: Path) -> None:
    """The chunk of the tile before."""
    replaced = Path(str(path).replace("/c/1/1", "/c/0/0").replace("/1.1.npz", "/0.0.npz"))
    assert replaced != path and replaced.read_bytes() != path.read_bytes()
    shutil.copy(replaced, path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").write_text("something else")


def garbage(path: Path) -> None:
    path.write_text('{"zarr_format": 3, "node_type": ["array"')


def a_list(path: Path) -> None:
    path.write_text("[1, 2, 3]")


CHUNKS = {
    "growth_rate": f"growth_rate/c/{TILE}",
    "critical_frequency": f"critical_frequency/c/{TILE}",
    "verdict": f"verdict/c/{TILE}",
    "last tile, smaller than a chunk": "growth_rate/c/2/2",
    "done": f"done/c/{TILE}",
    "checkpoint": "tiles/1.1.npz",
}


DAMAGES = (truncated, emptied, deleted, flipped, zero_filled, longer, another, a_folder)
# The chunk of another tile does no damage where tiles are alike, and has another size at the end.
CASES = [
    pytest.param(
        chunk,
        damage,
        id=f"{damage.__name__}-{name}",
        marks=() if damage is flipped else pytest.mark.slow,
    )
    for damage in DAMAGES
    for name, chunk in CHUNKS.items()
    if damage is not another or not ("2/2" in chunk or name == "done")
]


@pytest.mark.parametrize("chunk, damage", CASES)
def test_a_damaged_tile_is_computed_again(
    store: Path, whole: Path, chunk: str, damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(store / chunk)
    written = []
    write = MapStore.write
    monkeypatch.setattr(MapStore, "write", lambda *a: (written.append(a[1]), write(*a))[1])
    again = compute(store)
    assert len(written) == 1
    xr.testing.assert_identical(again, compute(whole))
    opened = xr.open_zarr(store, consolidated=False)
    xr.testing.assert_identical(opened.load(), xr.open_zarr(whole, consolidated=False).load())
    assert bool(opened.done.all())


def test_done_without_values_is_not_done(store: Path, whole: Path) -> None:
    """All chunks of a tile are gone but `done`: no NaN is taken for a result."""
    for name in ("growth_rate", "critical_frequency", "error_bound", "verdict"):
        (store / name / "c" / TILE).unlink()
    xr.testing.assert_identical(compute(store), compute(whole))


def test_all_chunks_of_another_tile_are_noticed(store: Path, whole: Path) -> None:
    """A tile that is consistent in itself, with its checkpoint, in another tile's place."""
    for source in list(store.rglob("c/0/0")):
        shutil.copy(source, str(source).replace("/c/0/0", "/c/1/1"))
    shutil.copy(store / "tiles" / "0.0.npz", store / "tiles" / "1.1.npz")
    xr.testing.assert_identical(compute(store), compute(whole))


@pytest.mark.slow
def test_a_tile_of_another_map_is_noticed(store: Path, whole: Path, tmp_path: Path) -> None:
    """The same grid and model, fewer modes: the tile's checkpoint is sound, but of its own map."""
    other = tmp_path / "other.zarr"
    stability_map(shaft(), k=3, store=other, progress=False, **AXES)
    for source in [*other.rglob(f"c/{TILE}"), other / "tiles" / "1.1.npz"]:
        shutil.copy(source, store / source.relative_to(other))
    xr.testing.assert_identical(compute(store), compute(whole))


METADATA = (
    "zarr.json", "growth_rate/zarr.json", "done/zarr.json", "omega/zarr.json", "tiles/zarr.json",
)  # fmt: skip


@pytest.mark.parametrize("name", METADATA)
@pytest.mark.parametrize("damage", [truncated, emptied, deleted, garbage, a_list, zero_filled])
def test_damaged_metadata_are_refused_in_one_line(store: Path, name: str, damage: Damage) -> None:
    damage(store / name)
    refused(store)


ARRAYS = ("tiles/study.npz", "omega/c/0")


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("damage", [truncated, emptied, deleted, flipped, zero_filled, a_folder])
def test_a_damaged_basis_is_refused_in_one_line(store: Path, name: str, damage: Damage) -> None:
    damage(store / name)
    refused(store)


EDITS = {
    "tolerance": ("zarr.json", lambda m: m["attributes"].update(tolerance=1e-3)),
    "date": ("zarr.json", lambda m: m["attributes"].update(date="yesterday")),
    "solver": ("zarr.json", lambda m: m["attributes"].pop("solver")),
    "units": ("growth_rate/zarr.json", lambda m: m["attributes"].update(units="Hz")),
    "type of values": ("growth_rate/zarr.json", lambda m: m.update(data_type="float32")),
    "sign of the flags": ("verdict/zarr.json", lambda m: m.update(data_type="uint8")),
    "shape": ("done/zarr.json", lambda m: m.update(shape=[23, 22])),
    "fill value": ("verdict/zarr.json", lambda m: m.update(fill_value=1)),
    "dimensions": ("verdict/zarr.json", lambda m: m.update(dimension_names=["epsilon", "omega"])),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_metadata_are_refused_in_one_line(store: Path, edit: str) -> None:
    name, change = EDITS[edit]
    path = store / name
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))
    refused(store)


def test_other_files_in_the_folder_do_no_harm(store: Path, whole: Path) -> None:
    (store / "notes.txt").write_text("notes")
    (store / "growth_rate" / "c" / "9").mkdir()
    (store / "growth_rate" / "c" / "9" / "9").write_bytes(b"beyond the grid")
    (store / "growth_rate" / "c" / "1" / "1.0123456789abcdef.partial").write_bytes(b"half")
    xr.testing.assert_identical(compute(store), compute(whole))
    assert not list(store.rglob("*.partial"))


def refused(store: Path) -> None:
    """A resumed map ends in one line, and the store is left as it was."""
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    with pytest.raises(StorageError, match=r"map\.zarr") as fault:
        compute(store)
    assert "\n" not in str(fault.value) and len(str(fault.value)) < 400
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before
