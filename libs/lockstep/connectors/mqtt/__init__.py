"""@source(type='mqtt'), @sink(type='mqtt'): MQTT 3.1.1 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_address
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
from lockstep.siddhiql.parts import parts

PORTS: Final = {"tcp": 1883, "mqtt": 1883, "ssl": 8883, "mqtts": 8883}
_QUALITIES = ("0", "1", "2")


_VERSIONS = ("3.1.1", "5")
_OF_FIVE = (
    "session.expiry.interval",
    "identity.property",
    "user.properties",
    "content.type",
    "message.expiry.interval",
)


def _connection(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_address("url", given["url"], PORTS, "url='tcp://host:1883'")
    keeps = given.get("clean.session", "").lower() == "false"
    if keeps and "client.id" not in given:
        raise SignatureError("a kept session needs a 'client.id'", "client.id='lockstep-1'")
    is_five = given.get("protocol.version", "").strip() == "5"
    newer = next((name for name in _OF_FIVE if name in given), None)
    if newer is not None and not is_five:
        raise SignatureError(f"{newer!r} is an option of MQTT 5", "protocol.version='5'")
    if "session.expiry.interval" in given and not keeps:
        raise SignatureError(
            "'session.expiry.interval' is of a session that is kept", "clean.session='false'"
        )


def _subscription(arguments: Sequence[Argument]) -> None:
    _connection(arguments)
    for topic in parts(options_given(arguments)["topic"]):
        if not topic.startswith("$share/"):
            continue
        _, group, filter_ = [*topic.split("/", 2), ""][:3]
        if not group or not filter_ or {"+", "#"} & set(group):
            raise SignatureError(
                f"{topic!r} is no shared subscription", "topic='$share/group/readings/#'"
            )


_COMMON = (
    option("url", needed=True),
    option("client.id"),
    option("username"),
    option("password"),
    option("clean.session", BOOL),
    option("keep.alive", INT),
    option("connection.timeout", INT),
    option("protocol.version", choices=_VERSIONS),
    option("session.expiry.interval", INT),
    option("identity.property"),
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
                check=_subscription,
            ),
        ),
        doc="Messages of topics, acknowledged when they are in the log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the broker keeps the session",
            poison="dead letter",
            pressure="not acknowledged",
            repeat="known by its lockstep-id, in MQTT 5",
            where="with MQTT 5, a lockstep-id, quality 1 or 2 and a kept session",
            between=((Delivery.AT_LEAST_ONCE, "with quality 1 or 2 and a kept session"),),
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
                    dynamic("user.properties"),
                    dynamic("content.type"),
                    dynamic("message.expiry.interval"),
                ),
                check=_connection,
            ),
        ),
        doc="A message to a topic, acknowledged by the broker.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the broker",
            repeat="same lockstep-id, in MQTT 5",
            where="with MQTT 5 and quality 1 or 2",
            between=((Delivery.AT_LEAST_ONCE, "with quality 1 or 2"),),
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        carrier=f"{__name__}.sink:MqttSink",
        extra="mqtt",
    ),
)
