"""A bucket of Google Cloud Storage, over its JSON API: objects are there whole, or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from lockstep.clock import Clock
from lockstep.connectors.google.service import GoogleService, shown

ENDPOINT: Final = "https://storage.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"
LAST: Final = "lockstep-last"
"""What is kept beside an object of several rows: the identity of the last one."""
IS_THERE: Final = 412
IS_NOT: Final = 404


class Bucket:
    """Options: `bucket.name`, `storage.class`, `endpoint`, and those of `GoogleService`."""

    def __init__(self, options: Mapping[str, str], clock: Clock | None = None) -> None:
        self._options = options
        self._service = GoogleService(options, SCOPE, clock=clock)
        endpoint = options.get("endpoint", ENDPOINT).rstrip("/")
        place = f"b/{quote(options['bucket.name'].strip(), safe='')}/o"
        self._url = f"{endpoint}/upload/storage/v1/{place}"
        self._known = f"{endpoint}/storage/v1/{place}"

    async def put(
        self, name: str, content_type: str, payload: bytes, *, last: str | None = None,
        only_new: bool = False,
    ) -> bool:  # fmt: skip
        """False: there is one already, and none was to be overwritten. OSError."""
        about: dict[str, object] = {"name": name, "contentType": content_type}
        if "storage.class" in self._options:
            about["storageClass"] = self._options["storage.class"].strip().upper()
        if last is not None:
            about["metadata"] = {LAST: last}
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
        condition = "&ifGenerationMatch=0" if only_new else ""
        url = f"{self._url}?uploadType=multipart{condition}"
        status, text = await self._service.ask(url, body, form)
        if status == IS_THERE and only_new:
            return False
        if status != 200:
            raise OSError(f"{self._url} answered {status}: {shown(text)}")
        return True

    async def last_of(self, name: str) -> str | None:
        """What was kept beside an object, empty where nothing was; None: it is not there.
        OSError."""
        url = f"{self._known}/{quote(name, safe='')}"
        status, text = await self._service.ask(url, b"", "application/json", "GET")
        if status == IS_NOT:
            return None
        try:
            about = json.loads(text) if status == 200 else None
        except ValueError:
            about = None
        if not isinstance(about, dict):
            raise OSError(f"{url} answered {status}: {shown(text)}")
        return str((about.get("metadata") or {}).get(LAST, ""))

    async def close(self) -> None:
        """Connections go, and the token with them."""
        await self._service.close()
