"""Draw the rooms of the packages and the arrows between them: docs/images/rooms.png.

    python tools/draw_rooms.py

An arrow points from a room to one that it imports from. An arrow that follows from others is left
out (transitive reduction). A column is a package; in it, a room is above all that it imports from.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.path import Path as Curve

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "project"))

from test_architecture import ROOMS, arrows  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "rooms.png"
KEY = "Rooms"  # of the text in the file that says which arrows it shows
COLOURS = {"assembly": "#dbe7f3", "modal": "#e3efdc", "studies": "#f6e6d3"}
WIDTH, HEIGHT = 1.7, 0.42  # of a room's box
STEP_X, STEP_Y, GAP = 1.95, 0.95, 0.75  # between boxes, levels and columns
SWEEPS = 24  # of ordering the boxes of a level

Arrow = tuple[str, str]
Slot = tuple[str, ...]  # a room, or a place where a long arrow passes a level


def reduced(pairs: set[Arrow]) -> list[Arrow]:
    """The arrows that do not follow from others."""
    below: dict[str, set[str]] = {}
    for room in ROOMS:  # from the ground up: all below a room is known before it
        direct = {there for here, there in pairs if here == room}
        below[room] = direct.union(*(below[there] for there in direct))
    return sorted(
        (here, there)
        for here, there in pairs
        if not any(there in below[other] for here_, other in pairs if here_ == here)
    )


def description(drawn: list[Arrow]) -> str:
    """The rooms and arrows of a picture as text, to tell whether it is up to date."""
    return "\n".join([*ROOMS, *(f"{here} > {there}" for here, there in drawn)])


def column_of(rooms: list[str], drawn: list[Arrow]) -> tuple[dict[Slot, tuple[float, int]], int]:
    """Places (x, level) of the rooms of a package and of its long arrows, and the widest level."""
    level: dict[str, int] = {}
    for room in rooms:
        level[room] = 1 + max((level[b] for a, b in drawn if a == room and b in level), default=-1)
    links: list[tuple[Slot, Slot]] = []
    for a, b in drawn:
        if a in level and b in level:
            passed: list[Slot] = [(a, b, str(k)) for k in range(level[b] + 1, level[a])]
            chain: list[Slot] = [(b,), *passed, (a,)]
            links += itertools.pairwise(chain)
    height = {slot: level[slot[0]] for slot in ((room,) for room in rooms)}
    height |= {slot: int(slot[2]) for link in links for slot in link if len(slot) == 3}
    rows = [[s for s in height if height[s] == n] for n in range(max(height.values()) + 1)]
    x = {slot: k - 0.5 * (len(row) - 1) for row in rows for k, slot in enumerate(row)}
    for sweep in range(SWEEPS):
        for row in rows[:: 1 if sweep % 2 == 0 else -1]:
            middle = {slot: middle_of_neighbours(slot, links, x) for slot in row}
            row.sort(key=lambda slot: (middle[slot], slot))
            for k, slot in enumerate(row):
                x[slot] = k - 0.5 * (len(row) - 1)
    return {slot: (x[slot], height[slot]) for slot in height}, max(map(len, rows))


def middle_of_neighbours(slot: Slot, links: list[tuple[Slot, Slot]], x: dict[Slot, float]) -> float:
    near = [x[a if b == slot else b] for a, b in links if slot in (a, b)] or [x[slot]]
    return sum(near) / len(near)


def curve(arrow: Arrow, place: dict[Slot, tuple[float, float]]) -> Curve:
    """A smooth line from a room to another, through the places it passes."""
    (x0, y0), (x1, y1) = place[(arrow[0],)], place[(arrow[1],)]
    if between_packages(arrow):
        start, end = (x0 - 0.5 * WIDTH, y0), (x1 + 0.5 * WIDTH, y1)
        across, below = x1 - x0, 2.0 * HEIGHT
        leave, arrive = (x0 + 0.75 * across, y0), (x1 - 0.55 * across, y1)
        if (x0 - STEP_X, y0) in place.values() and y0 <= y1:  # pass below the neighbours
            start, leave = (x0, y0 - 0.5 * HEIGHT), (x0, y0 - below)
        if (x1 + STEP_X, y1) in place.values() and y1 <= y0:
            end, arrive = (x1, y1 - 0.5 * HEIGHT), (x1, y1 - below)
        middle = [(leave, arrive)]
        points = [start, end]
    else:
        passed = [point for slot, point in place.items() if slot[:-1] == arrow]
        passed.sort(key=lambda point: -point[1])
        points = [(x0, y0 - 0.5 * HEIGHT), *passed, (x1, y1 + 0.5 * HEIGHT)]
        bend = [0.45 * (b[1] - a[1]) for a, b in itertools.pairwise(points)]
        pieces = zip(itertools.pairwise(points), bend, strict=True)
        middle = [((a[0], a[1] + d), (b[0], b[1] - d)) for (a, b), d in pieces]
    vertices = [points[0]]
    for controls, point in zip(middle, points[1:], strict=True):
        vertices += [*controls, point]
    return Curve(vertices, [Curve.MOVETO, *[Curve.CURVE4] * (len(vertices) - 1)])


def between_packages(arrow: Arrow) -> bool:
    return arrow[0].split(".")[0] != arrow[1].split(".")[0]


def draw(path: Path) -> None:
    drawn = reduced(set(arrows()))
    figure, ax = plt.subplots()
    place: dict[Slot, tuple[float, float]] = {}
    left = top = 0.0
    for package, colour in COLOURS.items():
        rooms = [room for room in ROOMS if room.split(".")[0] == package]
        slots, widest = column_of(rooms, drawn)
        width = widest * STEP_X
        highest = STEP_Y * max(level for _, level in slots.values())
        top = max(top, highest)
        for slot, (x, level) in slots.items():
            place[slot] = (left + 0.5 * width + x * STEP_X, level * STEP_Y)
        ax.add_patch(Rectangle((left, -0.8), width, highest + 1.5, color=colour, lw=0, zorder=0))
        ax.text(left + 0.1, highest + 0.45, package, fontsize=16, weight="bold", va="center")
        left += width + GAP
    for arrow in drawn:
        colour = "#a04020" if between_packages(arrow) else "#555555"
        style = dict(arrowstyle="-|>", mutation_scale=11, lw=1.1, zorder=1, color=colour)
        ax.add_patch(FancyArrowPatch(path=curve(arrow, place), **style))
    for slot, (x, y) in place.items():
        if len(slot) == 1:
            corner = (x - 0.5 * WIDTH, y - 0.5 * HEIGHT)
            ax.add_patch(Rectangle(corner, WIDTH, HEIGHT, fc="white", ec="#333333", zorder=2))
            name = slot[0].split(".", 1)[-1]
            label = "a study" if name == "STUDY" else name if "." in slot[0] else "public names"
            ax.text(x, y, label, ha="center", va="center", fontsize=11.5, zorder=3)
    ax.set(xlim=(-0.1, left - GAP + 0.1), ylim=(-0.9, top + 0.8), aspect="equal")
    ax.axis("off")
    figure.set_size_inches(0.72 * (left - GAP + 0.2), 0.72 * (top + 1.7))
    figure.subplots_adjust(0, 0, 1, 1)
    figure.savefig(path, dpi=110, metadata={"Software": None, KEY: description(drawn)})
    plt.close(figure)


if __name__ == "__main__":
    draw(PICTURE)
    print(PICTURE.relative_to(ROOT))
