"""Distributions of ratios by verb, the worst draws, and two runs draw by draw."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]

# Median, 95 % and worst ratio to the plain work.
GOALS = {
    "solve": (1.2, 2.0, 4.0),
    "stability": (1.5, 3.0, 6.0),
    "track": (0.2, 0.7, 1.1),
    "stability_map": (0.2, 0.7, 1.1),
    "frequency_response": (0.3, 1.05, 1.2),
    "integrate": (0.5, 1.0, 2.0),
    "nonlinear": (1.0, 2.0, 4.0),
    "floquet": (0.5, 1.0, 3.0),
    "hill_chart": (0.5, 1.0, 3.0),
    "trims": (1.0, 2.0, 4.0),
    "crosscheck": (0.8, 1.0, 1.2),
}
QUICK = 0.05  # s: a shorter call has met its goal
BEGIN, END = "<!-- benchmarks.anywhere -->", "<!-- end of benchmarks.anywhere -->"
BEGIN_CASES, END_CASES = "<!-- single cases -->", "<!-- end of single cases -->"
HEAD = (
    "| verb | draws | median | 95 % | worst | goals | unfinished | refused | wrong | crashed | "
    "largest memory, MiB (plain) |"
)


def read(path: Path) -> list[Record]:
    """The records of a file of JSON lines, packed or not; a line that was cut is left out."""
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    records = []
    for line in data.decode("utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def score(record: Record) -> float:
    """The ratio that counts: NaN where nothing was compared, a lower bound where it was stopped."""
    if record["ratio"] is None or record["status"] not in ("done", "wrong", "unfinished"):
        return float("nan")
    if record["status"] == "unfinished":
        return float(record["ratio"])
    median = GOALS[record["verb"]][0]
    ratio = float(record["ratio"])
    return min(ratio, median) if record["seconds"] < QUICK else ratio


def distribution(records: Sequence[Record]) -> str:
    """The table over verbs."""
    lines = [HEAD, "|" + "---|" * 11]
    for verb, goals in GOALS.items():
        own = [r for r in records if r["verb"] == verb and r["status"] != "invalid"]
        if not own:
            continue
        scores = np.array([score(r) for r in own])
        scores = np.sort(scores[np.isfinite(scores)])
        stopped = any(r["status"] == "unfinished" for r in own)
        figures = ["–"] * 3
        if len(scores):
            levels = (np.median(scores), np.percentile(scores, 95), scores[-1])
            sign = "≥ " if stopped else ""
            figures = [f"{levels[0]:.3g}", *(f"{sign}{x:.3g}" for x in levels[1:])]
        count = {s: sum(r["status"] == s for r in own) for s in ("unfinished", "refused", "wrong")}
        crashed = sum(r["status"] in ("crashed", "memory") for r in own)
        peaks = [(r["memory"] or 0.0, r["plain_memory"] or 0.0) for r in own]
        peak = max(peaks)
        lines.append(
            f"| {verb} | {len(own)} | {' | '.join(figures)} | "
            f"{' / '.join(f'{g:g}' for g in goals)} | {count['unfinished']} | {count['refused']} | "
            f"{count['wrong']} | {crashed} | {peak[0]:.0f} ({peak[1]:.0f}) |"
        )
    invalid = sum(r["status"] == "invalid" for r in records)
    extrapolated = sum(bool(r["measured"]) and r["measured"][0] < r["measured"][1] for r in records)
    estimates = [r for r in records if r.get("estimate") and r["memory"]]
    above = sum(r["memory"] * 2**20 > r["estimate"] for r in estimates)
    undecided = [
        f"{verb} {np.mean(shares):.0%}"
        for verb in GOALS
        for shares in [[r["undecided"] for r in records if r["verb"] == verb and "undecided" in r]]
        if shares
    ]
    lines += [
        "",
        f"Undecided, mean share of points: {', '.join(undecided) or '–'}. "
        f"Plain work extrapolated from some of its points: {extrapolated} of {len(records)} draws. "
        f"Draws that cannot be built: {invalid}. Memory estimates: {len(estimates)}, exceeded "
        f"{above}.",
    ]
    return "\n".join(lines)


def cases(records: Sequence[Record], before: Sequence[Record] = ()) -> str:
    """The table of the single cases; before: of another commit."""
    from benchmarks.anywhere.cases import CASES

    earlier = {r["index"]: _spent(r) for r in before}
    lines = [
        "| case | DOFs | first seen | before, s | s | of the plain work | goals | memory, MiB |"
    ]
    lines.append("|" + "---|" * 8)
    for r in records:
        ratio = "–" if r["ratio"] is None else f"{score(r):.2g}"
        said = {"done": ratio, "unfinished": f"≥ {ratio}"}.get(r["status"], r["status"])
        said += " (under 50 ms)" if r["seconds"] < QUICK else ""
        goals = " / ".join(f"{goal:g}" for goal in GOALS[r["verb"]])
        lines.append(
            f"| `{r['verb']}`: {r['words']} | {r['dofs']:,} | {CASES[r['index']][1]} | "
            f"{earlier.get(r['index'], '–')} | {_spent(r)} | {said} | {goals} | "
            f"{r['memory'] or 0.0:.0f} |"
        )
    return "\n".join(lines)


def _spent(record: Record) -> str:
    """Seconds, or how it ended."""
    seconds = f"{record['seconds']:.3g}"
    return {"done": seconds, "unfinished": f"> {seconds}"}.get(record["status"], record["status"])


def put_into(page: Path, records: Sequence[Record], before: Sequence[Record] = ()) -> None:
    """The table of a run, of draws or of single cases, between its marks on a page of the
    manual. before: the cases on another commit."""
    single = records[0]["seed"] == "case"
    begin, end = (BEGIN_CASES, END_CASES) if single else (BEGIN, END)
    text = page.read_text("utf-8")
    above, rest = text.split(begin, 1)
    below = rest.split(end, 1)[1]
    commits = ", ".join(dict.fromkeys(r["commit"] for r in records))
    seeds = ", ".join(dict.fromkeys(str(r["seed"]) for r in records))
    title = f", {len(records)} draws of seed {seeds}"
    if single:
        title = "".join({f", before: {r['commit']}" for r in before})
    table = cases(records, before) if single else distribution(records)
    page.write_text(f"{above}{begin}\nCommit {commits}{title}:\n\n{table}\n{end}{below}", "utf-8")


def recipe(record: Record) -> str:
    """One line that says what was drawn, how it went, and how to draw it again."""
    ratio = record["ratio"]
    shown = "–" if ratio is None else f"{ratio:.3g}"
    least = "≥ " if record["status"] == "unfinished" else ""
    plain = "–" if record["plain"] is None else f"{record['plain']:.3g}"
    said = record["wrong"] or record["error"]
    return (
        f"{record['verb']} {least}{shown} ({record['seconds']:.3g} s, plain {plain} s, "
        f"{record['status']}), {record['dofs']} DOFs: {record['words']}; "
        f"--draw {record['seed']}:{record['index']}" + (f"\n    {said[:300]}" if said else "")
    )


def worst(records: Sequence[Record], count: int = 3) -> str:
    """The worst draws of every verb, and all that were refused, wrong or crashed."""
    lines = []
    for verb in GOALS:
        own = [r for r in records if r["verb"] == verb and np.isfinite(score(r))]
        lines += [recipe(r) for r in sorted(own, key=score)[: -count - 1 : -1]]
    faulty = [
        r for r in records if r["status"] in ("refused", "wrong", "crashed", "memory", "invalid")
    ]
    return "\n".join([*lines, "", *(recipe(r) for r in faulty)])


def comparison(before: Sequence[Record], after: Sequence[Record]) -> str:
    """Two runs of the same draws: how much faster each became, by verb, and what turned over."""
    old = {(r["generator"], r["seed"], r["index"]): r for r in before}
    common = [
        (old[key], r) for r in after for key in [(r["generator"], r["seed"], r["index"])]
        if key in old
    ]  # fmt: skip
    lines = ["| verb | draws | median ratio before → after | faster | slower than 1.1 × |"]
    lines.append("|---|---|---|---|---|")
    turned = []
    for verb in GOALS:
        own = [(a, b) for a, b in common if a["verb"] == verb]
        both = [(score(a), score(b)) for a, b in own]
        known = np.array([pair for pair in both if np.all(np.isfinite(pair))])
        if len(known):
            change = known[:, 1] / known[:, 0]
            medians = f"{np.median(known[:, 0]):.3g} → {np.median(known[:, 1]):.3g}"
            lines.append(
                f"| {verb} | {len(known)} | {medians} | {(change < 0.9).sum()} | "
                f"{(change > 1.1).sum()} |"
            )
        turned += [
            f"{a['status']} → {b['status']}: {recipe(b)}"
            for a, b in own
            if a["status"] != b["status"]
        ]
        ordered = sorted(
            (pair for pair in own if np.isfinite(score(pair[0]) + score(pair[1]))),
            key=lambda pair: score(pair[1]) / score(pair[0]),
        )
        turned += [
            f"{score(b) / score(a):.2f} times: {recipe(b)}"
            for a, b in [*ordered[:1], *ordered[-2:]]
            if not 0.9 < score(b) / score(a) < 1.1
        ]
    return "\n".join([*lines, "", *dict.fromkeys(turned)])
