"""Which parts of definitions are lost in an import: read anew, and looked up in what came out.

A part is an attribute or a text of XML, a value of JSON, or a token of SiddhiQL. It is accounted
for when its value stands in an app or in the report; a password, when its name does.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree

from lockstep.migration import Imported, SourceFile

_SECRET = re.compile("passw|secret|token|credential", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z_0-9.]+")
_PASSWORDS = re.compile(
    r"(?<=jdbc:oracle:thin:)[^@']*@|(?:password|secret|token)\s*=\s*(['\"]).*?\1", re.IGNORECASE
)
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def unaccounted(files: Iterable[SourceFile], done: Imported) -> list[str]:
    """The parts that stand in no app and in no finding, each with its file."""
    told = "\n".join(
        [app.text for app in done.apps]
        + [f"{one.what} {one.why} {one.suggestion} {one.place}" for one in done.findings]
        + [done.datasources]
    )
    flat = _flat(told)
    words = set(_WORDS.findall(told.lower()))
    return [
        f"{file.name}: {part}"
        for file in _all(files)
        for part in _parts(file)
        if _flat(part) not in flat and not set(_WORDS.findall(part.lower())) <= words
    ]


def _flat(text: str) -> str:
    return re.sub(r"[\s\"'\\-]", "", text).lower()


def _all(files: Iterable[SourceFile]) -> Iterator[SourceFile]:
    """What archives name, in their place."""
    for file in files:
        if not file.name.endswith(".car"):
            yield file
            continue
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            for name in archive.namelist():
                if name.endswith((".xml", ".json", ".siddhiql")) and "artifact" not in name:
                    yield SourceFile(f"{file.name}!/{name}", archive.read(name))


def _parts(file: SourceFile) -> Iterator[str]:
    try:
        if file.name.endswith(".json"):
            value = json.loads(file.data)
            is_stream = isinstance(value, dict) and any(key in value for key in _SECTIONS)
            yield from _of_json(value) if is_stream else [file.name]
        elif file.name.endswith(".xml"):
            yield from _of_xml(ElementTree.fromstring(file.data.strip()))
        elif file.name.endswith((".siddhi", ".siddhiql")):
            yield from _of_siddhi(file.data.decode())
    except (ValueError, ElementTree.ParseError):
        yield file.name  # what cannot be read must be named


def _of_json(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key != "version":
                yield from _of_json(one)
    elif isinstance(value, list):
        for one in value:
            yield from _of_json(one)
    elif value not in (None, ""):
        yield str(value)


def _of_xml(root: ElementTree.Element) -> Iterator[str]:
    if _local(root.tag) not in _ROOTS:
        return
    for element in root.iter():
        hidden = element.get("encrypted") == "true" or _SECRET.search(element.get("name", ""))
        for key, value in element.attrib.items():
            if key not in ("customMapping", "encrypted", "version") and value.strip():
                yield value
        text = (element.text or "").strip()
        if text and not hidden:
            if _local(element.tag) == "queryExpressions":
                yield from _of_siddhi(text)
            else:
                yield text


_SECTIONS = ("metaData", "correlationData", "payloadData")
_ROOTS = ("eventReceiver", "eventPublisher", "eventBuilder", "eventFormatter", "executionPlan",
          "bucket", "inputEventAdaptor", "outputEventAdaptor", "streamDefinitions")  # fmt: skip


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _of_siddhi(text: str) -> Iterator[str]:
    """Each line without its comments: its words have to be somewhere."""
    bare = _PASSWORDS.sub("", _COMMENTS.sub("", text))
    yield from Counter(_WORDS.findall(bare))
