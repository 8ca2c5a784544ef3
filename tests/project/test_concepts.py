"""Every concept of the core stands in one place: the table of docs/architecture.md.

A concept that comes back under a name that went, or beside its place, fails here.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(f for p in ("assembly", "modal", "studies") for f in (ROOT / p).rglob("*.py"))
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")

# Classes that said what another one says now, by concept.
GONE = {
    "family": "CoefficientTable CoefficientPolynomials StackedMatrices Windows Packed Operators",
    "space": "Reducer ProvingReducer LinkBasis LinkInstants LinkReducer Prover NotSmooth Motions",
    "modes": "LinkModes RefinedEigenvalues SmallInstant Examined MirrorParts ScaledSystem",
    "certificate": "Distances Doubt Crowd",
    "series": "Phases ChartPoints SharedShapes BladeCoordinates",
    "propagator": "DenseRun PeriodMap DecoupledOrbits Propagation Ends",
    "run": "InMemory Periodic Stream History",
}
# What only the place of a concept does, and the files of `modal` that may.
ONLY = {
    r"^class \w+\(Space\)": "reduction/body_space reduction/link_space tracking/smooth_space",
    r"^UNDERESTIMATE\b": "reduction/basis",
    r"^def random_sketches\b": "reduction/basis",
    r"^class MassBasis\b": "reduction/mass_basis",
    r"\bleggauss\(": "transient/integrators/tableau",
    r"\bimport zarr\b": "maps/store",
    r"^class AlphaParameters\b": "transient/integrators/generalized_alpha",
}


@cache
def defined() -> dict[str, list[str]]:
    """Files of every class, by its name without a leading underscore."""
    names: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                place = file.relative_to(ROOT).as_posix()
                names.setdefault(node.name.lstrip("_"), []).append(place)
    return names


def table() -> list[tuple[str, str, list[str]]]:
    """Concept, file and names of every row of the table "The core"."""
    section = PAGE.split("## The core")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([a-z ]+) \| `([\w/.]+)` \| (.*?) \|", section, re.MULTILINE)
    return [(concept, place, re.findall(r"`(\w+)`", names)) for concept, place, names in rows]


def test_the_table_has_every_concept() -> None:
    assert {concept for concept, _, _ in table()} == set(GONE)


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_concept_stands_where_the_table_says(row: tuple[str, str, list[str]]) -> None:
    _, place, names = row
    tree = ast.parse((ROOT / place).read_text("utf-8"))
    here = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    assert names
    assert here >= set(names)


@pytest.mark.parametrize("concept", GONE)
def test_what_went_did_not_come_back(concept: str) -> None:
    assert {n: defined()[n] for n in GONE[concept].split() if n in defined()} == {}


@pytest.mark.parametrize("pattern", ONLY)
def test_only_its_place_does_it(pattern: str) -> None:
    places = {f"modal/{name}.py" for name in ONLY[pattern].split()}
    found = {
        f.relative_to(ROOT).as_posix()
        for f in FILES
        if f.is_relative_to(ROOT / "modal")
        and re.search(pattern, f.read_text("utf-8"), re.MULTILINE)
    }
    assert found == places
