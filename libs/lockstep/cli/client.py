"""The suite's HTTP doors as one asynchronous client: deploy, ask, send, read, follow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import aiohttp

from lockstep.cli.addresses import Addresses
from lockstep.client.unreached import why_unreached
from lockstep.clock import SystemClock
from lockstep.events import Fault, LockstepError, UnavailableError

TIMEOUT_MS = 60_000
HINT_UNREACHED = "is it running there? `lockstep run` and `lockstep up` start a suite"
HINT_TOKEN = "give the suite's token with --token or LOCKSTEP_CLIENT__TOKEN"


class RefusedError(LockstepError):
    """A service answered with an error; `status` is the HTTP status, `problem` its body."""

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after_s: float | None
    ) -> None:
        text = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        errors = problem.get("errors") or ()
        details = "; ".join(filter(None, map(detail, errors)))
        text = f"{text}: {details}" if details else text
        hint = HINT_TOKEN if status == HTTPStatus.UNAUTHORIZED else problem.get("hint")
        where = problem.get("where") or next(filter(None, map(_position, errors)), None)
        super().__init__(text, where=where, hint=hint)
        self.status = status
        self.problem = problem
        self.retry_after_s = retry_after_s
        self.retryable = status in (429, 503)
        self.fault = Fault.USER if status < 500 and status != 429 else Fault.EXTERNAL


class Client:
    """An open connection to a suite. Errors: RefusedError, UnavailableError."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        headers = {"Authorization": f"Bearer {addresses.token}"} if addresses.token else {}
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=aiohttp.ClientTimeout(total=TIMEOUT_MS / 1000)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def request(
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
        try:
            async with self._session.request(
                method, url, data=body, json=json_body, headers=headers, params=params
            ) as response:
                payload = await response.read()
                answer = _decoded(payload)
                if response.status >= 400:
                    problem = answer if isinstance(answer, dict) else {"detail": str(answer)}
                    after = response.headers.get("Retry-After")
                    raise RefusedError(response.status, problem, float(after) if after else None)
                return answer
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(
                f"cannot reach {url}: {why_unreached(error)}", hint=HINT_UNREACHED
            ) from error

    async def deploy(self, text: str, settings: Mapping[str, str] | None = None) -> Any:
        """Deploys or replaces an app."""
        body = {"text": text, "settings": dict(settings or {})}
        return await self.request("PUT", f"{self.addresses.coordinator}/v1/apps", json_body=body)

    async def status(self, app: str) -> Any:
        """How an app is doing, as the coordinator describes it."""
        return await self.request("GET", f"{self.addresses.coordinator}/v1/apps/{app}/status")

    async def replica(
        self, app: str, wanted: Callable[[Mapping[str, Any]], bool], *, limit_ms: int, poll_ms: int
    ) -> Mapping[str, Any] | None:
        """A replica of an app as soon as there is one of that kind; None when there is none in
        time."""
        clock = SystemClock()
        deadline_ms = clock.monotonic_ms() + limit_ms
        while True:
            replicas: list[Mapping[str, Any]] = (await self.status(app))["replicas"]
            if (found := next(filter(wanted, replicas), None)) is not None:
                return found
            if clock.monotonic_ms() >= deadline_ms:
                return None
            await clock.sleep_ms(poll_ms)

    async def send(
        self,
        app: str,
        stream: str,
        body: bytes,
        *,
        content_type: str = "application/json",
        idempotency_key: str | None = None,
    ) -> Any:
        """Sends one body of events to a stream; returns when it is durable."""
        url = f"{self.addresses.receiver}/v1/apps/{app}/streams/{stream}/events"
        headers = {"Content-Type": content_type}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        return await self.request("POST", url, body=body, headers=headers)

    async def send_mixed(self, app: str, body: bytes, *, idempotency_key: str | None = None) -> Any:
        """Sends NDJSON lines that name their streams, in order; returns when they are durable."""
        headers = {"Content-Type": "application/x-ndjson"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        url = f"{self.addresses.receiver}/v1/apps/{app}/events"
        return await self.request("POST", url, body=body, headers=headers)

    async def follow(self, app: str, stream: str) -> AsyncIterator[tuple[str | None, Any]]:
        """(identity, event) pairs of a stream from now on, by server-sent events."""
        url = f"{self.addresses.presenter}/v1/apps/{app}/streams/{stream}/sse"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        try:
            async with self._session.get(url, timeout=timeout) as response:
                if response.status >= 400:
                    problem = _decoded(await response.read())
                    body = problem if isinstance(problem, dict) else {"detail": str(problem)}
                    raise RefusedError(response.status, body, None)
                async for item in _events(response.content):
                    yield item
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(
                f"the connection to {url} ended: {why_unreached(error)}", hint=HINT_UNREACHED
            ) from error


def detail(error: Mapping[str, Any]) -> str:
    """One entry of a problem's `errors`, which may hold those of a whole line; empty where it
    says no more than where."""
    inner = "; ".join(detail(one) for one in error.get("errors") or ())
    message = str(error.get("message") or inner)
    place = f"line {error['line']}" if error.get("line") else error.get("field")
    return f"{place}: {message}" if place and message else message


def _position(error: Mapping[str, Any]) -> str | None:
    """Of a text's mistake whose words stand beside `errors`: where in the text it is."""
    if error.get("message") or not (error.get("line") and error.get("column")):
        return None
    return f"line {error['line']}:{error['column']}"


async def _events(content: aiohttp.StreamReader) -> AsyncIterator[tuple[str | None, Any]]:
    identity: str | None = None
    data: list[str] = []
    async for raw in content:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("id:"):
            identity = line[3:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield identity, json.loads("\n".join(data))
            data = []


def _decoded(payload: bytes) -> Any:
    if not payload:
        return None
    try:
        return json.loads(payload)
    except ValueError:
        return payload.decode(errors="replace")
