"""@source(type='rabbitmq'), @sink(type='rabbitmq'): AMQP 0.9.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_address, check_headers
from lockstep.connectors.tls import INSTEAD, OPTIONS
from lockstep.siddhiql.catalogue import Argument, Delivery, ExtensionKind, Overload, Promise
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
    without_meaning,
)

PORTS: Final = {"amqp": 5672, "amqps": 5671}
EXCHANGES = ("direct", "fanout", "topic", "headers")


def _check(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_address("uri", given["uri"], PORTS, "uri='amqp://host:5672'")
    check_headers(given, "headers")


_EXCHANGE = (
    option("uri", needed=True),
    option("exchange.type", choices=EXCHANGES),
    option("exchange.durable.enabled", BOOL),
    option("exchange.autodelete.enabled", BOOL),
    *OPTIONS,
    *without_meaning("heartbeat consumer.threadpool.size"),
)
_TLS = dict.fromkeys(
    ("tls.enabled", "tls.truststore.path", "tls.truststore.password", "tls.version"),
    f"write the scheme amqps:// into 'uri'; {INSTEAD}",
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "rabbitmq",
        (
            Overload(
                (
                    *_EXCHANGE,
                    option("exchange.name", needed=True),
                    option("routing.key"),
                    option("queue.name"),
                    option("queue.durable.enabled", BOOL),
                    option("queue.exclusive.enabled", BOOL),
                    option("queue.autodelete.enabled", BOOL),
                    *without_meaning("headers auto.ack"),
                ),
                check=_check,
            ),
        ),
        doc="Messages of a queue, acknowledged when they are in the log; receivers share them.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the broker gives it again",
            poison="dead letter",
            pressure="stays in the queue",
            repeat="known by its message_id",
            where="with a message_id",
            otherwise=Delivery.AT_LEAST_ONCE,
        ),
        retired=_TLS,
        carrier=f"{__name__}.source:RabbitSource",
        extra="rabbitmq",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "rabbitmq",
        (
            Overload(
                (
                    *_EXCHANGE,
                    dynamic("exchange.name", needed=True),
                    dynamic("routing.key"),
                    dynamic("headers"),
                    option("delivery.mode", choices=("1", "2")),
                    dynamic("content.type"),
                    dynamic("content.encoding"),
                    dynamic("correlation.id"),
                    dynamic("reply.to"),
                    dynamic("message.id"),
                    *without_meaning("priority expiration timestamp type user.id app.id"),
                ),
                check=_check,
            ),
        ),
        doc="A message to an exchange, confirmed by the broker.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the confirm",
            repeat="same message_id",
        ),
        retired=_TLS,
        carrier=f"{__name__}.sink:RabbitSink",
        extra="rabbitmq",
    ),
)
