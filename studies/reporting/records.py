"""What a dataset must say so that `frozen-motion rerun` can make it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assembly.errors import StudyError
from modal.data.datasets import versions

LONGEST = 60_000  # bytes of an attribute of a NetCDF file


@dataclass(frozen=True)
class Record:
    """A command with its options, and the files that it read.

    Parameters
    ----------
    command : str
        track, map, solve, response or run.
    options : mapping
        Options of the command, as on the command line; None where not given.
    model_path : str
        Model file as it was named, or "".
    model_text : str
        Its text.
    files : mapping of str to str
        Files that the model file names, relative to it, with their SHA-256.
    versions : mapping of str to str
        Versions of this package and of those it computes with.
    """

    command: str
    options: Mapping[str, Any]
    model_path: str = ""
    model_text: str = ""
    files: Mapping[str, str] | None = None
    versions: Mapping[str, str] | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """As attributes of a dataset."""
        out = {
            "command": self.command,
            "command_options": json.dumps(self.options),
            "versions": json.dumps(dict(self.versions or versions())),
        }
        if self.model_path:
            # Names of files may hold bytes that are no text.
            out["model_file"] = self.model_path.encode(errors="backslashreplace").decode()
            out["model_files"] = json.dumps(dict(self.files or {}))
            long = len(self.model_text.encode()) > LONGEST
            out["model_text"] = "" if long else self.model_text
        return out

    @classmethod
    def of(cls, attributes: Mapping[str, Any], name: str) -> Record:
        """The record of a dataset. Raises StudyError naming the dataset where there is none."""
        if "command" not in attributes:
            raise StudyError(
                f"{name}: was not written by a command of frozen-motion; it was computed from "
                f"{attributes.get('made_from', 'what its attributes say')}"
            )
        try:
            return cls(
                str(attributes["command"]),
                json.loads(attributes["command_options"]),
                str(attributes.get("model_file", "")),
                str(attributes.get("model_text", "")),
                json.loads(attributes.get("model_files", "{}")),
                json.loads(attributes["versions"]),
            )
        except (KeyError, ValueError) as fault:
            raise StudyError(f"{name}: its record is damaged: {fault}") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
