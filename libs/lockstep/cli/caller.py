"""The suite's HTTP doors for a short command: one request after another, by the standard library
alone. aiohttp takes longer to import than a command to run; `Client` is for those who have several
requests under way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, InvalidURL
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from lockstep.cli.addresses import Addresses
from lockstep.cli.refusals import NotLockstepError, RefusedError, answer_of, sendable, unreached
from lockstep.clock import SystemClock
from lockstep.events import UnavailableError
from lockstep.events.paths import app_path, stream_path
from lockstep.tls import calling

TIMEOUT_S: Final = 60.0
CONNECT_TIMEOUT_S: Final = 10.0
SILENCE_S: Final = 60.0
"""A presenter says every ten seconds that it is there."""
FIRST_PAUSE_MS: Final = 500
LONGEST_PAUSE_MS: Final = 5_000
GIVE_UP_AFTER_MS: Final = 60_000
"""So long is waited, all in all, until a stream that has ended can be followed again."""
EVENT_STREAM: Final = "text/event-stream"
_SAFE: Final = "/?%!$&'()*+,;=:@~"


def _pause(ms: int) -> None:
    asyncio.run(SystemClock().sleep_ms(ms))


class Caller:
    """Asks a suite. Errors: RefusedError, NotLockstepError, UnavailableError."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        json_body: Any = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Any:
        """The decoded JSON answer (None when empty)."""
        sent = dict(headers or {})
        if json_body is not None:
            body, sent["Content-Type"] = json.dumps(json_body).encode(), "application/json"
        where = f"{url}?{urlencode(params)}" if params else url
        try:
            connection = self._connection(where, TIMEOUT_S)
            with self._response(connection, method, where, body, sent) as response:
                return _answer(response, url)
        except (OSError, HTTPException) as error:
            raise unreached(f"cannot reach {url}", error) from error

    def status(self, app: str) -> Any:
        """How an app is doing, as the coordinator describes it."""
        return self.request("GET", f"{self.addresses.coordinator}{app_path(app)}/status")

    def flow(self, app: str) -> Any:
        """What passes through an app, as the coordinator describes it."""
        return self.request("GET", f"{self.addresses.coordinator}{app_path(app)}/flow")

    def follow(
        self,
        app: str,
        stream: str,
        tell: Callable[[str], object],
        pause: Callable[[int], object] = _pause,
    ) -> Iterator[tuple[str | None, Any]]:
        """(identity, event) pairs of a stream from now on, by server-sent events.

        A stream that ends, as when the app is upgraded or the presenter stops, is asked for again
        behind the last event. `tell` hears of that, and of rows that are missing. Raises
        RefusedError, and UnavailableError when nobody answers at first, or for GIVE_UP_AFTER_MS.
        """
        url = f"{self.addresses.presenter}{stream_path(app, stream)}/sse"
        seen: str | None = None
        was_there, paused_ms, pause_ms = False, 0, FIRST_PAUSE_MS
        while True:
            try:
                with self._listening(url, seen) as lines:
                    was_there, paused_ms, pause_ms = True, 0, FIRST_PAUSE_MS
                    for name, identity, data in _events(lines):
                        if name is not None:
                            tell(f"{name}: {json.dumps(data)}")
                            continue
                        seen = identity
                        yield identity, data
                tell("the stream has ended, connecting again")
            except (UnavailableError, RefusedError) as error:
                if not (was_there and error.retryable) or paused_ms >= GIVE_UP_AFTER_MS:
                    raise
                if paused_ms == 0:
                    tell(f"{error.message}, connecting again")
            pause(pause_ms)
            paused_ms, pause_ms = paused_ms + pause_ms, min(2 * pause_ms, LONGEST_PAUSE_MS)

    @contextmanager
    def _listening(self, url: str, seen: str | None) -> Iterator[HTTPResponse]:
        """The lines of an event stream, from behind an event on where one was seen."""
        try:
            connection = self._connection(url, CONNECT_TIMEOUT_S)
            connection.connect()
            connection.sock.settimeout(SILENCE_S)
            headers = {} if seen is None else {"Last-Event-ID": seen}
            with self._response(connection, "GET", url, None, headers) as response:
                if response.headers.get_content_type() != EVENT_STREAM:
                    _answer(response, url)
                    raise NotLockstepError(f"what answers at {url} is no stream of events")
                yield response
        except (OSError, HTTPException) as error:
            raise unreached(f"the connection to {url} ended", error) from error

    @contextmanager
    def _response(
        self,
        connection: HTTPConnection,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Iterator[HTTPResponse]:
        parts = urlsplit(url)
        target = quote(f"{parts.path}?{parts.query}" if parts.query else parts.path, safe=_SAFE)
        token = self.addresses.token
        all_headers = {"Authorization": f"Bearer {token}", **headers} if token else headers
        encoded = {name: value.encode() for name, value in sendable(all_headers).items()}
        try:
            connection.request(method, target, body, encoded)
            yield connection.getresponse()
        finally:
            connection.close()

    def _connection(self, url: str, timeout_s: float) -> HTTPConnection:
        with suppress(ValueError):
            parts = urlsplit(url)
            (parts.hostname or "").encode("idna")  # as a socket does, which says less
            if parts.scheme == "https" and parts.hostname:
                context = calling(self.addresses.tls)
                return HTTPSConnection(
                    parts.hostname, parts.port, timeout=timeout_s, context=context
                )
            if parts.scheme == "http" and parts.hostname:
                return HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
        raise InvalidURL("no address of the form http://host:port")


def _answer(response: HTTPResponse, url: str) -> Any:
    headers = response.headers
    return answer_of(
        response.status, headers["Retry-After"], response.read(),
        url=url, leads_to=headers["Location"] or "",
    )  # fmt: skip


def _events(lines: Iterator[bytes]) -> Iterator[tuple[str | None, str | None, Any]]:
    """(name, identity, data) of each event. What has a name is a notice, and no row."""
    name: str | None = None
    identity: str | None = None
    data: list[str] = []
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("id:"):
            identity = line[3:].strip()
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line:
            if data:
                yield name, identity, json.loads("\n".join(data))
            name, data = None, []
