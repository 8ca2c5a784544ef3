"""Draw docs/images/large_models.png and print the table of docs/large_models.md.

    python tools/draw_large_models.py LINES.json

LINES.json: what `python -m benchmarks.large --table` has written.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

TARGET = Path(__file__).parents[1] / "docs" / "images" / "large_models.png"
STYLE = {"in core": "o-", "out of core": "s--", "iterative": "^:"}
COLOUR = {"slender": "tab:blue", "thick": "tab:red"}
HEAD = (
    "| shape | degrees of freedom | solver | assembly GiB | sweep GiB | on disk GiB | assembly s "
    "| sweep s |\n|---|---|---|---|---|---|---|---|"
)


def main(source: str) -> None:
    rows = [json.loads(line) for line in Path(source).read_text().splitlines()]
    rows = list({(r["shape"], r["solver"], r["dofs"]): r for r in rows}.values())
    rows.sort(key=lambda r: (r["shape"], r["dofs"], r["solver"]))
    print(HEAD)
    for r in rows:
        print(
            f"| {r['shape']} | {r['dofs']:,} | {r['solver']} | {r['assembly GiB']:.2f} | "
            f"{r['sweep GiB']:.2f} | {r['disk GiB']:.2f} | {r['assembly s']:.0f} | "
            f"{r['sweep s']:.0f} |"
        )
    figure, (memory, seconds) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for shape, colour in COLOUR.items():
        for solver, style in STYLE.items():
            own = [r for r in rows if (r["shape"], r["solver"]) == (shape, solver)]
            n = np.array([r["dofs"] for r in own])
            for ax, names in ((memory, ("GiB",)), (seconds, ("s",))):
                stages = [
                    [r[f"{stage} {names[0]}"] for r in own] for stage in ("assembly", "sweep")
                ]
                values = np.max(stages, axis=0) if ax is memory else np.sum(stages, axis=0)
                if len(own):
                    ax.loglog(n, values, style, color=colour, label=f"{shape}, {solver}")
    memory.set_ylabel("peak memory (GiB)")
    seconds.set_ylabel("processor time (s)")
    for ax in (memory, seconds):
        ax.set_xlabel("degrees of freedom")
        ax.grid(which="both", alpha=0.3)
    memory.legend(fontsize=8)
    figure.savefig(TARGET, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
