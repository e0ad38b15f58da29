"""Functions of other products and languages that Lockstep has not: what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MODELS: Final = (
    "convert the model to ONNX and use #ml:predict (tf2onnx does it), or ask"
    " a server that has it with a sink 'http-call'"
)

RETIRED_CALLS: Final[Mapping[str, str]] = {
    "geo:geocode": (
        "it asked a server of Google's, whose answers change, and replicas must not: look addresses"
        " up in front of the app, or join a table of places"
    ),
    "env:": (
        "it reads the machine, and replicas on two machines would differ: a template puts such"
        " values into the text, and secrets have references of their own"
    ),
    "js:": "write it as a function: define function f[javascript] return string {…}",
    "geo:findCountryFromIP": "write: geo:country(ip, file), with a file of places",
    "r:": "there is no R here: write it in Python: define function f[python] return double {…}",
    "nlp:": (
        "there are no models of languages here: look for it in a program in front of the app, which"
        " sends what it has found"
    ),
    "sentiment:": (
        "its list of rated words may not be handed on under this licence: cut texts by"
        " #str:tokenize and join a table of words with their rates"
    ),
    "file:": (
        "a query touches no files, as each replica would: a source moves or deletes what it has"
        " read (action.after.process), and a program of yours does the rest"
    ),
    "tensorFlow:": _MODELS,
    "pmml:": _MODELS,
}
"""By name, or by pack where a colon ends it."""

OTHERS: Final[Mapping[str, str]] = {
    "substring": "write: str:substr(text, begin, length), where begin counts from 0",
    "if": "write: ifThenElse(condition, a, b)",
    "iif": "write: ifThenElse(condition, a, b)",
    "isnull": "write: x is null",
    "ifnull": "write: default(x, value)",
    "nvl": "write: default(x, value)",
}
"""Functions of other languages, in small letters: what to write instead."""


def retired_call(pack: str | None, name: str) -> str | None:
    """What to do instead of calling a function that the older products had."""
    known = {old.lower(): hint for old, hint in RETIRED_CALLS.items()}
    if pack is None:
        return None
    return known.get(f"{pack}:{name}".lower()) or known.get(f"{pack}:".lower())
