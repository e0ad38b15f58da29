"""@sink(type='s3'): an object a message, in a bucket of a store that speaks S3."""

from __future__ import annotations

from collections.abc import Sequence

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


def _stored(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    if ("aws.access.key" in given) != ("aws.secret.key" in given):
        raise SignatureError(
            "one of 'aws.access.key' and 'aws.secret.key' is missing",
            "both, or none where the machine has a role or a profile",
        )
    check_options(given)


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "s3",
        (
            Overload(
                (
                    option("bucket.name", needed=True),
                    dynamic("object.path", needed=True),
                    option("aws.access.key"),
                    option("aws.secret.key"),
                    option("aws.region"),
                    option("endpoint"),
                    option("tls.ca.file"),
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
