"""State-space models of a frozen system from its modes, for control design, and families of them
along a motion or over a parameter, with the same states everywhere.

The modes of neighbouring values are paired by the bi-orthogonality of the left vectors of one with
the right vectors of the other, y_jᴴ[(λ_j + λ_i)M + C]x_i, and the phase of every mode is chosen so
that the pairing with its predecessor is real and positive (parallel transport; docs/numerics.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from assembly.errors import ConvergenceError, InputError
from assembly.linalg.factorization import Factorization
from assembly.magnitudes import check_count
from assembly.system.frozen import FrozenSystem
from assembly.system.null_chain import NullChain
from modal.data.datasets import described, made_from, provenance
from modal.data.progress import shown
from modal.data.variables import STATE_SPACE
from modal.eigen.modes import Modes
from modal.eigen.solve import solve
from modal.reduction.tolerances import GUARD
from modal.response.sweeps import frozen_at, swept_values
from modal.transient.probes import Probe, Probes
from modal.types import Array, Complex, Index

StateSpace = tuple[Array, Array, Array, Array]


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
    return _joined(system, modes, blocks, chain is not None, static_correction, acting, read)


def state_space_family(
    model: Any,
    inputs: Iterable[Probe],
    outputs: Iterable[Probe],
    k: int = 10,
    *,
    times: ArrayLike | None = None,
    over: Mapping[str, ArrayLike] | None = None,
    static_correction: bool = True,
    progress: bool | None = False,
    **fixed: Any,
) -> xr.Dataset:
    """State-space models ż = A z + B u, y = C z + D u along a motion or over a parameter.

    Parameters
    ----------
    model : object with a method ``freeze``
        Frozen at `times` or at the values of `over`.
    inputs, outputs : iterable of (str, int, str)
        As for `state_space`: where unit forces act, and where displacements are read.
    k : int, default 10
        Number of modes, the lowest at the first value. They are followed: where others
        come below them, the states stay those of the same modes.
    times : array_like, shape (T,), optional
        Instants at which the model is frozen, s.
    over : mapping of one name to array_like, shape (T,), optional
        Values of one parameter of ``model.freeze``, as in ``over={"omega": speeds}``.
    static_correction : bool, default True
        Whether D is the static response of the modes that are left out. Without it D is zero.
    progress : bool or None, default False
        A progress bar on stderr; None shows it in a terminal only.
    **fixed
        Further arguments of ``model.freeze``.

    Returns
    -------
    xarray.Dataset
        A (T, 2k, 2k), B (T, 2k, inputs), C (T, outputs, 2k) and D (T, outputs, inputs) over
        ``time`` or the parameter; `eigenvalue` and `certainty` (T, k). They are continuous, so
        that ``family.interp(time=t)`` is a model between the values.

    Raises
    ------
    InputError
        An argument cannot be used; a mode stops oscillating; the model is free to move.
    ConvergenceError
        Two neighbouring values are too far apart to tell which mode is which.

    Notes
    -----
    Every mode r ± iω has two states, with the block [[r, ω], [−ω, r]] of A. At each value it is the
    model of that frozen instant: the transfer matrix C (sI − A)⁻¹B + D does not depend on the
    phases. See docs/numerics.md, "State-space models".

    Examples
    --------
    >>> import numpy as np, assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 10,
    ...                       clamped="start").with_damping(b=1e-5)
    >>> tip = ("beam", 10, "uz")
    >>> family = modal.state_space_family(blade, [tip], [tip], k=3,
    ...                                   over={"omega": np.linspace(0.0, 100.0, 5)},
    ...                                   axis=(0, 0, 1))
    >>> family.interp(omega=30.0)["A"].shape
    (6, 6)
    """
    check_count(k, "k")
    if times is None and over is None:
        raise InputError("state_space_family: give times, or over={name: values}")
    name, values = swept_values(times, over, "state_space_family")
    acting, read = list(inputs), list(outputs)
    rows: list[dict[str, Any]] = []
    previous: tuple[FrozenSystem, Modes] | None = None
    places = None
    for value in shown(values.tolist(), "state-space models", "value", progress):
        where = f"{name} = {value:.6g}"
        system = frozen_at(model, {name: value}, fixed)
        ins, outs = Probes.of(system, acting, "inputs"), Probes.of(system, read, "outputs")
        places = places or (ins.names, outs.names)
        if system.null_chain is not None:
            raise InputError(f"{where}: the model is free to move; hold or drive it")
        modes = solve(system, min(k + GUARD, system.n))
        modes, certainty = _followed(previous, system, modes, k, where)
        blocks = [mode_block(modes, j, ins.numbers, outs.numbers) for j in range(k)]
        numbers = ins.numbers, outs.numbers
        states = _joined(system, modes, blocks, False, static_correction, *numbers)
        row = dict(zip("ABCD", states, strict=True))
        rows.append(row | dict(eigenvalue=modes.eigenvalues, certainty=certainty))
        previous = system, modes
    assert places is not None
    content = {
        key: ((name, *STATE_SPACE[key].dims[1:]), np.array([row[key] for row in rows]))
        for key in STATE_SPACE
    }
    coords = {
        name: values,
        "mode": np.arange(k),
        "input": list(places[0]),
        "output": list(places[1]),
    }
    attributes = provenance(title="state-space models", modes=k, made_from=made_from(model))
    return described(xr.Dataset(content, coords, attributes), STATE_SPACE)


def _followed(
    previous: tuple[FrozenSystem, Modes] | None,
    system: FrozenSystem,
    modes: Modes,
    k: int,
    where: str,
    least: float = 0.72,
) -> tuple[Modes, Array]:
    """The same k modes as at the previous value, with their phases, and how surely they are.

    least: of a pairing; where two modes share equally it is 0.71, and the step is too long.
    """
    oscillating = np.flatnonzero(modes.eigenvalues.imag > 0.0)
    if len(oscillating) < k:
        raise InputError(f"{where}: {len(oscillating)} oscillatory modes were found, k = {k}")
    if previous is None:
        return _chosen(modes, oscillating[:k]), np.ones(k)
    before = previous[1]
    pairing = _pairing(previous[0], before, system, _chosen(modes, oscillating))
    own, other = linear_sum_assignment(-np.abs(pairing))
    factors = pairing[own, other]
    certainty = np.abs(factors)
    if certainty.min() < least:
        lost = int(certainty.argmin())
        raise ConvergenceError(
            f"{where}: mode {lost + 1} pairs with none of this value by more than "
            f"{certainty[lost]:.2f}; take smaller steps, or more modes if it left the lowest"
        )
    return _chosen(modes, oscillating[other], certainty / factors), certainty


def _pairing(one: FrozenSystem, first: Modes, other: FrozenSystem, second: Modes) -> Complex:
    """yᴴ[(λ_j + λ_i)M + C]x · 2|λ_j|/|λ_j + λ_i| (k, m), left vectors of the first value, right
    ones of the second.

    M and C are the means of both values. At one value it is the identity; the factor makes its size
    the cosine of the angle between undamped modes, whatever their frequencies.
    """
    M, C = 0.5 * (one.M + other.M), 0.5 * (one.damping + other.damping)
    left = first.left.conj().T
    both = first.eigenvalues[:, None] + second.eigenvalues[None, :]
    pairing = both * (left @ (M @ second.right)) + left @ (C @ second.right)
    return np.asarray(pairing * (2.0 * np.abs(first.eigenvalues)[:, None] / np.abs(both)))


def _chosen(modes: Modes, which: Any, factor: Complex | float = 1.0) -> Modes:
    """Some of the modes, right and left vectors multiplied by the same unit factors."""
    rows = ("eigenvalues", "backward_error", "condition_number", "kind")
    return replace(
        modes,
        **{name: getattr(modes, name)[which] for name in rows},
        **{name: getattr(modes, name)[:, which] * factor for name in ("right", "left")},
    )


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


def _joined(
    system: FrozenSystem,
    modes: Modes,
    blocks: list[Block],
    free: bool,
    static_correction: bool,
    acting: Index,
    read: Index,
    shift: float = 0.05,
) -> StateSpace:
    """One model with the states of all blocks, and D.

    D is the static response of the modes left out: R(0) for H(s)⁻¹ less the response of those
    retained. Where K is singular, R is extrapolated from ±s and ±2s, equal to fourth order in
    s/|λ_omitted|: R is analytic inside the circle of the first mode that is left out. shift: s, of
    the largest |λ| retained.
    """
    A = np.asarray(la.block_diag(*(A for A, _, _ in blocks)))
    B, C = np.vstack([B for _, B, _ in blocks]), np.hstack([C for _, _, C in blocks])
    unit = np.zeros((system.n, len(acting)))
    unit[acting, np.arange(len(acting))] = 1.0

    def remainder(s: float) -> Array:
        H = system.stiffness + s * system.damping + s**2 * system.M
        with Factorization(H, "general") as factor:
            full = factor.solve(unit)[read]
        return np.asarray(full - C @ np.linalg.solve(s * np.eye(len(A)) - A, B))

    if not static_correction:
        return A, B, C, np.zeros((len(read), len(acting)))
    if not free:
        return A, B, C, remainder(0.0)
    s = shift * float(np.abs(modes.eigenvalues).max())
    near, far = (0.5 * (remainder(r) + remainder(-r)) for r in (s, 2.0 * s))
    return A, B, C, np.asarray((4.0 * near - far) / 3.0)
