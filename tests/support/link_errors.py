"""Errors of mechanisms on reduced bases of their links, over the errors that are stated.

The full mechanism's own frozen systems, solved by `modal.solve`, its own time integration and its
own monodromy are the independent route: they use none of the bases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import modal
from assembly.mechanisms.mechanism import Mechanism
from assembly.types import Array
from tests.support.full_mechanism import FullMechanism
from tests.support.full_monodromy import distances, full_logs

INSTANTS = 9  # of a track
SMALLEST = -18.0  # log |μ| that a monodromy in full order resolves


@dataclass(frozen=True)
class Comparison:
    """ratio: the largest error over the one that is stated with it. stated: the largest of these,
    relative."""

    ratio: float
    stated: float

    @property
    def covered(self) -> bool:
        """Whether what is stated covers every error."""
        return self.ratio <= 1.0


def of_eigenvalues(
    mechanism: Mechanism, compared: int = 2, k: int = 5, seed: int = 1, tolerance: float = 1e-6
) -> Comparison:
    """The k − 1 lowest eigenvalues, at some of the random instants of a turn that are tracked."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0.0, mechanism.period or 0.2, INSTANTS))
    tracks = modal.track(mechanism, times=times, k=k, tolerance=tolerance, progress=False)
    assert tracks.attrs["solver"].startswith("reduced bases of links"), tracks.attrs["solver"]
    worst = stated = 0.0
    for n in rng.choice(INSTANTS, compared, replace=False):
        full = modal.solve(mechanism.freeze_many([times[n]])[0], k=k)
        here = tracks.isel(time=int(n))
        lam = here.eigenvalue.values
        relative = (here.condition_number * here.backward_error).values
        bound, stated = relative * np.abs(lam), max(stated, float(np.nanmax(relative)))
        for exact, own in zip(full.eigenvalues[: k - 1], full.error_bound, strict=False):
            apart = np.minimum(np.abs(lam - exact), np.abs(lam.conj() - exact))
            worst = max(worst, float(np.nanmin(apart / (bound + own))))
    return Comparison(worst, stated)


def of_transient(mechanism: Mechanism, steps: int = 60, seed: int = 3) -> Comparison:
    """A transient in the norm of the mass, against full order in the same steps: from a random
    mixture of the lowest modes, which the steps resolve."""
    full = FullMechanism(mechanism)
    here = full.freeze(0.0)
    modes = modal.solve(here, k=4)
    weights = np.random.default_rng(seed).standard_normal(len(modes.eigenvalues))
    q, v = (modes.right @ w for w in (weights, weights * modes.eigenvalues))
    h = 1.0 / float(np.abs(modes.eigenvalues).max())
    found, exact = (
        modal.integrate(model, (0.0, steps * h), (q.real, v.real), step=h, probes="all")
        for model in (mechanism, full)
    )

    def size(x: Array) -> float:
        return float(np.sqrt(np.maximum((x * (here.M @ x.T).T).sum(axis=1), 0.0)).max())

    error = size((found - exact).displacement.values) / size(exact.displacement.values)
    stated = float(found.attrs["basis_error"])
    return Comparison(error / stated, stated)


def of_exponents(mechanism: Mechanism, k: int = 2) -> Comparison:
    """The Floquet exponents of the k slowest modes, against the whole monodromy in full order.
    Stated errors are relative to the frequency."""
    period = mechanism.period
    assert period is not None
    found = modal.floquet(mechanism, period, k=k)
    assert found.basis is not None and found.basis.startswith("reduced bases of links")
    exact = full_logs(mechanism, period, k)
    apart = distances(found.exponents * period, exact) / period
    resolved = np.log(np.abs(found.multipliers)) >= SMALLEST
    assert resolved.any()
    stated = float(found.error.max() / np.abs(found.eigenvalues).max())
    return Comparison(float((apart[resolved] / found.error[resolved]).max()), stated)
