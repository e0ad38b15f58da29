"""`extract.leaf.node.data`: an element with elements in it as several events.

A leaf is an element that has no elements in it, or only such with a text alone. It is an event. Its
attributes and texts belong to it, and so do those of all elements around it. As in Siddhi, names
are without their namespace, and a text that stands twice in one element is the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree

from lockstep.mapping.xml.paths import NAME

_PATH: Final = re.compile(rf"(?:/{NAME}/)?(?:{NAME}/)*@?{NAME}")
_NOWHERE: Final = "?"
"""Below what no path leads through: names are not put together there."""


def is_leaf_path(path: str) -> bool:
    """`/event/a/b`, `/event/a/@c`, or the same without the event's name in front."""
    return _PATH.fullmatch(path) is not None


def leaves(event: ElementTree.Element, paths: Iterable[str]) -> list[dict[str, str]]:
    """What stands at the paths, leaf by leaf; a path that leads nowhere is left out."""
    inner = {path: path.removeprefix(f"/{_local(event.tag)}/") for path in paths}
    wanted = {path[:end] for path in inner.values() for end in _ends(path)}
    found: list[dict[str, str]] = []
    _collect(event, "", {}, wanted, found)
    return [{path: texts[at] for path, at in inner.items() if at in texts} for texts in found]


def _ends(path: str) -> list[int]:
    return [*(slash.end() for slash in re.finditer("/", path)), len(path)]


def _collect(
    element: ElementTree.Element,
    path: str,
    outer: dict[str, str],
    wanted: set[str],
    found: list[dict[str, str]],
) -> None:
    """`path` leads from the event to the element, with a slash behind; `wanted` are the paths that
    are asked for and all beginnings of such."""
    texts = dict(outer)
    for name, value in element.attrib.items():
        if (at := f"{path}@{_local(name)}") in wanted:
            texts[at] = value
    further = []
    for child in element:
        at = f"{path}{_local(child.tag)}"
        text = (child.text or "").strip()
        if len(child) or not text:
            further.append((child, f"{at}/"))
        elif at in wanted:
            texts[at] = text
    for child, inside in further:
        _collect(child, inside if inside in wanted else _NOWHERE, texts, wanted, found)
    if not further:
        found.append(texts)


def _local(name: str) -> str:
    return name.rpartition("}")[2]
