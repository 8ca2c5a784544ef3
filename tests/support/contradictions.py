"""Lines of a report that contradict one another.

A report is text: verdicts of `modal.stability` ("stable (proof: count)"), rates of instants,
Floquet exponents, one headline ("verdict: …"), tables of maps. The rules read the words that are
printed, and nothing else.
"""

from __future__ import annotations

import re

# The words of the Floquet exponents and the beginnings of the headline that goes with them.
AGREEING = {
    "none grows": ("verdict: stable", "verdict: no vibration of the slowest modes grows"),
    "one grows": ("verdict: unstable",),
    "undecided, the error is larger than the growth": ("verdict: undecided",),
}
FROZEN = re.compile(r"^(.*?)\b(stable|flutter|divergence|undecided) \(proof: ")
RATE = re.compile(r"largest growth rate ([+-]?[\d.]+(?:e[+-]?\d+)?) ± ([\d.]+(?:e[+-]?\d+)?)")
INSTANT = "rate of the instant"
POSITIONS = "frozen positions: not the verdict on the machine"
SHARE = re.compile(r"^  (stable|divergence|flutter|undecided)\b.* (\d+) points")
MOST = re.compile(r"^  largest (growth rate|error bound) ([+-]?[\d.]+(?:e[+-]?\d+)?)")


def contradictions(text: str) -> list[str]:
    """What is wrong with a report."""
    return [*_headline(text), *_states(text), *_rates(text), *_maps(text)]


def _headline(text: str) -> list[str]:
    """Of a periodic motion: one headline, of the Floquet exponents, and no verdict on instants."""
    lines = text.splitlines()
    headlines = [line for line in lines if line.startswith("verdict:")]
    floquet = [line for line in lines if "multipliers of the" in line]
    wrong = headlines if len(headlines) > 1 else []
    for line in floquet:
        starts = next(starts for words, starts in AGREEING.items() if words in line)
        if not headlines or not headlines[0].startswith(starts):
            wrong += [line, *headlines]
    if floquet or INSTANT in text:
        wrong += [line for line in lines if FROZEN.search(line)]
    return wrong


def _states(text: str) -> list[str]:
    """Two verdicts on one state."""
    said: dict[str, set[str]] = {}
    for line in text.splitlines():
        verdict = FROZEN.search(line)
        if verdict and verdict[1].strip():
            said.setdefault(verdict[1], set()).add(verdict[2])
    return [f"{state} {words}" for state, words in said.items() if len(words - {"undecided"}) > 1]


def _rates(text: str) -> list[str]:
    """A verdict of `modal.stability` and the growth rate below it."""
    wrong, verdict = [], ""
    for line in text.splitlines():
        first, rate = FROZEN.search(line), RATE.search(line)
        if first:
            verdict = first[2]
        elif rate:
            grows = float(rate[1]) > float(rate[2])
            if (verdict == "stable" and grows) or (
                verdict in ("flutter", "divergence") and not grows
            ):
                wrong += [verdict, line]
            verdict = ""
        elif not line.startswith("  "):
            verdict = ""
    return wrong


def _maps(text: str) -> list[str]:
    """Points that are counted as unstable, and the largest growth rate of the map."""
    wrong: list[str] = []
    for table in re.split(r"(?m)^(?=map of )", text)[1:]:
        points = {verdict: 0 for verdict in ("stable", "divergence", "flutter", "undecided")}
        most = {}
        for line in table.splitlines():
            share, value = SHARE.match(line), MOST.match(line)
            if share:
                points[share[1]] += int(share[2])
            if value:
                most[value[1]] = float(value[2])
        grows = points["flutter"] + points["divergence"] > 0
        if grows and most["growth rate"] <= 0.0:
            wrong.append(table)
        if not grows and not points["undecided"] and most["growth rate"] > most["error bound"]:
            wrong.append(table)
    return wrong
