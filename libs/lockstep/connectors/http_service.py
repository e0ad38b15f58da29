"""Requests that an app answers: sources `http-service` and sinks `http-service-response`
(extensions 12.2). The older names, `http-request` and `http-response`, mean the same."""

from __future__ import annotations

from typing import Final

from lockstep.connectors.http import ASKED, DOOR_OPTIONS, NO_DOOR_OPTIONS, web_address
from lockstep.siddhiql.catalogue import Delivery, ExtensionKind, Overload, Promise
from lockstep.siddhiql.catalogue.connectors import (
    INT,
    ConnectorExtension,
    Partner,
    dynamic,
    option,
)

SERVICES: Final = ("http-service", "http-request")
SERVICE_ANSWERS: Final = ("http-service-response", "http-response")
MESSAGE_ID: Final = "messageId"
"""The property (`trp:messageId`) that says which request an answer is for."""

_SOURCE_OPTIONS: Final = (
    option("source.id", needed=True),
    option("connection.timeout", INT),
    *DOOR_OPTIONS,
)
_SINK_OPTIONS: Final = (
    option("source.id", needed=True),
    dynamic("message.id", needed=True),
    dynamic("headers"),
)

_ANSWERED: Final = Promise(
    Delivery.IDENTIFIED,
    reconnect="told again to whoever waits",
    poison="on.error",
    pressure="waits for a receiver",
    repeat="the first answer of a request counts",
)

EXTENSIONS = (
    *(
        ConnectorExtension(
            ExtensionKind.SOURCE,
            name,
            (Overload(_SOURCE_OPTIONS, check=web_address),),
            doc="Requests at the receiver's door that wait for the app's answer.",
            promise=ASKED,
            retired=NO_DOOR_OPTIONS,
            partner=Partner(
                ExtensionKind.SINK, SERVICE_ANSWERS, "source.id", "no sink answers its requests",
                "type='http', which answers when the events are durable",
            ),
            older_name_of="" if name == SERVICES[0] else SERVICES[0],
        )
        for name in SERVICES
    ),
    *(
        ConnectorExtension(
            ExtensionKind.SINK,
            name,
            (Overload(_SINK_OPTIONS),),
            doc="The answer to the request that message.id names.",
            promise=_ANSWERED,
            one_destination="leave @distribution out: an answer goes to whoever asked",
            partner=Partner(
                ExtensionKind.SOURCE, SERVICES, "source.id", "no source takes requests for it",
                "type='http'",
            ),
            older_name_of="" if name == SERVICE_ANSWERS[0] else SERVICE_ANSWERS[0],
        )
        for name in SERVICE_ANSWERS
    ),
)  # fmt: skip
