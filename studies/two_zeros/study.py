"""Two properties of the equations of elastic mechanisms: Scutaru & Vlase, J. Appl. Math. 2012,
628503, as they are printed and as they hold.

P1, the Rayleigh quotient, is printed for a real shape; the modes of a turning system are complex,
and uᴴCu is then imaginary, not zero. P2, two zero eigenvalues, is one Jordan block for one degree
of mobility without K(ε), K(ω²) and K_G; in general there are 2m − rank(VᵀCV) zeros. The paper's
transformation that takes them out is shown matrix by matrix, the sparse projector on a model a
dense matrix is too large for, and the pair is followed when the neglected terms act. The interval
Δt in which the motion may be taken as frozen, "difficult to estimate" there, is computed.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import NDArray

import modal
from assembly.errors import FrozenMotionError, InputError
from assembly.system.frozen import FrozenSystem
from modal.eigen.deflation import deflate_by_similarity
from modal.eigen.quadratic import companion
from studies.reporting.protocol import Data, Exploration, Outputs, Text, merged, study_main
from studies.two_zeros import figures
from studies.two_zeros.interval import interval_over_turn
from studies.two_zeros.machines import INSTANT, SYSTEMS, slider_crank, spinning_shaft
from studies.two_zeros.pair import pair_over_turn
from studies.two_zeros.summary import report
from studies.two_zeros.transformation import small_case, text
from studies.two_zeros.variables import VARIABLES

__all__ = ["main", "report"]

Complex = NDArray[np.complex128]
CONSERVATIVE = ("C", "K", "K_omega2", "K_G")
SHOWN = 6  # smallest |λ| kept for the record
COUPLED = 1e-10  # of ‖C‖ ‖V‖²: VᵀCV above this counts in its rank


@study_main
def main(
    *,
    modes: int = 6,
    speed_rpm: float = 1500.0,
    instants: int = 72,
    large_elements: int = 4000,
    progress: bool = False,
) -> Outputs:
    """Rayleigh's quotient and the zero eigenvalues of Scutaru & Vlase (2012).

    Parameters
    ----------
    modes : int
        Modes whose Rayleigh quotients are computed.
    speed_rpm : float
        Speed of the slider-crank, rpm.
    instants : int
        Instants of one turn at which the pair of zeros is followed.
    large_elements : int
        Elements of each link of the model that only the sparse deflation can solve.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Accepted as by every study; this one shows none.

    Returns
    -------
    Dataset
        Quotients, counts of zeros, the pair over the turn and the deflated eigenvalues.

    Raises
    ------
    InputError
        Too few modes, instants or elements, or a speed that is not positive.
    """
    if modes < 1 or instants < 8 or large_elements < 8 or not speed_rpm > 0.0:
        raise InputError("modes: at least 1; instants, large_elements: at least 8; speed_rpm > 0")
    case = small_case()
    printed = xr.Dataset(
        {
            "small_eigenvalues": ("small_mode", case.eigenvalues),
        },
        coords={"small_mode": np.arange(1, len(case.eigenvalues) + 1)},
    )
    large = large_model(large_elements, 4, speed_rpm)
    dataset = merged(
        [
            quotients(modes),
            zero_counts(),
            pair_over_turn(speed_rpm, 4, instants),
            interval_over_turn(speed_rpm, 3, instants + 1),
            large,
            printed,
        ],
        VARIABLES,
        title="zero eigenvalues and Rayleigh quotient of Scutaru & Vlase (2012)",
        speed_rpm=speed_rpm,
        large_elements=large_elements,
        **large.attrs,
    )
    yield Data("two-zeros.nc", dataset)
    yield Text("transformation.txt", text(case) + "\n")
    yield Exploration(lambda: over_turn(speed_rpm, instants))
    yield from figures.drawings(dataset)
    yield figures.animation(speed_rpm)
    return dataset


def over_turn(speed_rpm: float, instants: int) -> modal.ExplorerView:
    """The modes of the slider-crank that no drive holds, over one turn, to explore."""
    mechanism = slider_crank(speed_rpm=speed_rpm)
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, instants + 1)
    tracks = modal.track(mechanism, times=times, k=3, progress=False)
    return modal.explorer_view(tracks, mechanism, title="slider-crank that no drive holds")


def quotients(modes: int) -> xr.Dataset:
    """Frequencies from Rayleigh quotients relative to the eigenvalue, for two systems.

    printed, complex: √(uᴴKu/uᴴMu) with the complex shape; printed, real: with its real part, the
    paper's (2.7); true: the positive root of −ω²uᴴMu − ωγ + uᴴKu = 0, γ = −iuᴴCu.
    """
    systems = {
        "slider-crank": slider_crank().freeze(INSTANT, transport=False, driven=True),
        "spinning shaft": spinning_shaft(),
    }
    frequency = np.empty((len(systems), modes))
    error = np.empty((len(systems), modes, 3))
    for i, full in enumerate(systems.values()):
        system = full.only(*CONSERVATIVE)
        solved = modal.solve(system, k=modes)
        frequency[i] = solved.eigenvalues.imag
        for j in range(modes):
            error[i, j] = _quotient_errors(system, solved.right[:, j], frequency[i, j])
    return xr.Dataset(
        {
            "rayleigh_frequency": (("example", "mode"), frequency),
            "rayleigh_error": (("example", "mode", "quotient"), error),
        },
        coords={
            "example": list(systems),
            "mode": np.arange(modes),
            "quotient": ["printed, real shape", "printed, complex shape", "true"],
        },
    )


def _quotient_errors(system: FrozenSystem, u: Complex, omega: float) -> NDArray[np.float64]:
    M, C, K = system.M, system.damping, system.stiffness
    m, k = (float(np.real(u.conj() @ (A @ u))) for A in (M, K))
    gamma = float(np.real(-1j * (u.conj() @ (C @ u))))
    A = np.real(u)
    real = np.sqrt(abs((A @ (K @ A)) / (A @ (M @ A))))
    true = (-gamma + np.sqrt(gamma**2 + 4.0 * m * k)) / (2.0 * m)
    return np.array([real, np.sqrt(k / m), true]) / omega - 1.0


def zero_counts() -> xr.Dataset:
    """Zeros of (M, C, K): by the formula 2m − rank(VᵀCV), as the dense solver finds them, and after
    deflation, for systems of one to three degrees of mobility, literal and consistent.
    """
    size = (len(SYSTEMS), 2)
    mobility, rank, formula, near_zero = (np.zeros(size, dtype=int) for _ in range(4))
    spread, first, agreement = (np.zeros(size) for _ in range(3))
    smallest = np.zeros((*size, SHOWN))
    for i, make in enumerate(SYSTEMS.values()):
        for j, transport in enumerate((False, True)):
            system = make(transport).only("C", "K")
            V, C = system.rigid, system.damping
            A, B = companion(*(X.toarray() for X in (system.M, C, system.stiffness)))
            plain = np.sort(np.abs(la.eigvals(A, B)))
            chain = system.null_chain
            assert chain is not None
            deflated = deflate_by_similarity(A, B, chain.right)
            others = np.sort(np.abs(la.eigvals(deflated.A, deflated.B)))
            coupling = np.linalg.svd(V.T @ (C @ V), compute_uv=False)
            mobility[i, j] = V.shape[1]
            rank[i, j] = int((coupling > COUPLED * abs(C).max() * (V**2).sum()).sum())
            formula[i, j] = 2 * mobility[i, j] - rank[i, j]
            zeros = chain.count
            # The deflated spectrum distinguishes the solver's images of the zeros from the rest.
            near_zero[i, j] = int((plain < 0.1 * others[0]).sum())
            spread[i, j], first[i, j] = plain[zeros - 1], others[0]
            agreement[i, j] = np.abs(others / plain[zeros:] - 1.0).max()
            smallest[i, j] = plain[:SHOWN]
    dims = ("system", "equations")
    return xr.Dataset(
        {
            "mobility": (dims, mobility),
            "coupling_rank": (dims, rank),
            "zeros_formula": (dims, formula),
            "zeros_found": (dims, near_zero),
            "zeros_spread": (dims, spread),
            "first_other": (dims, first),
            "deflation_difference": (dims, agreement),
            "smallest": ((*dims, "rank"), smallest),
        },
        coords={
            "system": list(SYSTEMS),
            "equations": ["literal", "consistent"],
            "rank": np.arange(1, SHOWN + 1),
        },
    )


def large_model(elements: int, modes: int, speed_rpm: float) -> xr.Dataset:
    """The sparse projector on the slider-crank with so many elements a link, and on a small one
    where the dense transformation can be asked too.
    """
    small = slider_crank(12, speed_rpm).freeze(INSTANT, transport=False).only("C", "K")
    large = slider_crank(elements, speed_rpm).freeze(INSTANT, transport=False).only("C", "K")
    dense = modal.solve(small, k=modes, backend="dense").eigenvalues.imag
    sparse = modal.solve(small, k=modes).eigenvalues.imag
    started = time.perf_counter()
    solved = modal.solve(large, k=modes)
    seconds = time.perf_counter() - started
    chain = large.null_chain
    assert chain is not None
    n = large.n
    w, v = chain.right[:n, 1], chain.right[n:, 1]
    residual = large.K @ w + large.C @ v
    scale = abs(large.K) @ abs(w) + abs(large.C) @ abs(v)
    try:
        undeflated = np.abs(modal.solve(large, k=modes, deflation=None).eigenvalues)
        without = (
            f"{len(undeflated)} of {modes} eigenvalues found, the smallest |λ| = "
            f"{undeflated[0]:.1e} rad/s"
        )
    except FrozenMotionError as fault:
        without = str(fault)
    return xr.Dataset(
        {
            "deflated_dense": ("deflated_mode", dense),
            "deflated_sparse": ("deflated_mode", sparse),
            "deflated_large": ("deflated_mode", solved.eigenvalues.imag),
            "deflated_large_error": ("deflated_mode", solved.backward_error),
        },
        coords={"deflated_mode": np.arange(1, modes + 1)},
        attrs=dict(
            large_unknowns=n,
            large_seconds=seconds,
            large_zeros_removed=solved.deflated,
            large_chain_residual=float(np.linalg.norm(residual) / np.linalg.norm(scale)),
            without_deflation=without,
        ),
    )
