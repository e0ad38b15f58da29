"""What comments and pages cite by number is there: language pages and invariants."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

LANGUAGE = ROOT / "libs/lockstep/siddhiql"
PAGES = {
    "semantics": LANGUAGE / "SEMANTICS.md",
    "grammar": LANGUAGE / "GRAMMAR.md",
    "extensions": LANGUAGE / "EXTENSIONS.md",
    "invariant": ROOT / "libs/lockstep/ARCHITECTURE.md",
}

_NUMBER = r"\d+(?:\.\d+)*"
_RULE = r",? rules? \d+(?: ?(?:-|to|and) ?\d+)?"
_ITEM = rf"{_NUMBER}(?: ?(?:-|–|to) ?{_NUMBER})?(?:{_RULE})?"
_LIST = rf"{_ITEM}(?:(?:,| and|, and) {_ITEM})*"
_GAP = r"(?:[ ]|[ \t]*\n[ \t]*(?:(?://|#|--)[ ])?)"
"""Between two words: a citation may go on behind the end of a line, also of a comment's."""

_CITATION = re.compile(
    rf"\b(semantics|grammar|extensions|invariant)s? §?({_LIST})".replace(" ", _GAP), re.IGNORECASE
)
_RULES = re.compile(_RULE.replace(" ", _GAP))
_HEADING = re.compile(rf"^#+ (?:Invariant )?({_NUMBER})[.:]? ", re.MULTILINE)
_WRITTEN = (".py", ".lark", ".md", ".toml")


def citations(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, page, number) of each citation."""
    for match in _CITATION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for number in re.findall(_NUMBER, _RULES.sub("", match[2])):
            yield line, match[1].lower(), number


@cache
def sections(page: Path) -> frozenset[str]:
    """The numbers of a page's headings: `7.9` of `7.9 session(gap)`, `4` of `Invariant 4: …`."""
    return frozenset(_HEADING.findall(page.read_text("utf-8")))


@cache
def _sources() -> tuple[Path, ...]:
    """All files that people write; what lies in folders with a dot in front is made by tools."""
    found = []
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if not name.startswith((".", "__pycache__"))]
        found += [Path(folder, name) for name in names if name.endswith(_WRITTEN)]
    return tuple(sorted(path for path in found if path != Path(__file__)))


@pytest.mark.parametrize("cited", PAGES)
def test_what_is_cited_is_there(cited: str) -> None:
    """A section or invariant of that number stands on the page."""
    seen = 0
    wrong = []
    for path in _sources():
        for line, page, number in citations(path.read_text("utf-8")):
            if page == cited:
                seen += 1
                if number not in sections(PAGES[page]):
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: {page} {number}")
    assert seen > 5
    assert not wrong, "\n".join(wrong)


def test_every_form_is_read() -> None:
    """Lists, ranges, rules, capitals, and lines that end in between."""
    text = (
        "x (semantics\n# 7.6), Grammar 4-6, 13.4\n"
        "    semantics 12.1 rule 2, 12.3; invariants 2 to 5"
    )
    assert list(citations(text)) == [
        (1, "semantics", "7.6"),
        (2, "grammar", "4"),
        (2, "grammar", "6"),
        (2, "grammar", "13.4"),
        (3, "semantics", "12.1"),
        (3, "semantics", "12.3"),
        (3, "invariant", "2"),
        (3, "invariant", "5"),
    ]


def test_nothing_cites_what_is_not_in_the_project() -> None:
    """Numbers of other documents mean nothing here."""
    foreign = re.compile(r"\b(design|vectors) §?\d+(\.\d+)*\b")
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in _sources()
        for match in foreign.finditer(path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)
