"""@source(type='tcp'), @sink(type='tcp'): frames as in the older products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.endpoints import check_address, is_known
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
    dynamic,
    option,
    without_meaning,
)

PORT: Final = 9892
PORTS: Final = {"tcp": PORT, "tls": PORT}


def _url(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name == "url" and "{{" not in text:
            example = "url='tcp://host:9892/context'"
            check_address("url", text, PORTS, example)
            if is_known(text) and not urlsplit(text).path.strip("/"):
                raise SignatureError(f"'url' is {text!r}", example)


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "tcp",
        (
            Overload(
                (
                    option("context"),
                    option("port", INT),
                    *without_meaning("host"),
                    *without_meaning("receiver.threads worker.threads", INT),
                    *without_meaning("tcp.no.delay keep.alive", BOOL),
                )
            ),
        ),
        doc="Messages of TCP clients, told apart by context.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="the sender connects again",
            poison="dead letter",
            pressure="the sender waits",
            repeat="never",
        ),
        carrier=f"{__name__}.source:TcpSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "tcp",
        (
            Overload(
                (
                    dynamic("url", needed=True),
                    dynamic("sync"),
                    *OPTIONS,
                    *without_meaning("worker.threads", INT),
                    *without_meaning("tcp.no.delay keep.alive", BOOL),
                ),
                check=_url,
            ),
        ),
        doc="A frame per message to a TCP server.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the socket",
            repeat="possible, without identity",
        ),
        carrier=f"{__name__}.sink:TcpSink",
    ),
)
