"""Blocks of bytes between driver and worker."""

from __future__ import annotations

from typing import Any

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
    found = blocks.get(block)
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


@pytest.mark.skipif(not blocks.can_share(), reason="this machine has no memory to share by name")
def test_what_was_mapped_outlives_its_writer() -> None:
    """The next block is other memory."""
    holder = blocks.Holder()
    (first,) = blocks.get(holder.put([written(LARGE)], shared=True))
    (second,) = blocks.get(holder.put([written(LARGE[::-1])], shared=True))
    holder.close()
    assert bytes(first) == LARGE
    assert bytes(second) == LARGE[::-1]
