"""The manual and the README: every block of Python runs, page by page, prints what the page shows
below it, and writes the figures of the page; every error is there."""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import scipy.io

import modal
from assembly import errors, gallery
from studies.model_files.loading import load_model
from tests.support.first_picture import PICTURE, caption
from tests.support.paths import ROOT
from tests.support.printed_pages import FIGURE, Page, sections

# Real machines: no value of them is questioned.
pytestmark = pytest.mark.filterwarnings("error::assembly.PlausibilityWarning")

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
APART = ("mistakes", "roles")  # have tests of their own
PRINTED = re.compile(r"^```text\n", re.MULTILINE)
# Of the pages, those that take many seconds.
LONG = ("tutorial", "own_model", "mechanisms", "verdict", "performance", "rotors", "response")
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
    if BLOCK.search(path.read_text("utf-8")) and path.stem not in APART
]


def blade(folder: Path) -> None:
    shutil.copy(ROOT / "studies" / "rotating_blade" / "blade.msh", folder / "blade.msh")


def files_of_others(folder: Path) -> None:
    """What the page on meshes reads: meshes, and matrices as other programs write them."""
    blade(folder)
    plate = gallery.sheet_mesh(4, 2, size=(0.2, 0.1))
    plate.point_sets = {"root": plate.point_sets["x0"]}
    meshio.write(folder / "plate.inp", plate, file_format="abaqus")
    rotor = gallery.block_mesh(4, 1, 1)
    rotor.cell_sets = {"hub": [np.arange(2)], "blades": [np.arange(2, 4)]}
    meshio.write(folder / "rotor.inp", rotor, file_format="abaqus")
    solid = gallery.block(2, 1, 1, clamped=None)
    M, K = solid.operators.M.tocsr(), solid.operators.K.tocsr()
    scipy.io.mmwrite(folder / "m.mtx", M, symmetry="symmetric")
    scipy.io.mmwrite(folder / "k.mtx", K, symmetry="symmetric", precision=17)
    X = solid.dofs.coordinates
    np.savetxt(folder / "nodes.txt", X)
    rows = [
        f"{n}, {c + 1}, {X[n, 0]:.17g}, {X[n, 1]:.17g}, {X[n, 2]:.17g}"
        for n, c in zip(solid.dofs.node, solid.dofs.component, strict=True)
    ]
    (folder / "dofs.csv").write_text("# node, component, x, y, z\n" + "\n".join(rows) + "\n")


FILES: dict[str, Callable[[Path], None]] = {"tutorial": blade, "meshes": files_of_others}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """The names that a page leaves; each page runs once, in a folder of its own."""
    done: dict[str, dict[str, Any]] = {}

    def names(name: str) -> dict[str, Any]:
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            FILES.get(name, lambda folder: None)(folder)
            page = next(path for path in PAGES if path.stem == name)
            ran = Page(page.read_text("utf-8"), folder, str(page)).run()
            assert not ran.wrong, "\n".join(ran.wrong)
            done[name] = ran.names
        return done[name]

    return names


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(page.stem, marks=pytest.mark.slow if page.stem in LONG else ())
        for page in PAGES
    ],
)
def test_the_code_of_the_page_runs(name: str, pages: Callable[[str], dict[str, Any]]) -> None:
    assert pages(name)


ROLES = sections(DOCS / "roles.md")
SLOW = ("The blade", "The wind turbine", "A machine of your own", "The rotor", "The arm")


@pytest.mark.parametrize(
    "role", [pytest.param(r, marks=pytest.mark.slow if r in SLOW else ()) for r in ROLES]
)
def test_a_role_comes_from_a_blank_folder_to_its_figure(role: str, tmp_path: Path) -> None:
    """By the manual alone, typed as printed: what is printed and drawn is what the page shows."""
    text, line = ROLES[role]
    ran = Page(text, tmp_path, str(DOCS / "roles.md"), line).run()
    assert not ran.wrong, "\n".join(ran.wrong)
    assert FIGURE.search(text) and PRINTED.search(text)


@pytest.mark.slow
def test_tutorial(pages: Callable[[str], dict[str, Any]]) -> None:
    """What the text says of its numbers."""
    names = pages("tutorial")
    assert 0.999 < names["first"] / names["euler"] < 1.0
    assert np.abs(names["change"]).max() < 1e-3
    assert names["modes"].certified and np.all(names["modes"].growth_rate == 0.0)
    crossing = names["events"]["event_at"].values[names["events"]["event"].values == "crossing"]
    assert np.any(np.abs(crossing - 245.0) < 5.0)
    assert names["grid"]["verdict"].sel(omega=125, epsilon=0).item() == 1
    assert names["grid"]["proof"].sel(omega=25, epsilon=0).item() == 1
    tracks = names["tracks"]
    assert tracks["growth_rate"].max() < 0.0 < tracks["growth_rate_corrected"].max()
    assert names["report"].confirmed
    assert names["exponents"].is_stable


