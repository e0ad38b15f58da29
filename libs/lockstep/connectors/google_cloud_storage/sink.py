"""@sink(type='google-cloud-storage'): delivered when the store has it, over its JSON API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import ClassVar, Final
from urllib.parse import quote

from lockstep.clock import Clock
from lockstep.connectors.google.service import GoogleService, shown
from lockstep.connectors.objects import content_type_of, name_of, parts_of
from lockstep.sinks import Message, Sink

ENDPOINT: Final = "https://storage.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"


class GoogleCloudStorageSink(Sink):
    """Options: `bucket.name`, `object.name`, `credential.path`, `credential.json`, `endpoint` …"""

    in_flight: ClassVar[int] = 8
    # A row of several in an object would overwrite the others.
    takes_again: ClassVar[bool] = False
    writes_files: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], clock: Clock | None = None) -> None:
        self._options = options
        self._service = GoogleService(options, SCOPE, clock=clock)
        self._path = parts_of(options["object.name"])
        endpoint = options.get("endpoint", ENDPOINT).rstrip("/")
        bucket = quote(options["bucket.name"].strip(), safe="")
        self._url = f"{endpoint}/upload/storage/v1/b/{bucket}/o"

    async def send(self, message: Message) -> None:
        name = name_of(message, self._path, self._options["stream"])
        content_type = content_type_of(message, self._options)
        status, text = await self._put(name, content_type, message.payload)
        if status != 200:
            raise OSError(f"{self._url} answered {status}: {shown(text)}")

    async def _put(self, name: str, content_type: str, payload: bytes) -> tuple[int, str]:
        """One request: the object is there whole, or not at all."""
        about = {"name": name, "contentType": content_type}
        if "storage.class" in self._options:
            about["storageClass"] = self._options["storage.class"].strip().upper()
        # What a text's own digest is in, nobody has written yet.
        boundary = hashlib.sha256(payload).hexdigest()
        body = b"".join((
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n".encode(),
            json.dumps(about).encode(),
            f"\r\n--{boundary}\r\nContent-Type: {content_type}\r\n\r\n".encode(),
            payload,
            f"\r\n--{boundary}--\r\n".encode(),
        ))  # fmt: skip
        form = f"multipart/related; boundary={boundary}"
        return await self._service.ask(f"{self._url}?uploadType=multipart", body, form)

    async def close(self) -> None:
        """Connections go, and the token with them."""
        await self._service.close()
