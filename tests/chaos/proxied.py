"""The network as TCP proxies between every service and every server: needs no rights.

A cut direction holds its bytes back while the connection stays open, and delivers them when it is
mended, as TCP does. New connections are taken and stay silent. What passes between two servers, or
between two services, cannot be cut.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from socket import socket as Socket
from urllib.parse import urlsplit, urlunsplit

from lockstep.embedded import THIS_MACHINE, Machine
from tests.chaos.network import Pair
from tests.contract.proxy import Proxy


class ProxiedNetwork:
    """See Network."""

    name = "proxies"

    def __init__(self) -> None:
        self._links: dict[Pair, Proxy] = {}

    def machine(self, host: str) -> Machine:
        """See Network."""
        return THIS_MACHINE

    def socket(self, host: str) -> Socket:
        """See Network."""
        return Socket()

    @contextlib.asynccontextmanager
    async def joined(self, nodes: Sequence[str], servers: Mapping[str, int]) -> AsyncIterator[None]:
        """See Network."""
        async with contextlib.AsyncExitStack() as stack:
            for node in nodes:
                for host, port in servers.items():
                    proxy = await stack.enter_async_context(Proxy(port))
                    self._links[node, host] = proxy
            try:
                yield
            finally:
                self.mend()

    def url(self, node: str, host: str, url: str) -> str:
        """See Network."""
        parts = urlsplit(url)
        login, at, _ = parts.netloc.rpartition("@")
        netloc = f"{login}{at}{THIS_MACHINE.host}:{self._links[node, host].port}"
        return urlunsplit(parts._replace(netloc=netloc))

    def can_cut(self, first: str, second: str) -> bool:
        """See Network."""
        return (first, second) in self._links or (second, first) in self._links

    def cut(self, pairs: Sequence[Pair]) -> None:
        """See Network."""
        for sender, receiver in pairs:
            if (sender, receiver) in self._links:
                self._links[sender, receiver].requests_pass.clear()
            elif (receiver, sender) in self._links:
                self._links[receiver, sender].answers_pass.clear()

    def slow(self, hosts: Sequence[str], delay_ms: int) -> None:
        """See Network."""
        for proxy in self._of(hosts):
            proxy.delay_ms = delay_ms

    def mend(self) -> None:
        """See Network."""
        for proxy in self._links.values():
            proxy.delay_ms = 0
            proxy.requests_pass.set()
            proxy.answers_pass.set()

    def _of(self, hosts: Sequence[str]) -> Iterator[Proxy]:
        return (proxy for (_, host), proxy in self._links.items() if host in hosts)
