"""Frequency response of the reference block: all frequencies from one factorization, or one each.

    python -m benchmarks.response

Prints processor times of `modal.frequency_response` with 200 frequencies by "modal", of one
frequency by "direct", and the error of "modal" against its bound.
"""

from __future__ import annotations

import time

import numpy as np

import modal
from assembly import gallery

FREQUENCIES = 200


def main() -> None:
    """Print the times and the error."""
    block = gallery.reference_block().with_damping(a=2.0, b=1e-6)
    system = block.freeze(omega=(0, 0, 100.0), epsilon=(0, 0, 1000.0))
    tip = int(np.argmax(block.dofs.coordinates.sum(axis=1)))
    force = {(tip, "uz"): 1.0}
    hertz = np.linspace(10.0, 1500.0, FREQUENCIES)
    start = time.process_time()
    found = modal.frequency_response(system, hertz, force)
    together = time.process_time() - start
    print(f"{system.n} degrees of freedom, {FREQUENCIES} frequencies")
    size, solves = (found.attrs[key] for key in ("basis_size", "solves"))
    print(f"  modal, all of them     {together:8.1f} s, {size} vectors, {solves} solves")
    some = hertz[[40, 150]]
    start = time.process_time()
    exact = modal.frequency_response(system, some, force, method="direct")
    alone = (time.process_time() - start) / len(some)
    print(
        f"  direct, each           {alone:8.1f} s: {FREQUENCIES * alone / together:.0f} times all"
    )
    near = found.sel(frequency=some)
    error = np.abs((near["displacement"] - exact["displacement"]).values)
    share = (error / near["error_bound"].values).max()
    relative = (error / np.abs(exact["displacement"].values)).max()
    print(f"  error {relative:.1e} of the response, {share:.2f} of its bound")


if __name__ == "__main__":
    main()
