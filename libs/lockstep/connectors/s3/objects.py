"""@sink(type='s3') with several rows in an object, which is made once.

The store refuses a second object of a name (`If-None-Match: *`). One that does not know that
condition overwrites it: then publishers that overlap may cut the rows of an object off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from lockstep.connectors.aws.client import RefusedError
from lockstep.connectors.objects import gathering_of, parts_of
from lockstep.connectors.s3.place import client_of
from lockstep.sinks.objects import MadeObject, ObjectSink

LAST: Final = "lockstep-last"
"""What is kept beside an object: the identity of its last row."""
IS_THERE: Final = frozenset(("PreconditionFailed", "412"))


class S3Objects(ObjectSink):
    """Options: `bucket.name`, `object.path`, `flush.size`, `rotate.interval.ms` …"""

    takes_again: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, str]) -> None:
        self.gathering = gathering_of(options)
        self.path = parts_of(options["object.path"])
        self.content_type = options.get("content.type")
        self._bucket = options["bucket.name"].strip()
        self._client = client_of(options)

    async def create(self, made: MadeObject, *, anew: bool) -> str | None:
        return await asyncio.to_thread(self._create, made, anew)

    def _create(self, made: MadeObject, anew: bool) -> str | None:
        place: dict[str, Any] = {"Bucket": self._bucket, "Key": made.name}
        condition = {} if anew else {"IfNoneMatch": "*"}
        try:
            self._client.ask(
                "put_object", **place, **condition, Body=made.payload,
                ContentType=made.content_type, Metadata={LAST: made.last},
            )  # fmt: skip
        except RefusedError as error:
            if error.code not in IS_THERE:
                raise
            found = self._client.ask("head_object", **place)
            return str(found.get("Metadata", {}).get(LAST, ""))
        return None

    async def close(self) -> None:
        self._client.close()