@pytest.mark.slow
def test_doubtful_verdicts(pages: Callable[[str], dict[str, Any]]) -> None:
    """Mathieu's equation at its first resonance, averaged: growth h/4 − ζ (Nayfeh & Mook,
    Nonlinear Oscillations, §5.3)."""
    names = pages("verdict")
    # The damping that turns with the shaft (Genta 2005) and full films (Newkirk & Taylor 1925).
    frequencies = [box.angular_frequency for box in names["boxes"]]
    assert frequencies == pytest.approx([300.0, 150.0], rel=1e-9)
    assert (names["steady"].proof, names["speeding_up"].proof) == ("energy", "count")
    assert names["steady"].verdict == names["speeding_up"].verdict == "stable"
    assert names["tracks"]["growth_rate"].max() == pytest.approx(-0.01)
    assert names["report"].misleading
    assert names["exponents"].growth_rate.max() == pytest.approx(0.3 / 4.0 - 0.01, rel=0.02)
    defect = np.abs(names["response"]["energy_defect"]).max() / names["response"]["energy"].max()
    assert defect < 1e-2


@pytest.mark.slow
def test_own_models(pages: Callable[[str], dict[str, Any]]) -> None:
    """The spin-up of a rotor of two unknowns; a sweep that shares its matrices takes a basis."""
    names = pages("own_model")
    assert "reduced basis" in names["chain"].attrs["solver"]


def test_modelling(pages: Callable[[str], dict[str, Any]]) -> None:
    names = pages("modelling")
    assert np.all(names["order"] > 1.5) and names["error"].max() < 1e-3


@pytest.mark.slow
def test_mechanisms(pages: Callable[[str], dict[str, Any]]) -> None:
    """The load and the weight change the driver's torque."""
    names = pages("mechanisms")
    torques = [names[m].driving(0.01)["A"] for m in ("mechanism", "loaded")]
    assert np.all(np.isfinite(torques)) and abs(torques[1] - torques[0]) > 1e-3


def test_the_readme_begins_with_a_picture_whose_caption_is_computed() -> None:
    """`python -m tests.support.first_picture outputs/slider-crank` writes both."""
    text = (ROOT / "README.md").read_text("utf-8")
    first = PICTURE.search(text)
    assert first is not None and text.index("![") == first.start()
    assert first[1] == caption()


def test_the_readme_prints_what_its_lines_print_and_is_short() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    lines = text.split("## Ten lines")[1].split("```")
    assert lines[1].startswith("python") and lines[3].startswith("text\n4 modes")
    speed = text.split("## Speed")[1].split("\n## ")[0]
    assert speed.count("\n| ") - 1 <= 8  # rows below the head
    only_here = text.split("## Found here and nowhere else")[1].split("\n## ")[0]
    assert len(re.findall(r"^- .*\]\(docs/", only_here, re.MULTILINE)) == 5


def test_every_error_is_in_the_manual() -> None:
    page = (DOCS / "errors.md").read_text("utf-8")
    members = inspect.getmembers(errors, inspect.isclass)
    classes = {name for name, kind in members if issubclass(kind, errors.FrozenMotionError)}
    assert set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == classes - {
        "FrozenMotionError"
    }


def test_model_files_of_the_manual_load(tmp_path: Path) -> None:
    text = (DOCS / "commands.md").read_text("utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    for number, block in enumerate(blocks):
        path = tmp_path / f"model{number}.toml"
        path.write_text(block, encoding="utf-8")
        model = load_model(path)
        modes = modal.solve(model.motion.freeze(0.0), k=2)
        assert np.all(modes.backward_error < 1e-10)


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page; the manual is built with the same names."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def test_links_between_pages_lead_somewhere() -> None:
    """Files and headings that Markdown links name, from the top of the project and the pages."""
    names = {path.stem for path in (DOCS / "gallery").glob("*.py")} | {"index"}
    built = {f"_gallery/{name}.rst" for name in names}
    for page in (*ROOT.glob("*.md"), *DOCS.glob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            file, _, heading = link.partition("#")
            if link.startswith("http") or file in built:
                continue
            target = page.parent / file if file else page
            assert target.exists(), f"{page.name}: {link}"
            assert not heading or heading in anchors(target), f"{page.name}: {link}"
