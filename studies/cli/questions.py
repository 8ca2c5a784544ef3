"""Questions about unlikely values on the command line: one line each, errors under --strict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from assembly.materials.plausibility import PlausibilityWarning


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
                click.echo(f"frozen-motion: {' '.join(str(message).split())}", err=True)

        warnings.showwarning = show
        yield


def _ask(context: click.Context, option: click.Parameter, strict: bool) -> None:
    context.with_resource(questions(strict))


STRICT = click.option(
    "--strict",
    is_flag=True,
    expose_value=False,
    callback=_ask,
    help="A value that is probably a mistake is an error.",
)
