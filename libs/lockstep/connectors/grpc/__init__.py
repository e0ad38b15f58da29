"""gRPC (extensions 12.22): sources `grpc`, `grpc-service` and `grpc-call-response`, sinks `grpc`,
`grpc-call` and `grpc-service-response`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lockstep.connectors.endpoints import check_headers
from lockstep.connectors.grpc.urls import CONSUME, PROCESS, method_url
from lockstep.connectors.http_call import ANSWERED
from lockstep.connectors.tls import INSTEAD, OPTIONS
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
    Partner,
    dynamic,
    option,
    options_given,
    without_meaning,
)

SOURCE: Final = "grpc"
SERVICE: Final = "grpc-service"
SERVICE_ANSWER: Final = "grpc-service-response"
CALL: Final = "grpc-call"
CALL_ANSWER: Final = "grpc-call-response"
DOORS: Final = frozenset({SOURCE, SERVICE})
"""Types whose messages come to a port of their own."""
MESSAGE_IDS: Final = ("message.id", "messageId")
"""Properties (`trp:`) that say which request an answer is for; the two mean the same."""

METHODS: Final = {SOURCE: CONSUME, SERVICE: PROCESS, CALL: PROCESS}
"""Of the default service, by type; the sink `grpc` is as the source."""


def url_check(url_name: str, wanted: str) -> Callable[[Sequence[Argument]], None]:
    """Refuses addresses that are none, another method of the default service than the type's, and
    what has a meaning for the default service alone."""

    def check(arguments: Sequence[Argument]) -> None:
        given = options_given(arguments)
        if url_name not in given:
            return
        url = method_url(given[url_name], wanted)
        if url.is_event_service and url.method != wanted:
            raise SignatureError(
                f"{url_name!r} names the method {url.method!r} of EventService",
                f"this type has to do with its method {wanted!r}",
            )
        if "headers" in given and not url.is_event_service:
            raise SignatureError(
                f"messages of {url.service} have no headers", "use 'metadata' instead"
            )
        check_headers(given, "headers", "metadata")

    return check


_STORES: Final = dict.fromkeys(
    (
        "truststore.file",
        "truststore.password",
        "truststore.algorithm",
        "keystore.file",
        "keystore.password",
        "keystore.algorithm",
        "tls.store.type",
        "mutual.auth.enabled",
    ),
    INSTEAD,
)
_DOOR_STORES: Final = dict.fromkeys(
    _STORES, "sources speak TLS with the receiver's own files: setting receiver.sources_tls"
)
_DOOR: Final = (
    option("receiver.url", needed=True),
    option("enable.ssl", BOOL),
    option("max.inbound.message.size", INT),
    *without_meaning(
        "max.inbound.metadata.size server.shutdown.waiting.time threadpool.size"
        " threadpool.buffer.size",
        INT,
    ),
)
_CALLED: Final = (
    option("publisher.url", needed=True),
    dynamic("headers"),
    dynamic("metadata"),
    option("enable.ssl", BOOL),
    option("call.timeout", INT),
    option("max.inbound.message.size", INT),
    option("keep.alive.time", INT),
    option("keep.alive.timeout", INT),
    option("keep.alive.without.calls", BOOL),
    *OPTIONS,
    *without_meaning(
        "idle.timeout max.retry.attempts retry.buffer.size"
        " per.rpc.buffer.size channel.termination.waiting.time max.inbound.metadata.size",
        INT,
    ),
    *without_meaning("enable.retry", BOOL),
)

_TAKEN: Final = Promise(
    Delivery.EXACTLY_ONCE,
    reconnect="the client calls again, anywhere",
    poison="INVALID_ARGUMENT with each bad field",
    pressure="RESOURCE_EXHAUSTED; a stream waits",
    repeat="known by its key",
    where="with an idempotency-key",
    otherwise=Delivery.AT_LEAST_ONCE,
)
_SENT: Final = Promise(
    Delivery.IDENTIFIED,
    reconnect="called again",
    poison="on.error",
    pressure="waits for the answer",
    repeat="same idempotency-key",
)
_ASKED: Final = Promise(
    Delivery.IDENTIFIED,
    reconnect="called again",
    poison="on.error",
    pressure="16 calls at once",
    repeat="same idempotency-key; first answer counts",
)
_TOLD: Final = Promise(
    Delivery.IDENTIFIED,
    reconnect="told again to whoever waits",
    poison="on.error",
    pressure="waits for a receiver",
    repeat="the first answer of a call counts",
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        SOURCE,
        (Overload(_DOOR, check=url_check("receiver.url", CONSUME)),),
        doc="Messages of gRPC clients, answered when the events are durable.",
        promise=_TAKEN,
        carrier=f"{__name__}.serving:GrpcPort",
        extra="grpc",
        retired=_DOOR_STORES,
    ),
    ConnectorExtension(
        ExtensionKind.SOURCE,
        SERVICE,
        (
            Overload(
                (option("source.id", needed=True), option("service.timeout", INT), *_DOOR),
                check=url_check("receiver.url", PROCESS),
            ),
        ),
        doc="Calls of gRPC clients that wait for the app's answer.",
        promise=_TAKEN,
        carrier=f"{__name__}.serving:GrpcPort",
        extra="grpc",
        retired=_DOOR_STORES,
        partner=Partner(
            ExtensionKind.SINK, (SERVICE_ANSWER,), "source.id", "no sink answers its calls",
            "type='grpc', which answers when the events are durable",
        ),
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        SERVICE_ANSWER,
        (
            Overload(
                (
                    option("source.id", needed=True),
                    dynamic("message.id", needed=True),
                    dynamic("headers"),
                    option("publisher.url"),
                ),
                check=url_check("publisher.url", PROCESS),
            ),
        ),
        doc="The answer to the call that message.id names.",
        promise=_TOLD,
        one_destination="leave @distribution out: an answer goes to whoever asked",
        partner=Partner(
            ExtensionKind.SOURCE, (SERVICE,), "source.id", "no source takes calls for it",
            "type='grpc'",
        ),
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "grpc",
        (Overload(_CALLED, check=url_check("publisher.url", CONSUME)),),
        doc="A call per message.",
        promise=_SENT,
        carrier=f"{__name__}.sink:GrpcSink",
        extra="grpc",
        retired=_STORES,
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        CALL,
        (
            Overload(
                (option("sink.id", needed=True), *_CALLED),
                check=url_check("publisher.url", PROCESS),
            ),
        ),
        doc="A call per message, whose answer comes in by the source of the same sink.id.",
        promise=_ASKED,
        carrier=f"{__name__}.calling:GrpcCalls",
        extra="grpc",
        retired=_STORES,
        partner=Partner(
            ExtensionKind.SOURCE, (CALL_ANSWER,), "sink.id", "no source takes its answers",
            "type='grpc', which wants no answers",
        ),
    ),
    ConnectorExtension(
        ExtensionKind.SOURCE,
        CALL_ANSWER,
        (
            Overload(
                (option("sink.id", needed=True), option("receiver.url")),
                check=url_check("receiver.url", PROCESS),
            ),
        ),
        doc="Answers to the calls of the sink of the same sink.id.",
        promise=ANSWERED,
        partner=Partner(
            ExtensionKind.SINK, (CALL,), "sink.id", "no sink calls for its answers", "type='grpc'",
        ),
    ),
)  # fmt: skip
