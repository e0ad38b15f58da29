"""A server that asks a sink who is calling: whose fault it is that it did not like the answer."""

from __future__ import annotations

import re
from typing import Final

from lockstep.sinks import headers_of

LOGIN_HINT: Final = (
    "the server does not take what the sink shows of itself: look at its secrets, password or token"
)
_SHOWS: Final = re.compile("auth|token|key|secret|credential|password|cookie|session")
"""In the names of headers that say who is calling."""
_OF_THE_MESSAGE: Final = re.compile("idempotency|routing|partition|message|correlation|cache")
"""In the names of headers that say something else with such a word."""


def row_brings_login(headers: str, address: str = "") -> bool:
    """Whether what says who is calling may be a value of the row: then another row may be let in.
    If not, no row is at fault. `headers`: the option of a sink; where none of them is called like a
    login, any of them may be one, or the address. Where one that is called so is the same for all
    rows, the login is the sink's."""
    named = {name.lower(): value for name, value in headers_of(headers).items()}
    if "authorization" in named:
        return "{{" in named["authorization"]
    shown = [
        value
        for name, value in named.items()
        if _SHOWS.search(name) and not _OF_THE_MESSAGE.search(name)
    ]
    if shown:
        return all("{{" in value for value in shown)
    others = [value for name, value in named.items() if not _OF_THE_MESSAGE.search(name)]
    others += [] if named else [headers]  # a row may bring all of them
    return any("{{" in value for value in (*others, address))
