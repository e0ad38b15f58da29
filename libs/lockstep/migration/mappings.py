"""What stood in a `<mapping>`: the same messages, in the words of `@map`."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.migration.findings import Findings, Place
from lockstep.migration.reading import Node
from lockstep.migration.siddhi_text import identifier, payload, quoted
from lockstep.migration.streams import PREFIXES, Attribute

_PLACE: Final = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_DEFAULT_STRINGS: Final = (
    "strings stand in quotes in Lockstep's text; what reads these messages may have to know"
)


@dataclass(frozen=True)
class Wanted:
    """What a custom mapping says of an attribute."""

    attribute: str
    path: str
    place: Place


def _shape(options: Sequence[str], inner: str) -> str:
    return f"@map({', '.join([*options, *([inner] if inner else [])])})"


def _attributes(pairs: Sequence[tuple[str, str]]) -> str:
    return f"@attributes({', '.join(f'{identifier(k)}={quoted(v)}' for k, v in pairs)})"


# --- receivers ------------------------------------------------------------------------------------


def source_map(
    mapping: Node | None, attributes: Sequence[Attribute], place: Place, findings: Findings
) -> str:
    """The `@map` of a receiver. ValueError for a form that Lockstep has not."""
    type_ = (mapping.attribute("type") or "") if mapping is not None else "json"
    custom = mapping is not None and is_custom(mapping)
    wanted = _wanted(mapping, attributes, findings) if mapping is not None and custom else []
    match type_:
        case "json" | "map":
            if type_ == "map":
                findings.to_decide(
                    place,
                    "a mapping of type map",
                    "messages are texts here: it became JSON with a member per key",
                    "let the sender, or the broker, write the map as JSON",
                )
            return _json_source(type_, wanted, attributes)
        case "xml":
            return _xml_source(mapping, wanted, attributes)
        case "text":
            return _text_source(wanted)
    raise ValueError(f"there is no mapping of type {type_!r} for messages")


_ON: Final = ("enable", "enabled", "true")
_OFF: Final = ("disable", "disabled", "false")


def is_switch(text: str) -> bool:
    """Whether a text is one of the ways to say yes or no."""
    return text.strip().lower() in (*_ON, *_OFF)


def is_custom(mapping: Node) -> bool:
    """Whether the mapping is one of its own."""
    given = (mapping.attribute("customMapping") or "").strip().lower()
    return given in _ON or (
        given not in _OFF and bool(mapping.elements("property") or mapping.elements("inline"))
    )


def _wanted(mapping: Node, attributes: Sequence[Attribute], findings: Findings) -> list[Wanted]:
    found = []
    types = {one.name: one.type for one in attributes}
    for entry in mapping.elements("property"):
        source, target = entry.element("from"), entry.element("to")
        if source is None or target is None:
            continue  # its parts are left over, and reported as such
        path = next(
            (
                value
                for key in ("jsonPath", "xpath", "regex", "name")
                if (value := source.attribute(key)) is not None
            ),
            "",
        )
        name, type_ = target.attribute("name") or "", target.attribute("type")
        if type_ is not None and type_.lower() != types.get(name, type_.lower()):
            findings.changed(
                target.place, f"type {type_} of {name}", f"the stream says {types[name]}"
            )
        default = target.attribute("default")
        if default is not None:
            findings.to_decide(
                target.place,
                f"default {default!r} of {name}",
                "mappers have no defaults: a missing value is null",
                f"select default({name}, …) in the first query",
            )
        found.append(Wanted(name, path, entry.place))
    return found


def _json_source(type_: str, wanted: list[Wanted], attributes: Sequence[Attribute]) -> str:
    if wanted:
        dollar = "$." if type_ == "map" else ""
        pairs = [(one.attribute, dollar + one.path) for one in wanted]
    elif type_ == "map":
        pairs = [(one.name, f"$.{one.name}") for one in attributes]
    else:
        pairs = [(one.name, f"$.event.{one.section}.{one.bare}") for one in attributes]
    return _shape(["type='json'", "fail.on.missing.attribute='false'"], _attributes(pairs))


def _xml_source(mapping: Node | None, wanted: list[Wanted], attributes: Sequence[Attribute]) -> str:
    options = ["type='xml'", "fail.on.missing.attribute='false'"]
    if mapping is None or not wanted:
        pairs = [(one.name, f"{one.section}/{one.bare}") for one in attributes]
        return _shape([*options, "enclosing.element='/events'"], _attributes(pairs))
    spaces = [
        f"{one.attribute('prefix')}={one.attribute('namespace')}"
        for one in mapping.elements("xpathDefinition")
    ]
    if spaces:
        options.append(f"namespaces={quoted(','.join(spaces))}")
    parent = mapping.attribute("parentSelectorXpath") or ""
    paths = [one.path for one in wanted]
    if not parent:
        parent, paths = _common_step(paths)
    if parent:
        options += [f"enclosing.element={quoted(parent)}", "enclosing.element.as.event='true'"]
    pairs = [(one.attribute, path) for one, path in zip(wanted, paths, strict=True)]
    return _shape(options, _attributes(pairs))


def _common_step(paths: list[str]) -> tuple[str, list[str]]:
    """The first step that all paths share, with its slashes, and the paths behind it."""
    found = [re.fullmatch(r"(//?[^/]+)/(.+)", path.strip()) for path in paths]
    steps = {match[1] for match in found if match is not None}
    if len(steps) != 1 or None in found:
        return "", paths
    return steps.pop(), [match[2] for match in found if match is not None]


def _text_source(wanted: list[Wanted]) -> str:
    if not wanted:
        return "@map(type='text', fail.on.missing.attribute='false')"
    letters = string.ascii_uppercase
    if len(wanted) > len(letters):
        raise ValueError(f"a text mapping takes {len(letters)} expressions, not {len(wanted)}")
    patterns = [
        f"regex.{letter}={quoted(one.path)}" for letter, one in zip(letters, wanted, strict=False)
    ]
    pairs = [
        (one.attribute, f"{letter}[1]" if "(" in one.path else f"{letter}[0]")
        for letter, one in zip(letters, wanted, strict=False)
    ]
    options = ["type='text'", "fail.on.missing.attribute='false'", *patterns]
    return _shape(options, _attributes(pairs))


# --- publishers -----------------------------------------------------------------------------------


def sink_map(
    mapping: Node | None,
    attributes: Sequence[Attribute],
    place: Place,
    findings: Findings,
    *,
    is_log: bool = False,
) -> str:
    """The `@map` of a publisher. ValueError for a form that Lockstep has not."""
    type_ = (mapping.attribute("type") or "") if mapping is not None else "text"
    if mapping is not None and is_custom(mapping):
        return _custom_sink(type_, mapping, attributes, place, findings)
    match type_:
        case "json":
            return _with_payload("json", _default_json(attributes))
        case "xml":
            return _with_payload("xml", _default_xml(attributes), "enclosing.element='<events>'")
        case "text":
            if not is_log:
                findings.changed(place, "the default text of a publisher", _DEFAULT_STRINGS)
            return "@map(type='text')"
        case "map":
            findings.changed(place, "a mapping of type map", "maps are sent as JSON")
            return "@map(type='json')"
        case "wso2event" if is_log:
            findings.changed(place, "a mapping of type wso2event", "the log shows texts")
            return "@map(type='text')"
    raise ValueError(f"there is no mapping of type {type_!r} for messages")


def _custom_sink(
    type_: str,
    mapping: Node,
    attributes: Sequence[Attribute],
    place: Place,
    findings: Findings,
) -> str:
    if type_ == "map":
        pairs = []
        for entry in mapping.elements("property"):
            source, target = entry.element("from"), entry.element("to")
            if source is not None and target is not None:
                pairs.append((target.attribute("name") or "", source.attribute("name") or ""))
        findings.changed(place, "a mapping of type map", "maps are sent as JSON")
        types = {one.name: one.type for one in attributes}
        members = ", ".join(f'"{new}": {_json_value(old, types)}' for new, old in pairs)
        return _with_payload("json", f"{{{members}}}")
    inline = mapping.element("inline")
    if inline is None:
        registry = mapping.element("registry")
        where = registry.text() if registry is not None else ""
        raise ValueError(f"its text stands elsewhere: {where or 'no <inline>'}")
    text = inline.inner()
    if type_ == "json":
        text = _with_quotes(text, attributes, place, findings)
    if type_ not in ("json", "xml", "text"):
        raise ValueError(f"there is no mapping of type {type_!r} for messages")
    return _with_payload(type_, text)


def _with_payload(type_: str, text: str, *options: str) -> str:
    check = {"json": ["validate.json='true'"], "xml": ["validate.xml='true'"]}.get(type_, [])
    return _shape([f"type='{type_}'", *options, *check], f"@payload({payload(text)})")


def _default_json(attributes: Sequence[Attribute]) -> str:
    types = {one.name: one.type for one in attributes}
    sections = []
    for section in PREFIXES:
        inside = [one for one in attributes if one.section == section]
        if inside:
            members = ",".join(f'"{one.bare}":{_json_value(one.name, types)}' for one in inside)
            sections.append(f'"{section}":{{{members}}}')
    return f'{{"event":{{{",".join(sections)}}} }}'


def _json_value(name: str, types: dict[str, str]) -> str:
    return f'"{{{{{name}}}}}"' if types.get(name) == "string" else f"{{{{{name}}}}}"


def _default_xml(attributes: Sequence[Attribute]) -> str:
    sections = []
    for section in PREFIXES:
        inside = [one for one in attributes if one.section == section]
        if inside:
            members = "".join(f"<{a.bare}>{{{{{a.name}}}}}</{a.bare}>" for a in inside)
            sections.append(f"<{section}>{members}</{section}>")
    return f"<event>{''.join(sections)}</event>"


def _with_quotes(
    text: str, attributes: Sequence[Attribute], place: Place, findings: Findings
) -> str:
    """The older product put strings in quotes where the template of JSON did not."""
    strings = {one.name for one in attributes if one.type in ("string", "object")}
    parts, end = [], 0
    for match in _PLACE.finditer(text):
        before = text[: match.start()]
        bare = (before.count('"') - before.count('\\"')) % 2 == 0
        parts.append(text[end : match.start()])
        if bare and match[1] in strings:
            findings.changed(
                place, f"{{{{{match[1]}}}}} in JSON", "a string: it got the quotes it needs"
            )
            parts.append(f'"{match[0]}"')
        else:
            parts.append(match[0])
        end = match.end()
    return "".join([*parts, text[end:]])
