"""@source(type='jms'), @sink(type='jms'): brokers with JMS, spoken to in STOMP 1.2.

JMS is an interface of Java, not a protocol. ActiveMQ, Artemis and RabbitMQ speak STOMP; the address
of `provider.url` must be that of their STOMP door.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_address
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
    options_given,
    without_meaning,
)

PORTS: Final = {"tcp": 61613, "stomp": 61613}


def _url(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_address("provider.url", given["provider.url"], PORTS, "provider.url='tcp://host:61613'")
    is_durable = given.get("transport.jms.SubscriptionDurable", "").lower() == "true"
    if is_durable and "transport.jms.DurableSubscriberClientID" not in given:
        raise SignatureError(
            "a durable subscription needs a name", "transport.jms.DurableSubscriberClientID='a'"
        )


_COMMON = (
    option("provider.url", needed=True),
    option("connection.factory.type", choices=("queue", "topic")),
    option("connection.username"),
    option("connection.password"),
    *without_meaning("factory.initial connection.factory.jndi.name connection.factory.nature"),
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "jms",
        (
            Overload(
                (
                    *_COMMON,
                    option("destination", needed=True),
                    option("transport.jms.SubscriptionDurable"),
                    option("transport.jms.DurableSubscriberClientID"),
                    *without_meaning("worker.count retry.interval retry.count use.receiver"),
                ),
                check=_url,
            ),
        ),
        doc="Messages of a queue or topic, acknowledged when they are in the log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the broker gives it again",
            poison="dead letter",
            pressure="stays in the queue",
            repeat="known by its lockstep-id",
            where="with a lockstep-id",
            otherwise=Delivery.AT_LEAST_ONCE,
        ),
        carrier=f"{__name__}.stomp:JmsSource",
        extra="jms",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "jms",
        (Overload((*_COMMON, dynamic("destination", needed=True)), check=_url),),
        doc="A message to a queue or topic, with the broker's receipt.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the receipt",
            repeat="same lockstep-id",
        ),
        carrier=f"{__name__}.stomp:JmsSink",
        extra="jms",
    ),
)
