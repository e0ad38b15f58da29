"""The paths of XML mappings: steps by name, as `a/b/@c`, `//b` or `x[@id='2']`. XPath has more."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree

_ODD: Final = r"""\s/\[\](){}@!=<>|*:'"&,;$#%+~^?\\`"""
"""What no name has in it."""

NAME: Final = rf"[^{_ODD}0-9.-][^{_ODD}]*"
_SPACE: Final = rf"(?:\{{[^{{}}]*\}}|{NAME}:)?"
_TAG: Final = rf"{_SPACE}(?:{NAME}|\*)"
_TEXT: Final = r"""(?:'[^']*'|"[^"]*")"""
_CONDITION: Final = rf"(?:@?{_SPACE}{NAME}|\.)(?:\s*!?=\s*{_TEXT})?|\d+|last\(\)(?:\s*-\s*\d+)?"
_STEP: Final = rf"(?:{_TAG}(?:\[\s*(?:{_CONDITION})\s*\])*|\.)"
_PATH: Final = re.compile(
    rf"(?P<steps>/{{0,2}}{_STEP}(?://?{_STEP})*)?"
    rf"(?:(?:^|/)text\(\)|(?P<slashes>/{{0,2}})@(?P<attribute>{_SPACE}{NAME}))?"
)
_FIRST: Final = re.compile(rf"/({_TAG})")
_PLACE: Final = re.compile(
    rf"{_TEXT}|\{{[^{{}}]*\}}|\[\s*(?:(?P<place>\d+)|last\(\)(?:\s*-\s*(?P<before>\d+))?)\s*\]"
)
"""A place in brackets. What might only look like one is found, too: in a text or a namespace."""

HINT: Final = (
    "write a/b/@c, //b or x[@id='2']: names with slashes between; "
    "functions, axes, '..' and '|' are not read"
)


class XmlPath:
    """Leads from an element to others, or to an attribute that they have."""

    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        """ValueError or SyntaxError for what is no path."""
        found = _PATH.fullmatch(text.removesuffix("/"))
        if found is None:
            raise ValueError("there is a step that is no name")
        self._namespaces = dict(namespaces)
        steps = found["steps"] or ""
        self._is_anywhere = steps.startswith("//")
        first = _FIRST.match(steps)
        self._first = "" if first is None else first[1]
        self._parts = _parts(steps)
        self._is_deep = found["slashes"] == "//"
        self.attribute = self._attribute(found["attribute"] or "")
        """Where the path leads to, or "" for the elements themselves."""
        for part, _ in self._parts:  # an unknown prefix is an error
            ElementTree.Element("probe").findall(part, self._namespaces)

    def _attribute(self, name: str) -> str:
        prefix, colon, local = name.partition(":")
        if name.startswith("{") or not colon:
            return name
        if prefix not in self._namespaces:
            raise ValueError(f"nobody declares the prefix {prefix!r}")
        return f"{{{self._namespaces[prefix]}}}{local}"

    def below(self, element: ElementTree.Element) -> list[ElementTree.Element]:
        """The elements of the path; of an attribute's path those that have it."""
        found = [element]
        for steps, place in self._parts:
            found = [one for each in found for one in each.findall(steps, self._namespaces)]
            if place is not None:
                there = _standing(element, place)
                found = [one for one in found if one in there]
        if not self.attribute:
            return found
        if self._is_deep:
            found = [inner for one in found for inner in one.iter()]
        return [one for one in found if self.attribute in one.attrib]

    def of(self, event: ElementTree.Element) -> list[ElementTree.Element]:
        """The same for an event that it does not lead to from the root. `/a` begins with the event
        if it is an `a`, else below it. `//a` may be the event, too."""
        begins_above = self._is_anywhere or self._begins_with(event)
        return self.below(document(event) if begins_above else event)

    def is_from_root(self, event: ElementTree.Element, root: ElementTree.Element) -> bool:
        """Whether it begins with the root, so that it leads to the same from all such events: `/a`
        where the root is an `a`, and the event is none."""
        return self._begins_with(root) and not self._begins_with(event)

    def _begins_with(self, element: ElementTree.Element) -> bool:
        if not self._first:
            return False
        return document(element).find(self._first, self._namespaces) is not None

    def is_name_of(self, event: ElementTree.Element) -> bool:
        """Whether the event has no elements in it, and the path is its name."""
        return not len(event) and not self.attribute and event in self.below(document(event))


def _parts(steps: str) -> list[tuple[str, int | None]]:
    """The steps, cut behind each place in brackets, which is the index among siblings. ElementTree
    would look through all siblings for each of them, which takes the square of their number."""
    parts: list[tuple[str, int | None]] = []
    start = 0
    for found in _PLACE.finditer(steps):
        if found[0].startswith("["):
            parts.append((_from_here(steps[start : found.start()]), _index(found)))
            start = found.end()
    if start < len(steps):
        parts.append((_from_here(steps[start:]), None))
    return parts


def _from_here(steps: str) -> str:
    """Steps that lead from an element, also those that go on with a condition."""
    return steps if steps and steps[0] not in "/[" else f".{steps}"


def _index(found: re.Match[str]) -> int:
    """Of a place in brackets."""
    if found["place"] is None:
        return -1 - int(found["before"] or 0)
    place = int(found["place"])
    if place < 1:
        raise ValueError("the first place is 1")
    return place - 1


def _standing(above: ElementTree.Element, index: int) -> set[ElementTree.Element]:
    """The elements below that stand there among those of their name that their parent has."""
    there: set[ElementTree.Element] = set()
    for parent in above.iter():
        named = defaultdict(list)
        for child in parent:
            named[child.tag].append(child)
        there.update(each[index] for each in named.values() if -len(each) <= index < len(each))
    return there


def document(root: ElementTree.Element) -> ElementTree.Element:
    """What stands above a root. Its name is one that no path has."""
    above = ElementTree.Element("#document")
    above.append(root)
    return above
