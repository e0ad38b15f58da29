"""One asks a service of Google as a service account, by requests with a token.

A token is fetched when there is none, or when one is refused. The key is read each time anew, so
another file takes effect when the old key is revoked. What has not come is an OSError, whoever is
to blame for it: who asks tries again, as an operator may still mend it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import aiohttp

from lockstep.clock import Clock, SystemClock
from lockstep.connectors.google.account import GRANT, Account, account_of
from lockstep.connectors.tls import context_of
from lockstep.events.unreached import why_unreached
from lockstep.secrets.closed import refuse_closed

KEY_VARIABLE: Final = "GOOGLE_APPLICATION_CREDENTIALS"
CONNECT_S: Final = 5.0
REQUEST_S: Final = 30.0
SHOWN_CHARACTERS: Final = 200
MOST_BYTES: Final = 65_536
"""Of an answer, unless more is asked for."""
UNAUTHORIZED: Final = 401


class GoogleService:
    """Options: `credential.path`, `credential.json`, `endpoint`, `tls.ca.file`."""

    def __init__(
        self, options: Mapping[str, str], scope: str, *, clock: Clock | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:  # fmt: skip
        self._options = options
        self._scope = scope
        self._clock = clock or SystemClock()
        self._most_bytes = most_bytes
        self._session: aiohttp.ClientSession | None = None
        self._token: str | None = None
        self._fetching = asyncio.Lock()

    async def ask(
        self, url: str, body: bytes, content_type: str, method: str = "POST"
    ) -> tuple[int, str]:
        """The status, and what was said, up to a limit. OSError; TimeoutError is one, too."""
        session = self._opened()
        token = await self._bearer(session, None)
        status, text = await self._asked(session, method, url, body, content_type, token)
        if status == UNAUTHORIZED and token is not None:
            token = await self._bearer(session, token)
            status, text = await self._asked(session, method, url, body, content_type, token)
        return status, text

    async def close(self) -> None:
        """Connections go, and the token with them."""
        session, self._session, self._token = self._session, None, None
        if session is not None:
            await session.close()

    async def _asked(
        self, session: aiohttp.ClientSession, method: str, url: str, body: bytes,
        content_type: str, token: str | None,
    ) -> tuple[int, str]:  # fmt: skip
        headers = {"Content-Type": content_type}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return await _answer(session, method, url, body, headers, self._most_bytes)

    async def _bearer(self, session: aiohttp.ClientSession, refused: str | None) -> str | None:
        """A token, another one than was refused; None for a service that asks for none."""
        async with self._fetching:
            if self._token is None or self._token == refused:
                account = await asyncio.to_thread(self._account)
                self._token = None if account is None else await self._fetched(session, account)
            return self._token

    async def _fetched(self, session: aiohttp.ClientSession, account: Account) -> str:
        try:
            assertion = account.assertion(self._scope, self._clock.now_ms())
        except ValueError as error:
            raise OSError(f"the service account's key: {error}") from None
        form = {"grant_type": GRANT, "assertion": assertion}
        status, text = await _answer(session, "POST", account.token_uri, form, {}, MOST_BYTES)
        if status != 200:
            raise OSError(f"{account.token_uri} gives no token: {status}: {shown(text)}")
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
            if "credential.path" in options:
                refuse_closed(place)
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


def shown(text: str) -> str:
    """The beginning of an answer, in one line."""
    return " ".join(text.split())[:SHOWN_CHARACTERS]


async def _answer(
    session: aiohttp.ClientSession,
    method: str,
    url: str,
    body: bytes | Mapping[str, str],
    headers: Mapping[str, str],
    most_bytes: int,
) -> tuple[int, str]:
    try:
        async with session.request(
            method, url, data=body, headers=headers, allow_redirects=False
        ) as response:
            said = bytearray()
            while len(said) < most_bytes and not response.content.at_eof():
                said += await response.content.read(most_bytes - len(said))
            return response.status, said.decode(errors="replace")
    except TimeoutError as error:
        raise TimeoutError(f"{url}: {why_unreached(error)}") from error
    except (aiohttp.ClientError, ValueError) as error:
        raise OSError(f"{url}: {why_unreached(error)}") from error
