"""@source(type='sqs'), @sink(type='sqs'): queues of Amazon, and of those who speak as it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.aws import check_keys
from lockstep.connectors.endpoints import check_address, is_known
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
    without_meaning,
)

PORTS: Final = {"https": 443, "http": 80}
IDENTITY: Final = "lockstep-id"
"""The attribute of a message with the output's identity."""
FIFO: Final = ".fifo"
"""How the name of a queue ends that keeps the order and drops what it knows."""
LONGEST_DELAY_S: Final = 900
LONGEST_HIDING_S: Final = 43_200
VISIBILITY_S: Final = 30
_ROLE: Final = "the machine's role or profile counts where no keys are given: it may name a role"


def _queue(arguments: Sequence[Argument]) -> dict[str, str]:
    given = options_given(arguments)
    check_keys(given, "access.key", "secret.key")
    queue = given["queue"].strip()
    example = "queue='https://sqs.us-east-1.amazonaws.com/123456789012/orders'"
    check_address("queue", queue, PORTS, example)
    if is_known(queue) and len(urlsplit(queue).path) < 2:
        raise SignatureError(f"'queue' is {queue[:200]!r}, not the address of a queue", example)
    return given


def _seconds(name: str, text: str, low: int, high: int) -> None:
    if not low <= int(text) <= high:
        raise SignatureError(f"{name!r} is {text}", f"{low} to {high} seconds")


def _source(arguments: Sequence[Argument]) -> None:
    given = _queue(arguments)
    _seconds(
        "visibility.timeout", given.get("visibility.timeout", str(VISIBILITY_S)),
        3, LONGEST_HIDING_S,
    )  # fmt: skip


def _sink(arguments: Sequence[Argument]) -> None:
    given = _queue(arguments)
    is_fifo = given["queue"].strip().endswith(FIFO)
    _seconds("delay.interval", given.get("delay.interval", "0"), 0, LONGEST_DELAY_S)
    if is_fifo and "delay.interval" in given:
        raise SignatureError("a FIFO queue has one delay for all its messages", "leave it out")
    if not is_fifo and "deduplication.id" in given:
        raise SignatureError(
            "only a queue whose name ends in '.fifo' knows messages by their 'deduplication.id'",
            "leave it out, or name a FIFO queue",
        )


_QUEUE: Final = (
    option("queue", needed=True),
    option("access.key"),
    option("secret.key"),
    option("region"),
    option("tls.ca.file"),
)
_ROLES: Final = dict.fromkeys(("use.delegation", "role.arn", "role.session.name"), _ROLE)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "sqs",
        (
            Overload(
                (
                    *_QUEUE,
                    option("visibility.timeout", INT),
                    option("delete.messages", choices=("true",)),
                    *without_meaning(
                        "polling.interval wait.time waiting.time max.number.of.messages"
                        " purge.messages delete.retry.interval"
                        " max.number.of.delete.retry.attempts number.of.parallel.consumers"
                    ),
                ),
                check=_source,
            ),
        ),
        doc="Messages of a queue, deleted when they are in the log; receivers share them.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the queue gives it again",
            poison="dead letter",
            pressure="stays in the queue",
            repeat="known by its lockstep-id, or its message id",
        ),
        retired=_ROLES,
        carrier=f"{__name__}.source:SqsSource",
        extra="aws",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "sqs",
        (
            Overload(
                (
                    *_QUEUE,
                    dynamic("message.group.id"),
                    dynamic("deduplication.id"),
                    option("delay.interval", INT),
                ),
                check=_sink,
            ),
        ),
        doc="A message to a queue, with the output's identity; FIFO queues take it once.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the queue",
            repeat="same lockstep-id; a FIFO queue drops it for 5 minutes",
        ),
        retired=_ROLES,
        carrier=f"{__name__}.sink:sink_of",
        extra="aws",
    ),
)
