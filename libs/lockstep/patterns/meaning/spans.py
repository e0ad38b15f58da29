"""What an `every` spans, and which spans may pass without any event; for whoever carries patterns
out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Passable(Protocol):
    """An element of a chain."""

    @property
    def is_optional(self) -> bool:
        """Whether a token may pass without any event."""


class Counted(Protocol):
    """A state that collects."""

    minimum: int


@dataclass(slots=True)
class Span:
    """An `every`: the nodes first..last restart together (semantics 12.1, rules 4-6).

    is_optional: all its states have minimum 0, so a token may pass without any event. Then the span
    restarts when the token binds behind it, not when it may go on (semantics 23, 2).
    """

    first: int
    last: int
    is_optional: bool = False


def settle_spans(nodes: Sequence[Passable], spans: Sequence[Span], last: Counted | None) -> None:
    """Tells which spans are optional. A match of nothing at all is none: `last`, the last node if
    that collects, then needs one event.
    """
    for span in spans:
        span.is_optional = all(node.is_optional for node in nodes[span.first : span.last + 1])
    if last is None:
        return
    end = len(nodes) - 1
    ends = bool(spans) and spans[-1].last == end
    if (ends and spans[-1].is_optional) or all(node.is_optional for node in nodes):
        last.minimum = max(1, last.minimum)
        for span in spans:
            if span.last == end:
                span.is_optional = False
