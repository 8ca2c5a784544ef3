"""Draw the path of each public verb through the rooms: docs/images/paths.png.

    python tools/draw_paths.py

A verb is called on a small model, and on one of a reduced basis. Counted are the files of `modal`
whose functions it enters, by room, and the hops from file to file that the deepest is away from
the public function.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import assembly  # noqa: E402
import modal  # noqa: E402
from studies.slider_crank.machine import model  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "paths.png"
PACKAGE = ROOT / "modal"


@dataclass(frozen=True)
class Route:
    """The files of `modal` that a verb enters, each with its hops from the public function."""

    hops: Mapping[str, int]

    @property
    def files(self) -> int:
        return len(self.hops)

    @property
    def deepest(self) -> int:
        return max(self.hops.values())

    def rooms(self) -> Counter[str]:
        return Counter(name.split("/")[0] for name in self.hops)


def verbs() -> dict[str, Callable[[], Any]]:
    """Calls of the public verbs, with their default checks."""
    section = assembly.rectangle(0.05, 0.02)
    beam = assembly.beam(1.0, section, assembly.steel, 12, clamped="start")
    beam = beam.with_damping(a=2.0, b=1e-6)
    crank, turn = model(elements=1, speed_rpm=1500), 0.04
    system = beam.freeze(omega=(0.0, 0.0, 50.0))
    plane = dict(axis=(0.0, 0.0, 1.0), k=3, progress=False)
    start = np.full(crank.freeze(t=0.0).n, 1e-6)
    force = np.eye(system.n)[-1]
    speeds, rates = np.linspace(0.0, 100.0, 12), np.linspace(-1e3, 1e3, 4)
    return {
        "solve": lambda: modal.solve(system, k=4),
        "stability": lambda: modal.stability(system),
        "track": lambda: modal.track(beam, omega=speeds, **plane),
        "track (time)": lambda: modal.track(
            crank, times=np.linspace(0.0, turn, 12), k=3, progress=False
        ),
        "stability_map": lambda: modal.stability_map(
            beam, omega=speeds[:4], epsilon=rates, **plane
        ),
        "frequency_response": lambda: modal.frequency_response(
            system, np.linspace(1.0, 100.0, 20), force
        ),
        "integrate": lambda: modal.integrate(crank, (0.0, 0.25 * turn), (start, 0.0 * start)),
        "floquet": lambda: modal.floquet(crank, turn),
    }


@cache
def _file(path: str) -> str | None:
    """The name of a file of `modal`, without its suffix; None of another."""
    inside = Path(path).is_relative_to(PACKAGE)
    return str(Path(path).relative_to(PACKAGE).with_suffix("")) if inside else None


def route(call: Callable[[], Any]) -> Route:
    """The path of one call; caches of an earlier one are filled."""
    call()
    links: dict[str, set[str]] = {}
    entered: list[str] = []

    def name(frame: FrameType) -> str | None:
        return None if frame.f_code.co_name == "<module>" else _file(frame.f_code.co_filename)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (here := name(frame)) is None:
            return
        caller = frame.f_back
        while caller is not None and name(caller) is None:
            caller = caller.f_back
        if here not in links:
            links[here] = set()
            entered.append(here)
        if caller is not None:
            links[str(name(caller))].add(here)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    hops = {entered[0]: 0}
    waiting = deque(entered[:1])
    while waiting:
        here = waiting.popleft()
        for there in sorted(links[here] - hops.keys()):
            hops[there] = hops[here] + 1
            waiting.append(there)
    return Route(hops)


def draw(path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    routes = {verb: route(call) for verb, call in verbs().items()}
    rooms = sorted({room for found in routes.values() for room in found.rooms()})
    counts = np.array([[found.rooms()[room] for found in routes.values()] for room in rooms])
    figure, ax = plt.subplots(figsize=(8.6, 0.42 * (len(rooms) + 4)), layout="constrained")
    shown, most = np.where(counts, counts, np.nan), 1.6 * counts.max()
    ax.imshow(shown, cmap="Blues", vmin=0.0, vmax=most, aspect="auto")
    for i, row in enumerate(counts):
        for j, number in enumerate(row):
            if number:
                ax.text(j, i, str(number), ha="center", va="center")
    totals = [
        verb.replace("_", "_\n", 1) + f"\n{found.files} files\n{found.deepest} deep"
        for verb, found in routes.items()
    ]
    ax.set_xticks(range(len(routes)), totals)
    ax.set_yticks(range(len(rooms)), [f"modal.{room}" for room in rooms])
    ax.tick_params(length=0, labelsize=8.5)
    ax.xaxis.tick_top()
    for side in ax.spines.values():
        side.set_visible(False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    for verb, found in routes.items():
        print(f"{verb:<20}{found.files:>4} files{found.deepest:>4} deep")


if __name__ == "__main__":
    draw(PICTURE)
    print(PICTURE.relative_to(ROOT))
