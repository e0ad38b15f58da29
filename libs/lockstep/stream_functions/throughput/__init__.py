"""#throughput:throughput (extensions 25)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import INT, LONG, STRING, stream_function

WINDOW_ROWS: Final = 1_000
WINDOW_ROWS_MAX: Final = 100_000
"""After how many events a line is written: by default, and at most."""
KINDS: Final = ("throughput", "latency", "both")


def _check(arguments: Sequence[Argument]) -> None:
    kind = arguments[1].value
    if kind.lower() not in KINDS:
        raise SignatureError(f"type is {kind!r}", f"there is {', '.join(KINDS)}")
    if len(arguments) > 2 and arguments[2].value > WINDOW_ROWS_MAX:
        raise SignatureError(f"window.size is {arguments[2].value}", f"at most {WINDOW_ROWS_MAX}")


def _nothing(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return ()


EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "throughput",
        Overload(
            (
                Parameter("iijtimestamp", (LONG,), attribute=True),
                Parameter("type", (STRING,), constant=True),
                Parameter("window.size", (INT,), constant=True, optional=True, positive=True),
                Parameter("id", (STRING,), constant=True, optional=True),
            ),
            adds=_nothing,
            check=_check,
        ),
        namespace="throughput",
    ),
)
