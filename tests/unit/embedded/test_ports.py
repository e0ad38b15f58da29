"""A port stays free for the server that it was chosen for."""

from __future__ import annotations

import socket
import sys

import pytest

from lockstep.embedded import THIS_MACHINE, free_port
from lockstep.embedded.ports import HELD_PORTS_MAX

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="held on Linux alone")


def _taken(port: int) -> bool:
    """Whether somebody who does not share, as an asker for any port, is kept out."""
    with socket.socket() as other:
        try:
            other.bind((THIS_MACHINE.host, port))
        except OSError:
            return True
        return False


def test_nobody_else_is_given_it_and_the_server_gets_it_again_and_again() -> None:
    """Before its first start and while it is down."""
    port = free_port()
    for _ in range(2):
        assert _taken(port)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((THIS_MACHINE.host, port))
        with (
            socket.create_server((THIS_MACHINE.host, port)),
            socket.create_connection((THIS_MACHINE.host, port)) as client,
        ):
            assert client.getpeername() == (THIS_MACHINE.host, port)


def test_so_many_are_held_and_no_more() -> None:
    """A process that starts servers all day does not run out of files."""
    ports = [free_port() for _ in range(HELD_PORTS_MAX + 1)]
    assert len(set(ports)) == len(ports)
    assert [_taken(port) for port in ports] == [False] + [True] * HELD_PORTS_MAX
