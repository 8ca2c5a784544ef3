"""State-space models of a frozen system from its modes, for control design."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.linalg as la

from assembly.linalg.factorization import Factorization
from assembly.system.frozen import FrozenSystem
from assembly.system.null_chain import NullChain
from modal.eigen.modes import Modes
from modal.eigen.solve import solve
from modal.transient.probes import Probe, Probes
from modal.types import Array, Index

StateSpace = tuple[Array, Array, Array, Array]
SHIFT = 0.05  # of the largest |λ| retained: real s of the static correction of free systems


def state_space(
    system: FrozenSystem,
    inputs: Iterable[Probe],
    outputs: Iterable[Probe],
    k: int = 10,
    *,
    static_correction: bool = True,
) -> StateSpace:
    """State-space model ż = A z + B u, y = C z + D u with the k lowest modes.

    Parameters
    ----------
    system : FrozenSystem
        System of n degrees of freedom.
    inputs : iterable of (str, int, str)
        Where unit forces or moments u act (N, N·m): (body, node, component) with the components
        ux, uy, uz, rx, ry, rz; numbers of degrees of freedom too.
    outputs : iterable of (str, int, str)
        Where displacements y are read (m, rad).
    k : int, default 10
        Number of modes, the lowest; the zero eigenvalues of a rigid motion come in addition.
    static_correction : bool, default True
        Whether D is the static response of the modes that are left out. Without it D is zero.

    Returns
    -------
    A, B, C, D : ndarray
        Real matrices, shapes (s, s), (s, inputs), (outputs, s), (outputs, inputs). An oscillatory
        mode takes two states, a real eigenvalue one, a free motion two.

    Raises
    ------
    InputError
        An argument cannot be used.

    Notes
    -----
    With yᴴ(2λM + C)x = 1 the transfer matrix is H(s)⁻¹ = Σ x yᴴ / (s − λ) over all modes and their
    conjugates. A pair λ = r ± iω becomes the real block [[r, ω], [−ω, r]]. See docs/numerics.md,
    "State-space models".

    Examples
    --------
    >>> import numpy as np, assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 10,
    ...                       clamped="start").with_damping(b=1e-5)
    >>> system = blade.freeze(omega=(0, 0, 100.0))
    >>> tip = ("beam", 10, "uz")
    >>> A, B, C, D = modal.state_space(system, [tip], [tip], k=4)
    >>> A.shape, D.shape
    ((8, 8), (1, 1))
    """
    acting = Probes.of(system, inputs, "inputs").numbers
    read = Probes.of(system, outputs, "outputs").numbers
    modes = solve(system, k)
    blocks = [mode_block(modes, j, acting, read) for j in range(len(modes))]
    chain = system.null_chain if modes.deflated else None
    if chain is not None:
        blocks.insert(0, _rigid_block(system, chain, acting, read))
    A, B, C = joined(blocks)
    D = np.zeros((len(read), len(acting)))
    if static_correction:
        D = omitted(system, modes, chain is not None, (A, B, C), acting, read)
    return A, B, C, D


Block = tuple[Array, Array, Array]


def mode_block(modes: Modes, j: int, acting: Index, read: Index) -> Block:
    """Real A, B, C of one mode and its conjugate: y = 2 Re(x z), ż = λ z + yᴴ u."""
    lam, x, y = modes.eigenvalues[j], modes.right[:, j], modes.left[:, j]
    row, column = y.conj()[acting], x[read]
    if lam.imag == 0.0:
        # Their product is real, but each factor may carry a phase.
        largest = row[np.abs(row).argmax()]
        phase = largest / abs(largest) if largest else 1.0
        return (
            np.array([[lam.real]]),
            (row / phase).real[None, :],
            (column * phase).real[:, None],
        )
    A = np.array([[lam.real, lam.imag], [-lam.imag, lam.real]])
    # z = a − ib: ȧ = r a + ω b + Re(yᴴu), ḃ = −ω a + r b − Im(yᴴu); 2 Re(x z) = 2 Re x a + 2 Im x b
    B = np.array([row.real, -row.imag])
    C = 2.0 * np.column_stack([column.real, column.imag])
    return A, B, C


def _rigid_block(system: FrozenSystem, chain: NullChain, acting: Index, read: Index) -> Block:
    """The motion of the zero eigenvalues: the pencil projected on their chains."""
    n, X, Y = system.n, chain.right, chain.left
    M = system.M
    BX = np.vstack([X[:n], M @ X[n:]])
    AX = np.vstack([X[n:], -(system.stiffness @ X[:n]) - system.damping @ X[n:]])
    pairing = Y.T @ BX
    load = np.zeros((2 * n, len(acting)))
    load[n + acting, np.arange(len(acting))] = 1.0
    A = np.linalg.solve(pairing, Y.T @ AX)
    return A, np.linalg.solve(pairing, Y.T @ load), X[read]


def joined(blocks: list[Block]) -> Block:
    """One model with the states of all."""
    A = np.asarray(la.block_diag(*(A for A, _, _ in blocks)))
    return A, np.vstack([B for _, B, _ in blocks]), np.hstack([C for _, _, C in blocks])


def omitted(
    system: FrozenSystem,
    modes: Modes,
    free: bool,
    reduced: Block,
    acting: Index,
    read: Index,
) -> Array:
    """Static response of the modes left out: R(0) for H(s)⁻¹ less the response of those retained.

    Where K is singular, R is extrapolated from ±s and ±2s, equal to fourth order in s/|λ_omitted|:
    R is analytic inside the circle of the first mode that is left out.
    """
    unit = np.zeros((system.n, len(acting)))
    unit[acting, np.arange(len(acting))] = 1.0

    def remainder(s: float) -> Array:
        A, B, C = reduced
        H = system.stiffness + s * system.damping + s**2 * system.M
        with Factorization(H, "general") as factor:
            full = factor.solve(unit)[read]
        return np.asarray(full - C @ np.linalg.solve(s * np.eye(len(A)) - A, B))

    if not free:
        return remainder(0.0)
    s = SHIFT * float(np.abs(modes.eigenvalues).max())
    near, far = (0.5 * (remainder(r) + remainder(-r)) for r in (s, 2.0 * s))
    return np.asarray((4.0 * near - far) / 3.0)
