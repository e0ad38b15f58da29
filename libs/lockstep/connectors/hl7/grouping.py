"""Segments in order become groups within groups, as the structure of their message says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from lockstep.connectors.hl7.structures import Part


@dataclass(slots=True)
class _Open:
    """A group that is being filled: what may stand in it, and which of that came last."""

    element: Element
    parts: Sequence[Part]
    at: int


class Groups:
    """Opens groups below a root. A segment goes as deep and as near as its message allows; one that
    has no place there stays where it came, in the group before it."""

    def __init__(self, root: Element, parts: Sequence[Part]) -> None:
        self._open = [_Open(root, parts, -1)]

    def place(self, segment: str) -> Element:
        """The element that the next segment stands in."""
        for depth in range(len(self._open) - 1, -1, -1):
            level = self._open[depth]
            for at in range(max(level.at, 0), len(level.parts)):
                part = level.parts[at]
                way = None if at == level.at and not part.repeats else _way(part, segment)
                if way is not None:
                    del self._open[depth + 1 :]
                    level.at = at
                    self._enter(way)
                    return self._open[-1].element
        return self._open[-1].element

    def _enter(self, way: Sequence[tuple[Part, int]]) -> None:
        for group, at in way:
            around = self._open[-1].element
            element = around if group.is_choice else SubElement(around, group.tag)
            self._open.append(_Open(element, group.parts, at))


def _way(part: Part, segment: str) -> list[tuple[Part, int]] | None:
    """The groups that lead to a segment, each with which part of it does; None: it is not there."""
    if not part.parts:
        return [] if part.tag == segment else None
    for at, inner in enumerate(part.parts):
        way = _way(inner, segment)
        if way is not None:
            return [(part, at), *way]
    return None
