"""The largest Floquet multipliers of a full sparse model, matrix-free.

The map over a period is applied, not formed: Gauss steps of order 4 on M q̈ + V q̇ + K q = 0,
each with its own factorization, stored for all applications. Arnoldi starts from the slow frozen
modes, which are the likely origin of an instability.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import ConvergenceError
from assembly.linalg.factorization import Factorization
from modal.eigen.solve import solve
from modal.periodic.product_eigen import logs_of
from modal.transient.equations import SecondOrderModel
from modal.transient.integrators.tableau import Tableau
from modal.types import Array, Complex

ORDER = 4
SEED = 20


class PeriodMap:
    """x(t0 + T) from x(t0), x = (q, q̇) of the full model, in `steps` Gauss steps of order 4.

    Stage accelerations A_i solve M_i A_i + V_i v_i + K_i q_i = 0, v_i = v + h Σ a_ij A_j,
    q_i = q + c_i h v + h² Σ (a²)_ij A_j. Owns `steps` factorizations: call `destroy()`.
    """

    def __init__(self, equations: SecondOrderModel, t0: float, period: float, steps: int) -> None:
        self.tableau, self.h = Tableau(2), period / steps
        self._steps: list[tuple[Factorization, list[Any], list[Any]]] = []
        for j in range(steps):
            at = [equations.at(t0 + self.h * (j + c)) for c in self.tableau.c]
            self._steps.append(
                (self._factor(at), [x.velocity for x in at], [x.stiffness for x in at])
            )

    def _factor(self, at: list[Any]) -> Factorization:
        a, h = self.tableau.a, self.h
        square = a @ a
        blocks = [
            [
                (h * a[i, j]) * at[i].velocity + (h * h * square[i, j]) * at[i].stiffness
                for j in range(2)
            ]
            for i in range(2)
        ]
        for i in range(2):
            blocks[i][i] = blocks[i][i] + at[i].M
        return Factorization(sp.csr_matrix(sp.bmat(blocks, format="csr")), "general")

    def __matmul__(self, x: Array) -> Array:
        """The map of x (2n,) or (2n, k)."""
        n, h = x.shape[0] // 2, self.h
        a, b, c = self.tableau.a, self.tableau.b, self.tableau.c
        drift = b @ a  # Σ b_i a_ij: q_new = q + h v + h² Σ_j (Σ_i b_i a_ij) A_j
        q, v = x[:n], x[n:]
        for factor, V, K in self._steps:
            rhs = [-(V[i] @ v) - K[i] @ (q + (c[i] * h) * v) for i in range(2)]
            A = factor.solve(np.ascontiguousarray(np.concatenate(rhs)))
            A = A.reshape((2, n, *x.shape[1:]))
            q = q + h * v + h * h * (drift[0] * A[0] + drift[1] * A[1])
            v = v + h * (b[0] * A[0] + b[1] * A[1])
        return np.concatenate([q, v])

    def destroy(self) -> None:
        for factor, _, _ in self._steps:
            factor.destroy()
        self._steps = []


def arnoldi_multipliers(
    model: Any, period: float, t0: float, k: int, steps: int, tolerance: float
) -> tuple[Complex, Complex, Array]:
    """Log μ of the k largest multipliers, Floquet vectors (2n, k), bounds on the error of log μ.

    The bound: the residual ‖P x − μ x‖/‖x‖ and the error of P x by the discretisation, from steps
    twice as long, times the condition of the k vectors. Infinite where it exceeds |μ|; log μ is
    then an upper bound. Raises ConvergenceError when Arnoldi does not converge, as it may for an
    undamped stable model: all its multipliers have modulus one.
    """
    equations = SecondOrderModel(model)
    system = equations.at(t0).system
    n = system.n
    modes = solve(system, k=min(max(k, 2), n))
    start = np.vstack([modes.right, modes.right * modes.eigenvalues]).real.sum(axis=1)
    # Displacements are scaled to the velocities of the fastest of these modes.
    omega = float(np.abs(modes.eigenvalues).max()) or 1.0
    scale = np.concatenate([np.full(n, omega), np.ones(n)])
    period_map = PeriodMap(equations, t0, period, steps)
    try:
        operator = spla.LinearOperator(
            (2 * n, 2 * n), matvec=lambda x: scale * (period_map @ (x / scale)), dtype=float
        )
        try:
            multipliers, vectors = spla.eigs(
                operator, k=min(k, 2 * n - 2), v0=scale * start, tol=tolerance,
                ncv=min(2 * n, 4 * k + SEED), which="LM",
            )  # fmt: skip
        except spla.ArpackNoConvergence as fault:
            raise ConvergenceError(
                f"Floquet: Arnoldi found {len(fault.eigenvalues)} of {k} multipliers; those of an "
                'undamped model all have modulus one: use method="reduced"',
                partial=fault.eigenvalues,
            ) from None
        images = _mapped(period_map, vectors, scale)
    finally:
        period_map.destroy()
    coarse = max(1, steps // 2)
    rough_map = PeriodMap(equations, t0, period, coarse)
    try:
        rough = _mapped(rough_map, vectors, scale)
    finally:
        rough_map.destroy()
    residual = np.linalg.norm(images - vectors * multipliers, axis=0)
    method = np.linalg.norm(images - rough, axis=0) / ((steps / coarse) ** ORDER - 1.0)
    bound = (residual + method) * np.linalg.cond(vectors)
    logs, error = logs_of(multipliers, bound)
    return logs, vectors / scale[:, None], error


def _mapped(period_map: PeriodMap, vectors: Complex, scale: Array) -> Complex:
    real, imag = (
        scale[:, None] * (period_map @ (part / scale[:, None]))
        for part in (vectors.real, vectors.imag)
    )
    return np.asarray(real + 1j * imag)
