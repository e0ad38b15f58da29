"""Event streams of the older products: a name, a version, and attributes in three sections."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from lockstep.migration.findings import Findings, Place
from lockstep.migration.reading import MAX_FILE_BYTES, Node, SourceFile, UnreadableError
from lockstep.migration.siddhi_text import identifier, name_of

PREFIXES: Final = {"metaData": "meta_", "correlationData": "correlation_", "payloadData": ""}
"""By section: how its attributes are called in SiddhiQL."""

TYPES: Final = ("string", "int", "long", "float", "double", "bool", "object")


@dataclass(frozen=True)
class Attribute:
    """An attribute as SiddhiQL calls it, and its type in small letters."""

    name: str
    type: str

    @property
    def section(self) -> str:
        """The section that it belongs to by its prefix."""
        for section, prefix in PREFIXES.items():
            if prefix and self.name.startswith(prefix):
                return section
        return "payloadData"

    @property
    def bare(self) -> str:
        """Its name inside the section."""
        return self.name.removeprefix(PREFIXES[self.section])


@dataclass(frozen=True)
class Stream:
    """A stream definition."""

    name: str
    version: str
    attributes: tuple[Attribute, ...]
    place: Place
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Name and version, as plans and receivers refer to it."""
        return stream_id(self.name, self.version)


def stream_id(name: str, version: str | None) -> str:
    """How the older products refer to a stream."""
    return f"{name.strip()}:{(version or '1.0.0').strip()}"


def definition_of(name: str, attributes: tuple[Attribute, ...]) -> str:
    """`define stream …`."""
    listed = ", ".join(f"{identifier(one.name)} {one.type}" for one in attributes)
    return f"define stream {identifier(name)} ({listed})"


def stream_name(given_id: str) -> str:
    """The name of a stream's definition, where no plan gives it one."""
    name, _, version = given_id.rpartition(":")
    return name_of(name if version == "1.0.0" else f"{name}_{version}")


def parse_json(file: SourceFile) -> Any:
    """The value of a JSON document; raises UnreadableError for none."""
    if len(file.data) > MAX_FILE_BYTES:
        raise UnreadableError(Place(file.name, 1), f"it has more than {MAX_FILE_BYTES} bytes")
    try:
        return json.loads(file.data.decode("utf-8-sig"))
    except RecursionError as error:
        raise UnreadableError(Place(file.name, 1), "it is nested too deep") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(Place(file.name, 1), "it is no text in UTF-8") from error
    except json.JSONDecodeError as error:
        raise UnreadableError(Place(file.name, error.lineno), f"not JSON: {error.msg}") from error


def is_stream(value: Any) -> bool:
    """Whether a JSON document looks like a stream definition."""
    return isinstance(value, dict) and "name" in value and bool(set(PREFIXES) & set(value))


def stream_of_json(value: dict[str, Any], file: SourceFile, findings: Findings) -> Stream:
    """A stream definition in JSON. UnreadableError when it makes no sense."""
    place = Place(file.name, 1)
    attributes: list[Attribute] = []
    for section in PREFIXES:
        for entry in value.get(section) or ():
            if not isinstance(entry, dict):
                raise UnreadableError(place, f"{section} holds {entry!r}, which is no attribute")
            attributes.append(_attribute(section, str(entry.get("name")), entry.get("type"), place))
            for key in set(entry) - {"name", "type"}:
                findings.to_decide(
                    place, f"{key}={entry[key]!r} of {entry.get('name')}", "nothing here reads it"
                )
    notes = _notes({key: value.get(key) for key in ("nickName", "description")})
    for key in sorted(set(value) - {"name", "version", "nickName", "description", *PREFIXES}):
        if value[key] not in (None, "", [], {}):
            findings.dropped(place, f"{key} {json.dumps(value[key])}", "streams have no such thing")
    version = str(value.get("version") or "1.0.0")
    return Stream(str(value["name"]), version, tuple(attributes), place, notes)


def streams_of_xml(root: Node) -> list[Stream]:
    """The definitions of a `stream-definitions.xml`; `root` is `<streamDefinitions>` or one."""
    nodes = [root] if root.name == "streamDefinition" else root.elements("streamDefinition")
    return [_stream_of_node(node) for node in nodes]


def _stream_of_node(node: Node) -> Stream:
    attributes = []
    for section in PREFIXES:
        holder = node.element(section)
        for entry in holder.elements("property") if holder is not None else ():
            name, type_ = entry.attribute("name") or "", entry.attribute("type")
            attributes.append(_attribute(section, name, type_, entry.place))
    held = {key: node.element(key) for key in ("nickName", "description")}
    notes = _notes({key: one.text() if one is not None else None for key, one in held.items()})
    name, version = node.attribute("name") or "", node.attribute("version") or "1.0.0"
    return Stream(name, version, tuple(attributes), node.place, notes)


def _attribute(section: str, name: str, given: object, place: Place) -> Attribute:
    type_ = str(given).lower()
    if type_ not in TYPES:
        raise UnreadableError(place, f"attribute {name!r} has the unknown type {given!r}")
    return Attribute(PREFIXES[section] + name, type_)


def _notes(given: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{key}: {' '.join(str(v).split())}" for key, v in given.items() if v)
