"""Completion: what may stand at a place, by what stands before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from lockstep.editing.known import Known, Name
from lockstep.editing.pieces import Piece, cut, is_open, solid, statements
from lockstep.editing.signatures import CALLABLE, of_kind, overload_line, signature
from lockstep.siddhiql.catalogue import Extension, ExtensionKind

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_BEGINNINGS: Final = {
    "define stream": "define stream Name (attribute string);",
    "define table": "define table Name (attribute string);",
    "define window": "define window Name (attribute string) length(10);",
    "define trigger": "define trigger Name at every 1 sec;",
    "define aggregation": "define aggregation Name from … aggregate every sec ... hour;",
    "define function": "define function name[python] return string { return data[0] };",
    "from": "a query",
    "partition with": "queries with a state for each key",
}
_CLAUSES: Final = (
    "select", "group by", "having", "order by", "limit", "insert into", "update or insert into",
    "update", "delete", "output every", "join", "left outer join", "right outer join",
    "full outer join", "unidirectional", "on", "within", "as", "and", "or", "not", "is null", "in",
    "every", "for", "current events", "expired events", "all events",
)  # fmt: skip
_ANNOTATIONS: Final = (
    "app:name('')", "app:description('')", "app:playback", "app:parallel('2')",
    "app:tasks('1')",
    "app:ha(standby='warm')",
    "info(name='')", "source(type='http', @map(type='json'))", "sink(type='log')",
    "store(type='rdbms')", "PrimaryKey('')", "Index('')", "purge(enable='true')",
    "OnError(action='STREAM')",
)  # fmt: skip
_SOURCES: Final = ("from", "join", "of", "every")
_TABLES: Final = ("update", "delete")
_CLOSED: Final = ("comment", "string", "script")


@dataclass(frozen=True, slots=True)
class Completion:
    """`kind`: keyword, stream, table, window, trigger, aggregation, attribute, function or
    annotation. `detail` stands beside the label, `about` in a box of its own. The word at the
    cursor, from `start` on, is replaced by `insert`."""

    label: str
    kind: str
    detail: str
    about: str
    insert: str
    start: int


def complete(text: str, offset: int, found: Known) -> list[Completion]:
    """What may stand at the offset; `found` may be that of an earlier state of the text."""
    word = _WORD.search(text[max(0, offset - 200) : offset])
    start = offset - len(word[0]) if word else offset
    part: Sequence[Piece] = ()
    for part in statements(cut(text)):
        if part[-1].end > start:
            break
    if any(_holds(one, start) for one in part):
        return []
    before = [one for one in solid(part) if one.end <= start]
    if before and before[-1].value == ";":
        before = []
    return [
        Completion(label, kind, detail, about, insert, start)
        for label, kind, detail, about, insert in _choices(before, solid(part), found)
    ]


def _holds(one: Piece, offset: int) -> bool:
    """Whether what is written at the offset becomes a part of a comment, a string or a script."""
    if one.kind not in _CLOSED:
        return False
    return one.start < offset < one.end or (offset == one.end and is_open(one))


_Choice = tuple[str, str, str, str, str]


def _choices(before: Sequence[Piece], whole: Sequence[Piece], found: Known) -> Iterator[_Choice]:
    last = before[-1] if before else None
    if last is None or last.says("begin"):
        yield from ((each, "keyword", "", about, each) for each, about in _BEGINNINGS.items())
    elif last.value == "@":
        yield from (
            (each.split("(")[0], "annotation", "", f"@{each}", each) for each in _ANNOTATIONS
        )
    elif last.value == "." and len(before) > 1 and before[-2].says("window"):
        yield from _calls("window", ExtensionKind.WINDOW)
    elif last.value == ".":
        yield from _attributes([_meant(before[-2].name, whole, found)] if len(before) > 1 else [])
    elif last.value == "#":
        yield ("window.", "keyword", "", "a window over the stream", "window.")
        yield from _calls("function", ExtensionKind.STREAM_FUNCTION)
    elif last.value == ":" and len(before) > 1:
        yield from _of_namespace(before[-2].value)
    elif last.says("into"):
        yield from _names(found, ("stream", "table", "window"))
    elif last.says(*_TABLES):
        yield from _names(found, ("table",))
    elif last.says(*_SOURCES) or last.value == "->":
        yield from _names(found, ("stream", "table", "window", "trigger", "aggregation"))
    else:
        yield from _expression(whole, found)


def _expression(whole: Sequence[Piece], found: Known) -> Iterator[_Choice]:
    sources = [found.names[each.name] for each in whole if each.name in found.names]
    yield from _attributes(list(dict.fromkeys(sources)))
    yield from (
        (name, "function", f"→ {kind}", "of this app", name)
        for name, kind in found.functions.items()
    )
    yield from _calls("function", *CALLABLE)
    yield from ((each, "keyword", "", "", each) for each in _CLAUSES)


def _attributes(sources: Iterable[Name | None]) -> Iterator[_Choice]:
    seen = set()
    for source in sources:
        for name, kind in source.attributes if source is not None else ():
            if name not in seen:
                seen.add(name)
                yield (
                    name,
                    "attribute",
                    kind,
                    f"of {source.kind} {source.name}" if source else "",
                    name,
                )


def _names(found: Known, kinds: Sequence[str]) -> Iterator[_Choice]:
    for each in found.names.values():
        if each.kind in kinds and not each.name.startswith("!"):
            yield (each.name, each.kind, each.kind, each.line(), each.name)


@cache
def _calls(kind: str, *kinds: ExtensionKind) -> tuple[_Choice, ...]:
    """All extensions of some kinds: the same for every text, and asked for after each letter."""
    return tuple(_call(each, kind) for one in kinds for each in of_kind(one))


def _call(extension: Extension, kind: str) -> _Choice:
    name, ways = extension.full_name, extension.overloads
    detail = overload_line(extension, ways[0]).removeprefix(name) if ways else ""
    return (name, kind, detail, f"{signature(extension)}\n{extension.doc}".strip(), f"{name}(")


def _of_namespace(namespace: str) -> Iterator[_Choice]:
    for name, kind, detail, about, _ in _calls(
        "function", *CALLABLE, ExtensionKind.STREAM_FUNCTION
    ):
        of, _, short = name.rpartition(":")
        if of == namespace:
            yield (short, kind, detail, about, f"{short}(")


def _meant(name: str, whole: Sequence[Piece], found: Known) -> Name | None:
    """What a name or an alias in a statement stands for: `Price as p`, `e1=Reading`."""
    if name in found.names:
        return found.names[name]
    for number, each in enumerate(whole):
        if each.name != name or each.kind != "word" or number == 0:
            continue
        if whole[number - 1].says("as"):
            named = [one for one in whole[: number - 1] if one.name in found.names]
            if named:
                return found.names[named[-1].name]
        if number + 2 < len(whole) and whole[number + 1].value == "=":
            source = whole[number + 2].name
            if source in found.names:
                return found.names[source]
    return None
