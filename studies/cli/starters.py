"""The command new: a commented model file of a kind, with the files that it names."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from assembly.errors import StudyError
from modal.data.folder import storage_faults
from studies.cli.completion import KINDS
from studies.reporting.ranges import nearest

PLACES = {"blade.msh": "studies.rotating_blade"}  # of files that are not beside the starters
COMPANIONS = {
    "blade": ("blade-sections.csv",),
    "solid": ("blade.msh",),
    "matrices": ("M.mtx", "K.mtx", "dofs.csv"),
}


def write_starter(kind: str, target: Path | None, force: bool = False) -> list[Path]:
    """Write the model file of a kind, and what it names beside it.

    Returns the files. Raises StudyError for another kind or a file that is there already, before
    anything is written; StorageError where a file cannot be written.
    """
    if kind not in KINDS:
        raise StudyError(f"new {kind}: no such kind; {nearest(kind, KINDS)}")
    model = target or Path(f"{kind}.toml")
    if model.suffix != ".toml":
        raise StudyError(f"{model}: expected a name that ends in .toml")
    folder = model.parent
    if not folder.is_dir():
        raise StudyError(f"{model}: there is no folder {folder}")
    starter = resources.files("studies.model_files").joinpath("starters")
    text = starter.joinpath(f"{kind}.toml").read_bytes()
    contents = {model: text.replace(f"{kind}.toml".encode(), model.name.encode())}
    for name in COMPANIONS.get(kind, ()):
        place = resources.files(PLACES[name]) if name in PLACES else starter
        contents[folder / name] = place.joinpath(name).read_bytes()
    for path, content in contents.items():
        if path.exists() and not force and (path == model or path.read_bytes() != content):
            raise StudyError(f"{path}: is there already; give another name, or --force")
    for path, content in contents.items():
        with storage_faults(path):
            path.write_bytes(content)
    return list(contents)
