"""What holds for the pages: short where they must be, whole, and links lead somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

README_MAX_BYTES = 13_150
README_ROW_MAX_CHARACTERS = 200
GLOSSARY_MAX_ENTRIES = 25

_SKIPPED = {".venv", ".git", ".lockstep", "node_modules"}
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|lark))`")
_EXAMPLES = {"loyalty.py", "graphite.py"}
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every page of the project."""
    found = ROOT.rglob("*.md")
    return sorted(page for page in found if not _SKIPPED & set(page.relative_to(ROOT).parts))


def anchors(page: Path) -> set[str]:
    """What a link into the page may name: its headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def test_the_readme_is_short() -> None:
    """It is read before anything else; what is long has a page of its own."""
    assert (ROOT / "README.md").stat().st_size <= README_MAX_BYTES


def test_no_row_of_the_readme_is_long() -> None:
    """A row that wraps three times is not read."""
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert [row for row in rows if len(row) > README_ROW_MAX_CHARACTERS] == []


def test_the_glossary_is_short() -> None:
    """A word that is not here is the field's own; a new one has to take another's place."""
    text = (ROOT / "libs/lockstep/GLOSSARY.md").read_text()
    entries = re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)
    assert 0 < len(entries) <= GLOSSARY_MAX_ENTRIES
    assert entries == sorted(entries, key=str.lower)


def test_the_runbook_has_every_fault() -> None:
    """Whoever adds a fault says what users see of it."""
    texts = [path.read_text("utf-8") for path in (ROOT / "tests/chaos").glob("*_faults.py")]
    faults = re.findall(r'@fault\(\s*"([\w-]+)"', "".join(texts))
    runbook = (ROOT / "services/RUNBOOK.md").read_text("utf-8")
    assert len(faults) > 30
    assert [fault for fault in faults if f"`{fault}`" not in runbook] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the project, and to a heading that is in it."""
    lost = []
    for target in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_named_are_there(page: Path) -> None:
    """A page names a file by the end of its path; when a file moves, so does what is said of it."""
    named = set(_FILE.findall(_FENCED.sub("", page.read_text("utf-8")))) - _EXAMPLES
    assert {name for name in named if not _is_there(name)} == set()


@cache
def _files() -> frozenset[str]:
    places = ("libs", "services", "tests", "scripts", "k8s")
    found = (path for place in places for path in (ROOT / place).rglob("*.*"))
    return frozenset("/" + path.relative_to(ROOT).as_posix() for path in (*found, *ROOT.glob("*")))


def _is_there(name: str) -> bool:
    return any(file.endswith(f"/{name}") for file in _files())
