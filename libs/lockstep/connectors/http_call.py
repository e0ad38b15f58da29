"""Calls: @sink(type='http-call') and @source(type='http-call-response') (extensions 12.2).

The older names of the two, `http-request` and `http-response`, mean the same. What the publisher
has to know of the sources of an app is read here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.connectors.http import NO_REQUEST_OPTIONS, REQUEST_OPTIONS, sent
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    ConnectorExtension,
    Partner,
    option,
    without_meaning,
)

CALLS: Final = ("http-call", "http-request")
CALL_ANSWERS: Final = ("http-call-response", "http-response")
STATUS: Final = "http.status.code"
GOOD: Final = "200"
_NO_FILES: Final = "leave it out: an answer comes as events, and no file is written"


def status_pattern(text: str | None) -> re.Pattern[str]:
    """What `http.status.code` means; re.error for what is no expression. A backslash that is
    doubled, as in texts of Java, is one: no status has any."""
    return re.compile((text or GOOD).replace("\\\\", "\\"), re.ASCII)


def _call(arguments: Sequence[Argument]) -> None:
    sent(arguments)
    for argument in arguments:
        wanted = str(argument.value).strip().lower()
        if argument.attribute_name == "downloading.enabled" and wanted == "true":
            raise SignatureError("'downloading.enabled' is 'true'", _NO_FILES)


def _answer(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        if argument.attribute_name == STATUS:
            try:
                status_pattern(str(argument.value))
            except re.error as error:
                raise SignatureError(
                    f"{STATUS!r} is {argument.value!r}: {error}", f"{STATUS}='2\\d+'"
                ) from error


_CALL_OPTIONS: Final = (
    option("sink.id", needed=True),
    option("blocking.io", BOOL),
    option("downloading.enabled", BOOL),
    *REQUEST_OPTIONS,
)
_ANSWER_OPTIONS: Final = (
    option("sink.id", needed=True),
    option(STATUS),
    *without_meaning("allow.streaming.responses", BOOL),
)
_RETIRED: Final[Mapping[str, str]] = {**NO_REQUEST_OPTIONS, "download.path": _NO_FILES}

_ASKED: Final = Promise(
    Delivery.IDENTIFIED,
    reconnect="asked again",
    poison="on.error",
    pressure="16 calls at once",
    repeat="same Idempotency-Key; first answer counts",
)
ANSWERED: Final = Promise(
    Delivery.EXACTLY_ONCE,
    reconnect="the call is made again",
    poison="dead letter",
    pressure="calls wait",
    repeat="the first answer of a call counts",
)
"""Of answers to calls, whatever carries them."""

EXTENSIONS = (
    *(
        ConnectorExtension(
            ExtensionKind.SINK,
            name,
            (Overload(_CALL_OPTIONS, check=_call),),
            doc="A request per message, whose answer comes in by the source of the same sink.id.",
            promise=_ASKED,
            retired=_RETIRED,
            partner=Partner(
                ExtensionKind.SOURCE, CALL_ANSWERS, "sink.id", "no source takes its answers",
                "type='http', which wants no answers",
            ),
            older_name_of="" if name == CALLS[0] else CALLS[0],
        )
        for name in CALLS
    ),
    *(
        ConnectorExtension(
            ExtensionKind.SOURCE,
            name,
            (Overload(_ANSWER_OPTIONS, check=_answer),),
            doc="Answers to the calls of the sink of the same sink.id.",
            promise=ANSWERED,
            partner=Partner(
                ExtensionKind.SINK, CALLS, "sink.id", "no sink calls for its answers",
                "type='http'",
            ),
            older_name_of="" if name == CALL_ANSWERS[0] else CALL_ANSWERS[0],
        )
        for name in CALL_ANSWERS
    ),
)  # fmt: skip
