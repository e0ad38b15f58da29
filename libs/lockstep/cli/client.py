"""The suite's HTTP doors as one asynchronous client: deploy, ask, send, read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp

from lockstep.cli.addresses import Addresses
from lockstep.cli.refusals import answer_of, sendable, unreached
from lockstep.clock import SystemClock
from lockstep.events.paths import app_path, stream_path
from lockstep.tls import calling

TIMEOUT_MS = 60_000
Result = TypeVar("Result")


class Client:
    """An open connection to a suite. Errors: RefusedError, NotLockstepError,
    UnavailableError."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        token = addresses.token
        headers = sendable({"Authorization": f"Bearer {token}"} if token else {})
        self._session = aiohttp.ClientSession(
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_MS / 1000),
            connector=aiohttp.TCPConnector(ssl=calling(addresses.tls) or True),
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
        headers = sendable(headers or {})
        try:
            async with self._session.request(
                method, url, data=body, json=json_body, headers=headers, params=params,
                allow_redirects=False,
            ) as response:  # fmt: skip
                found, payload = response.headers, await response.read()
                return answer_of(
                    response.status, found.get("Retry-After"), payload,
                    url=url, leads_to=found.get("Location", ""),
                )  # fmt: skip
        except (aiohttp.NonHttpUrlClientError, UnicodeError) as error:
            # The words of the first are the address alone; the second is about a host's name.
            raise unreached(f"cannot reach {url}", ValueError()) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise unreached(f"cannot reach {url}", error) from error

    async def deploy(
        self,
        text: str,
        settings: Mapping[str, str] | None = None,
        parallel: int | None = None,
        past: Mapping[str, Any] | None = None,
    ) -> Any:
        """Deploys or replaces an app; `parallel`: cut into so many partitions; `past`: what it
        folds first."""
        body: dict[str, Any] = {"text": text, "settings": dict(settings or {})}
        if parallel is not None:
            body["parallel"] = parallel
        if past is not None:
            body["past"] = dict(past)
        return await self.request("PUT", f"{self.addresses.coordinator}/v1/apps", json_body=body)

    async def status(self, app: str) -> Any:
        """How an app is doing, as the coordinator describes it."""
        return await self.request("GET", f"{self.addresses.coordinator}{app_path(app)}/status")

    async def figures(self, app: str, **span: int) -> Any:
        """How an app was doing: series over a time. `span`: `from`, `to` (epoch milliseconds) and
        `points`, as the route has them."""
        url = f"{self.addresses.coordinator}{app_path(app)}/figures"
        return await self.request("GET", url, params={key: str(of) for key, of in span.items()})

    async def failovers(self, app: str | None = None, **span: int) -> Any:
        """Who took a lead from whom, of an app or of all. `span`: `from`, `to`, `limit`."""
        params = {key: str(of) for key, of in span.items()} | ({"app": app} if app else {})
        url = f"{self.addresses.coordinator}/v1/failovers"
        return (await self.request("GET", url, params=params))["failovers"]

    async def versions(self, app: str, number: int | None = None) -> Any:
        """What was deployed under a name, the newest first, without the texts; or one version with
        its text."""
        url = f"{self.addresses.coordinator}{app_path(app)}/versions"
        if number is not None:
            return await self.request("GET", f"{url}/{number}")
        return (await self.request("GET", url))["versions"]

    async def past(self, app: str) -> Any:
        """How far the past of an app is folded."""
        return await self.request("GET", f"{self.addresses.coordinator}{app_path(app)}/past")

    async def restore(self, app: str, wanted: Mapping[str, Any]) -> Any:
        """Goes on with the state of a revision, or of a time."""
        url = f"{self.addresses.coordinator}{app_path(app)}/restore"
        return await self.request("POST", url, json_body=dict(wanted))

    async def call_off(self, app: str) -> Any:
        """Calls the past of an app off."""
        return await self.request("DELETE", f"{self.addresses.coordinator}{app_path(app)}/past")

    async def replicas(
        self,
        app: str,
        wanted: Callable[[Mapping[str, Any]], bool],
        *,
        count: int,
        limit_ms: int,
        poll_ms: int,
    ) -> list[Mapping[str, Any]]:
        """Replicas of an app as soon as there are so many of that kind; none when there are not in
        time."""
        clock = SystemClock()
        deadline_ms = clock.monotonic_ms() + limit_ms
        while True:
            replicas: list[Mapping[str, Any]] = (await self.status(app))["replicas"]
            if len(found := list(filter(wanted, replicas))) >= count:
                return found
            if clock.monotonic_ms() >= deadline_ms:
                return []
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
        url = f"{self.addresses.receiver}{stream_path(app, stream)}/events"
        headers = {"Content-Type": content_type}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        return await self.request("POST", url, body=body, headers=headers)

    async def send_mixed(self, app: str, body: bytes, *, idempotency_key: str | None = None) -> Any:
        """Sends NDJSON lines that name their streams, in order; returns when they are durable."""
        headers = {"Content-Type": "application/x-ndjson"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        url = f"{self.addresses.receiver}{app_path(app)}/events"
        return await self.request("POST", url, body=body, headers=headers)


def with_client(addresses: Addresses, action: Callable[[Client], Awaitable[Result]]) -> Result:
    """What `action` gives with a client of its own."""

    async def work() -> Result:
        async with Client(addresses) as client:
            return await action(client)

    return asyncio.run(work())
