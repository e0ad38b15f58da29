"""The suite's HTTP doors for a short command: one request after another, by the standard library
alone. aiohttp takes longer to import than a command to run; `Client` is for those who have several
requests under way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, InvalidURL
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from lockstep.cli.addresses import Addresses
from lockstep.cli.refusals import answer_of, unreached
from lockstep.tls import calling

TIMEOUT_S: Final = 60.0
CONNECT_TIMEOUT_S: Final = 10.0
_SAFE: Final = "/?%!$&'()*+,;=:@~"


class Caller:
    """Asks a suite. Errors: RefusedError, UnavailableError."""

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
                return _answer(response)
        except (OSError, HTTPException) as error:
            raise unreached(f"cannot reach {url}", error) from error

    def status(self, app: str) -> Any:
        """How an app is doing, as the coordinator describes it."""
        return self.request("GET", f"{self.addresses.coordinator}/v1/apps/{app}/status")

    def flow(self, app: str) -> Any:
        """What passes through an app, as the coordinator describes it."""
        return self.request("GET", f"{self.addresses.coordinator}/v1/apps/{app}/flow")

    def follow(self, app: str, stream: str) -> Iterator[tuple[str | None, Any]]:
        """(identity, event) pairs of a stream from now on, by server-sent events."""
        url = f"{self.addresses.presenter}/v1/apps/{app}/streams/{stream}/sse"
        try:
            connection = self._connection(url, CONNECT_TIMEOUT_S)
            connection.connect()
            connection.sock.settimeout(None)  # the next event may be a day away
            with self._response(connection, "GET", url, None, {}) as response:
                if response.status >= 400:
                    _answer(response)
                yield from _events(response)
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
        encoded = {name: value.encode() for name, value in all_headers.items()}
        try:
            connection.request(method, target, body, encoded)
            yield connection.getresponse()
        finally:
            connection.close()

    def _connection(self, url: str, timeout_s: float) -> HTTPConnection:
        with suppress(ValueError):
            parts = urlsplit(url)
            if parts.scheme == "https" and parts.hostname:
                context = calling(self.addresses.tls)
                return HTTPSConnection(
                    parts.hostname, parts.port, timeout=timeout_s, context=context
                )
            if parts.scheme == "http" and parts.hostname:
                return HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
        raise InvalidURL("no address of the form http://host:port")


def _answer(response: HTTPResponse) -> Any:
    return answer_of(response.status, response.headers["Retry-After"], response.read())


def _events(lines: Iterator[bytes]) -> Iterator[tuple[str | None, Any]]:
    identity: str | None = None
    data: list[str] = []
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("id:"):
            identity = line[3:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield identity, json.loads("\n".join(data))
            data = []
