"""What faults may do to the network between the hosts of a run, whichever way it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from socket import socket as Socket
from typing import Protocol

from lockstep.embedded import Machine

Pair = tuple[str, str]
"""(sender, receiver), by the names of hosts."""

BUS_HOSTS = ("n0", "n1", "n2")
REDIS = "redis"
POSTGRES = "postgres"
SERVER_HOSTS = (*BUS_HOSTS, REDIS, POSTGRES)
CLIENTS = "clients"
"""Whoever sends events over HTTP."""

OBSERVER = "observer"
"""The run itself: asks, copies, judges. Its lines are never cut."""


class Network(Protocol):
    """Between hosts, which are known by name."""

    name: str

    def machine(self, host: str) -> Machine:
        """Where the processes of the host run."""
        ...

    def socket(self, host: str) -> Socket:
        """A TCP socket of the host, for this process to use."""
        ...

    def joined(
        self, nodes: Sequence[str], servers: Mapping[str, int]
    ) -> AbstractAsyncContextManager[None]:
        """Lets `nodes` reach the servers, given by host and port, within the block."""
        ...

    def url(self, node: str, host: str, url: str) -> str:
        """The address of a server as this node shall use it."""
        ...

    def can_cut(self, first: str, second: str) -> bool:
        """Whether anything between these two can be cut."""
        ...

    def cut(self, pairs: Sequence[Pair]) -> None:
        """From now until `mend` nothing passes from each sender to its receiver."""
        ...

    def slow(self, hosts: Sequence[str], delay_ms: int) -> None:
        """From now until `mend` everything to and from these takes longer."""
        ...

    def mend(self) -> None:
        """As if nothing had been."""
        ...


def both_ways(first: Sequence[str], second: Sequence[str]) -> list[Pair]:
    """Every pair of one of the first with one of the second, in both directions."""
    there = one_way(first, second)
    return [*there, *((receiver, sender) for sender, receiver in there)]


def one_way(senders: Sequence[str], receivers: Sequence[str]) -> list[Pair]:
    """Every pair of a sender with a receiver; nobody with itself."""
    return [(a, b) for a in senders for b in receivers if a != b]
