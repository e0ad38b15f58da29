"""Names, strings and annotations as text (grammar 2, 3.4, 5)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.keywords import KEYWORDS, RESERVED

_ID = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*", re.ASCII)
_KEY = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*(?:[.:-][a-zA-Z_][a-zA-Z_0-9]*)*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f]")


def name(text: str) -> str:
    """A name, back-quoted where it must be."""
    if _ID.fullmatch(text) and text.lower() not in RESERVED:
        return text
    return f"`{text}`"


def identifier(text: str) -> str:
    """A name where no keyword may stand."""
    return text if _ID.fullmatch(text) and text.lower() not in KEYWORDS else f"`{text}`"


def prefixed(text: str) -> str:
    """A name that may begin with `#` or `!`."""
    return text[0] + name(text[1:]) if text[:1] in ("#", "!") else name(text)


def string(text: str) -> str:
    """A string literal in the plainest quotes that can hold it."""
    if not _CONTROL.search(text):
        if "'" not in text and '"' not in text:
            return f"'{text}'"
        if '"' not in text:
            return f'"{text}"'
    return f'"""{text}"""'


def element(item: ast.Element) -> str:
    """`key='value'` or `'value'`."""
    value = string(item.value)
    if item.key is None:
        return value
    key = item.key if _KEY.fullmatch(item.key) else string(item.key)
    return f"{key}={value}"


def annotation(item: ast.Annotation) -> str:
    """`@name(elements, nested)`; elements first, which is how the tree keeps them."""
    before, colon, rest = item.name.partition(":")
    title = f"{before}:{name(rest)}" if colon and before == "app" else name(item.name)
    parts = [*map(element, item.elements), *map(annotation, item.annotations)]
    return f"@{title}({', '.join(parts)})" if parts else f"@{title}"


def annotation_lines(items: Iterable[ast.Annotation]) -> str:
    """Annotations one per line, in front of something."""
    return "".join(f"{annotation(item)}\n" for item in items)
