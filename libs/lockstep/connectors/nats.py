"""@source(type='nats'), @sink(type='nats'): subjects of the suite's own bus (extensions 12.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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

RESERVED_SUBJECTS = ("control.", "in.", "out.", "dead.", "presenter.", "$")
"""What subjects of the suite's own begin with: nobody else may write or take there."""


def _subject(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name != "destination":
            continue
        if text.startswith(RESERVED_SUBJECTS):
            raise SignatureError(
                f"the subject {text!r} belongs to the suite",
                f"choose one that does not begin with {', '.join(RESERVED_SUBJECTS)}",
            )
        if not text or any(not part for part in text.split(".")) or " " in text:
            raise SignatureError(f"{text!r} is no subject", "destination='alerts.fire'")


def _taken_subject(arguments: Sequence[Argument]) -> None:
    _subject(arguments)
    for argument in arguments:
        if argument.attribute_name == "destination" and str(argument.value).startswith("ingress."):
            raise SignatureError(
                "what is published to ingress.<app>.<stream> comes in without a source",
                "leave the source out, or choose another subject",
            )


def _sent_subject(arguments: Sequence[Argument]) -> None:
    _subject(arguments)
    for argument in arguments:
        if argument.attribute_name == "destination" and {"*", ">"} & set(str(argument.value)):
            raise SignatureError("a sink sends to one subject, without * and >", "alerts.fire")


_OWN_BUS: Final = (
    "messages travel over the suite's own bus (setting bus.url): leave it out, or let the two"
    " servers share subjects, for instance as leaf nodes"
)
_SERVER: Final = dict.fromkeys(
    (
        "server.urls",
        "bootstrap.servers",
        "cluster.id",
        "streaming.cluster.id",
        "auth.type",
        "username",
        "password",
        "token",
        "truststore.file",
        "truststore.password",
        "keystore.file",
        "optional.configuration",
    ),
    _OWN_BUS,
)


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "nats",
        (
            Overload(
                (
                    option("destination", needed=True),
                    option("durable.name"),
                    *without_meaning("queue.group.name client.id ack.wait"),
                ),
                check=_taken_subject,
            ),
        ),
        doc="Messages of a subject of the suite's own bus, shared by all receivers.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on behind what it took",
            poison="dead letter",
            pressure="stays in the stream",
            repeat="known by stream and sequence",
            where="where a stream keeps the subject",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        retired={
            **_SERVER,
            "subscription.sequence": "a durable source goes on where it stopped: leave it out",
        },
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "nats",
        (
            Overload(
                (
                    dynamic("destination", needed=True),
                    *without_meaning("client.id ack.wait"),
                ),
                check=_sent_subject,
            ),
        ),
        doc="Messages to a subject of the suite's own bus.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the stream",
            repeat="same Nats-Msg-Id: once in its window",
            where="where a stream keeps the subject",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        retired=_SERVER,
    ),
)
