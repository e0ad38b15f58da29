"""The network between every service and every server: one proxy for each pair, cut as wanted.

The portable stand-in for network namespaces: a cut direction holds its bytes back while the
connection stays open, and delivers them when it is mended, as TCP does. New connections are taken
and stay silent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from enum import Enum
from urllib.parse import urlsplit, urlunsplit

from tests.contract.proxy import Proxy


class Direction(Enum):
    """What a cut keeps back."""

    BOTH = "both ways"
    REQUESTS = "towards the server"
    ANSWERS = "from the server"


class Network:
    """Use as an async context manager. A server may be several (a cluster's nodes)."""

    def __init__(self, nodes: Iterable[str], servers: Mapping[str, list[int]]) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._links = {
            (node, server): [Proxy(port) for port in ports]
            for node in nodes
            for server, ports in servers.items()
        }

    async def __aenter__(self) -> Network:
        for proxies in self._links.values():
            for proxy in proxies:
                await self._stack.enter_async_context(proxy)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.mend()
        await self._stack.aclose()

    def url(self, node: str, server: str, urls: list[str]) -> str:
        """The server's addresses as this node shall use them."""
        proxies = self._links[node, server]
        return ",".join(_at(url, proxy.port) for url, proxy in zip(urls, proxies, strict=True))

    def cut(self, node: str, server: str, direction: Direction) -> None:
        """Nothing passes in that direction until `mend`."""
        for proxy in self._links[node, server]:
            if direction is not Direction.ANSWERS:
                proxy.requests_pass.clear()
            if direction is not Direction.REQUESTS:
                proxy.answers_pass.clear()

    def slow(self, server: str, delay_ms: int) -> None:
        """Everything to and from a server takes longer, for everybody."""
        for (_, name), proxies in self._links.items():
            if name == server:
                for proxy in proxies:
                    proxy.delay_ms = delay_ms

    def mend(self) -> None:
        """As if nothing had been."""
        for proxies in self._links.values():
            for proxy in proxies:
                proxy.delay_ms = 0
                proxy.requests_pass.set()
                proxy.answers_pass.set()


def _at(url: str, port: int) -> str:
    parts = urlsplit(url)
    login, _, _ = parts.netloc.rpartition("@")
    netloc = f"{login}@127.0.0.1:{port}" if login else f"127.0.0.1:{port}"
    return urlunsplit(parts._replace(netloc=netloc))
