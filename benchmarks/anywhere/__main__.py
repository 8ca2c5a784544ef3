"""Work drawn at random against what a competent user would write himself.

    python -m benchmarks.anywhere --seed 1 --count 150             # draws, table, worst
    python -m benchmarks.anywhere --draw 1:17                      # one draw again
    python -m benchmarks.anywhere --compare before.jsonl after.jsonl
    python -m benchmarks.anywhere --report run.jsonl --into docs/performance.md --picture speed.png
    python -m benchmarks.anywhere --seed 1 --count 150 --against COMMIT
    python -m benchmarks.anywhere --cases                          # known cases, all or one verb

Results are JSON lines in a file; the same command goes on where it was stopped. A ratio is the
processor time of the public call, with its default checks, over that of the plain work.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parents[2]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50, help="draws 0 to COUNT − 1 of the seed")
    parser.add_argument("--limit", type=float, default=20.0, help="processor time of a call, s")
    parser.add_argument("--memory", type=float, default=6.0, help="address space of a draw, GiB")
    parser.add_argument("--verbs", nargs="+", help="these verbs only")
    parser.add_argument("--output", type=Path, help="default: outputs/anywhere-SEED-COMMIT.jsonl")
    parser.add_argument("--product", type=Path, help="another tree with assembly and modal")
    parser.add_argument("--against", metavar="COMMIT", help="run that commit too, and compare")
    parser.add_argument("--draw", metavar="SEED:INDEX", help="one draw, printed")
    parser.add_argument("--cases", action="store_true", help="the cases of a name, not draws")
    parser.add_argument("--report", type=Path, help="print the distribution of a file")
    parser.add_argument("--into", type=Path, help="with --report: put the table into this page")
    parser.add_argument("--picture", type=Path, help="with --report: draw it into this file")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--here", action="store_true", help="in this process: tiny draws, no files")
    return parser.parse_args()


def commit_of(tree: Path) -> str:
    """The commit of a tree, with a + where files differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(tree), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "assembly", "modal")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def main() -> int:
    """Run what the command line says."""
    given = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the child of a draw is ended too
    from benchmarks.anywhere import report

    if given.report:
        records = report.read(given.report)
        single = records[0]["seed"] == "case"
        lines = (report.distribution(records), report.worst(records))
        print(*([report.cases(records)] if single else lines), sep="\n\n")
        if given.into:
            report.put_into(given.into, records)
        if given.picture:
            from benchmarks.anywhere.picture import distribution_picture

            distribution_picture(records, given.picture)
        return 0
    if given.compare:
        before, after = (report.read(path) for path in given.compare)
        single = after[0]["seed"] == "case"
        print(report.cases(after, before) if single else report.comparison(before, after))
        if given.into and single:
            report.put_into(given.into, after, before)
        return 0
    tree = (given.product or HERE).resolve()
    # The package under test; the draws are those of this folder.
    sys.path.insert(0, str(tree))
    import assembly
    import modal
    import studies

    sys.path.remove(str(tree))
    packages: tuple[Any, ...] = (assembly, modal, studies)
    assert all(Path(p.__file__).is_relative_to(tree) for p in packages), packages
    from benchmarks.anywhere import running

    if given.here:
        for index in chosen(given):
            print(report.recipe(running.in_process(given.seed, index, tiny=True)))
        return 0
    running.warm_up()
    commit = commit_of(tree)
    if given.draw:
        seed, index = given.draw.split(":")
        print(report.recipe(running.run(seed, index, given.limit, given.memory, commit)))
        return 0
    given.seed = "case" if given.cases else given.seed
    path = given.output or tree / "outputs" / f"anywhere-{given.seed}-{commit}.jsonl"
    records = all_draws(given, path, commit)
    if given.cases:
        print(report.cases(records))
        return 0
    print(report.distribution(records), report.worst(records), sep="\n\n")
    if given.against:
        other = against(given)
        print("", report.comparison(report.read(other), records), sep="\n")
    return 0


def chosen(given: argparse.Namespace) -> list[Any]:
    """The draws of the command line, or the names of the cases."""
    from benchmarks.anywhere.cases import CASES
    from benchmarks.anywhere.verbs import VERBS

    if given.cases:
        return list(CASES)
    wanted = given.verbs or VERBS
    return [index for index in range(given.count) if VERBS[index % len(VERBS)] in wanted]


def all_draws(given: argparse.Namespace, path: Path, commit: str) -> list[dict[str, Any]]:
    """The records of all draws; those in the file are not run again."""
    from benchmarks.anywhere import report, running
    from benchmarks.anywhere.verbs import GENERATOR

    path.parent.mkdir(parents=True, exist_ok=True)
    before = report.read(path) if path.exists() else []
    for record in before:
        if (record["commit"], record["generator"]) != (commit, GENERATOR):
            sys.exit(f"{path}: holds draws of commit {record['commit']}, not of {commit}")
    finished = {(r["seed"], r["index"]) for r in before}
    records = list(before)
    with path.open("a", encoding="utf-8") as file:
        for index in chosen(given):
            if (given.seed, index) in finished:
                continue
            record = running.run(given.seed, index, given.limit, given.memory, commit)
            file.write(json.dumps(record) + "\n")
            file.flush()
            records.append(record)
            print(report.recipe(record), file=sys.stderr, flush=True)
    indices = chosen(given)
    return [r for r in records if r["seed"] == given.seed and r["index"] in indices]


def against(given: argparse.Namespace) -> Path:
    """The same draws on another commit, in a worktree; the path of its records."""
    name = subprocess.run(
        ["git", "-C", str(HERE), "rev-parse", "--short", given.against],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    path = HERE / "outputs" / f"anywhere-{given.seed}-{name}.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--detach", str(tree), name], check=True, capture_output=True)
        try:
            command = [
                sys.executable, "-m", "benchmarks.anywhere", "--product", str(tree),
                "--output", str(path), "--seed", str(given.seed), "--count", str(given.count),
                "--limit", str(given.limit), "--memory", str(given.memory),
            ]  # fmt: skip
            command += ["--verbs", *given.verbs] if given.verbs else []
            subprocess.run(command, check=True, cwd=HERE)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True, capture_output=True)
    return path


if __name__ == "__main__":
    sys.exit(main())
