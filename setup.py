"""The long description: README.md, whose links lead to the files of the repository.

Everything else of the package is in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")


def with_whole_addresses(text: str, source: str) -> str:
    """Markdown with its relative links made absolute: pictures to the file, others to its page."""

    def whole(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        page = f"#{target[1:]}" if target.startswith("#") else f"/{target}"
        folder = "raw/main" if picture else "blob/main"
        address = f"{source}{page}" if page.startswith("#") else f"{source}/{folder}{page}"
        return f"{picture}[{words}]({address})"

    return RELATIVE.sub(whole, text)


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    readme = (ROOT / "README.md").read_text("utf-8")
    setup(
        long_description=with_whole_addresses(readme, project["urls"]["Source"]),
        long_description_content_type="text/markdown",
    )
