"""Reads the lines of a test file that tell events back into events, to compare them one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_HEAD = re.compile(r"fault: (?P<fault>[^\s:]+)(?:\s+|$)|(?:-> |topic )?(?P<named>[^:]+):\s*")
_EVENT = re.compile(r"(?P<kind>[XC]\s+)?(?P<time>-?\d*)\[")
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event as a line shows it; `time` is empty for the rows of an on-demand query."""

    time: str
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """`1000[a, 10]`."""
        return f"{self.time}[{', '.join(self.values)}]"


@dataclass
class ShownLine:
    """A line: what it tells of (`head`), and its events with the kind (X, C or none) of each."""

    head: str
    source: str
    events: list[tuple[str, ShownEvent]] = field(default_factory=list)

    @property
    def word(self) -> str:
        """What an event without a kind is called."""
        return "row" if self.source == "result" else "event"

    def of_kind(self, kind: str) -> Sequence[ShownEvent]:
        """The events of one kind."""
        return [event for own, event in self.events if own == kind]

    @property
    def text(self) -> str:
        """The line with one blank between its parts."""
        return " ".join([self.head, *(f"{kind} {one.text}".strip() for kind, one in self.events)])


def read_line(line: str) -> ShownLine | None:
    """The line's events, or None when it tells none (a refusal, a message of another form)."""
    head = _HEAD.match(line)
    if head is None or head["named"] == "error":
        return None
    found = ShownLine(head[0].strip(), head["fault"] or head["named"])
    kind, at = "", head.end()
    while at < len(line):
        event = _EVENT.match(line, at)
        if event is None:
            return None
        kind = (event["kind"] or kind).strip()
        values, at = _values(line, event.end())
        found.events.append((kind, ShownEvent(event["time"], values)))
        while at < len(line) and line[at].isspace():
            at += 1
    return found if found.events else None


def _values(line: str, at: int) -> tuple[tuple[str, ...], int]:
    """The values from behind the opening bracket, and where the text goes on behind the closing."""
    values: list[str] = []
    start, open_, quote = at, ["]"], ""
    while at < len(line):
        sign = line[at]
        if quote:
            # A quote inside a quoted text is part of it unless the value ends there.
            quote = "" if sign == quote and line[at + 1 : at + 2] in (",", "]", "}") else quote
        elif sign == "'" and not line[start:at].strip(" [{"):
            quote = sign
        elif sign in _CLOSING:
            open_.append(_CLOSING[sign])
        elif sign == open_[-1]:
            open_.pop()
            if not open_:
                return (*values, line[start:at].strip()), at + 1
        elif sign == "," and len(open_) == 1:
            values.append(line[start:at].strip())
            start = at + 1
        at += 1
    return (*values, line[start:].strip()), at
