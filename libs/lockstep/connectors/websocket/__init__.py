"""@source(type='websocket'), @sink(type='websocket'): a client of somebody's WebSocket server."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.connectors.endpoints import check_address
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
    ConnectorExtension,
    dynamic,
    option,
    without_meaning,
)

PORTS = {"ws": 80, "wss": 443, "http": 80, "https": 443}
EXAMPLE = "url='ws://host:8025/path'"


def _url(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name != "url":
            continue
        if not text.startswith((*(f"{scheme}://" for scheme in PORTS), "{{", "${")):
            raise SignatureError(f"'url' is {text!r}", EXAMPLE)
        if "{{" not in text:
            check_address("url", text, PORTS, EXAMPLE)


_TRUST = dict.fromkeys(
    ("truststore.path", "truststore.password", "tls.truststore.path", "tls.truststore.password"),
    INSTEAD,
)
_COMMON = (option("sub.protocol"), option("headers"), *OPTIONS, *without_meaning("idle.timeout"))

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "websocket",
        (Overload((option("url", needed=True), *_COMMON), check=_url),),
        doc="Messages of a WebSocket server; one receiver listens.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="connects again",
            poison="dead letter",
            pressure="the server waits",
            repeat="never",
        ),
        retired=_TRUST,
        carrier=f"{__name__}.client:WebSocketSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "websocket",
        (Overload((dynamic("url", needed=True), *_COMMON), check=_url),),
        doc="A message to a WebSocket server.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the socket",
            repeat="possible, without identity",
        ),
        retired=_TRUST,
        carrier=f"{__name__}.client:WebSocketSink",
    ),
)
