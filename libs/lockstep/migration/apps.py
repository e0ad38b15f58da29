"""An app while it is put together: pieces of text that can be switched off until it is valid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lockstep.events import LockstepError
from lockstep.execute.reference.rehearsal import rehearse
from lockstep.mapping import check_connectors
from lockstep.migration.findings import Findings, Place
from lockstep.migration.secrets import masked
from lockstep.migration.siddhi_text import commented
from lockstep.plan import plan_of
from lockstep.siddhiql import SiddhiQLError, check

DEFINITION: Final = 1
QUERY: Final = 2


@dataclass
class Piece:
    """A part of the text; where `off` says why, it is a comment."""

    text: str
    place: Place
    off: str = ""


@dataclass
class Block:
    """A definition or a query, with what stands in front of it."""

    rank: int
    body: Piece
    above: list[Piece] = field(default_factory=list)
    comments: str = ""


@dataclass
class App:
    """An app of SiddhiQL 5 in pieces."""

    name: str
    place: Place
    head: list[Piece] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tail: str = ""


@dataclass(frozen=True)
class _Line:
    """Which piece the lines from `first` on belong to, up to the next of these."""

    first: int
    last: int
    piece: Piece


class _Page:
    """Text under way, and the lines of its pieces."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._next = 1
        self.lines: list[_Line] = []

    def add(self, text: str) -> None:
        self._parts.append(text + "\n")
        self._next += text.count("\n") + 1

    def add_piece(self, piece: Piece, ending: str = "", off: str = "") -> None:
        reason = piece.off or off
        if reason:
            body = masked(piece.text + ending)
            self.add(commented([f"to decide: {' '.join(masked(reason).split())}"]))
            self.add(commented(f"  {line}" for line in body.splitlines()))
            return
        first = self._next
        self.add(piece.text + ending)
        self.lines.append(_Line(first, self._next - 1, piece))

    def text(self) -> str:
        return "".join(self._parts)


def rendered(app: App) -> str:
    """The app's text."""
    return _page(app).text()


def _page(app: App) -> _Page:
    page = _Page()
    for piece in app.head:
        page.add_piece(piece)
    for note in app.notes:
        page.add(commented([note]))
    for block in sorted(app.blocks, key=lambda one: one.rank):
        page.add("")
        if block.comments.strip():
            page.add(masked(block.comments.strip()))
        for piece in block.above:
            page.add_piece(piece, off="its definition is left out" if block.body.off else "")
        page.add_piece(block.body, ending=";")
    if app.tail.strip():
        page.add(masked(app.tail.strip()))
    return page


def settle(app: App, findings: Findings) -> bool:
    """Switches off what Lockstep does not take, piece by piece, until the app is valid.

    Each piece is reported with the sentence of the checker. False when the app is not valid even
    so, or when nothing of it is left; that is reported, too.
    """
    for _ in range(1 + sum(1 + len(block.above) for block in app.blocks) + len(app.head)):
        page = _page(app)
        error = _error(page.text())
        if error is None:
            return True
        line = error.line if isinstance(error, SiddhiQLError) else 0
        piece = next((one.piece for one in page.lines if one.first <= line <= one.last), None)
        if piece is None:
            break
        piece.off = error.message
        findings.to_decide(piece.place, _title(piece.text), error.message, error.hint or "")
    findings.to_decide(
        app.place, f"app {app.name}", error.message if error is not None else "it is not valid",
        "mend it by hand",
    )  # fmt: skip
    return False


def _error(text: str) -> LockstepError | None:
    try:
        check_connectors(check(text))
        rehearse(plan_of(text))
    except LockstepError as error:
        return error
    return None


def _title(text: str) -> str:
    """A piece on one line."""
    line = " ".join(masked(text).split())
    return line if len(line) <= 160 else f"{line[:159]}…"
