"""Degrees of freedom by body, node and component, in all functions that take places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assembly
import modal
from assembly.errors import InputError
from studies.cli.starters import write_starter
from studies.model_files.loading import load_model
from studies.model_files.points import probes_of


@pytest.fixture(scope="module")
def links() -> assembly.Mechanism:
    """A driven arm with a forearm on a spring."""
    section = assembly.rectangle(0.02, 0.01)
    arm, forearm = (
        assembly.beam(length, section, assembly.steel, 3, name=name, planar=True)
        for length, name in ((0.4, "arm"), (0.3, "forearm"))
    )
    shoulder = assembly.revolute("ground", (0.0, 0.0), "arm", "start", name="shoulder")
    elbow = assembly.revolute("arm", "end", "forearm", "start", name="elbow")
    return assembly.Mechanism(
        {"arm": arm, "forearm": forearm},
        [shoulder, elbow],
        [assembly.driver("shoulder", 5.0), assembly.driver("elbow", 0.0, stiffness=50.0)],
    )


PLACE = ("forearm", 2, "uy")
SAME = (6, "uy")  # the arm has four nodes before


def test_a_place_of_a_body_is_the_same_degree_of_freedom_everywhere(
    links: assembly.Mechanism,
) -> None:
    system = links.freeze(0.0)
    number = system.dofs.index(*SAME)  # type: ignore[union-attr]
    for place in (PLACE, SAME, number):
        forced = modal.frequency_response(system, [1.0], {place: 1.0}, [place])
        assert forced["probe"].values.tolist() == ["forearm 2 uy"]
        assert forced["unknown"].values.tolist() == [number]
        assert forced["node"].values.tolist() == [6]
        A, B, C, D = modal.state_space(system, [place], [place], k=2)
        np.testing.assert_allclose(
            C @ np.linalg.solve(2j * np.pi * np.eye(len(A)) - A, B) + D,
            forced["displacement"].values,
            rtol=1e-3,
        )
        family = modal.state_space_family(links, [place], [place], 1, times=[0.0])
        assert family["input"].values.tolist() == ["forearm 2 uy"]
        push = modal.Harmonic(place, 1.0, 50.0)
        moved = modal.integrate(links, (0.0, 1e-3), loads=[push], probes=[place], step=1e-4)
        assert moved["probe"].values.tolist() == ["forearm 2 uy"]
        assert float(abs(moved["displacement"]).max()) > 0.0


def test_default_probes_of_a_mechanism_name_the_body(links: assembly.Mechanism) -> None:
    moved = modal.integrate(links, (0.0, 1e-4), step=1e-5)
    assert moved["probe"].values.tolist() == [f"forearm 3 {c}" for c in ("ux", "uy", "rz")]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (("leg", 2, "uy"), "no body 'leg'; the bodies are: arm, forearm"),
        (("arm", 4, "uy"), "body 'arm' has nodes 0 to 3, not 4"),
        (("arm", 2, "uw"), "the component is one of ux, uy, uz, rx, ry, rz"),
        (("arm", 2, "uz"), "node 2 of 'arm' has no DOF uz"),
        (("arm", "tip"), "expected \\(body, node, component\\) such as"),
    ],
)
def test_a_place_that_is_not_there_is_one_line(
    links: assembly.Mechanism, place: Any, words: str
) -> None:
    system = links.freeze(0.0)
    with pytest.raises(InputError, match=words):
        modal.frequency_response(system, [1.0], {PLACE: 1.0}, [place])
    with pytest.raises(InputError, match=words):
        modal.integrate(links, (0.0, 1e-4), probes=[place], step=1e-5)


def test_an_old_label_is_answered_by_the_new_ones(links: assembly.Mechanism) -> None:
    swept = modal.frequency_response(links, [1.0, 2.0], {PLACE: 1.0}, times=[0.0, 0.1])
    with pytest.raises(InputError, match="no probe '6 uy'; it has forearm 2 uy"):
        modal.plot.waterfall(swept, "6 uy")


def test_probes_of_a_model_file_are_places(tmp_path: Path) -> None:
    write_starter("mechanism", tmp_path / "crank.toml")
    path = tmp_path / "crank.toml"
    probe = '\n[[response.probe]]\nbody = "rod"\nat = 3\ncomponent = "uy"\n'
    path.write_text(path.read_text() + probe)
    model = load_model(path)
    system = model.freeze()
    assert system.dofs is not None
    (place,) = probes_of(model, system.dofs) or []
    assert place == ("rod", 3, "uy")
    assert system.dofs.label(system.dofs.at(*place)) == "rod 3 uy"


def test_bodies_of_a_rotor_and_of_matrices_have_names() -> None:
    rotor = assembly.rotor(
        [(1.0, assembly.circle(0.01))], assembly.steel, 2,
        bearings=[assembly.Bearing(x, 1e4) for x in (0.0, 1.0)], name="shaft",
    )  # fmt: skip
    dofs = rotor.freeze(10.0).dofs
    assert dofs is not None and dofs.label(dofs.index(1, "uy")) == "shaft 1 uy"
    bare = assembly.FrozenSystem(M=np.eye(2), K=np.diag([1.0, 4.0]))
    found = modal.frequency_response(bare, [0.1], {0: 1.0})
    assert found["probe"].values.tolist() == ["DOF 0"]
    with pytest.raises(InputError, match="names no nodes; give the number of a DOF"):
        modal.frequency_response(bare, [0.1], {("body", 0, "ux"): 1.0})
