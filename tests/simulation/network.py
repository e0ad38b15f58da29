"""The network between hosts: it takes time, loses requests or answers, repeats, and can be cut.

A request that its sender has given up may still land later. Messages of one connection arrive in
order; giving up a request ends the connection, so that a late one can be overtaken by new ones.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from lockstep.events import LockstepError, UnavailableError
from tests.simulation.loop import Host, VirtualLoop

T = TypeVar("T")
Answer = Callable[[Any], None]
Serve = Callable[[Answer], None]
"""Takes effect at the server and answers, now or later, with a value or an exception."""

STALL_MS: Final = (50, 2_500)
HOP_MS: Final = (0.1, 1.2)


@dataclass
class Way:
    """From a host to a server and back. Counts, so that faults may overlap."""

    cut_to: int = 0
    cut_back: int = 0
    lossy: float = 0.0
    slow: float = 1.0
    to_floor: float = 0.0
    back_floor: float = 0.0


@dataclass
class Server:
    """Where requests land. `down`: refuses at once, and keeps what it has."""

    host: Host
    down: int = 0


@dataclass
class Network:
    """All ways. `random` decides about single messages."""

    loop: VirtualLoop
    random: random.Random
    ways: dict[tuple[str, str], Way] = field(default_factory=dict)
    servers: dict[str, Server] = field(default_factory=dict)
    repeat_share: float = 0.01
    stall_share: float = 0.0

    def server(self, name: str) -> Server:
        """A server of that name."""
        if name not in self.servers:
            self.servers[name] = Server(Host(name))
        return self.servers[name]

    def way(self, host: str, server: str) -> Way:
        """The way between two."""
        return self.ways.setdefault((host, server), Way())

    async def call(
        self,
        host: Host,
        server: str,
        serve: Serve,
        *,
        timeout_ms: int,
        error: Callable[[str], Exception] = UnavailableError,
        repeatable: bool = False,
    ) -> Any:
        """The answer; `error` when none came in time, or the server is down."""
        way = self.way(host.name, server)
        answered: asyncio.Future[Any] = self.loop.create_future()

        def hear(outcome: Any) -> None:
            if answered.done():
                return
            if isinstance(outcome, Exception):
                answered.set_exception(outcome)
            else:
                answered.set_result(outcome)

        def reply(outcome: Any) -> None:
            if way.cut_back or self._lost(way):
                return
            way.back_floor = at = max(way.back_floor, self.loop.time() + self._hop_s(way))
            self.loop.call_at(at, hear, outcome, context=host.context)

        def give_up() -> None:
            if not answered.done():
                way.to_floor = way.back_floor = 0.0
                answered.set_exception(error(f"{server} did not answer within {timeout_ms} ms"))

        expiry = self.loop.call_later(timeout_ms / 1000, give_up, context=host.context)
        self.send(host, server, serve, reply, error)
        if repeatable and self.random.random() < self.repeat_share:
            self.loop.call_later(
                self.random.uniform(0, 0.5), self.send, host, server, serve, _nobody, error
            )
        try:
            return await answered
        finally:
            expiry.cancel()

    def send(
        self,
        host: Host,
        server: str,
        serve: Serve,
        reply: Answer,
        error: Callable[[str], Exception],
    ) -> None:
        """One request on its way."""
        way, there = self.way(host.name, server), self.server(server)
        if way.cut_to or self._lost(way):
            return

        def land() -> None:
            if there.down:
                reply(error(f"{server} refuses"))
                return
            serve(reply)

        way.to_floor = at = max(way.to_floor, self.loop.time() + self._hop_s(way))
        self.loop.call_at(at, land, context=there.host.context)

    def deliver(self, server: str, host: Host, take: Callable[[], None]) -> None:
        """A message from a server that nobody answers; at most once."""
        way = self.way(host.name, server)
        if way.cut_back or self.server(server).down or self._lost(way):
            return
        way.back_floor = at = max(way.back_floor, self.loop.time() + self._hop_s(way))
        self.loop.call_at(at, take, context=host.context)

    def _lost(self, way: Way) -> bool:
        return way.lossy > 0 and self.random.random() < way.lossy

    def _hop_s(self, way: Way) -> float:
        if self.random.random() < self.stall_share:
            return self.random.uniform(*STALL_MS) / 1000
        return self.random.uniform(*HOP_MS) * way.slow / 1000


def _nobody(_outcome: Any) -> None:
    """The answer to a repeated request."""


def at_once(working: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing: what a server does in one step."""
    try:
        working.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    working.close()
    raise AssertionError("this has to be done in one step")


def serving(work: Callable[[], Any]) -> Serve:
    """Serves by calling `work`; its errors of this suite are answers, too."""

    def serve(answer: Answer) -> None:
        try:
            outcome = work()
        except (LookupError, LockstepError) as error:
            outcome = error
        answer(outcome)

    return serve


class Remote:
    """An object on a server: every call of a method of it travels."""

    def __init__(
        self, network: Network, host: Host, server: str, there: Any, timeout_ms: int
    ) -> None:
        self._network = network
        self._host = host
        self._server = server
        self._there = there
        self._timeout_ms = timeout_ms

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self._there, name)

        async def remote(*args: Any, **more: Any) -> Any:
            serve = serving(lambda: at_once(method(*args, **more)))
            return await self._network.call(
                self._host, self._server, serve, timeout_ms=self._timeout_ms
            )

        return remote
