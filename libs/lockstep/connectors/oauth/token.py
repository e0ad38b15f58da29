"""Access tokens of OAuth 2.0 for HTTP clients: fetched when there is none, or when one is refused.

The grant follows from the options: `oauth.username` asks with a password, `refresh.token` with that
token, and neither with the client's own credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp

from lockstep.connectors.oauth import TOKEN_URL
from lockstep.events import UnavailableError
from lockstep.events.unreached import why_unreached


class AccessToken:
    """The token that all requests of a sink or source bear. Errors: UnavailableError."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options[TOKEN_URL]
        self._client = (options.get("consumer.key", ""), options.get("consumer.secret", ""))
        self._refresh = options.get("refresh.token")
        self._form = {"scope": options["oauth.scope"]} if "oauth.scope" in options else {}
        if "oauth.username" in options:
            self._form["username"] = options["oauth.username"]
            self._form["password"] = options.get("oauth.password", "")
        self._token: str | None = None
        self._fetching = asyncio.Lock()

    async def header(self, session: aiohttp.ClientSession, refused: str | None = None) -> str:
        """The value of Authorization, another one than was refused."""
        async with self._fetching:
            if self._token is None or f"Bearer {self._token}" == refused:
                self._token = await self._fetched(session)
            return f"Bearer {self._token}"

    async def _fetched(self, session: aiohttp.ClientSession) -> str:
        form = dict(self._form)
        if "username" in form:
            form["grant_type"] = "password"
        elif self._refresh is not None:
            form |= {"grant_type": "refresh_token", "refresh_token": self._refresh}
        else:
            form["grant_type"] = "client_credentials"
        headers = {"Authorization": aiohttp.encode_basic_auth(*self._client)}
        try:
            async with session.post(
                self._url, data=form, headers=headers, allow_redirects=False
            ) as response:
                if response.status >= 300:  # a secret goes nowhere but to the address in the text
                    raise UnavailableError(f"{self._url} gives no token: {response.status}")
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise UnavailableError(f"{self._url}: {why_unreached(error)}") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise UnavailableError(f"{self._url} answered without an access_token")
        if self._refresh is not None:
            self._refresh = answer.get("refresh_token", self._refresh)
        return str(answer["access_token"])
