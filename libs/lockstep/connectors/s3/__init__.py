"""@sink(type='s3'): an object a message, in a bucket of a store that speaks S3."""

from __future__ import annotations

from collections.abc import Sequence

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
    without_meaning,
)

_AT_THE_BUCKET = "the bucket is there already, and says so itself: leave it out"
_BY_TIME = "#window.timeBatch(…) in front, and event.grouping.enabled='true' in the @map"


def _stored(arguments: Sequence[Argument]) -> None:
    given = {one.attribute_name: str(one.value) for one in arguments}
    if ("aws.access.key" in given) != ("aws.secret.key" in given):
        raise SignatureError(
            "one of 'aws.access.key' and 'aws.secret.key' is missing",
            "both, or none where the machine has a role or a profile",
        )
    if int(given.get("flush.size", "1")) != 1:
        raise SignatureError(
            "how many rows an object has is the app's affair: a count of the publisher's would"
            " make other objects after a failover",
            "#window.lengthBatch(n) in front, and event.grouping.enabled='true' in the @map",
        )
    endpoint = given.get("endpoint", "https://")
    if not endpoint.startswith(("http://", "https://")):
        raise SignatureError(f"'endpoint' is {endpoint!r}", "endpoint='https://host:9000'")


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
                    option("storage.class", choices=("standard",)),
                    *without_meaning("node.id credential.provider credential.provider.class"),
                ),
                check=_stored,
            ),
        ),
        doc="An object a message, named by the output's identity: exactly once.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the store",
            repeat="overwrites the same object",
        ),
        retired={
            "bucket.acl": _AT_THE_BUCKET,
            "versioning.enabled": _AT_THE_BUCKET,
            "rotate.interval.ms": _BY_TIME,
            "rotate.scheduled.interval.ms": _BY_TIME,
        },
        carrier=f"{__name__}.sink:S3Sink",
    ),
)
