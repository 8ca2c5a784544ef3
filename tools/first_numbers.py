"""What a newcomer computes first, with the installed package, in an empty folder.

    python first_numbers.py README.md docs/commands.md

The ten lines of the README, a track of a slider-crank, and a map and a check of the manual's model
file by the command. The last line is JSON: the numbers, and whether PETSc is there.
"""

import json
import re
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import numpy as np

TRACK = dict(times=np.linspace(0.0, 0.04, 21), k=3)  # of the slider-crank: a turn
MAP = ["--x", "omega=0:400:6", "--y", "epsilon=-1e4:1e4:5"]


def block(page: str, language: str) -> str:
    """The first block of a language in a page."""
    found = re.search(rf"^```{language}\n(.*?)^```", Path(page).read_text("utf-8"), re.S | re.M)
    assert found is not None, f"{page}: no block of {language}"
    return found[1]


def command(*arguments: str) -> str:
    """What the command frozen-motion prints."""
    program = Path(sysconfig.get_path("scripts"), "frozen-motion")
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main(readme: str, commands: str) -> None:
    import assembly
    import modal

    assert not {"petsc4py", "slepc4py"} & set(sys.modules), "the import brings PETSc with it"
    names: dict[str, object] = {}
    exec(block(readme, "python"), names)
    import xarray as xr

    import studies

    machine = studies.slider_crank.model(crank=0.15, rod=0.30, speed_rpm=1500)
    turn = modal.track(machine, **TRACK)
    solid = modal.solve(assembly.gallery.block(10, 7, 7).freeze(omega=(0.0, 0.0, 50.0)), k=4)
    Path("blade.toml").write_text(block(commands, "toml"), encoding="utf-8")
    command("map", "blade.toml", *MAP, "--out", "map")
    grid = xr.open_dataset("map/map.nc")
    checked = command("check", "blade.toml")
    growth = re.findall(r"^ +\d+ +([\d.]+) +([-\d.]+) +[-\d.]+", checked, re.M)
    numbers = {
        "README": names["tracks"]["frequency"].values.tolist(),  # type: ignore[index]
        "slider-crank": turn["frequency"].values.tolist(),
        "solid": solid.frequency.tolist(),
        "map": grid["verdict"].values.tolist(),
        "check": [[float(word) for word in row] for row in growth],
    }
    print(json.dumps({"petsc": find_spec("petsc4py") is not None, "numbers": numbers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
