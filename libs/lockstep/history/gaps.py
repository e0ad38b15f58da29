"""What an archive lacks of a span, told to whoever wants to fold it. Calls block."""

from __future__ import annotations

from datetime import UTC, datetime

from lockstep.archive.reading import InputReader, Span
from lockstep.history.errors import HistoryError
from lockstep.plan import AppPlan


def check_gaps(plan: AppPlan, reader: InputReader, span: Span, otherwise: str = "") -> None:
    """A fold of the span would be that of the log; HistoryError with the time behind all gaps, and
    `otherwise` what else can be done."""
    found = [one for one in reader.gaps(span) if not one.stream or one.stream in plan.inputs]
    if not found:
        return
    first = min(found, key=lambda one: one.first)
    reason = f"records up to position {first.first} were forgotten before they were archived"
    hints: list[str] = []
    if first.stream:
        reason = f"the events of '{first.stream}' are not archived (from position {first.first} on)"
        hints.append("@archive in front of it keeps them from now on")
    last = max(one.last for one in found)
    is_playback = plan.checked.is_playback
    begins_ms = reader.time_behind(last, is_playback=is_playback)
    if reader.first_at(begins_ms, is_playback=is_playback) is None:
        hints.append(f"nothing behind the last gap, position {last}, is archived yet")
    else:
        begins = datetime.fromtimestamp(begins_ms / 1_000, UTC).isoformat(timespec="milliseconds")
        hints.append(f"all is there from {begins} on")
    if otherwise:
        hints.append(otherwise)
    raise HistoryError(reason, hint="; ".join(hints))
