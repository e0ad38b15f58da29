"""The network as namespaces: anything between any two hosts can be cut. Needs root and `ip`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from socket import socket as Socket

from lockstep.embedded import Machine
from tests.chaos.namespaces import Lan
from tests.chaos.network import OBSERVER, Pair


class NamespacedNetwork:
    """See Network."""

    name = "namespaces"

    def __init__(self, lan: Lan) -> None:
        self._lan = lan

    def machine(self, host: str) -> Machine:
        """See Network."""
        return self._lan.machine(host)

    def socket(self, host: str) -> Socket:
        """See Network."""
        return self._lan.namespace(host).call(Socket)

    @contextlib.asynccontextmanager
    async def joined(
        self,
        nodes: Sequence[str],
        servers: Mapping[str, int],
    ) -> AsyncIterator[None]:
        """See Network."""
        try:
            yield
        finally:
            self.mend()

    def url(self, node: str, host: str, url: str) -> str:
        """See Network."""
        return url

    def can_cut(self, first: str, second: str) -> bool:
        """See Network."""
        return OBSERVER not in (first, second)

    def cut(self, pairs: Sequence[Pair]) -> None:
        """See Network."""
        self._lan.cut(pairs)

    def slow(self, hosts: Sequence[str], delay_ms: int) -> None:
        """See Network."""
        self._lan.slow(hosts, delay_ms)

    def mend(self) -> None:
        """See Network."""
        self._lan.mend()


@contextlib.contextmanager
def namespaced(hosts: Sequence[str]) -> Iterator[NamespacedNetwork]:
    """The hosts in namespaces of their own; this thread is the observer's within the block."""
    with Lan(hosts, watcher=OBSERVER) as lan, lan.namespace(OBSERVER).entered():
        yield NamespacedNetwork(lan)
