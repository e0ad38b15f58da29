"""@sink(type='s3'): delivered when the store has the object."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar, Final

from pyarrow import fs

from lockstep.connectors.objects import content_type_of, gathering_of, name_of, parts_of
from lockstep.events.packages import to_install
from lockstep.sinks import Message, Sink

CONNECT_S: Final = 5.0
REQUEST_S: Final = 30.0
OBJECTS: Final = "lockstep.connectors.s3.objects:S3Objects"


def sink_of(options: Mapping[str, str]) -> Sink:
    """By whether several rows stand in an object. ValueError where that needs what is missing."""
    if gathering_of(options) is None:
        return S3Sink(options)
    try:
        found: Sink = resolve_name(OBJECTS)(options)
    except ImportError as error:
        raise ValueError(
            f"'flush.size' needs a package that is not installed: {error.name}:"
            f" {to_install('aws', 'beside every publisher')}"
        ) from error
    return found


class S3Sink(Sink):
    """Options: `bucket.name`, `object.path`, `aws.access.key`, `aws.secret.key`, `aws.region` …"""

    in_flight: ClassVar[int] = 8
    # A row of several in an object would overwrite the others.
    takes_again: ClassVar[bool] = False
    writes_files: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._bucket = options["bucket.name"].strip()
        self._path = parts_of(options["object.path"])
        self._store: Any = None

    async def send(self, message: Message) -> None:
        key = name_of(message, self._path, self._options["stream"])
        content_type = content_type_of(
            self._options.get("content.type", message.content_type), message.fill
        )
        await asyncio.to_thread(self._write, key, message.payload, content_type)

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
