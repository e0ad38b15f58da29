"""The suite's public interfaces with a person's token: all that the console knows comes through
here. Errors: RefusedError, UnavailableError."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from lockstep.cli.addresses import Addresses
from lockstep.cli.refusals import answer_of, unreached
from lockstep.events.paths import app_path, stream_path
from lockstep.frame.callers import FORWARDED_FOR
from lockstep.tls import calling

TIMEOUT_S: Final = 60.0
SILENT_AFTER_S: Final = 30.0
MAX_LINE_BYTES: Final = 16_777_216
Json = Mapping[str, Any]


@dataclass(slots=True)
class Doors:
    """Where the services are, and one pool of connections to them."""

    addresses: Addresses
    session: aiohttp.ClientSession

    @classmethod
    def open(cls, addresses: Addresses) -> Doors:
        """Within a running loop."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        return cls(
            addresses,
            aiohttp.ClientSession(
                timeout=timeout,
                read_bufsize=MAX_LINE_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.TCPConnector(ssl=calling(addresses.tls) or True),
            ),
        )


class Suite:
    """What a person may ask of the suite. `browser`: the address for which the console asks."""

    def __init__(self, doors: Doors, token: str | None, *, browser: str = "") -> None:
        self._doors = doors
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if browser:
            self._headers[FORWARDED_FOR] = browser
        self.token = token

    async def _call(
        self,
        method: str,
        url: str,
        *,
        body: Any = None,
        raw: bytes | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Any:
        headers = {**self._headers, **(more or {})}
        if content_type:
            headers["Content-Type"] = content_type
        try:
            async with self._doors.session.request(
                method, url, json=body, data=raw, headers=headers, params=params
            ) as response:
                after = response.headers.get("Retry-After")
                return answer_of(response.status, after, await response.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise unreached(f"cannot reach {url}", error) from error

    async def ask(self, path: str, **params: str) -> Any:
        """What the coordinator answers to a question."""
        return await self._call("GET", self._doors.addresses.coordinator + path, params=params)

    async def tell(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        """What the coordinator answers to a command."""
        url = self._doors.addresses.coordinator + path
        return await self._call(method, url, body=body, params=params)

    async def show(self, path: str, **params: str) -> Any:
        """What the presenter answers to a question."""
        return await self._call("GET", self._doors.addresses.presenter + path, params=params)

    async def query(self, app: str, text: str) -> Json:
        """The answer to an on-demand query, with the names and types of its columns."""
        url = f"{self._doors.addresses.presenter}{app_path(app)}/query"
        found: Json = await self._call("POST", url, body={"query": text, "details": True})
        return found

    async def send(self, app: str, stream: str, events: Any) -> Json:
        """Sends events to a stream; returns when they are durable."""
        url = f"{self._doors.addresses.receiver}{stream_path(app, stream)}/events"
        raw = json.dumps(events).encode()
        sent: Json = await self._call("POST", url, raw=raw, content_type="application/json")
        return sent

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        """What the receiver answers."""
        url = self._doors.addresses.receiver + path
        return await self._call("POST", url, raw=body, more=headers)

    async def datasources(self) -> Sequence[dict[str, str]]:
        """Names and kinds of the databases that a receiver can read."""
        url = self._doors.addresses.receiver + "/v1/datasources"
        found: Sequence[dict[str, str]] = (await self._call("GET", url))["datasources"]
        return found

    async def apps(self) -> Sequence[dict[str, Any]]:
        """The deployed apps."""
        found: Sequence[dict[str, Any]] = (await self.ask("/v1/apps"))["apps"]
        return found

    async def digests(self, app: str) -> AsyncGenerator[Json, None]:
        """What the presenter tells of an app twice a second; ends when the app has changed."""
        url = f"{self._doors.addresses.presenter}{app_path(app)}/live"
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENT_AFTER_S)
        try:
            async with self._doors.session.get(
                url, headers=self._headers, timeout=timeout
            ) as response:
                if response.status >= 400:
                    answer_of(response.status, None, await response.read())
                event = ""
                async for raw in response.content:
                    line = raw.decode().rstrip("\r\n")
                    if line.startswith("event:"):
                        event = line[6:].strip()
                    elif line.startswith("data:") and event == "digest":
                        yield json.loads(line[5:])
        except (aiohttp.ClientError, TimeoutError) as error:
            raise unreached(f"the connection to {url} ended", error) from error


def live_path(app: str) -> str:
    """Where the presenter tells what there is to see of an app."""
    return f"/v1/live/{quote(app, safe='')}"
