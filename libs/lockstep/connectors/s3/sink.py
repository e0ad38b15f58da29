"""@sink(type='s3'): delivered when the store has the object.

An object's name is made of the identity of its first row. So a message that comes again overwrites
what it wrote before. A batch that is cut elsewhere the second time may make one object longer, or
shorter by the rows of the next one; no row is in two of them when the batch is through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pyarrow import fs

from lockstep.sinks import Message, MessageRefusedError, Sink

CONNECT_S: Final = 5.0
REQUEST_S: Final = 30.0
MAX_KEY_BYTES: Final = 1_024
"""Of an object's name, as S3 has it."""
_ENDINGS: Final = {
    "application/json": ".json", "application/xml": ".xml", "text/xml": ".xml", "text/csv": ".csv",
    "text/plain": ".txt",
}  # fmt: skip


class S3Sink(Sink):
    """Options: `bucket.name`, `object.path`, `aws.access.key`, `aws.secret.key`, `aws.region` …"""

    in_flight: ClassVar[int] = 8
    # A row of several in an object would overwrite the others.
    takes_again: ClassVar[bool] = False
    writes_files: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._bucket = options["bucket.name"].strip()
        self._path = [part for part in options["object.path"].strip().split("/") if part]
        self._store: Any = None

    async def send(self, message: Message) -> None:
        key = self._key(message)
        content_type = message.fill(self._options.get("content.type", message.content_type))
        if not (content_type.isascii() and content_type.isprintable()):
            raise MessageRefusedError(f"{content_type!r} is no content type")
        await asyncio.to_thread(self._write, key, message.payload, content_type)

    def _key(self, message: Message) -> str:
        """The path that the event fills, and a name: app, stream, and the first row's identity."""
        app, *_, rows = message.id.split("/")
        position, _, ordinal = rows.partition("-")[0].partition(".")
        ending = _ENDINGS.get(message.content_type.partition(";")[0], "")
        name = f"{app}.{self._options['stream']}.{int(position):020}.{int(ordinal):06}{ending}"
        key = "/".join([*(_checked(message.fill(part)) for part in self._path), name])
        if len(key.encode()) > MAX_KEY_BYTES:
            raise MessageRefusedError(f"the object's name is longer than {MAX_KEY_BYTES} bytes")
        return key

    def _write(self, key: str, payload: bytes, content_type: str) -> None:
        """It is there whole, or not at all: a store shows an object when it is closed."""
        if self._store is None:
            self._store = self._opened()
        metadata = {"Content-Type": content_type}
        stream = self._store.open_output_stream(f"{self._bucket}/{key}", metadata=metadata)
        stream.write(payload)
        stream.close()

    def _opened(self) -> Any:
        scheme, _, host = self._options.get("endpoint", "https://").partition("://")
        return fs.S3FileSystem(
            access_key=self._options.get("aws.access.key"),
            secret_key=self._options.get("aws.secret.key"),
            region=self._options.get("aws.region") or "us-east-1",
            scheme=scheme,
            endpoint_override=host.rstrip("/") or None,
            tls_ca_file_path=self._options.get("tls.ca.file"),
            connect_timeout=CONNECT_S,
            request_timeout=REQUEST_S,
            background_writes=False,
            # The publisher tries again, and says so meanwhile.
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
        )

    async def close(self) -> None:
        """Connections go with the client."""
        self._store = None


def _checked(name: str) -> str:
    """A part of the path that a row filled: one name, and none that leads elsewhere."""
    if not name or name in (".", "..") or "/" in name or min(name) < " ":
        raise MessageRefusedError(f"{name!r} is no part of an object's path: no '/', no '..'")
    return name
