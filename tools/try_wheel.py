"""Build sdist and wheel, and try the wheel where PETSc is not installed.

    python tools/try_wheel.py [FOLDER]

The sdist is built of the repository, the wheel of the sdist; both must hold every file that git
tracks in the packages. The wheel is installed into a new environment in FOLDER (default
build/wheel) without PETSc; there `first_numbers.py` must give the numbers of this environment.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PACKAGES = ("assembly", "frozen_motion", "modal", "studies")
ALONE = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
ALONE["PYTHONNOUSERSITE"] = "1"
SAME = 1e-9  # relative: what rounding of other kernels may change in a frequency


def built(folder: Path) -> Path:
    """The wheel, made of the sdist."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True)
    files = [str(path) for path in folder.iterdir()]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    (wheel,) = folder.glob("*.whl")
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    missing = set(tracked) - set(zipfile.ZipFile(wheel).namelist())
    assert not missing, f"{wheel.name} lacks {sorted(missing)}"
    return wheel


def first_numbers(python: Path, folder: Path, **variables: str) -> dict[str, object]:
    """What `first_numbers.py` prints with an interpreter."""
    folder.mkdir()
    pages = [str(ROOT / "README.md"), str(ROOT / "docs" / "commands.md")]
    done = subprocess.run(
        [str(python), str(ROOT / "tools" / "first_numbers.py"), *pages],
        cwd=folder, env={**ALONE, **variables}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    printed: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return printed


def main(folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    wheel = built(folder / "dist")
    venv.create(folder / "bare", with_pip=True)
    bare = folder / "bare" / "bin" / "python"
    pins = str(ROOT / "constraints.txt")
    install = [str(bare), "-m", "pip", "install", "-q", "--no-compile", "-c", pins, str(wheel)]
    subprocess.run(install, check=True, env=ALONE)
    without = first_numbers(bare, folder / "without")
    here = first_numbers(Path(sys.executable), folder / "with", PYTHONPATH=str(ROOT))
    assert here["petsc"] and not without["petsc"]
    for name, expected in here["numbers"].items():  # type: ignore[attr-defined]
        numbers = without["numbers"][name]  # type: ignore[index]
        np.testing.assert_allclose(numbers, expected, rtol=SAME, atol=1e-12, err_msg=name)
        print(f"try-wheel: {name}: {np.size(numbers)} numbers as with PETSc")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(*sys.argv[1:]) if sys.argv[1:] else ROOT / "build" / "wheel"))
