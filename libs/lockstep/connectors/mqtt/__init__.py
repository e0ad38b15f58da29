"""@source(type='mqtt'), @sink(type='mqtt'): MQTT 3.1.1."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

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
    options_given,
)

_QUALITIES = ("0", "1", "2")


def _url(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    parts = urlsplit(given["url"])
    if parts.scheme not in ("tcp", "ssl", "mqtt", "mqtts") or not parts.hostname:
        raise SignatureError(f"'url' is {given['url']!r}", "url='tcp://host:1883'")
    if given.get("clean.session", "").lower() == "false" and "client.id" not in given:
        raise SignatureError("a kept session needs a 'client.id'", "client.id='lockstep-1'")


_COMMON = (
    option("url", needed=True),
    option("client.id"),
    option("username"),
    option("password"),
    option("clean.session", BOOL),
    option("keep.alive", INT),
    option("connection.timeout", INT),
    *OPTIONS,
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "mqtt",
        (
            Overload(
                (
                    *_COMMON,
                    option("topic", needed=True),
                    option("quality.of.service", choices=_QUALITIES),
                ),
                check=_url,
            ),
        ),
        doc="Messages of topics, acknowledged when they are in the log.",
        promise=Promise(
            Delivery.AT_LEAST_ONCE,
            reconnect="the broker keeps the session",
            poison="dead letter",
            pressure="not acknowledged",
            repeat="not known",
            where="with quality 1 or 2 and a kept session",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        carrier=f"{__name__}.source:MqttSource",
        extra="mqtt",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "mqtt",
        (
            Overload(
                (
                    *_COMMON,
                    dynamic("topic", needed=True),
                    dynamic("quality.of.service"),
                    dynamic("message.retain"),
                ),
                check=_url,
            ),
        ),
        doc="A message to a topic, acknowledged by the broker.",
        promise=Promise(
            Delivery.AT_LEAST_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the broker",
            repeat="not known",
            where="with quality 1 or 2",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        carrier=f"{__name__}.sink:MqttSink",
        extra="mqtt",
    ),
)
