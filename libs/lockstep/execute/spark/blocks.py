"""Blocks of bytes between driver and worker: inside the message, or, where both are on one machine
and the block is large, in anonymous shared memory that the other side maps.

Shared memory belongs to the process that made it and is named through that process, so nothing is
left behind when it dies. Each block is written once, by one process, before it is read.

New memory is dear: the system clears each page, and maps it on both sides. So a reader tells which
blocks nobody looks at any more, and their writer fills that memory again.
"""

from __future__ import annotations

import io
import mmap
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

INLINE_MAX_BYTES = 64 * 1024
"""Smaller blocks travel inside the message: two copies cost less than a mapping."""

MEMORIES_MAX: Final = 3
"""That a writer keeps, and a reader has mapped: one is read and one is written, and what a state
has of a slice it may hold until it has folded the next one."""
KEPT_MAX_BYTES: Final = 64 * 1024 * 1024
"""Larger memory is not used again: it was for something that comes seldom."""
KEPT_TIMES: Final = 4
"""Nor is memory of more than so many times the size of what is written next."""

ALIGNMENT = 64
_PADDING: Final = memoryview(bytes(ALIGNMENT))
PIECES_MAX: Final = 1_000
"""That one call of the system writes: it takes 1,024."""


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


@dataclass(slots=True, eq=False)
class _Memory:
    """Of a writer. `number`: see Reader.freed. `is_free`: nobody reads it. `is_spent`: it shall not
    be written again."""

    descriptor: int
    number: int
    size_bytes: int = 0
    is_free: bool = False
    is_spent: bool = False


class Holder:
    """A block's writer, who keeps its memory as long as the reader may need it, and longer where it
    can be used again."""

    def __init__(self) -> None:
        self._memories: list[_Memory] = []

    def take_back(self, freed: Iterable[int]) -> None:
        """The reader is done with these blocks (Reader.freed)."""
        numbers = set(freed)
        for each in self._memories:
            each.is_free = each.is_free or each.number in numbers

    def withdraw(self) -> None:
        """Nobody is told of the block that was written last."""
        if self._memories:
            self._memories[-1].is_free = True

    def put(self, parts: Sequence[Buffer | Writing], *, shared: bool) -> Block:
        """The parts as a block. The one in front of it, if it is still read, stays as it is."""
        if shared and any(map(callable, parts)):
            return self._put(lambda file: [_written(part, file) for part in parts])
        views = [memoryview(_whole(part)).cast("B") for part in parts]
        if shared and sum(padded(view.nbytes) for view in views) > INLINE_MAX_BYTES:
            return self._put(lambda file: file.write_all(views))
        self.close()
        pieces = [bytes(view) + bytes(padded(view.nbytes) - view.nbytes) for view in views]
        return Block([view.nbytes for view in views], inline=b"".join(pieces))

    def _put(self, write: Callable[[_File], list[int]]) -> Block:
        """What is written, which gives the sizes of the parts."""
        memory = self._taken()
        file = _File(memory.descriptor)
        sizes = write(file)
        if file.size_bytes > memory.size_bytes:
            os.ftruncate(memory.descriptor, file.size_bytes)
            memory.size_bytes = file.size_bytes
        memory.is_spent = memory.size_bytes > min(KEPT_MAX_BYTES, KEPT_TIMES * file.size_bytes)
        return Block(sizes, path=f"/proc/{os.getpid()}/fd/{memory.descriptor}")

    def _taken(self) -> _Memory:
        """Memory that nobody reads, as the newest. What was written last may be on its way."""
        last = self._memories[-1:]
        for each in [each for each in self._memories if each.is_spent]:
            if each.is_free or each not in last:
                self._drop(each)
        found = next((each for each in self._memories if each.is_free), None)
        if found is not None:
            self._memories.remove(found)
            found.is_free = False
        else:
            while len(self._memories) >= MEMORIES_MAX:
                self._drop(self._memories[0])
            descriptor = os.memfd_create("lockstep")
            found = _Memory(descriptor, os.fstat(descriptor).st_ino)
        self._memories.append(found)
        return found

    def _drop(self, memory: _Memory) -> None:
        self._memories.remove(memory)
        os.close(memory.descriptor)

    def close(self) -> None:
        """Gives all memory back as soon as nobody maps it any more."""
        while self._memories:
            self._drop(self._memories[0])


