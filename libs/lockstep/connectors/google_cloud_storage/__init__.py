"""@sink(type='google-cloud-storage'): an object a message, in a bucket of Google's store."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.connectors.google import OPTIONS, check_credential
from lockstep.connectors.objects import AT_THE_BUCKET, BY_TIME, INTERVAL, check_options
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
)
from lockstep.siddhiql.catalogue.connectors import (
    INT,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
    without_meaning,
)


def _stored(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_credential(given)
    check_options(given)


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "google-cloud-storage",
        (
            Overload(
                (
                    option("bucket.name", needed=True),
                    dynamic("object.name", needed=True),
                    *OPTIONS,
                    dynamic("content.type"),
                    option("flush.size", INT),
                    option(INTERVAL, INT),
                    option(
                        "storage.class", choices=("standard", "nearline", "coldline", "archive")
                    ),
                    *without_meaning("node.id"),
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
            "enable.acl": AT_THE_BUCKET,
            "versioning.enabled": AT_THE_BUCKET,
            "enable.versioning": AT_THE_BUCKET,
            "rotate.scheduled.interval.ms": BY_TIME,
        },
        carrier=f"{__name__}.sink:sink_of",
    ),
)
