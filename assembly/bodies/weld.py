"""Bodies welded to one where their nodes coincide: triangles, braced frames, kinked blades."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from assembly.arguments import as_list
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.bodies.placed import is_planar
from assembly.dofs import DofMap
from assembly.elements.placed import PlacedFamily
from assembly.errors import InputError
from assembly.magnitudes import WRITTEN
from assembly.types import Array, Index

Chosen = str | int | Sequence[float]


@described
def weld(
    members: Sequence[Body],
    *,
    clamped: Chosen | Iterable[Chosen] | None = None,
    name: str = "frame",
) -> Body:
    """One body of several that share points: triangles, braced frames, kinked blades.

    Parameters
    ----------
    members : sequence of Body
        Bodies in the axes of the new body (`Body.placed`), without supports. Nodes at the same
        place become one node. Where both have rotations the members are rigidly joined; a node
        without rotations (bars, solids) is joined as by a ball. Members keep their sections, node
        sets, attachments and damping.
    clamped : str, int or sequence of these, optional
        Node sets or node numbers of the new body whose degrees of freedom are fixed; in a sequence
        also points, m, at which there are nodes.
    name : str
        Name of the body.

    Returns
    -------
    Body
        Its node sets are ``member.set``, the member's name in front, and ``set`` alone where all
        members that have it mean the same nodes. Members of the same name are numbered: "beam",
        "beam 2".

    Raises
    ------
    InputError
        For members that are supported, that do not hang together, or of which some are planar;
        for a set that does not exist or has several meanings.

    Examples
    --------
    A triangle of three beams, clamped at one corner.

    >>> import numpy as np
    >>> import assembly
    >>> side = assembly.beam(1.0, assembly.circle(0.05), assembly.steel, 6)
    >>> corners = [(0, 0, 0), (1, 0, 0), (0.5, 0.75**0.5, 0)]
    >>> sides = [side.placed(r, 2.0 * k * np.pi / 3.0) for k, r in enumerate(corners)]
    >>> frame = assembly.weld(sides, clamped="beam.start")
    >>> frame.freeze().n
    102
    """
    parts = _named(as_list(members, Body, "members", "bodies such as assembly.beam(…)"))
    merged, coordinates = _merged([part for _, part in parts])
    _check_connected(parts, merged)
    pairs = [
        np.stack([nodes[part.dofs.node], part.dofs.component])
        for (_, part), nodes in zip(parts, merged, strict=True)
    ]
    node, component = np.unique(np.concatenate(pairs, axis=1), axis=1)
    dofs = DofMap(coordinates, node, component)
    families = [
        PlacedFamily(family, picks, np.zeros(3), np.eye(3), nodes, part.rayleigh)
        for (_, part), nodes, own in zip(parts, merged, pairs, strict=True)
        for picks in [_picks(own, dofs)]
        for family in part.families
    ]
    sets, ambiguous = _sets(parts, merged)
    body = Body(dofs, tuple(families), np.zeros(len(dofs), dtype=bool), name=name, sets=sets)
    if clamped is None:
        return body
    return replace(body, fixed=np.isin(dofs.node, _chosen(body, clamped, ambiguous)))


def _named(members: list[Body]) -> list[tuple[str, Body]]:
    """The members by name, checked; InputError where they cannot be welded."""
    if not members:
        raise InputError("weld: needs at least one member")
    out: list[tuple[str, Body]] = []
    for part in members:
        if part.fixed.any() or len(part.hold):
            raise InputError(
                f"weld: member {part.name!r} is clamped or pinned; leave supports out and clamp "
                "the welded body"
            )
        if is_planar(part) != is_planar(members[0]):
            raise InputError(f"weld: member {part.name!r}: all are planar, or all in space")
        same = sum(other.name == part.name for other in members[: len(out)])
        out.append((f"{part.name} {same + 1}" if same else part.name, part))
    return out


def _merged(parts: list[Body]) -> tuple[list[Index], Array]:
    """For each part the numbers of its nodes in the new body, and all positions (N, 3)."""
    points = np.concatenate([part.dofs.coordinates for part in parts])
    extent = float(np.ptp(points, axis=0).max())
    near = cKDTree(points).query_pairs(WRITTEN * extent, output_type="ndarray")
    graph = sp.coo_matrix((np.ones(len(near)), near.T), shape=(len(points),) * 2)
    count, label = connected_components(graph, directed=False)
    # Numbers in the order in which the nodes come first.
    _, first = np.unique(label, return_index=True)
    merged = np.argsort(np.argsort(first))[label]
    coordinates = np.zeros((count, 3))
    coordinates[merged[::-1]] = points[::-1]
    ends = np.cumsum([len(part.dofs.coordinates) for part in parts])
    return np.split(merged, ends[:-1]), coordinates


def _check_connected(parts: list[tuple[str, Body]], merged: list[Index]) -> None:
    owner = np.repeat(np.arange(len(parts)), [len(nodes) for nodes in merged])
    shape = (len(parts), int(np.concatenate(merged).max()) + 1)
    touches = sp.csr_matrix((np.ones(len(owner)), (owner, np.concatenate(merged))), shape=shape)
    _, label = connected_components(touches @ touches.T, directed=False)
    apart = np.flatnonzero(label != label[0])
    if len(apart):
        raise InputError(f"weld: member {parts[apart[0]][0]!r} shares no node with the others")


def _picks(own: Array, dofs: DofMap) -> sp.csr_matrix:
    """The DOFs of a member, pairs of node and component (2, k), among those of the body."""
    places = dofs.table[own[0], own[1]]
    rows = np.arange(len(places))
    return sp.csr_matrix((np.ones(len(places)), (rows, places)), shape=(len(places), len(dofs)))


def _sets(
    parts: list[tuple[str, Body]], merged: list[Index]
) -> tuple[dict[str, Index], dict[str, list[str]]]:
    """Node sets of the body, and the names that have several meanings."""
    full: dict[str, Index] = {}
    short: dict[str, list[str]] = {}
    for (name, part), nodes in zip(parts, merged, strict=True):
        for label, chosen in part.sets.items():
            full[f"{name}.{label}"] = np.unique(nodes[chosen])
            short.setdefault(label, []).append(f"{name}.{label}")
    alone, ambiguous = {}, {}
    for label, names in short.items():
        first = full[names[0]]
        if all(np.array_equal(first, full[other]) for other in names):
            alone[label] = first
        else:
            ambiguous[label] = names
    return {**full, **alone}, ambiguous


def _chosen(
    body: Body, clamped: Chosen | Iterable[Chosen], ambiguous: dict[str, list[str]]
) -> Index:
    """The node numbers that `clamped` names."""
    named = [clamped] if isinstance(clamped, str | int | np.integer) else list(clamped)
    nodes: list[int] = []
    for item in named:
        if isinstance(item, str):
            if item in ambiguous:
                raise InputError(
                    f"clamped: {item!r} is another set in each member: name "
                    f"{', '.join(ambiguous[item])}"
                )
            if item not in body.sets:
                raise InputError(f"clamped: no set {item!r}; sets are {', '.join(body.sets)}")
            nodes += body.sets[item].tolist()
        elif isinstance(item, int | np.integer):
            if not 0 <= item < len(body.dofs.coordinates):
                last = len(body.dofs.coordinates) - 1
                raise InputError(f"clamped: nodes are 0 to {last}, got {item!r}")
            nodes.append(int(item))
        else:
            nodes.append(_node_at(body, item))
    return np.array(nodes, dtype=np.intp)


def _node_at(body: Body, point: object) -> int:
    """The node at a point of two or three coordinates."""
    X = np.asarray(point, dtype=float).ravel()
    if X.size not in (2, 3) or not np.all(np.isfinite(X)):
        raise InputError(f"clamped: a point needs two or three coordinates, got {point!r}")
    coordinates = body.dofs.coordinates
    distances = np.linalg.norm(coordinates - np.append(X, 0.0)[:3], axis=1)
    nearest = int(distances.argmin())
    if distances[nearest] > WRITTEN * np.ptp(coordinates, axis=0).max():
        raise InputError(
            f"clamped: no node at {X.tolist()}; the nearest is at {coordinates[nearest].tolist()}"
        )
    return nearest
