"""Build the conda recipe against stand-ins for conda-forge's packages, and run its tests.

    python tools/try_recipe.py [FOLDER]

Needs py-rattler-build. No channel is asked. FOLDER (default build/recipe) gets a channel of
stand-ins: packages with the names and the versions of this environment, whose Python leads to this
environment's packages. What is tried is the recipe: that its requirements can be met at their
bounds, its script, its entry point, its licence and its tests. Not tried are the packages of
conda-forge themselves; `rattler-build build --recipe recipe -c conda-forge` does.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import site
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PYPI = {"matplotlib-base": "matplotlib"}  # names on the package index that differ
BUILD = {"petsc": "real_standin_0", "slepc": "real_standin_0"}
SUBDIR = "linux-64"


def version(name: str) -> str:
    """Version of a requirement in this environment; that of PETSc and SLEPc is petsc4py's."""
    if name == "python":
        return platform.python_version()
    project = {"petsc": "petsc4py", "slepc": "slepc4py"}.get(name, PYPI.get(name, name))
    return metadata.version(project)


def python_files() -> dict[str, bytes | Path]:
    """A Python that is this interpreter, and sees the packages of this environment."""
    short = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    base = Path(sys.base_prefix, "bin", short)
    folders = [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    petsc = [str(Path(sys.modules[n].__file__ or "").parents[1]) for n in ("petsc4py", "slepc4py")]
    listed = dict.fromkeys([*folders, *site.getsitepackages(), *petsc])
    return {
        f"bin/{short}": base,
        "bin/python": base,
        "pyvenv.cfg": f"home = {base.parent}\n".encode(),
        f"lib/{short}/site-packages/standins.pth": ("\n".join(listed) + "\n").encode(),
    }


def package(
    channel: Path, name: str, files: dict[str, bytes | Path]
) -> tuple[str, dict[str, object]]:
    """Write a package; its file name and its row of the channel's index."""
    build = BUILD.get(name, "standin_0")
    row: dict[str, object] = {
        "name": name, "version": version(name), "build": build, "build_number": 0,
        "depends": [], "subdir": SUBDIR,
    }  # fmt: skip
    paths = [
        {"_path": path, "path_type": "softlink" if isinstance(content, Path) else "hardlink",
         **({} if isinstance(content, Path) else
            {"sha256": hashlib.sha256(content).hexdigest(), "size_in_bytes": len(content)})}
        for path, content in files.items()
    ]  # fmt: skip
    members: dict[str, bytes | Path] = {
        "info/index.json": json.dumps(row).encode(),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}).encode(),
        "info/files": "".join(f"{path}\n" for path in files).encode(),
        **files,
    }
    target = channel / SUBDIR / f"{name}-{row['version']}-{build}.tar.bz2"
    with tarfile.open(target, "w:bz2") as archive:
        for path, content in members.items():
            entry = tarfile.TarInfo(path)
            if isinstance(content, Path):
                entry.type, entry.linkname = tarfile.SYMTYPE, str(content)
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    data = target.read_bytes()
    checks = {"sha256": hashlib.sha256(data).hexdigest(), "md5": hashlib.md5(data).hexdigest()}
    return target.name, {**row, **checks, "size": len(data)}


def stand_ins(channel: Path) -> None:
    """The channel: a package for every requirement of the recipe."""
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))
    wanted = recipe["requirements"]["host"] + recipe["requirements"]["run"]
    names = sorted({line.split()[0] for line in wanted})
    (channel / SUBDIR).mkdir(parents=True)
    (channel / "noarch").mkdir()
    rows = dict(package(channel, n, python_files() if n == "python" else {}) for n in names)
    for subdir, packages in ((SUBDIR, rows), ("noarch", {})):
        index = {"info": {"subdir": subdir}, "packages": packages, "packages.conda": {}}
        (channel / subdir / "repodata.json").write_text(json.dumps(index, indent=1), "utf-8")


def short(log: list[str]) -> Iterator[str]:
    """The log without paths, pip's own lines, lists of files and settings of studies."""
    pip = False
    for line in log:
        pip = (pip or line.startswith("Using pip")) and not line.startswith("Successfully built")
        listed = line.startswith(("    ", "   - file:", "  ├", "  └", "  Platform", "  Channels"))
        if line.strip() and not pip and not listed and "/" not in line.partition(" (")[0]:
            yield line.rstrip()


def main(folder: Path) -> int:
    import petsc4py  # noqa: F401
    import rattler_build
    import slepc4py  # noqa: F401

    shutil.rmtree(folder, ignore_errors=True)
    channel = folder / "channel"
    stand_ins(channel)
    for name in ("PYTHONPATH", "PYTHONHOME"):
        os.environ.pop(name, None)
    recipe = rattler_build.Stage0Recipe.from_file(ROOT / "recipe" / "recipe.yaml")
    (variant,) = recipe.render(rattler_build.VariantConfig(), rattler_build.RenderConfig())
    result = variant.run_build(
        tool_config=rattler_build.ToolConfiguration(test_strategy="native"),
        output_dir=folder / "output", channels=[channel.as_uri()],
    )  # fmt: skip
    (folder / "build.log").write_text("\n".join(result.log) + "\n", "utf-8")
    print(*short("\n".join(result.log).splitlines()), sep="\n")
    print(*(f"built {path.name}" for path in result.packages), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(*sys.argv[1:]).resolve() if sys.argv[1:] else ROOT / "build" / "recipe"))
