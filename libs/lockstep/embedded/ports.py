"""Ports for servers of our own: free when they are chosen, and kept free until the server comes.

Between the choice and the server's start, and while a server that was killed is down, anybody who
asks the kernel for any port could be given that one. So a socket of this process stays bound to it
and does not listen: the kernel then gives it to nobody who does not name it, and servers, which
name it and set SO_REUSEADDR, get it (Linux; elsewhere nothing is held).
"""

from __future__ import annotations

import socket
import sys
from collections import deque
from typing import Final

from lockstep.embedded.process import THIS_MACHINE

HELD_PORTS_MAX: Final = 128

_held: deque[socket.socket] = deque()


def free_port() -> int:
    """A loopback port that nobody listens on, kept free for this process; the last 128 are."""
    chosen = socket.socket()
    chosen.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    chosen.bind((THIS_MACHINE.host, 0))
    port: int = chosen.getsockname()[1]
    _held.append(chosen)
    while len(_held) > (HELD_PORTS_MAX if sys.platform.startswith("linux") else 0):
        _held.popleft().close()
    return port
