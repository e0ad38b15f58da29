"""Values of a type out of JSON and MessagePack, whichever thread asks for the type first."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from lockstep.events.typed import converted, from_json, from_msgpack


class Point(msgspec.Struct):
    """Something with a type."""

    x: int
    y: list[int] = []


def test_they_are_of_the_type_or_refused() -> None:
    """From either form, and from what was decoded already."""
    assert from_json(b'{"x": 1, "y": [2]}', Point) == Point(1, [2])
    assert from_json("[1, 2]", list[int]) == [1, 2]
    assert from_msgpack(msgspec.msgpack.encode(Point(3)), Point) == Point(3)
    assert converted({"x": 4}, Point) == Point(4)
    assert converted({"x": "5"}, Point, strict=False) == Point(5)
    with pytest.raises(msgspec.DecodeError):
        from_json(b"{", Point)
    with pytest.raises(msgspec.ValidationError):
        from_json(b'{"x": "1"}', Point)
    with pytest.raises(msgspec.ValidationError):
        converted({"x": "1"}, Point)


AT_ONCE = """
import sys
from threading import Barrier, Thread
from typing import Optional, Union
import msgspec
from lockstep.events.typed import converted, from_msgpack

sys.setswitchinterval(1e-6)
Item = Union[int, str, list[Optional[int]]]
raw, ready, problems = msgspec.msgpack.encode([1] * 12), Barrier(4), []


def ask(kind, turn):
    ready.wait()
    try:
        found = from_msgpack(raw, kind) if turn else converted([1] * 12, kind)
        assert found.f11 == 1
    except BaseException as error:
        problems.append(error)


for number in range(400):
    kind = msgspec.defstruct(f"K{number}", [(f"f{n}", Item) for n in range(12)], array_like=True)
    threads = [Thread(target=ask, args=(kind, turn)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(problems)
"""


@pytest.mark.processes
def test_threads_may_ask_for_a_type_at_once() -> None:
    """In a process of its own: with msgspec's own functions it ends by a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")
