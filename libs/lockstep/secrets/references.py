"""`${secret:name}` in a text; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

BEGINNING: Final = "${secret:"
MAX_NAME_LENGTH: Final = 128
_NAME: Final = rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{MAX_NAME_LENGTH - 1}}}"
_REFERENCE: Final = re.compile(r"\$\{secret:(" + _NAME + r")\}")


def names_in(text: str) -> tuple[str, ...]:
    """The names of the secrets that a text refers to, in its order."""
    return tuple(_REFERENCE.findall(text))


def filled(text: str, value: Callable[[str], str]) -> str:
    """The text with values in the place of references. What a value looks like does not matter: it
    is not read again."""
    return _REFERENCE.sub(lambda found: value(found[1]), text)


def problem_in(text: str) -> str | None:
    """What is wrong with a text's references, or None."""
    if text.count(BEGINNING) == len(names_in(text)):
        return None
    return (
        f"a secret is ${{secret:name}}; its name has letters, digits, '_', '.' and '-',"
        f" no '.' or '-' at its beginning, and at most {MAX_NAME_LENGTH} characters"
    )
