"""Words of SiddhiQL: strings, names, comments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from lockstep.siddhiql.syntax.keywords import KEYWORDS

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f]")


class UnquotableError(Exception):
    """A text that no string of SiddhiQL can hold."""


def quoted(text: str) -> str:
    """A text as a string; raises UnquotableError where there is no way to write it."""
    if "'" not in text and '"' not in text and not _CONTROL.search(text):
        return f"'{text}'"
    if '"""' in text or text.endswith('"'):
        raise UnquotableError(text)
    return f'"""{text}"""'


def payload(text: str) -> str:
    """A text of a message as a string; a blank keeps a quote at its end apart."""
    return quoted(f"{text} " if text.endswith('"') else text)


def name_of(text: str) -> str:
    """A text as a plain name: what cannot stand in one becomes `_`."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", text.strip()) or "_"
    return f"_{plain}" if plain[0].isdigit() else plain


def identifier(text: str) -> str:
    """A name as it must be written: in back-quotes where it is a word of the language."""
    plain = _NAME.fullmatch(text) is not None and text.lower() not in KEYWORDS
    return text if plain else f"`{text.replace('`', '_')}`"


def commented(lines: Iterable[str]) -> str:
    """The lines as comments."""
    return "\n".join(f"-- {line}".rstrip() for line in lines)
