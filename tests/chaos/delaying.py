"""A network device that hands every packet back after a delay.

What the kernel's own delaying queue does (netem), which many kernels lack; a TUN device is there
almost everywhere.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
from typing import Final

_DEVICE: Final = "/dev/net/tun"
_TUNSETIFF: Final = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_PACKET_BYTES: Final = 65_536
_MOST_WAITING_BYTES: Final = 67_108_864  # over it packets are dropped, as a router's queue does


class DelayingDevice:
    """Made in the namespace of the calling thread; OSError. Works once an event loop runs."""

    def __init__(self) -> None:
        self.name = "delay0"
        self.delay_ms = 0
        self._waiting_bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._file = os.open(_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        request = struct.pack("16sH22x", self.name.encode(), _IFF_TUN | _IFF_NO_PI)
        fcntl.ioctl(self._file, _TUNSETIFF, request)

    def serve(self) -> None:
        """From now on, in the running event loop; idempotent."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._file, self._take)

    def close(self) -> None:
        """The device goes, and with it what waits."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._file)
        os.close(self._file)
        self._file = -1

    def _take(self) -> None:
        assert self._loop is not None
        while True:
            try:
                packet = os.read(self._file, _PACKET_BYTES)
            except BlockingIOError:
                return
            if self._waiting_bytes + len(packet) <= _MOST_WAITING_BYTES:
                self._waiting_bytes += len(packet)
                self._loop.call_later(self.delay_ms / 1_000, self._give, packet)

    def _give(self, packet: bytes) -> None:
        self._waiting_bytes -= len(packet)
        if self._file >= 0:
            os.write(self._file, packet)
