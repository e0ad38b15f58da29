"""Why events were refused: told behind the line that shows them, as a comment; never compared."""

from __future__ import annotations

_FAULT, _EVENTS_END, _COMMENT = "fault: ", "]", " -- "


def with_reason(line: str, reason: str) -> str:
    """`fault: S 0[a] -- reason`, in one line."""
    told = " ".join(reason.split())
    return f"{line}{_COMMENT}{told}" if told else line


def without_reason(line: str) -> str:
    """A line of events that were refused without its reason; any other line as it is."""
    if not line.startswith(_FAULT):
        return line
    events, told, _ = line.partition(_EVENTS_END + _COMMENT)
    return events + _EVENTS_END if told else line
