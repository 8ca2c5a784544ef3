"""Properties of a frozen system: the number found, its bound, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "fails", "undecided", "does not apply"]


@dataclass(frozen=True)
class Property:
    """One property of a frozen system.

    Attributes
    ----------
    name : str
        "P1" to "P6".
    statement : str
        The equation or the symmetry class.
    found, bound : float
        Relative defect found, and the largest one at which the property holds; NaN where it does
        not apply.
    verdict : {"holds", "fails", "undecided", "does not apply"}
        Undecided: the error of the computation exceeds the bound.
    note : str
        Further numbers, or the reason why the property does not apply.
    """

    name: str
    statement: str
    found: float
    bound: float
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class PropertyReport:
    """The properties of a frozen system, printable.

    Attributes
    ----------
    properties : tuple of Property
        ``report["P2"]`` returns those of one name.
    ok : bool
        Whether no property fails.
    """

    properties: tuple[Property, ...]

    @property
    def ok(self) -> bool:
        return all(p.verdict != "fails" for p in self.properties)

    def __getitem__(self, name: str) -> tuple[Property, ...]:
        return tuple(p for p in self.properties if p.name == name)

    def __str__(self) -> str:
        lines = [f"  {'':<3} {'property':<58} {'found':>9} {'bound':>9}  verdict"]
        for p in self.properties:
            numbers = (
                f"{p.found:>9.1e} {p.bound:>9.1e}"
                if p.verdict != "does not apply"
                else f"{'–':>9} {'–':>9}"
            )
            lines.append(
                f"  {p.name:<3} {p.statement:<58} {numbers}  {p.verdict}"
                + (f" ({p.note})" if p.note else "")
            )
        return "\n".join(lines)


def judged(name: str, statement: str, found: float, limit: float, note: str = "") -> Property:
    """The property with the verdict that found and limit give."""
    verdict: Verdict = "holds" if found <= limit else "fails"
    return Property(name, statement, float(found), limit, verdict, note)


def skipped(name: str, statement: str, note: str) -> Property:
    """The property where it does not apply; the note says why."""
    return Property(name, statement, float("nan"), float("nan"), "does not apply", note)
