"""@sink(type='google-cloud-storage'): delivered when the store has the object, over its JSON API.

A token is fetched when there is none, or when one is refused. The key is read each time anew, so
another file takes effect when the old key is revoked. What has not come is an OSError, whoever is
to blame for it: the publisher tries again, as an operator may still mend it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

import aiohttp

from lockstep.clock import Clock, SystemClock
from lockstep.connectors.google_cloud_storage.account import GRANT, Account, account_of
from lockstep.connectors.objects import content_type_of, name_of, parts_of
from lockstep.connectors.tls import context_of
from lockstep.events.unreached import why_unreached
from lockstep.sinks import Message, Sink

ENDPOINT: Final = "https://storage.googleapis.com"
KEY_VARIABLE: Final = "GOOGLE_APPLICATION_CREDENTIALS"
CONNECT_S: Final = 5.0
REQUEST_S: Final = 30.0
SHOWN_CHARACTERS: Final = 200
MOST_BYTES: Final = 65_536
"""Of an answer."""
UNAUTHORIZED: Final = 401


class GoogleCloudStorageSink(Sink):
    """Options: `bucket.name`, `object.name`, `credential.path`, `credential.json`, `endpoint` …"""

    in_flight: ClassVar[int] = 8
    # A row of several in an object would overwrite the others.
    takes_again: ClassVar[bool] = False
    writes_files: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], clock: Clock | None = None) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._path = parts_of(options["object.name"])
        endpoint = options.get("endpoint", ENDPOINT).rstrip("/")
        bucket = quote(options["bucket.name"].strip(), safe="")
        self._url = f"{endpoint}/upload/storage/v1/b/{bucket}/o"
        self._session: aiohttp.ClientSession | None = None
        self._token: str | None = None
        self._fetching = asyncio.Lock()

    async def send(self, message: Message) -> None:
        name = name_of(message, self._path, self._options["stream"])
        content_type = content_type_of(message, self._options)
        session = self._opened()
        token = await self._bearer(session, None)
        status, text = await self._put(session, token, name, content_type, message.payload)
        if status == UNAUTHORIZED and token is not None:
            token = await self._bearer(session, token)
            status, text = await self._put(session, token, name, content_type, message.payload)
        if status != 200:
            raise OSError(f"{self._url} answered {status}: {_shown(text)}")

    async def _put(
        self, session: aiohttp.ClientSession, token: str | None, name: str, content_type: str,
        payload: bytes,
    ) -> tuple[int, str]:  # fmt: skip
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
        headers = {"Content-Type": f"multipart/related; boundary={boundary}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return await _asked(session, f"{self._url}?uploadType=multipart", body, headers)

    async def _bearer(self, session: aiohttp.ClientSession, refused: str | None) -> str | None:
        """A token, another one than was refused; None for a store that asks for none."""
        async with self._fetching:
            if self._token is None or self._token == refused:
                account = await asyncio.to_thread(self._account)
                self._token = None if account is None else await self._fetched(session, account)
            return self._token

    async def _fetched(self, session: aiohttp.ClientSession, account: Account) -> str:
        try:
            form = {"grant_type": GRANT, "assertion": account.assertion(self._clock.now_ms())}
        except ValueError as error:
            raise OSError(f"the service account's key: {error}") from None
        status, text = await _asked(session, account.token_uri, form, {})
        if status != 200:
            raise OSError(f"{account.token_uri} gives no token: {status}: {_shown(text)}")
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token or not token.isascii():
            raise OSError(f"{account.token_uri} answered without an access_token")
        return token

    def _account(self) -> Account | None:
        options = self._options
        place, text = "credential.json", options.get("credential.json")
        if text is None:
            place = options.get("credential.path") or os.environ.get(KEY_VARIABLE, "")
            if not place and "endpoint" in options:
                return None
            if not place:
                raise OSError(
                    f"no key of a service account: neither 'credential.path' nor {KEY_VARIABLE}"
                )
            try:
                text = Path(place).read_text(encoding="utf-8")
            except ValueError:
                text = ""
        try:
            return account_of(text)
        except ValueError as error:
            raise OSError(f"{place} is no key of a service account: {error}") from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=REQUEST_S, sock_connect=CONNECT_S),
                connector=aiohttp.TCPConnector(ssl=context_of(self._options) or True),
            )
        return self._session

    async def close(self) -> None:
        """Connections go, and the token with them."""
        session, self._session, self._token = self._session, None, None
        if session is not None:
            await session.close()


async def _asked(
    session: aiohttp.ClientSession,
    url: str,
    body: bytes | Mapping[str, str],
    headers: Mapping[str, str],
) -> tuple[int, str]:
    """The status, and what was said, up to a limit. OSError."""
    try:
        async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            said = bytearray()
            while len(said) < MOST_BYTES and not response.content.at_eof():
                said += await response.content.read(MOST_BYTES - len(said))
            return response.status, said.decode(errors="replace")
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise OSError(f"{url}: {why_unreached(error)}") from error


def _shown(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARACTERS]
