"""@source(type='s3'), @sink(type='s3'): objects in a bucket of a store that speaks S3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lockstep.connectors.aws import check_keys
from lockstep.connectors.endpoints import check_endpoint
from lockstep.connectors.objects import AT_THE_BUCKET, BY_TIME, INTERVAL, check_options
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

MODES: Final = ("line", "text.full", "binary.full")
ACTIONS: Final = ("delete", "move")
MOVED: Final = "move.after.process"
POLL_MS: Final = 10_000


def _stored(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_keys(given, "aws.access.key", "aws.secret.key")
    check_options(given)


def _read(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_keys(given, "aws.access.key", "aws.secret.key")
    check_endpoint(given)
    moves = given.get("action.after.process", "delete").strip().lower() == "move"
    if moves != (MOVED in given):
        raise SignatureError(
            f"{MOVED!r} goes with action.after.process='move'",
            "give both, or none: then an object is removed when it is in the log",
        )
    folder = given.get(MOVED, "").strip("/") + "/"
    if moves and (folder == "/" or folder.startswith(given.get("prefix", "").lstrip("/"))):
        raise SignatureError(
            f"{MOVED!r} is {given[MOVED]!r}, where the source would find them again",
            "choose a folder beside 'prefix'",
        )
    try:
        re.compile(given.get("object.name.pattern", ""))
    except re.error as error:
        raise SignatureError(
            f"'object.name.pattern' is no regular expression: {error}", r".*\.json"
        ) from error


_STORE: Final = (
    option("bucket.name", needed=True),
    option("aws.access.key"),
    option("aws.secret.key"),
    option("aws.region"),
    option("endpoint"),
    option("tls.ca.file"),
)


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "s3",
        (
            Overload(
                (
                    *_STORE,
                    option("prefix"),
                    option("object.name.pattern"),
                    option("mode", choices=MODES),
                    option("action.after.process", choices=ACTIONS),
                    option(MOVED),
                    option("polling.interval", INT),
                ),
                check=_read,
            ),
        ),
        doc="Lines of objects, or objects as a whole, removed or moved when they are in the log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on at its note",
            poison="dead letter",
            pressure="stays in the bucket",
            repeat="known by object and place",
        ),
        carrier=f"{__name__}.source:S3Source",
        extra="aws",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "s3",
        (
            Overload(
                (
                    *_STORE,
                    dynamic("object.path", needed=True),
                    dynamic("content.type"),
                    option("flush.size", INT),
                    option(INTERVAL, INT),
                    option("storage.class", choices=("standard",)),
                    *without_meaning("node.id credential.provider credential.provider.class"),
                ),
                check=_stored,
            ),
        ),
        doc="Objects of one or several messages, named by the first one's identity: exactly once.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the store",
            repeat="the same object, there once",
        ),
        retired={
            "bucket.acl": AT_THE_BUCKET,
            "versioning.enabled": AT_THE_BUCKET,
            "rotate.scheduled.interval.ms": BY_TIME,
        },
        carrier=f"{__name__}.sink:sink_of",
    ),
)
