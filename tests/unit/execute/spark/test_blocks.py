"""Blocks of bytes between driver and worker."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pytest

from lockstep.execute.spark import blocks

LARGE = bytes(range(256)) * 1024


def written(*pieces: bytes) -> blocks.Writing:
    """A part that is written piece by piece."""

    def write(sink: Any) -> None:
        for piece in pieces:
            sink.write(piece)

    return write


@pytest.mark.skipif(not blocks.can_share(), reason="this machine has no memory to share by name")
@pytest.mark.parametrize(
    "parts",
    [
        [b"", b"small", b""],
        [b"a", LARGE, b"", b"b" * 65],
        [b"a", written(b"one", b"", LARGE, b"two"), b"behind"],
        [written(), b"behind", written(b"x")],
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_parts_come_back_aligned(parts: list[Any], shared: bool) -> None:
    """Inside the message or mapped, in one piece or in several."""
    holder = blocks.Holder()
    block = holder.put(parts, shared=shared)
    found = blocks.Reader().get(block)
    expected = []
    for part in parts:
        if callable(part):
            pieces: list[bytes] = []
            part(type("Sink", (), {"write": lambda self, data, to=pieces: to.append(data)})())
            part = b"".join(pieces)
        expected.append(part)
    assert [bytes(part) for part in found] == expected
    assert (block.path is None) == (block.inline is not None)
    assert shared or block.path is None
    holder.close()


shares = pytest.mark.skipif(
    not blocks.can_share(), reason="this machine has no memory to share by name"
)


@shares
@pytest.mark.parametrize("most_bytes", [None, 1, 64, 10_001])
def test_many_small_parts(monkeypatch: pytest.MonkeyPatch, most_bytes: int | None) -> None:
    """More than one call of the system takes; and the system may write less than it was given."""

    def some(descriptor: int, pieces: list[memoryview], at: int) -> int:
        return os.pwrite(descriptor, b"".join(pieces)[:most_bytes], at)

    if most_bytes is not None:
        monkeypatch.setattr(os, "pwritev", some)
    parts = [bytes([n % 251]) * (n % 200) for n in range(3 * blocks.PIECES_MAX)]
    holder = blocks.Holder()
    block = holder.put(parts, shared=True)
    assert block.path is not None
    assert [bytes(part) for part in blocks.Reader().get(block)] == parts
    holder.close()


def memory_of(block: blocks.Block) -> int:
    """The system's number for it."""
    assert block.path is not None
    return os.stat(block.path).st_ino


@shares
def test_what_was_mapped_outlives_its_writer() -> None:
    """The next block is other memory while somebody looks at this one."""
    holder, reader = blocks.Holder(), blocks.Reader()
    (first,) = reader.get(holder.put([written(LARGE)], shared=True))
    holder.take_back(reader.freed())
    (second,) = reader.get(holder.put([written(LARGE[::-1])], shared=True))
    holder.take_back(reader.freed())
    (third,) = reader.get(holder.put([LARGE[1:] + b"x"], shared=True))
    holder.close()
    assert bytes(first) == LARGE
    assert bytes(second) == LARGE[::-1]
    assert bytes(third) == LARGE[1:] + b"x"


@shares
def test_memory_that_nobody_looks_at_is_filled_again() -> None:
    """It is told once, and mapped once, also where it has to grow."""
    holder, reader = blocks.Holder(), blocks.Reader()
    block = holder.put([LARGE], shared=True)
    (first,) = reader.get(block)
    array = pa.py_buffer(first[100:200])
    del first
    assert reader.freed() == []
    assert array.to_pybytes() == LARGE[100:200]
    del array
    freed = reader.freed()
    assert freed == [memory_of(block)]
    assert reader.freed() == []
    holder.take_back(freed)
    for content in (LARGE[::-1], 2 * LARGE, LARGE):
        again = holder.put([content], shared=True)
        assert memory_of(again) == freed[0]
        (found,) = reader.get(again)
        assert bytes(found) == content
        del found
        holder.take_back(reader.freed())
    holder.close()


@shares
def test_memory_that_is_much_too_large_goes() -> None:
    """After a large block small ones do not keep its memory."""
    holder, reader = blocks.Holder(), blocks.Reader()
    large = memory_of(holder.put([LARGE * blocks.KEPT_TIMES * 2], shared=True))
    holder.take_back([large])
    assert memory_of(holder.put([LARGE], shared=True)) == large
    holder.take_back([large])
    small = holder.put([LARGE], shared=True)
    assert memory_of(small) != large
    (found,) = reader.get(small)
    assert bytes(found) == LARGE
    holder.put([b"small"], shared=True)
    with pytest.raises(OSError, match="No such file"):
        blocks.Reader().get(small)


@shares
def test_what_is_on_its_way_stays_while_the_next_block_is_written() -> None:
    """Though its memory is much too large, and is not used again."""
    holder = blocks.Holder()
    large = memory_of(holder.put([LARGE * blocks.KEPT_TIMES * 2], shared=True))
    holder.take_back([large])
    on_its_way = holder.put([LARGE], shared=True)
    assert memory_of(on_its_way) == large
    ahead = holder.put([LARGE[::-1]], shared=True)
    (found,) = blocks.Reader().get(on_its_way)
    assert bytes(found) == LARGE
    (found,) = blocks.Reader().get(ahead)
    assert bytes(found) == LARGE[::-1]


@shares
def test_a_block_that_nobody_is_told_of_gives_its_memory_back() -> None:
    """The next one is written there, and the one that is on its way stays."""
    holder = blocks.Holder()
    on_its_way = holder.put([LARGE], shared=True)
    ahead = memory_of(holder.put([LARGE], shared=True))
    holder.withdraw()
    assert memory_of(holder.put([LARGE[::-1]], shared=True)) == ahead
    (found,) = blocks.Reader().get(on_its_way)
    assert bytes(found) == LARGE


@shares
def test_a_writer_keeps_three_memories_at_most() -> None:
    """A reader that never says that it is done holds nobody up."""
    holder = blocks.Holder()
    made = [holder.put([LARGE], shared=True) for _ in range(5)]
    there = [each for each in made if each.path is not None and os.path.exists(each.path)]
    assert len({each.path for each in there}) == blocks.MEMORIES_MAX
    holder.close()
