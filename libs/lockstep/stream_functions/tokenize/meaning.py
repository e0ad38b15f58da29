"""The tokenizers: an event per piece of a text, or per element of a collection or of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lockstep.functions import json_documents
from lockstep.functions.java_regex import compile_pattern, split
from lockstep.functions.json.meaning import find
from lockstep.functions.json_path import MissingError, compile_path
from lockstep.functions.list.meaning import items_of
from lockstep.functions.map.meaning import entries_of
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import (
    Multiplying,
    StreamCall,
    StreamFunctionFactory,
    StreamLink,
)


def _tokenize_texts(call: StreamCall) -> StreamLink:
    text_of = call.values[0]
    regex = str(call.constant(1))
    distinct = call.constant(2, False) is True
    compile_pattern(regex)

    def expand(event: StreamEvent) -> list[tuple[str]]:
        text = text_of(event)
        if text is None:
            raise EventError("str:tokenize takes no null text")
        pieces = split(regex, text)
        return [(piece,) for piece in (dict.fromkeys(pieces) if distinct else pieces)]

    return Multiplying(expand)


def _tokenize_lists(call: StreamCall) -> StreamLink:
    values = call.values

    def expand(event: StreamEvent) -> Iterable[tuple[Any, ...]]:
        lists = [items_of(value(event), "list:tokenize") for value in values]
        if len(lists) == 1:
            return list(enumerate(lists[0]))
        longest = max(map(len, lists))
        return [
            (at, [items[at] if at < len(items) else None for items in lists])
            for at in range(longest)
        ]

    return Multiplying(expand)


def _tokenize_maps(call: StreamCall) -> StreamLink:
    values = call.values

    def expand(event: StreamEvent) -> Iterable[tuple[Any, ...]]:
        maps = [entries_of(value(event), "map:tokenize") for value in values]
        if len(maps) == 1:
            return list(maps[0].items())
        keys = dict.fromkeys(key for entries in maps for key in entries)
        return [(key, [entries.get(key) for entries in maps]) for key in keys]

    return Multiplying(expand)


def _tokenize_json(render: Callable[[Any], Any]) -> StreamFunctionFactory:
    def factory(call: StreamCall) -> StreamLink:
        json_of, path_of = call.values[:2]
        fails = call.constant(2, True) is not False
        if isinstance(path := call.constant(1), str):
            compile_path(path)

        def expand(event: StreamEvent) -> Iterable[tuple[Any, ...]]:
            try:
                found = find(json_of(event), path_of(event))
            except MissingError:
                found = None
            match found:
                case []:
                    return [] if fails else [(None,)]
                case list():
                    return [(render(element),) for element in found]
                case dict():
                    return [(render(found),)]
                case str():
                    return [(found,)]
                case None:
                    return [] if fails else [(None,)]
            return []

        return Multiplying(expand)

    return factory


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("str", "tokenize"): _tokenize_texts,
    ("list", "tokenize"): _tokenize_lists,
    ("map", "tokenize"): _tokenize_maps,
    ("json", "tokenize"): _tokenize_json(json_documents.text),
    ("json", "tokenizeAsObject"): _tokenize_json(lambda element: element),
}
