"""`regex:`: what each function takes and gives (extensions 8)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.contract import Extension, Parameter
from lockstep.siddhiql.catalogue.signatures import BOOL, INT, STRING, function, gives

_REGEX = Parameter("regex", (STRING,))
_TEXT = Parameter("text", (STRING,))

EXTENSIONS: tuple[Extension, ...] = (
    function(
        "find",
        gives(BOOL, _REGEX, _TEXT, Parameter("start", (INT,), optional=True)),
        namespace="regex",
    ),
    function("matches", gives(BOOL, _REGEX, _TEXT), namespace="regex", formerly=("ismatch",)),
    function("lookingAt", gives(BOOL, _REGEX, _TEXT), namespace="regex"),
    function("group", gives(STRING, _REGEX, _TEXT, Parameter("group", (INT,))), namespace="regex"),
)
