"""Results of public calls against the truth that the plain work found by the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CLOSE = 1e-6  # relative error of eigenvalues
WIDEST = 1e-2  # of stated error bounds that count, relative
ROUNDOFF = 1e-13  # of LAPACK, relative to the largest eigenvalue
OSCILLATES = 0.2  # |Im λ| / |λ| above which "the k smallest" means the same to everybody
RESPONSE = 1e-4  # relative error of responses
TRANSIENT = 1e-3  # ten times the tolerance asked for
DEFECT = 1e-2  # of the energy of a conservative transient
GROWTH = 1e-3  # of log μ

Answer = dict[str, Any]
Complex = NDArray[np.complex128]


def judged(verb: str, answer: Answer, truth: Answer) -> str:
    """What is wrong, in words; empty where nothing is, or nothing was checked."""
    check = CHECKS.get(verb)
    return check(answer, truth) if check else ""


def _numbers(values: list[list[float]]) -> Complex:
    return np.array([complex(re, im) for re, im in values], dtype=complex)


def _eigenvalues(answer: Answer, truth: Answer) -> str:
    """Each value is one of the truth, to its stated bound, and the slowest vibrations of the truth
    are there.

    A TOAR reference has only k oscillating pairs; values beyond them are not checked, nor whether
    each is one of them where some were not confirmed. Rigid motions of free bodies, below 1e-2 of
    the lowest vibration, are left out.
    """
    exact, values = _numbers(truth["eigenvalues"]), _numbers(answer["eigenvalues"])
    floor = ROUNDOFF * truth["largest"] + (1e-2 * truth["frequency"] if truth["free"] else 0.0)
    exact = exact[np.abs(exact) > floor]
    bounds = np.array(answer.get("bounds", np.zeros(len(values))))
    kept = np.isfinite(values) & (np.abs(values) > floor)
    values, bounds = values[kept], np.minimum(bounds, WIDEST * np.abs(values))[kept]
    if not len(exact) or not len(values):
        return ""
    reach = np.abs(exact[exact.imag > 0.0]).max(initial=0.0) * (1.0 - CLOSE) * truth["confirmed"]
    for value, bound in zip(values, bounds, strict=True):
        oscillates = abs(value.imag) > OSCILLATES * abs(value)
        if abs(value) > reach or not (truth["all"] or oscillates):
            continue
        error = np.abs(exact - value).min()
        if error > CLOSE * abs(value) + floor + _rounding(value, truth) + bound:
            return f"eigenvalue {value:.8g} is off by {error:.1e}"
    if len(values) < answer["k"]:
        return ""
    # Tracks hold more than the k lowest, and overdamped modes are ordered by their shapes.
    slow = np.abs(values[np.abs(values.imag) > OSCILLATES * np.abs(values)])
    rest = len(values) - len(slow)  # of the k smallest, as far as is known
    top = np.sort(slow)[: max(answer["k"] - rest, 0)].max(initial=0.0)
    for value in exact[(np.abs(exact) < 0.99 * top) & (exact.imag > OSCILLATES * np.abs(exact))]:
        error = np.abs(values - value)
        if np.all(error > 1e-4 * abs(value) + floor + _rounding(value, truth) + bounds):
            return f"eigenvalue {value:.8g} is missing"
    return ""


def _rounding(value: complex, truth: Answer) -> float:
    """What round-off of the truth may change of a value."""
    return float(10.0 * (np.sqrt(ROUNDOFF) * abs(value) + truth["rounding"] / abs(value)))


def _verdict(answer: Answer, truth: Answer) -> str:
    """A stable verdict against the largest growth of the truth, and an unstable one."""
    exact = every = _numbers(truth["eigenvalues"])
    if truth["free"]:
        exact = exact[~_prescribed(exact, truth)]
    if not len(exact):
        return ""
    worst = exact[np.argmax(exact.real)]
    margin = 1e-7 * abs(worst) + 10.0 * ROUNDOFF * truth["largest"]
    if answer["verdict"] == "stable" and worst.real > margin + answer["bound"]:
        return f"stable, but λ = {worst:.8g}"
    # A damper outside may make what the frame prescribes a motion like others.
    decay = worst.real < -margin and bool(np.all(every.real < margin))
    if answer["verdict"] in ("flutter", "divergence") and truth["all"] and decay:
        return f"{answer['verdict']}, but the largest growth is {worst:.8g}"
    return ""


def _prescribed(exact: Complex, truth: Answer) -> NDArray[np.bool_]:
    """Eigenvalues of a free system that its frame prescribes: about 0 and ±iΩ, defective.

    An angular acceleration ε moves them by √ε. Of mechanisms all slow ones are left out.
    """
    if len(truth["frame"]) < 2:
        return np.asarray(np.abs(exact) <= 1e-2 * truth["frequency"])
    omega, epsilon = truth["frame"]
    accuracy = ROUNDOFF if truth["all"] else 1e-10  # of pairs that TOAR confirms
    reach = np.sqrt(accuracy) * truth["largest"] + np.sqrt(epsilon)
    exactly = 1j * omega * np.array([-1.0, 0.0, 1.0])
    return np.asarray(np.abs(exact[:, None] - exactly).min(axis=1) <= reach)


def _points(answer: Answer, truth: Answer) -> str:
    return _each(answer["points"], truth["points"], _eigenvalues, k=answer["k"])


def _verdicts(answer: Answer, truth: Answer) -> str:
    return _each(answer["verdicts"], truth["points"], _verdict)


def _each(answers: list[Any], truths: list[Any], check: Any, **more: Any) -> str:
    exact = {int(i): value for i, value in truths}
    for i, value in answers:
        if int(i) in exact:
            got = value if isinstance(value, dict) else {"eigenvalues": value, **more}
            said = check(got, exact[int(i)])
            if said:
                return f"point {i}: {said}"
    return ""


def _responses(answer: Answer, truth: Answer) -> str:
    exact = {int(i): complex(*value) for i, value in truth["responses"]}
    for i, value in answer["responses"]:
        if int(i) in exact:
            error = abs(complex(*value) - exact[int(i)])
            if error > RESPONSE * abs(exact[int(i)]):
                return f"frequency {i}: response off by {error / abs(exact[int(i)]):.1e}"
    return ""


def _transient(answer: Answer, truth: Answer) -> str:
    if answer.get("defect", 0.0) > DEFECT:
        return f"energy off by {answer['defect']:.1e}"
    if "end" in truth and "end" in answer:
        size = answer["largest"]
        error = float(np.linalg.norm(np.subtract(answer["end"], truth["end"])))
        if error > TRANSIENT * size + 3.0 * truth["error"]:
            return f"end off by {error / size:.1e}, truth by {truth['error'] / size:.1e}"
    return ""


def _floquet(answer: Answer, truth: Answer) -> str:
    if "growth" not in truth or truth["error"] > GROWTH:
        return ""
    error = abs(answer["growth"] - truth["growth"])
    if error > GROWTH + min(answer["bound"], 1.0):
        return f"log μ {answer['growth']:.6g}, exponentials {truth['growth']:.6g}"
    return ""


def _finite(answer: Answer, truth: Answer) -> str:
    return "" if answer["finite"] else "not finite"


CHECKS = {
    "solve": _eigenvalues,
    "stability": _verdict,
    "track": _points,
    "stability_map": _verdicts,
    "frequency_response": _responses,
    "integrate": _transient,
    "nonlinear": _finite,
    "trims": _finite,
    "floquet": _floquet,
}
