"""δ = T(t) q: joints eliminate dependent (slave) degrees of freedom; T, Ṫ, T̈ are analytic.

See docs/theory.md, "Mechanisms". J δ = 0 involves the degrees of freedom of joint nodes only. With
δ = (slaves, masters), T_s = −J_s⁻¹ J_m, and differentiating J T = 0 gives J_s Ṫ_s = −(J̇ T) and
J_s T̈_s = −(J̈ T + 2 J̇ Ṫ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.elements.taylor import Taylor
from assembly.errors import MechanismError, SingularPositionError
from assembly.magnitudes import EQUAL
from assembly.types import Array, Index


@dataclass(frozen=True)
class Partition:
    """Which of the constrained DOFs are slaves and which masters (numbers into these
    DOFs)."""

    slaves: Index
    masters: Index

    def transform(self, J: Taylor, t: ArrayLike) -> Taylor:
        """The jet of T_J (..., touched, masters); SingularPositionError where the slaves are not
        determined."""
        s, m = self.slaves, self.masters
        T = np.zeros((*J.data.shape[:-2], J.data.shape[-1], len(m)))
        T[0, ..., m, np.arange(len(m))] = 1.0
        if len(s) == 0:
            return Taylor(T)
        first, rate, second = J.data[..., m]
        of_slaves, slave_rate, slave_second = J.data[..., s]
        inverse, condition = inverted(of_slaves)
        if not np.all(regular := EQUAL * condition < 1.0):
            n = np.unravel_index(int(np.argmin(regular)), condition.shape)
            raise SingularPositionError(
                f"t = {float(np.asarray(t)[n]):.6g} s: the joint conditions do not determine the "
                f"same DOFs as at other times (condition {condition[n]:.1e}); name another body in "
                f"`coordinates`"
            )
        S0 = -inverse @ first
        S1 = -inverse @ (rate + slave_rate @ S0)
        S2 = -inverse @ (second + slave_second @ S0 + 2.0 * slave_rate @ S1)
        T[..., s, :] = S0, S1, S2
        return Taylor(T)


def inverted(Js: Array) -> tuple[Array, Array]:
    """The inverse (..., k, k), and ‖J_s‖_F ‖J_s⁻¹‖_F: the condition number or a little more."""
    singular = np.linalg.slogdet(Js)[0] == 0.0
    inverse = np.linalg.inv(np.where(singular[..., None, None], np.eye(Js.shape[-1]), Js))
    size, other = (np.linalg.norm(A, axis=(-2, -1)) for A in (Js, inverse))
    return inverse, np.where(singular, np.inf, size * other)


def choose_partition(samples: Array, preference: Array, enough: float = 4.0) -> Partition:
    """Slaves that keep J_s well conditioned at every sampled instant, the preferred ones where
    possible: where they are at most `enough` times as far off as the best condition number.

    samples: J at some instants, (k, m, touched). preference (touched,): the larger, the rather a
    slave.
    Raises MechanismError when joints repeat what others impose on the elastic DOFs.
    """
    _, rows, touched = samples.shape
    if rows == 0:
        return Partition(np.zeros(0, dtype=np.intp), np.arange(touched))
    J = samples / np.maximum(np.linalg.norm(samples, axis=2, keepdims=True), np.finfo(float).tiny)
    chosen = _greedy(J, preference)
    choices = (np.sort(chosen), np.sort(_exchanged(J, chosen)))
    conditions = [worst_condition(J, slaves) for slaves in choices]
    if not EQUAL * min(conditions) < 1.0:
        raise MechanismError(
            f"the {rows} joint conditions on elastic DOFs are not independent: a joint repeats "
            f"what others impose"
        )
    slaves = choices[int(conditions[0] > enough * conditions[1])]
    return Partition(slaves, np.setdiff1d(np.arange(touched), slaves))


def worst_condition(J: Array, slaves: Index) -> float:
    """The largest condition number of J_s over the sampled instants, J (k, m, touched)."""
    return float(np.linalg.cond(J[:, :, slaves]).max()) if len(slaves) else 1.0


def _greedy(J: Array, weight: Array) -> Index:
    """QR with column pivoting of all samples (k, m, touched) at once: the pivot best in its worst
    sample."""
    chosen: list[int] = []
    for _ in range(J.shape[1]):
        sizes = np.linalg.norm(J, axis=1)
        score = sizes.min(axis=0) * weight
        score[chosen] = -1.0
        column = _largest(score)
        chosen.append(column)
        direction = J[:, :, column] / np.maximum(sizes[:, column, None], np.finfo(float).tiny)
        J = J - direction[:, :, None] * np.einsum("km,kmc->kc", direction, J)[:, None, :]
    return np.array(chosen, dtype=np.intp)


def _exchanged(J: Array, slaves: Index) -> Index:
    """Slaves exchanged for masters one by one while the smallest |det J_s| of all samples grows.

    Exchanging slave i for master j multiplies det J_s by the entry (i, j) of J_s⁻¹ J_m.
    """
    slaves = slaves.copy()
    for _ in range(4 * J.shape[2]):
        masters = np.setdiff1d(np.arange(J.shape[2]), slaves)
        sizes = np.abs(np.linalg.det(J[:, :, slaves]))
        if len(masters) == 0 or sizes.min() == 0.0:
            return slaves
        ratio = np.abs(np.linalg.solve(J[:, :, slaves], J[:, :, masters]))
        grown = (sizes[:, None, None] * ratio).min(axis=0)
        i, j = np.unravel_index(_largest(grown), grown.shape)
        if grown[i, j] <= 1.01 * sizes.min():
            return slaves
        slaves[i] = masters[j]
    return slaves


def _largest(values: Array) -> int:
    """The flat index of the first of the largest: alike nodes differ by round-off only, which must
    not choose between them."""
    return int((values >= (1.0 - EQUAL) * values.max()).argmax())
