"""@sink(type='google-cloud-storage'): delivered when the store has the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from lockstep.clock import Clock
from lockstep.connectors.google_cloud_storage.bucket import Bucket
from lockstep.connectors.objects import content_type_of, gathering_of, name_of, parts_of
from lockstep.sinks import Message, Sink
from lockstep.sinks.objects import MadeObject, ObjectSink


class GoogleCloudStorageSink(Sink):
    """Options: `bucket.name`, `object.name`, `credential.path`, `credential.json`, `endpoint` …"""

    in_flight: ClassVar[int] = 8
    # A row of several in an object would overwrite the others.
    takes_again: ClassVar[bool] = False
    writes_files: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], clock: Clock | None = None) -> None:
        self._options = options
        self._bucket = Bucket(options, clock)
        self._path = parts_of(options["object.name"])

    async def send(self, message: Message) -> None:
        name = name_of(message, self._path, self._options["stream"])
        content_type = content_type_of(
            self._options.get("content.type", message.content_type), message.fill
        )
        await self._bucket.put(name, content_type, message.payload)

    async def close(self) -> None:
        """Connections go, and the token with them."""
        await self._bucket.close()


class GoogleCloudStorageObjects(ObjectSink):
    """Several rows in an object, which is made once; options also `flush.size` …"""

    takes_again: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, str]) -> None:
        self.gathering = gathering_of(options)
        self.path = parts_of(options["object.name"])
        self.content_type = options.get("content.type")
        self._bucket = Bucket(options)

    async def create(self, made: MadeObject, *, anew: bool) -> str | None:
        if not anew and (found := await self._bucket.last_of(made.name)) is not None:
            return found
        is_new = await self._bucket.put(
            made.name, made.content_type, made.payload, last=made.last, only_new=not anew
        )
        if is_new:
            return None
        found = await self._bucket.last_of(made.name)
        if found is None:
            raise OSError(f"{made.name} was there, and is not any more")
        return found

    async def close(self) -> None:
        """Connections go, and the token with them."""
        await self._bucket.close()


def sink_of(options: Mapping[str, str]) -> Sink:
    """By whether several rows stand in an object."""
    if gathering_of(options) is None:
        return GoogleCloudStorageSink(options)
    return GoogleCloudStorageObjects(options)
