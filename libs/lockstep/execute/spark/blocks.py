"""Blocks of bytes between driver and worker: inside the message, or, where both are on one machine
and the block is large, in anonymous shared memory that the other side maps.

Shared memory belongs to the process that made it and is named through that process, so nothing is
left behind when it dies. Each block is written once, by one process, before it is read.
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable, Sequence
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

Writing = Callable[[Any], None]
"""Writes a part piece by piece into what it is given, by its `write`: what is large is there
once."""


class Holder:
    """A block's writer, who keeps its memory as long as the reader may need it."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def put(self, parts: Sequence[Buffer | Writing], *, shared: bool) -> Block:
        """The parts as a block; what this holder held before is gone."""
        self.close()
        if shared and any(map(callable, parts)):
            return self._put(parts)
        views = [memoryview(_whole(part)).cast("B") for part in parts]
        if not shared or sum(padded(view.nbytes) for view in views) <= INLINE_MAX_BYTES:
            pieces = [bytes(view) + bytes(padded(view.nbytes) - view.nbytes) for view in views]
            return Block([view.nbytes for view in views], inline=b"".join(pieces))
        return self._put(views)

    def _put(self, parts: Sequence[Buffer | Writing]) -> Block:
        self._descriptor = descriptor = os.memfd_create("lockstep")
        file = _File(descriptor)
        sizes = []
        for part in parts:
            start = file.size
            if callable(part):
                part(file)
            else:
                file.write(part)
            sizes.append(file.size - start)
            file.size = start + padded(sizes[-1])
        os.ftruncate(descriptor, file.size)
        return Block(sizes, path=f"/proc/{os.getpid()}/fd/{descriptor}")

    def close(self) -> None:
        """Gives the memory back as soon as nobody maps it any more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class _File:
    """Shared memory that is written from its beginning on."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = 0

    def write(self, data: Buffer, /) -> None:
        view = memoryview(data).cast("B")
        while view.nbytes:
            written = os.pwrite(self._descriptor, view, self.size)
            view = view[written:]
            self.size += written


def _whole(part: Buffer | Writing) -> Buffer:
    if not callable(part):
        return part
    memory = io.BytesIO()
    part(memory)
    return memory.getbuffer()


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
