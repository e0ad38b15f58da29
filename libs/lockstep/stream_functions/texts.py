"""`#str:tokenize`: one event per piece of a text."""

from __future__ import annotations

from lockstep.functions.java_regex import compile_pattern, split
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import (
    Multiplying,
    StreamCall,
    StreamFunctionFactory,
    StreamLink,
)


def _tokenize(call: StreamCall) -> StreamLink:
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


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {("str", "tokenize"): _tokenize}
