"""Half characters: lone surrogates, which a Python string can hold and UTF-8 cannot.

The escape of JSON `"\\ud83d"` is one, and code of an app's author may make one. No log, message or
database can hold it, so none may come into an app's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_whole(value: Any) -> bool:
    """Whether no text in it has a half character. Lists, sets and maps are looked into."""
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if not _encodes(one):
                return False
        elif isinstance(one, list | tuple | set | frozenset | Mapping) and id(one) not in seen:
            seen.add(id(one))
            waiting += one
            waiting += one.values() if isinstance(one, Mapping) else ()
    return True


def whole(value: Any) -> Any:
    """The value with U+FFFD for each half character; halves that belong together become one.
    RecursionError for what is nested too deep."""
    if is_whole(value):
        return value
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {whole(key): whole(one) for key, one in value.items()}
    kind: type[Any] = type(value)
    return kind(whole(one) for one in value)


def _encodes(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
