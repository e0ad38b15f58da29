"""What an import says of its input: what is used, changed, left out, to decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum


class Fate(Enum):
    """What became of a part of the input."""

    TO_DECIDE = "to decide"
    """Left out, or kept in a form that may not be what is meant: somebody has to look."""
    CHANGED = "changed"
    """It works here in another form."""
    DROPPED = "dropped"
    """It has no meaning here, and nothing is lost."""
    USED = "used"
    """It stands in an app as it was."""


@dataclass(frozen=True)
class Place:
    """Where something stands in the input; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Finding:
    """One sentence of the report."""

    fate: Fate
    place: Place
    what: str
    why: str
    suggestion: str = ""


@dataclass
class Findings:
    """The findings of an import, in the order in which they were made."""

    made: list[Finding] = field(default_factory=list)

    def to_decide(self, place: Place, what: str, why: str, suggestion: str = "") -> None:
        """Somebody has to look at it."""
        self._add(Finding(Fate.TO_DECIDE, place, what, why, suggestion))

    def changed(self, place: Place, what: str, why: str) -> None:
        """It has another form here."""
        self._add(Finding(Fate.CHANGED, place, what, why))

    def dropped(self, place: Place, what: str, why: str) -> None:
        """It means nothing here."""
        self._add(Finding(Fate.DROPPED, place, what, why))

    def used(self, place: Place, what: str, why: str) -> None:
        """It is in an app."""
        self._add(Finding(Fate.USED, place, what, why))

    def _add(self, finding: Finding) -> None:
        if finding not in self.made:
            self.made.append(finding)


def as_markdown(findings: Iterable[Finding]) -> str:
    """The findings as a page, what is to decide first; the same finding of many places once."""
    found = list(findings)
    parts = []
    for fate in Fate:
        grouped: dict[tuple[str, str, str], list[Place]] = {}
        for finding in found:
            if finding.fate is fate:
                key = (finding.what, finding.why, finding.suggestion)
                grouped.setdefault(key, []).append(finding.place)
        parts.append(f"## {fate.value.capitalize()}: {sum(map(len, grouped.values()))}\n")
        for (what, why, suggestion), places in grouped.items():
            lines = [f"* **{_line(what)}**: {_line(why)}"]
            if suggestion:
                lines.append(f"  Suggestion: {_line(suggestion)}")
            lines.append(f"  At {', '.join(f'`{place}`' for place in places)}")
            parts.append("\n".join(lines))
        parts.append("")
    return "\n".join(parts)


def as_rows(findings: Iterable[Finding]) -> list[dict[str, object]]:
    """The findings for programs."""
    return [
        {
            "fate": finding.fate.value,
            "file": finding.place.file,
            "line": finding.place.line,
            "what": finding.what,
            "why": finding.why,
            "suggestion": finding.suggestion,
        }
        for finding in findings
    ]


def _line(text: str) -> str:
    return " ".join(text.split())
