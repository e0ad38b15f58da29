"""@source(type='sse'): a client of somebody's server of events (server-sent events)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.http import LOGIN_OPTIONS, NO_REQUEST_OPTIONS, sent
from lockstep.connectors.tls import OPTIONS
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
    INT,
    ConnectorExtension,
    option,
    options_given,
    without_meaning,
)

MAX_EVENT_BYTES: Final = 16_777_216
"""The most that `max.event.bytes` can be."""


def _stream(arguments: Sequence[Argument]) -> None:
    sent(arguments)
    given = options_given(arguments)
    if "last.event.id" in given and given.get("resume", "").strip().lower() == "false":
        raise SignatureError(
            "'last.event.id' says where to go on, and 'resume' says that nobody does",
            "leave one of them out",
        )
    if int(given.get("max.event.bytes", "1")) > MAX_EVENT_BYTES:
        raise SignatureError(
            f"'max.event.bytes' is {given['max.event.bytes']!r}", f"at most {MAX_EVENT_BYTES}"
        )


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "sse",
        (
            Overload(
                (
                    option("receiver.url", needed=True),
                    option("headers"),
                    *LOGIN_OPTIONS,
                    option("event.types"),
                    option("resume", BOOL),
                    option("last.event.id"),
                    option("retry.interval", INT),
                    option("idle.timeout", INT),
                    option("max.event.bytes", INT),
                    *OPTIONS,
                    *without_meaning("worker.count"),
                ),
                check=_stream,
            ),
        ),
        doc="Events of a server; one receiver listens.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on behind its last id",
            poison="dead letter",
            pressure="the server waits",
            repeat="known by its id",
            where="where the server gives ids and goes on behind them",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        retired=NO_REQUEST_OPTIONS,
        carrier=f"{__name__}.source:SseSource",
    ),
)
