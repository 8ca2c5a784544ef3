"""The rooms of the packages and the arrows between them: imports point one way.

`ROOMS` lists the rooms from the ground up. A file may import from its own room and from those
listed before it, and from no other. `python tests/project/test_architecture.py` prints the arrows.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


ROOMS = (
    "assembly.errors",
    "assembly.types",
    "assembly.arguments",
    "assembly.optional",
    "assembly.boundary",
    "assembly.lazy",
    "assembly.magnitudes",
    "assembly.kinematics",
    "assembly.parallel",
    "assembly.linalg",
    "assembly.materials",
    "assembly.dofs",
    "assembly.system",
    "assembly.elements",
    "assembly.mesh",
    "assembly.bodies",
    "assembly.motion",
    "assembly.mechanisms",
    "assembly.gallery",
    "assembly",
    "modal.types",
    "modal.data",
    "modal.eigen",
    "modal.reduction",
    "modal.provenance",
    "modal.proofs",
    "modal.transient",
    "modal.response",
    "modal.exchange",
    "modal.tracking",
    "modal.maps",
    "modal.critical",
    "modal.periodic",
    "modal.checks",
    "modal.plot",
    "modal.explorer",
    "modal",
    "studies.reporting",
    "studies.figures",
    "studies.model_files",
    "studies.registry",
    "studies.STUDY",
    "studies.cli",
    "studies",
    "studies.__main__",
)
FILES = sorted(  # and the stubs, which hold the imports of the public names
    p for package in ("assembly", "modal", "studies") for p in (ROOT / package).rglob("*.py*")
    if p.suffix in (".py", ".pyi")
)  # fmt: skip


def room_of(module: str) -> str:
    """The room of a module or package, by its dotted name."""
    parts = module.split(".")
    name = ".".join(parts[:2])
    if name in ROOMS:
        return name
    return "studies.STUDY" if parts[0] == "studies" and len(parts) > 1 else parts[0]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(path: Path) -> set[str]:
    """Modules of the three packages that a file imports, for its types too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            base = ROOT / Path(*node.module.split("."))
            for alias in node.names:
                inner = (base / alias.name).with_suffix(".py").exists() or (
                    base / alias.name
                ).is_dir()
                names.add(f"{node.module}.{alias.name}" if inner else node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] in ("assembly", "modal", "studies")}


def arrows() -> dict[tuple[str, str], set[str]]:
    """Arrows between rooms, each with the files that make it."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in FILES:
        here = room_of(module_of(path))
        for name in imported(path):
            there = room_of(name)
            if there != here:
                found.setdefault((here, there), set()).add(str(path.relative_to(ROOT)))
    return found


def test_imports_point_down() -> None:
    for (here, there), files in arrows().items():
        assert ROOMS.index(there) < ROOMS.index(here), f"{here} → {there}: {sorted(files)}"


def test_rooms_import_from_rooms() -> None:
    """In `assembly` and `modal` nobody imports the public names of a package, but its own stub."""
    for path in FILES:
        if path.parts[-2:] in (("assembly", "__init__.pyi"), ("modal", "__init__.pyi")):
            continue
        if module_of(path).split(".")[0] in ("assembly", "modal"):
            assert not imported(path) & {"assembly", "modal"}, path


def test_no_circle_of_imports() -> None:
    """No files that import each other by any way, imports for types and inside functions too."""
    files = {module_of(path): path for path in FILES if path.suffix == ".py"}
    below = {name: imported(path) & files.keys() - {name} for name, path in files.items()}
    while leaves := {name for name, targets in below.items() if not targets & below.keys()}:
        below = {name: targets for name, targets in below.items() if name not in leaves}
    assert not below, sorted(below)


def test_a_study_imports_of_another_only_its_machine_and_its_rigid_motion() -> None:
    for path in FILES:
        here = module_of(path)
        for name in imported(path):
            if room_of(here) == room_of(name) == "studies.STUDY":
                study, part = name.split(".")[1], name.split(".")[2:3]
                assert study == here.split(".")[1] or part in (["machine"], ["rigid"]), here


def test_no_module_lies_beside_the_rooms() -> None:
    """Only the few words everyone uses stand in a package's own folder."""
    allowed = {
        "assembly": {
            "__init__",
            "lazy",
            "optional",
            "errors",
            "types",
            "arguments",
            "boundary",
            "magnitudes",
            "kinematics",
            "dofs",
            "gallery",
        },
        "modal": {"__init__", "types"},
        "studies": {"__init__", "__main__", "registry"},
    }
    for package, names in allowed.items():
        assert {path.stem for path in (ROOT / package).glob("*.py")} <= names


def test_no_room_has_the_name_of_a_public_function() -> None:
    import assembly
    import modal

    for package in (assembly, modal):
        folder = Path(str(package.__file__)).parent
        rooms = {path.name for path in folder.iterdir() if path.is_dir()}
        public = rooms & set(package.__all__)  # gallery and plot are modules
        assert not {name for name in public if callable(getattr(package, name))}


if __name__ == "__main__":
    for (here, there), files in sorted(arrows().items()):
        print(f"{here:<22} → {there:<22} {len(files)} files")
