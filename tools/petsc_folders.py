"""Print the folders that hold petsc4py and slepc4py, one a line, for a `.pth` file.

    python petsc_folders.py [real|complex]

Debian and Ubuntu keep each PETSc build in a folder of its own, on no Python's path.
Real builds: prints nothing where both packages import as they are. Exits 1 where they are missing.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path

PACKAGES = {"petsc": "petsc4py", "slepc": "slepc4py"}
PYTHON_FOLDER = "lib/python3/dist-packages"


def builds(library: str, root: Path, scalar: str) -> dict[tuple[int, ...], Path]:
    """The folders of the builds of `library` under `root` with real or complex scalars, by
    version."""
    found = {}
    for folder in root.glob(f"{library}dir/{library}*/*-{scalar}/{PYTHON_FOLDER}"):
        version = re.fullmatch(rf"{library}(\d+(?:\.\d+)*)", folder.parents[3].name)
        if version and (folder / PACKAGES[library]).is_dir():
            found[tuple(map(int, version[1].split(".")))] = folder
    return found


def newest_pair(root: Path = Path("/usr/lib"), scalar: str = "real") -> list[Path]:
    """The folders of the newest PETSc that has a SLEPc of its own version; empty if none has."""
    petsc, slepc = builds("petsc", root, scalar), builds("slepc", root, scalar)
    both = sorted(petsc.keys() & slepc.keys())
    return [petsc[both[-1]], slepc[both[-1]]] if both else []


def chosen_by_user() -> list[Path]:
    """The folders below PETSC_DIR and SLEPC_DIR, where both are set and hold the packages."""
    folders = []
    architecture = os.environ.get("PETSC_ARCH", "")
    for library, package in PACKAGES.items():
        base = os.environ.get(f"{library.upper()}_DIR", "")
        candidates = [Path(base, architecture, "lib"), Path(base, PYTHON_FOLDER)]
        folders += [c for c in candidates if base and (c / package).is_dir()][:1]
    return folders if len(folders) == len(PACKAGES) else []


def main(scalar: str = "real") -> int:
    if scalar == "real" and all(map(importlib.util.find_spec, PACKAGES.values())):
        return 0
    folders = chosen_by_user() or newest_pair(scalar=scalar)
    print(*folders, sep="\n", end="\n" if folders else "")
    return 0 if folders else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
