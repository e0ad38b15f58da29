"""Values in test files: read by the attribute's type, shown as Java shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.plan import java

_WORD = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\{.*?\}(?=\s|$)|\[.*?\](?=\s|$)|\S+""")
_PLAIN = re.compile(r"[^\s,\[\]|'\"][^,\[\]|'\"]*(?<!\s)|")


def split_words(text: str) -> list[str]:
    """The words of a call; quoted texts (a quote in one is doubled), lists and maps stay whole."""
    return _WORD.findall(text)


def read_value(word: str, type_: AttributeType) -> Any:
    """The value that a word means for a type; raises ValueError."""
    try:
        return None if word == "null" else _read(word, type_)
    except ValueError:
        raise ValueError(f"{word!r} is no {type_.value}") from None


def _read(word: str, type_: AttributeType) -> Any:
    if type_ is AttributeType.STRING:
        quote = word[0]
        is_quoted = quote in "'\"" and len(word) > 1
        return word[1:-1].replace(quote * 2, quote) if is_quoted else word
    if type_ is AttributeType.BOOL:
        if word not in ("true", "false"):
            raise ValueError
        return word == "true"
    if type_ in (AttributeType.INT, AttributeType.LONG):
        return int(word)
    if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE):
        return float(word)
    return json.loads(word)


def show_value(value: Any, type_: AttributeType | None = None) -> str:
    """The value as text: plain where that reads back, quoted where it would not."""
    if isinstance(value, str):
        ambiguous = not value or value in ("null", "true", "false") or not _PLAIN.fullmatch(value)
        return f"'{value}'" if ambiguous else value
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(show_value(item) for item in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(show_value(item) for item in value))}}}"
    if isinstance(value, dict):
        pairs = (f"{show_value(key)}={show_value(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return java.text(value, type_ is AttributeType.FLOAT)


def show_row(data: Sequence[Any], schema: StreamSchema | None = None) -> str:
    """`[a, 10]`."""
    types: Sequence[AttributeType | None] = [None] * len(data) if schema is None else schema.types
    return f"[{', '.join(show_value(v, t) for v, t in zip(data, types, strict=True))}]"


def show_events(events: Sequence[Event], schema: StreamSchema | None) -> str:
    """`1000[a, 10] 2000[b, 20]`."""
    return " ".join(f"{event.timestamp_ms}{show_row(event.data, schema)}" for event in events)
