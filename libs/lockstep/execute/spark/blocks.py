"""Blocks of bytes between driver and worker: inside the message, or, where both are on one machine
and the block is large, in anonymous shared memory that the other side maps.

Shared memory belongs to the process that made it and is named through that process, so nothing is
left behind when it dies. Each block is written once, by one process, before it is read.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import Any

import msgspec

INLINE_MAX_BYTES = 64 * 1024
"""Smaller blocks travel inside the message: two copies cost less than a mapping."""

ALIGNMENT = 64


class Block(msgspec.Struct, array_like=True, frozen=True):
    """Parts of given sizes, each at an aligned offset: either the bytes or where they are
    mapped."""

    sizes: list[int]
    inline: bytes | None = None
    path: str | None = None

    @property
    def total_bytes(self) -> int:
        """With padding."""
        return sum(map(padded, self.sizes))


def padded(size: int) -> int:
    """The size up to where the next part may begin."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def can_share() -> bool:
    """Whether this machine has anonymous shared memory that other processes can open."""
    return hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")


Buffer = Any
"""Anything with the buffer protocol."""


class Holder:
    """A block's writer, who keeps its memory as long as the reader may need it."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def put(self, parts: Sequence[Buffer], *, shared: bool) -> Block:
        """The parts as a block; what this holder held before is gone."""
        self.close()
        views = [memoryview(part).cast("B") for part in parts]
        sizes = [view.nbytes for view in views]
        total = sum(map(padded, sizes))
        if not shared or total <= INLINE_MAX_BYTES:
            pieces = [bytes(view) + bytes(padded(view.nbytes) - view.nbytes) for view in views]
            return Block(sizes, inline=b"".join(pieces))
        self._descriptor = descriptor = os.memfd_create("lockstep")
        os.ftruncate(descriptor, total)
        at = 0
        for view, size in zip(views, sizes, strict=True):
            _write(descriptor, view, at)
            at += padded(size)
        return Block(sizes, path=f"/proc/{os.getpid()}/fd/{descriptor}")

    def close(self) -> None:
        """Gives the memory back as soon as nobody maps it any more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _write(descriptor: int, view: memoryview, at: int) -> None:
    while view.nbytes:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written


def get(block: Block) -> list[memoryview]:
    """The parts of a block, in place. Raises OSError when the memory is gone with its owner."""
    if block.path is not None and block.total_bytes:
        whole = _mapped(block.path, block.total_bytes)
    else:
        whole = memoryview(block.inline or b"")
    parts = []
    at = 0
    for size in block.sizes:
        parts.append(whole[at : at + size])
        at += padded(size)
    return parts


def _mapped(path: str, size: int) -> memoryview:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        populate = getattr(mmap, "MAP_POPULATE", 0)
        flags = mmap.MAP_SHARED | populate
        return memoryview(mmap.mmap(descriptor, size, flags=flags, prot=mmap.PROT_READ))
    finally:
        os.close(descriptor)
