"""Traces from the door to the sinks: which sends are traced, and where their spans go.

A trace begins at the door. What follows bears its context in the header of a record, as W3C's
traceparent has it. A slice folds many records: its span is a child of the first that is traced,
and has links to the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar, Token
from typing import Final, Protocol, Self

CARRIED: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\Z")
_GIVEN: Final = re.compile(
    r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\Z", re.DOTALL
)
"""Versions after 00 may say more behind the flags, and none is ff."""
_IS_SAMPLED: Final = 0x01
Attribute = str | int | float | bool

CURRENT: ContextVar[str] = ContextVar("lockstep_trace", default="")
"""The context of the work under way: log lines bear its ids."""


class Span(Protocol):
    """Some work within a trace; ends with its block. `carried`: for what follows from it."""

    @property
    def carried(self) -> str:
        """W3C's traceparent; empty when nobody traces this."""

    def __enter__(self) -> Self:
        """Log lines bear the trace's ids from now on."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """The work has ended, well or with an error."""


class Traces(Protocol):
    """Of one service."""

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """What begins at the door. `given`: the traceparent of who sent it, which decides; one that
        cannot be read counts as none."""

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """What follows from traced work; nothing is recorded when none of it is traced."""

    def end(self) -> None:
        """Begins to send what is left: nothing follows."""

    def close(self) -> None:
        """Waits until all is sent; blocking, at most until 5 s after the end."""


class _Carrying:
    """Records nothing, and hands a context on."""

    def __init__(self, carried: str = "") -> None:
        self.carried = carried
        self._before: Token[str] | None = None

    def __enter__(self) -> Self:
        if self.carried:
            self._before = CURRENT.set(self.carried)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._before is not None:
            CURRENT.reset(self._before)
            self._before = None


SILENT: Final = _Carrying()
"""Of all that nobody traces: it carries nothing, so many may use it at once."""


class NoTraces:
    """Where none are asked for."""

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """Whoever is behind it may trace, where the sender does."""
        known = given_context(given)
        return _Carrying(known) if known else SILENT

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """Whoever is behind it may trace."""
        return _Carrying(carried[0]) if carried else SILENT

    def end(self) -> None:
        """Nothing is left."""

    def close(self) -> None:
        """Nothing is left."""


NO_TRACES: Final = NoTraces()


def current_trace() -> str:
    """W3C's traceparent of the traced work under way, for whoever is called from within it; empty
    when there is none."""
    return CURRENT.get()


def ids_of(carried: str) -> tuple[str, str] | None:
    """(trace id, span id) of a traceparent; None when it is none."""
    found = CARRIED.match(carried)
    return None if found is None else (found[1], found[2])


def given_context(given: str) -> str | None:
    """What a sender's traceparent comes to: as a record bears it; empty where the sender has the
    work not traced, None where it says nothing that can be read."""
    found = _GIVEN.match(given) if given else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not (int(trace, 16) and int(span, 16)):
        return None
    return f"00-{trace}-{span}-01" if int(flags, 16) & _IS_SAMPLED else ""
