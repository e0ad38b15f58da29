"""@source(type='googlepubsub'), @sink(type='googlepubsub'): topics of Google Cloud Pub/Sub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_endpoint, check_headers
from lockstep.connectors.google import OPTIONS, check_credential
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import (
    INT,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
)

ENDPOINT: Final = "https://pubsub.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/pubsub"
IDENTITY: Final = "lockstep-id"
"""The attribute of a message with the output's identity."""
DEADLINE_S: Final = 30
SHORTEST_S: Final = 10
LONGEST_S: Final = 600
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._~+%-]{2,254}")


def _place(arguments: Sequence[Argument]) -> dict[str, str]:
    given = options_given(arguments)
    check_credential(given)
    check_endpoint(given)
    for name in ("topic.id", "subscription.id"):
        if name in given and _NAME.fullmatch(given[name].strip()) is None:
            raise SignatureError(
                f"{name!r} is {given[name][:200]!r}",
                "3 to 255 letters, digits and - . _ ~ + %, a letter first",
            )
    return given


def _source(arguments: Sequence[Argument]) -> None:
    given = _place(arguments)
    deadline_s = int(given.get("ack.deadline", DEADLINE_S))
    if not SHORTEST_S <= deadline_s <= LONGEST_S:
        raise SignatureError(
            f"'ack.deadline' is {deadline_s}", f"{SHORTEST_S} to {LONGEST_S} seconds"
        )


def _sink(arguments: Sequence[Argument]) -> None:
    check_headers(_place(arguments), "attributes")


_PROJECT: Final = (option("project.id", needed=True), *OPTIONS)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "googlepubsub",
        (
            Overload(
                (
                    *_PROJECT,
                    option("subscription.id", needed=True),
                    option("topic.id"),
                    option("ack.deadline", INT),
                ),
                check=_source,
            ),
        ),
        doc="Messages of a subscription, acknowledged when they are in the log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the subscription gives it again",
            poison="dead letter",
            pressure="stays in the subscription",
            repeat="known by its lockstep-id, or its message id",
        ),
        carrier=f"{__name__}.source:PubSubSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "googlepubsub",
        (
            Overload(
                (
                    *_PROJECT,
                    option("topic.id", needed=True),
                    dynamic("attributes"),
                    dynamic("ordering.key"),
                ),
                check=_sink,
            ),
        ),
        doc="A message to a topic, with the output's identity.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the topic",
            repeat="same lockstep-id",
        ),
        carrier=f"{__name__}.sink:sink_of",
    ),
)
