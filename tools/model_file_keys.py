"""Write what is made from the schema of model files: the JSON schema for editors, and the tables of
keys in docs/commands.md. With --check nothing is written and a difference is an error."""

from __future__ import annotations

import json
import re
import sys
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from studies.model_files.schema import ModelSpec

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "commands.md"
SCHEMA = ROOT / "studies" / "model_files" / "model.schema.json"
BEGIN, END = "<!-- keys: begin -->", "<!-- keys: end -->"
TITLE = "Frozen Motion model file"


def schema_text() -> str:
    """The JSON schema."""
    schema = ModelSpec.model_json_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": TITLE}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def tables_text() -> str:
    """A table of keys for every table of a model file. What kinds have in common stands once."""
    found = places(ModelSpec)
    lines, told = [], {other for _, _, other in found}
    for place, tag, spec in found:
        base = spec.__base__
        kinds = [word or f"[{at}]" for at, word, other in found if other.__base__ is base]
        if base.model_fields and base not in told:
            told.add(base)
            words = f"Keys of {', '.join(f'`{kind}`' for kind in kinds)}."
            lines += table(place, "", base, base.__base__, [words, ""])
        common = base if base in told - {other for _, _, other in found} else base.__base__
        lines += table(place, tag, spec, common, [])
    return "\n".join(lines)


def places(
    spec: type[BaseModel], place: str = "", tag: str = ""
) -> list[tuple[str, str, type[BaseModel]]]:
    """Every table of a model file: where it stands, its kind, and its specification; each once."""
    found = [(place, tag, spec)] if place else []
    for name, field in spec.model_fields.items():
        for member, step in members(field.annotation):
            label = f"{place}.{name}{step}" if place else f"{name}{step}"
            kinds = [k for k in ("kind", "shape") if k in member.model_fields]
            own = ""
            if kinds:
                word = typing.get_args(member.model_fields[kinds[0]].annotation)[0]
                own = f'{kinds[0]} = "{word}"'
            known = {entry[2] for entry in found}
            found += [entry for entry in places(member, label, own) if entry[2] not in known]
    return found


def members(annotation: Any, step: str = "") -> list[tuple[type[BaseModel], str]]:
    """The models in an annotation, with NAME for a table of tables and [] for a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [(annotation, step)]
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if origin is dict:
        return members(arguments[1], f"{step}.NAME")
    if origin is list:
        return members(arguments[0], f"{step}[]")
    if hasattr(annotation, "__metadata__"):
        return members(arguments[0], step)
    return [one for argument in arguments for one in members(argument, step)]


def table(
    place: str, tag: str, spec: type[BaseModel], base: type[BaseModel], kinds: list[str]
) -> list[str]:
    """The table of one specification, without what its base and its title say; first the keys that
    are required."""
    title = f"[[{place[:-2]}]]" if place.endswith("[]") else f"[{place}]"
    described = " ".join((spec.__doc__ or "").split())
    lines = [f"### `{title}`" + (f", `{tag}`" if tag else ""), "", described, "", *kinds]
    lines += ["| key | default | what |", "|---|---|---|"]
    common = getattr(base, "model_fields", {})
    for name, field in sorted(spec.model_fields.items(), key=lambda one: not one[1].is_required()):
        if name in common or tag.startswith(f"{name} = "):
            continue
        default = "required" if field.is_required() else written(field.get_default())
        what = " ".join((field.description or "").split())
        words = [f"`{json.dumps(word)}`" for word in choices(field.annotation)]
        if words:
            what += f" One of {', '.join(words)}."
        lines.append(f"| `{name}` | {default} | {what.replace('|', chr(92) + '|')} |")
    return [*lines, ""]


def choices(annotation: Any) -> list[str]:
    """The words that a key may have."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return list(arguments)
    if typing.get_origin(annotation) in (None, list, dict, tuple):
        return []
    return [word for argument in arguments for word in choices(argument)]


def written(value: Any) -> str:
    """A default as it is written in a file."""
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, BaseModel):
        return ""
    return f"`{json.dumps(value)}`"


def page_text() -> str:
    """The page with the tables of today."""
    text = PAGE.read_text("utf-8")
    between = f"{BEGIN}\n\n{tables_text()}\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: between, text, flags=re.DOTALL)


def main() -> int:
    texts = {SCHEMA: schema_text(), PAGE: page_text()}
    check = "--check" in sys.argv[1:]
    stale = [p for p, text in texts.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'is not of today' if check else 'written'}")
        if not check:
            path.write_text(texts[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
