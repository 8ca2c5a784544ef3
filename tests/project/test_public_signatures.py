"""What a public signature needs or raises is public."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import assembly
from assembly import errors
from assembly.bodies.body_data import BodyData
from assembly.bodies.first_order import FirstOrder
from assembly.bodies.in_motion import BodiesMotion, MovingBodies
from assembly.bodies.nonlinear import Equilibrium
from assembly.bodies.operators import BodyStatics
from assembly.elements.family import Beyond, Displaced, Passage
from assembly.elements.taylor import Taylor
from assembly.linalg.combination import Pattern
from assembly.linalg.multigrid import RigidMotions
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.deformed_joints import DeformedRows
from assembly.mechanisms.deformed_motion import DeformedMotion
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.joint_rows import Frames
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.mechanisms.rigid_state import Jacobian
from assembly.mechanisms.topology import Topology
from modal.periodic.periodic_modes import Orbits
from tests.support.signatures import classes, hints, known, members, public, raised

PUBLIC = public()
CLASSES = {thing for thing in PUBLIC.values() if isinstance(thing, type)}
# What rooms hand to each other in public objects: no public function takes it.
CLASSES |= {ElasticReduction, Frames, Instant, Jacobian, Pattern, Orbits, RigidMotions}
CLASSES |= {Beyond, BodiesMotion, BodyData, BodyStatics, DeformedMotion, DeformedRows, Displaced}
CLASSES |= {Closure, Equilibrium, FirstOrder, InverseDynamics, MovingBodies, Passage, Taylor}
CLASSES |= {Topology}


def needed(thing: Any) -> dict[str, set[type]]:
    """The classes in the annotations of a public object, by where they stand."""
    out = {name: set().union(*map(classes, hints(f).values())) for name, f in members(thing)}
    if isinstance(thing, type):
        for base in thing.__mro__:
            if base.__module__.split(".")[0] in ("assembly", "modal"):
                out[f"{thing.__name__}, fields"] = set().union(*map(classes, hints(base).values()))
    return out


@pytest.mark.parametrize("name", PUBLIC)
def test_what_a_signature_needs_is_public(name: str) -> None:
    for place, found in needed(PUBLIC[name]).items():
        hidden = {kind.__qualname__ for kind in found - CLASSES}
        assert not hidden, f"{place}: {sorted(hidden)}"


@pytest.mark.parametrize("name", PUBLIC)
def test_what_a_docstring_says_is_raised_is_public(name: str) -> None:
    thing = PUBLIC[name]
    for place, member in [(name, thing), *members(thing)]:
        for error in raised(member):
            assert known(error), f"{place}: {error}"


def test_every_error_is_public() -> None:
    kinds = {name for name, thing in vars(errors).items() if inspect.isclass(thing)} - {"Any"}
    assert kinds <= set(assembly.__all__)
