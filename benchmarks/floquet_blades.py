"""Floquet modes of three elastic blades on a support: 506 unknowns on a basis of their modes.

    python -m benchmarks.floquet_blades [ELEMENTS]

Blades that are alike have constant multiblade matrices: their modes are the exact answer. With one
blade 5 % stiffer nothing is constant; the answer is that of a basis of twice as many modes, of a
smaller tolerance.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.sparse as sp

import assembly
import modal
from modal.types import Array, Complex

SPEED = 20.0  # rad/s
HUB = (4000.0, 6e6, 9e6, 4e3)  # kg; N/m along x and y; N·s/m
MODES = 8


class BladesOnSupport:
    """Blades clamped to a hub that moves in the plane of rotation; x, y, then blade after blade.

    A blade with the matrices M, C, D, K in axes that turn and the momentum p = Bᵀq̇ along these axes
    feels M q̈ + C q̇ + K q = −B R(ψ)ᵀ ẍ; the hub feels −d²(R(ψ) Bᵀq)/dt².
    """

    def __init__(self, elements: int, stiffer: float = 0.0) -> None:
        section = assembly.rectangle(0.3, 0.1)
        blade = assembly.beam(12.0, section, assembly.aluminium, elements, clamped="start")
        blade = blade.with_damping(b=2e-4)
        one = blade.freeze(omega=SPEED, axis=(0, 0, 1))
        full = blade.operators.M.tocsr()
        free = np.isin(np.arange(full.shape[0]), np.flatnonzero(~blade.fixed))
        shift = np.array([blade.dofs.component == k for k in (0, 1)], dtype=float).T
        self.momentum = np.asarray(full @ shift)[free]
        mass = float(shift[:, 0] @ (full @ shift[:, 0]))
        self.one, self.n, self.period = one, one.n, 2.0 * np.pi / SPEED
        self.scale = (1.0, 1.0, 1.0 + stiffer)
        hub, kx, ky, damping = HUB
        self.hub = (hub + 3.0 * mass) * np.eye(2), np.diag([kx, ky]), damping * np.eye(2)

    @property
    def blades(self) -> list[range]:
        """Numbers of each blade's unknowns."""
        return [range(2 + b * self.n, 2 + (b + 1) * self.n) for b in range(3)]

    def freeze(self, t: float) -> assembly.FrozenSystem:
        """The frozen system at time t, s."""
        mass, stiffness, damping = self.hub
        J = np.array([[0.0, -1.0], [1.0, 0.0]])
        rows = []
        for b in range(3):
            psi = SPEED * t + 2.0 * np.pi * b / 3.0
            R = np.cos(psi) * np.eye(2) + np.sin(psi) * J
            rows.append(R @ self.momentum.T)
        A = np.hstack(rows)
        turned = 2.0 * SPEED * np.hstack([J @ row for row in rows])
        one, none = self.one, sp.csr_matrix((2, 3 * self.n))
        D, K = ([sp.csr_matrix(s * getattr(one, name)) for s in self.scale] for name in ("D", "K"))
        rest = sp.csr_matrix(one.stiffness - one.K)
        C = sp.block_diag([np.zeros((2, 2))] + [one.C] * 3).tolil()
        C[:2, 2:] = turned
        M = sp.bmat([[mass, A], [A.T, sp.block_diag([one.M] * 3)]])
        return assembly.FrozenSystem(
            M=sp.csr_matrix(M),
            C=sp.csr_matrix(C),
            D=sp.block_diag([damping, *D]),
            K=sp.block_diag([stiffness, *K]),
            K_omega2=sp.bmat(
                [[np.zeros((2, 2)), -(SPEED**2) * A], [none.T, sp.block_diag([rest] * 3)]]
            ),
        )


def measured(model: BladesOnSupport, k: int, tolerance: float) -> tuple[float, modal.FloquetModes]:
    """Processor seconds of a reduced run, and its modes."""
    start = time.process_time()
    found = modal.floquet(model, model.period, method="reduced", k=k, tolerance=tolerance)
    return time.process_time() - start, found


def apart(found: Complex, expected: Complex) -> Array:
    """Distance of each multiplier to the nearest expected one, relative."""
    return np.array([np.abs(expected / value - 1.0).min() for value in found])


def main() -> None:
    """One line for each rotor."""
    elements = int(sys.argv[1]) if len(sys.argv) > 1 else 28
    for stiffer in (0.0, 0.05):
        model = BladesOnSupport(elements, stiffer)
        seconds, found = measured(model, MODES, 1e-7)
        if stiffer:
            other, fine = measured(model, 2 * MODES, 1e-9)
            exact, name = fine.multipliers, f"a basis of {2 * MODES} modes ({other:.1f} s)"
        else:
            fixed = modal.multiblade(model, model.blades, SPEED)
            values = modal.solve(fixed.mean, k=3 * MODES).eigenvalues
            exact = np.exp(np.concatenate([values, values.conj()]) * model.period)
            name = f"multiblade, variation {max(fixed.variation.values()):.0e}"
        error = apart(found.multipliers, exact)
        bound = found.error.max() * model.period
        print(
            f"{2 + 3 * model.n} unknowns, one blade {stiffer:.0%} stiffer: {MODES} modes in "
            f"{seconds:.1f} s, error {error.max():.1e}, bound {bound:.1e}, against {name}",
            flush=True,
        )


if __name__ == "__main__":
    main()
