"""HL7 version 2 in XML (`urn:hl7-org:v2xml`), from and to its own form.

An element for each group, segment, field and component: `<PID.5><XPN.1>…`. What a message has
beyond its structure is there, too: unknown segments where they came, values that nobody knows the
type of by their numbers (`<ZPI.2.1>`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

from lockstep.connectors.hl7.er7 import USUAL, Escape, Separators, fields, segments
from lockstep.connectors.hl7.grouping import Groups
from lockstep.connectors.hl7.structures import (
    Type,
    components_of,
    fields_of,
    message_of,
    version_of,
)

NAMESPACE: Final = "urn:hl7-org:v2xml"
MAX_PLACES: Final = 500
"""Of fields in a segment, and of components in a field."""
MAX_GROUPS: Final = 20
"""Within each other."""
_ESCAPE: Final = "escape"
_UNFIT: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SEGMENT: Final = re.compile(r"[A-Z][A-Z0-9]{2}")


def is_xml(message: bytes) -> bool:
    """Whether a message is XML and not in its own form."""
    return message.lstrip()[:1] == b"<"


def to_xml(message: bytes) -> bytes:
    """A message in XML; ValueError when it is none, or holds what XML cannot."""
    text = message.decode()
    unfit = _UNFIT.search(text)
    if unfit is not None:
        raise ValueError(f"XML cannot hold the character {unfit[0]!r}")
    lines = list(segments(text))
    separators = Separators.of(lines[0] if lines else "")
    head = fields(lines[0], separators)
    version = version_of(_of(head, 12, separators)[0])
    kind, event, structure = (*_of(head, 9, separators), "", "", "")[:3]
    if not re.fullmatch(r"[A-Z0-9]+", kind + event):
        raise ValueError(f"MSH-9 says no kind of message: {kind!r}, {event!r}")
    name, parts = message_of(kind, event, structure, version)
    root = Element(name, {"xmlns": NAMESPACE})
    groups = Groups(root, parts)
    for line in lines:
        segment = line[:3]
        if _SEGMENT.fullmatch(segment) is None or line[3:4] not in ("", separators.field):
            raise ValueError(f"{line[:20]!r} is no segment")
        _fill(SubElement(groups.place(segment), segment), line, separators, version)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _of(head: Sequence[str], number: int, separators: Separators) -> list[str]:
    return (head[number - 1] if number <= len(head) else "").split(separators.component)


def _fill(element: Element, line: str, separators: Separators, version: str) -> None:
    segment = element.tag
    values, known = fields(line, separators), fields_of(segment, version)
    for number, value in enumerate(values, 1):
        tag = f"{segment}.{number}"
        type_ = known[number - 1] if number <= len(known) else Type(tag, varies=True)
        if segment == "OBX" and number == 5:
            type_ = _observed(values[1], tag, version)
        if line[:3] == "MSH" and number <= 2:
            SubElement(element, tag).text = value
            continue
        repetitions = value.split(separators.repetition) if value else []
        for one in repetitions:
            _value(SubElement(element, tag), one, type_, separators)


def _observed(name: str, tag: str, version: str) -> Type:
    """The type of what was observed, which OBX-2 says."""
    parts = components_of(name, version)
    return Type(tag, varies=True) if parts is None else Type(tag, parts)


def _value(element: Element, text: str, type_: Type, marks: Separators) -> None:
    if type_.parts:
        _components(element, text.split(marks.component), type_.parts, marks)
    elif type_.varies and (marks.component in text or marks.subcomponent in text):
        count = text.count(marks.component) + 1
        unknown = tuple(Type(f"{element.tag}.{n}", varies=True) for n in range(1, count + 1))
        _components(element, text.split(marks.component), unknown, marks)
    else:
        _write(element, marks.read(text))


def _components(
    element: Element, values: Sequence[str], types: Sequence[Type], marks: Separators
) -> None:
    kind = types[0].tag.rpartition(".")[0]
    for number, value in enumerate(values, 1):
        if not value:
            continue
        known = number <= len(types)
        type_ = types[number - 1] if known else Type(f"{kind}.{number}", varies=True)
        component = SubElement(element, type_.tag)
        inner = value.split(marks.subcomponent)
        if not type_.parts and (not type_.varies or len(inner) == 1):
            _write(component, marks.read(value))
            continue
        parts = type_.parts or (Type(f"{type_.tag}.1"),)
        outer = parts[0].tag.rpartition(".")[0]
        for at, one in enumerate(inner, 1):
            if one:
                _write(SubElement(component, f"{outer}.{at}"), marks.read(one))


def _write(element: Element, pieces: Sequence[str | Escape]) -> None:
    last: Element | None = None
    for piece in pieces:
        if isinstance(piece, Escape):
            last = SubElement(element, _ESCAPE, {"V": piece.code})
        elif last is None:
            element.text = piece
        else:
            last.tail = piece


def from_xml(document: bytes) -> bytes:
    """The message of such a document in its own form; ValueError when it is none."""
    text = document.decode()
    if "<!DOCTYPE" in text:
        raise ValueError("XML with a document type is refused")
    try:
        root = fromstring(text)
    except ParseError as error:
        raise ValueError(f"it is no XML: {error}") from error
    found = list(_segments(root))
    if not found or _name(found[0]) != "MSH":
        raise ValueError("the document's first segment is not MSH")
    head = {_name(each): _plain(each.text) for each in found[0][:2]}
    separators = Separators.checked(head.get("MSH.1", "|"), head.get("MSH.2", USUAL))
    return "".join(f"{_line(each, separators)}\r" for each in found).encode()


def _segments(element: Element, depth: int = 0) -> list[Element]:
    """Of a message or group: groups have a dot in their names."""
    if depth > MAX_GROUPS:
        raise ValueError(f"groups stand more than {MAX_GROUPS} deep")
    found: list[Element] = []
    for each in element:
        name = _name(each)
        if "." in name:
            found += _segments(each, depth + 1)
        elif _SEGMENT.fullmatch(name):
            found.append(each)
        else:
            raise ValueError(f"<{name}> is neither a segment nor a group")
    return found


def _name(element: Element) -> str:
    namespace, brace, name = element.tag.rpartition("}")
    if brace and namespace != f"{{{NAMESPACE}":
        raise ValueError(f"<{name}> is not of the namespace {NAMESPACE}")
    return name


def _line(segment: Element, separators: Separators) -> str:
    name = _name(segment)
    values: dict[int, list[str]] = {}
    for each in segment:
        number = _place(each, name)
        if name == "MSH" and number <= 2:
            continue
        values.setdefault(number, []).append(_text(each, separators, depth=0))
    joined = {at: separators.repetition.join(texts) for at, texts in values.items()}
    first = 3 if name == "MSH" else 1
    row = [joined.get(at, "") for at in range(first, max(joined, default=0) + 1)]
    start = [name, separators.encoding] if name == "MSH" else [name]
    return separators.field.join([*start, *row])


def _place(element: Element, kind: str | None = None) -> int:
    """The number behind the last dot of its name."""
    name = _name(element)
    before, _, number = name.rpartition(".")
    if (
        not number.isdecimal()
        or not 1 <= int(number[:9]) <= MAX_PLACES
        or kind not in (None, before)
    ):
        raise ValueError(f"<{name}> has no place {'in ' + kind if kind else 'here'}")
    return int(number)


def _text(element: Element, separators: Separators, depth: int) -> str:
    """A field (depth 0), component (1) or subcomponent (2) with its separators."""
    inner = [each for each in element if _name(each) != _ESCAPE]
    if not inner:
        pieces: list[str | Escape] = [element.text or ""]
        for each in element:
            pieces += [Escape(each.get("V", "")), each.tail or ""]
        return separators.written(_trimmed(pieces))
    if depth == 2:
        raise ValueError(f"<{_name(inner[0])}> stands too deep: subcomponents have no parts")
    values: dict[int, str] = {}
    for each in inner:
        at = _place(each)
        if at in values:
            raise ValueError(f"<{_name(each)}> stands twice in <{_name(element)}>")
        values[at] = _text(each, separators, depth + 1)
    mark = separators.subcomponent if depth else separators.component
    return mark.join(values.get(at, "") for at in range(1, max(values) + 1))


def _trimmed(pieces: Sequence[str | Escape]) -> list[str | Escape]:
    """Runs of blanks are one, and none stand around: documents are laid out for readers."""
    found = [p if isinstance(p, Escape) else re.sub(r"\s+", " ", p) for p in pieces]
    if isinstance(found[0], str):
        found[0] = found[0].lstrip()
    if isinstance(found[-1], str):
        found[-1] = found[-1].rstrip()
    return found


def _plain(text: str | None) -> str:
    return (text or "").strip()