class _File:
    """Shared memory that is written from its beginning on. Arrow takes it for a file."""

    closed = False

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size_bytes = 0

    def write(self, data: Buffer, /) -> int:
        view = memoryview(data).cast("B")
        size = view.nbytes
        while view.nbytes:
            written = os.pwrite(self._descriptor, view, self.size_bytes)
            view = view[written:]
            self.size_bytes += written
        return size

    def write_all(self, parts: Sequence[memoryview]) -> list[int]:
        """All parts, each padded, with few calls of the system: records may be small and many.
        Their sizes."""
        pieces: list[Any] = []
        for part in parts:
            pieces.append(part)
            rest = padded(part.nbytes) - part.nbytes
            if rest:
                pieces.append(_PADDING[:rest])
        for first in range(0, len(pieces), PIECES_MAX):
            some = pieces[first : first + PIECES_MAX]
            written = os.pwritev(self._descriptor, some, self.size_bytes)
            self.size_bytes += written
            if written < sum(map(len, some)):
                self.write(b"".join(some)[written:])
        return [part.nbytes for part in parts]

    def flush(self) -> None:
        """Nothing waits here."""


def _written(part: Buffer | Writing, file: _File) -> int:
    """Writes a part, and gives its size."""
    start = file.size_bytes
    if callable(part):
        part(file)
    else:
        file.write(part)
    size = file.size_bytes - start
    file.size_bytes = start + padded(size)
    return size


def _whole(part: Buffer | Writing) -> Buffer:
    if not callable(part):
        return part
    memory = io.BytesIO()
    part(memory)
    return memory.getbuffer()


@dataclass(slots=True, eq=False)
class _Mapped:
    """Of a reader. All views of the block hang on `root`; None: it is told that they are gone."""

    whole: mmap.mmap
    root: weakref.ref[Any] | None


class Reader:
    """Of one writer's blocks. Memory that comes again is mapped already."""

    def __init__(self) -> None:
        self._mapped: dict[int, _Mapped] = {}

    def get(self, block: Block) -> list[memoryview]:
        """The parts of a block, in place. They stay as they are for as long as anybody has them.
        OSError when the memory is gone with its owner."""
        if block.path is not None and block.total_bytes:
            whole = self._view(block.path, block.total_bytes)
        else:
            self._mapped.clear()  # the writer needs no memory now
            whole = memoryview(block.inline or b"")
        parts = []
        at = 0
        for size in block.sizes:
            parts.append(whole[at : at + size])
            at += padded(size)
        return parts

    def freed(self) -> list[int]:
        """The numbers of blocks that nobody here looks at any more, each once. A number is that of
        the system for this memory, which no other has while it is mapped."""
        found = []
        for number, each in self._mapped.items():
            if each.root is not None and each.root() is None:
                each.root = None
                found.append(number)
        return found

    def _view(self, path: str, size_bytes: int) -> memoryview:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            status = os.fstat(descriptor)
            known = self._mapped.pop(status.st_ino, None)
            if known is not None and len(known.whole) >= size_bytes:
                whole = known.whole
            else:
                whole = _mapped(descriptor, status.st_size)
        finally:
            os.close(descriptor)
        root = np.frombuffer(whole, np.uint8)
        self._mapped[status.st_ino] = _Mapped(whole, weakref.ref(root))
        while len(self._mapped) > MEMORIES_MAX:
            del self._mapped[next(iter(self._mapped))]
        return memoryview(root.data)


def _mapped(descriptor: int, size_bytes: int) -> mmap.mmap:
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    return mmap.mmap(descriptor, size_bytes, flags=flags, prot=mmap.PROT_READ)
