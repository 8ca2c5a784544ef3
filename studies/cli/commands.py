"""The command line: frozen-motion list | new | solve | response | … (same as python -m studies).

Exit codes: 0 done; 2 bad input, with one line that says what, where and what would be right; 3 a
solve or a write failed, what was finished is kept; 130 interrupted (Ctrl-C), 143 (SIGTERM), 129
(SIGHUP), what was finished is kept. Under mpiexec they are those of the first rank.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assembly.boundary import out_of_memory
from assembly.errors import FrozenMotionError, InputError
from assembly.materials.plausibility import PlausibilityWarning
from assembly.parallel.ranks import EXIT_FAILED
from studies.cli.completion import FILE, FOLDER, KIND, PARAMETER, SETTING, STUDY
from studies.cli.over_ranks import (
    GROUP,
    drivers,
    linear_systems,
    on_one_driver,
    silence_others,
    takes_part,
)

if TYPE_CHECKING:
    from assembly.linalg.solver import Method

EXIT_INPUT = click.UsageError.exit_code
AXIS = "NAME=START:STOP:COUNT"


@contextmanager
def questions(strict: bool) -> Iterator[None]:
    """Prints one question for each key, as one line on stderr; strict: raises it instead."""
    asked: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "always", PlausibilityWarning)
        others = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            if not isinstance(message, PlausibilityWarning):
                others(message, category, *place, **options)
            elif message.key not in asked:
                asked.add(message.key)
                _say(str(message))

        warnings.showwarning = show
        yield


# A file that is missing gets our own one-line error, so click does not check paths.
MODEL = click.argument("path", metavar="MODEL.toml", type=Path, shell_complete=FILE)
MODES = click.option("--modes", type=click.IntRange(min=1), help="How many modes.")
OUT = click.option("--out", type=Path, shell_complete=FOLDER, help="Folder for data and figures.")
YES = click.option("--yes", is_flag=True, help="Start a run that takes long without a question.")
STATE = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    shell_complete=PARAMETER,
    multiple=True,
    help="A parameter of the state.",
)
RESUME = click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
EXPLORE = click.option("--explore", is_flag=True, help="Write explore.html: modes moving in 3-D.")
FORCE = click.option("--force", is_flag=True, help="Overwrite what another study left there.")
STRICT = click.option(
    "--strict",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, strict: context.with_resource(questions(strict)),
    help="A value that is probably a mistake is an error.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="frozen-motion")
@click.pass_context
def app(context: click.Context) -> None:
    """Natural frequencies and stability of elastic parts along their motion."""
    if not takes_part(context.invoked_subcommand):
        context.exit()


@app.command("list")
def list_studies() -> None:
    """List the studies and their settings."""
    from studies.registry import all_studies

    for study in all_studies():
        click.echo(f"{study.name:<16} {study.summary}")
        for name, default in study.settings.items():
            click.echo(f"    {name} = {default}")


@app.command()
@click.argument("name", metavar="STUDY", shell_complete=STUDY)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    shell_complete=SETTING,
    multiple=True,
    help="Change a setting.",
)
@OUT
@FORCE
@on_one_driver
@STRICT
def run(name: str, settings: tuple[str, ...], out: Path | None, force: bool) -> None:
    """Run a study: a short table here, data, figures and report.html under --out."""
    from studies.cli import html_report
    from studies.registry import study
    from studies.reporting.output import OutputFolder
    from studies.reporting.ranges import parse_settings
    from studies.reporting.records import Record

    chosen = study(name)
    arguments = parse_settings(chosen.main, settings)
    folder = OutputFolder(out or Path("outputs") / name, name, force)
    folder.record = Record("run", {"study": name, **arguments}).attributes
    dataset = chosen.main(**arguments, out=folder, progress=sys.stderr.isatty())
    numbers = "\n".join([chosen.report(dataset), *folder.remarks])
    html_report.write(folder, chosen, arguments, dataset, numbers)
    _finish(numbers, folder.written)


@app.command()
@MODEL
@click.option("--times", metavar="START:STOP:COUNT", help="Instants, s.")
@click.option("--over", shell_complete=PARAMETER, metavar=AXIS, help="A parameter instead of time.")
@MODES
@OUT
@RESUME
@FORCE
@YES
@EXPLORE
@on_one_driver
@STRICT
def track(**options: Any) -> None:
    """Follow the modes of a model along its motion, or over a parameter (a Campbell diagram)."""
    from studies.cli.runs import run_track

    _finish(*run_track(**options))


@app.command("map")
@MODEL
@click.option("--x", shell_complete=PARAMETER, required=True, metavar=AXIS, help="First parameter.")
@click.option(
    "--y", shell_complete=PARAMETER, required=True, metavar=AXIS, help="Second parameter."
)
@MODES
@OUT
@RESUME
@FORCE
@YES
@EXPLORE
@linear_systems
@GROUP
@STRICT
def stability_map(
    solver: Method, out_of_core: Path | None, ranks_per_factor: int, **options: Any
) -> None:
    """Map the stability of a model over two parameters."""
    from studies.cli.runs import run_map

    with drivers(solver, out_of_core, ranks_per_factor) as (driving, comm):
        if driving:
            _finish(*run_map(comm=comm, **options))


@app.command()
@click.argument("kind", metavar="KIND", shell_complete=KIND)
@click.argument("target", metavar="[FILE.toml]", type=Path, shell_complete=FILE, required=False)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def new(**options: Any) -> None:
    """Write a commented model file to start from.

    KIND: beam, solid, blade, rotor, arm, mechanism or matrices.
    """
    from studies.cli.starters import write_starter

    _wrote(write_starter(**options))


@app.command()
@MODEL
@STATE
@MODES
@OUT
@FORCE
@on_one_driver
@STRICT
def solve(**options: Any) -> None:
    """Modes of one state: table, verdict on all modes, shapes for ParaView and as a figure."""
    from studies.cli.one_state import run_solve

    _finish(*run_solve(**options))


@app.command()
@MODEL
@click.option("--frequencies", metavar="START:STOP:COUNT", help="Frequencies, Hz.")
@click.option("--speeds", metavar="START:STOP:COUNT", help="Speeds of an unbalance response, rpm.")
@STATE
@OUT
@FORCE
@on_one_driver
@STRICT
def response(**options: Any) -> None:
    """Frequency response to the forces of a model file, or response of its rotor to unbalance."""
    from studies.cli.one_state import run_response

    _finish(*run_response(**options))


@app.command()
@MODEL
@click.option("--times", metavar="START:STOP:COUNT", help="Instants, s; default one period.")
@MODES
@on_one_driver
@STRICT
def check(**options: Any) -> None:
    """Check the properties P1-P6, compare with time integration, and give the verdict."""
    from studies.cli.check import run_check

    run_check(**options, show=click.echo)


@app.command()
@click.argument("file", metavar="FILE.nc", type=Path, shell_complete=FILE)
@click.option(
    "--files",
    type=Path,
    shell_complete=FOLDER,
    help="Folder of the files that its model file names.",
)
@OUT
@FORCE
@on_one_driver
def rerun(**options: Any) -> None:
    """Compute a dataset again from what it was computed from, and compare the numbers."""
    from studies.cli.rerun import run_again

    _finish(*run_again(**options))


@app.command()
@click.argument("file", metavar="[FILE.json]", type=Path, shell_complete=FILE, required=False)
def schema(file: Path | None) -> None:
    """Print the JSON schema of model files, or write it, for editors."""
    from importlib import resources

    from modal.data.folder import storage_faults

    text = resources.files("studies.model_files").joinpath("model.schema.json").read_text("utf-8")
    if file is None:
        click.echo(text, nl=False)
        return
    with storage_faults(file):
        if file.exists() and file.read_bytes() != text.encode():
            raise InputError(f"{file}: is there already; give another name")
        file.write_text(text, encoding="utf-8")
    _wrote([file])


def _finish(report: str, written: list[Path]) -> None:
    click.echo(report)
    _wrote(written)


def _wrote(files: list[Path]) -> None:
    for path in files:
        click.echo(f"wrote {click.format_filename(path)}")


def run_app(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; every failure is one line on stderr."""
    first = True
    try:
        first = silence_others()
        app.main(args=arguments, prog_name="frozen-motion", standalone_mode=False)
    except click.Abort:
        # click turns Ctrl-C inside a command into Abort.
        raise KeyboardInterrupt from None
    except (click.ClickException, FrozenMotionError, MemoryError, PlausibilityWarning) as fault:
        message, code = _reason(fault)
        _say(message)
    else:
        code = 0
    return code if first else 0


def _reason(fault: Exception) -> tuple[str, int]:
    """What a fault says, and the exit code."""
    if isinstance(fault, click.ClickException):
        return fault.format_message(), EXIT_INPUT
    if isinstance(fault, PlausibilityWarning):
        return f"{fault} (an error by --strict)", EXIT_INPUT
    if isinstance(fault, MemoryError):
        return str(out_of_memory("frozen-motion", fault)), EXIT_FAILED
    return str(fault), EXIT_INPUT if isinstance(fault, InputError) else EXIT_FAILED


def _say(message: str) -> None:
    """Say something in one line on stderr."""
    click.echo(f"frozen-motion: {' '.join(message.split())}", err=True)
