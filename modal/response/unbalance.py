"""Response of a rotor to unbalance and to discs that are not square to the shaft."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import real_array
from assembly.bodies.rotors import Rotor
from assembly.errors import InputError
from assembly.magnitudes import WRITTEN
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described, made_from, provenance
from modal.data.variables import UNBALANCE
from modal.response.direct import DirectSolver
from modal.transient.probes import Probe, Probes
from modal.types import Complex

Unbalance = tuple[float, float, float]


def unbalance_response(
    rotor: Rotor,
    speeds: ArrayLike,
    unbalances: Sequence[Unbalance] = (),
    probes: Iterable[Probe] | None = None,
) -> xr.Dataset:
    """Synchronous response of a rotor to unbalance and disc skew, over its speed.

    Parameters
    ----------
    rotor : Rotor
        Shaft with discs and bearings. Bearing coefficients that depend on the spin are taken at
        each speed. Discs with a `skew` excite it too.
    speeds : array_like, shape (S,)
        Spins Ω, rad/s.
    unbalances : sequence of (float, float, float), optional
        Position on the shaft (m), mass times eccentricity (kg·m), and phase (rad): the angle of
        the unbalance from y towards z at t = 0. A position must be at a node: an end, a step, a
        disc, a bearing or the end of an element. Needed unless a disc has a skew.
    probes : iterable of (str, int, str), optional
        Where the response is read: (body, node, component). Default: uy and uz of all nodes.

    Returns
    -------
    xarray.Dataset
        ``displacement`` (speed, probe), complex amplitude q̂ of q(t) = Re(q̂ e^{iΩt}), m or rad.

    Raises
    ------
    InputError
        An argument cannot be used, or an undamped critical speed is hit.

    Notes
    -----
    (K + iΩ(C + D) − Ω²M) q̂ = Ω² Σ u e^{iφ} (e_y − i e_z) + F with all matrices at the spin Ω and
    the moments F of skewed discs, `Rotor.excitation` (Genta, Dynamics of Rotating Systems, 2005).

    Examples
    --------
    A Jeffcott rotor far above its critical speed turns about its centre of mass: the amplitude is
    the eccentricity, 1e-5 m.

    >>> import assembly, modal
    >>> rotor = assembly.rotor([(1.0, assembly.circle(0.01))], assembly.steel, 2,
    ...                        discs=[assembly.Disc(0.5, 50.0, 1.0, 0.5)],
    ...                        bearings=[assembly.Bearing(x, 1e4) for x in (0.0, 1.0)])
    >>> response = modal.unbalance_response(rotor, [1e3], [(0.5, 50.0 * 1e-5, 0.0)],
    ...                                    [("rotor", 1, "uy")])
    >>> bool(abs(response["displacement"].item() + 1e-5) < 1e-6)
    True
    """
    if not isinstance(rotor, Rotor):
        raise InputError(f"rotor: expected a Rotor, got {type(rotor).__name__}")
    spins = np.atleast_1d(np.asarray(speeds, dtype=float))
    if spins.ndim != 1 or len(spins) == 0 or not np.all(np.isfinite(spins)):
        raise InputError("speeds: expected finite numbers of rad/s")
    nodes = [_node(rotor, entry) for entry in unbalances]
    if not nodes and not any(disc.skew for _, disc in rotor.discs):
        raise InputError("unbalances: give at least one (position, kg·m, phase)")
    first = rotor.freeze(float(spins[0]))
    assert first.dofs is not None  # of a rotor
    lateral = np.flatnonzero(np.isin(first.dofs.component, (1, 2))).tolist()  # uy and uz
    places = Probes.of(first, lateral if probes is None else probes, "probes")
    rows = []
    for spin in spins.tolist():
        system = rotor.freeze(spin)
        load = spin**2 * _unit_load(system, nodes, unbalances) + rotor.excitation(spin)
        rows.append(DirectSolver(system)(np.array([spin]), load)[0, places.numbers])
    response = xr.Dataset(
        {"displacement": (("speed", "probe"), rows)},
        coords={"speed": spins, **places.coordinates},
        attrs=provenance(
            title="unbalance response",
            made_from=made_from(rotor),
            unbalances=[list(map(float, entry)) for entry in unbalances],
        ),
    )
    return described(response, UNBALANCE)


def _node(rotor: Rotor, entry: Unbalance) -> int:
    """The node at the position of an unbalance."""
    values = real_array(entry)
    if values is None or values.shape != (3,) or not np.all(np.isfinite(values)):
        raise InputError(f"unbalances: expected (position m, kg·m, phase rad), got {entry!r}")
    x = rotor.body.dofs.coordinates[:, 0]
    node = int(np.abs(x - values[0]).argmin())
    if abs(x[node] - values[0]) > WRITTEN * float(np.ptp(x)):
        raise InputError(
            f"unbalances: no node at {values[0]:g} m; the nearest is at {x[node]:.6g} m"
        )
    return node


def _unit_load(
    system: FrozenSystem, nodes: Sequence[int], unbalances: Sequence[Unbalance]
) -> Complex:
    """Load (n,) at unit spin; an unbalance at a rigid bearing is taken by the bearing."""
    assert system.dofs is not None  # of a rotor
    load = np.zeros(system.n, dtype=complex)
    for node, (_, size, phase) in zip(nodes, unbalances, strict=True):
        for component, factor in ((1, 1.0), (2, -1j)):
            number = system.dofs.numbers.get((node, component))
            if number is not None:
                load[number] += size * np.exp(1j * phase) * factor
    return load
