"""Between tasks the cycle collector leaves alone what lives on, and still finds what does not."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from lockstep.execute.spark import garbage


class Node:
    """Something that can be part of a cycle."""

    def __init__(self) -> None:
        self.other: Node | None = None


def cycle() -> weakref.ref[Node]:
    """A dead cycle of two, seen from outside."""
    one, two = Node(), Node()
    one.other, two.other = two, one
    return weakref.ref(one)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.freeze()  # as the tests have it


def test_what_survives_a_task_is_not_walked_again() -> None:
    """It is set aside."""
    kept = [Node() for _ in range(1_000)]
    garbage.settle()
    assert not any(gc.is_tracked(each) and each in gc.get_objects() for each in kept[:3])
    assert gc.get_freeze_count() >= len(kept)


def test_a_cycle_that_a_task_left_goes_with_it() -> None:
    """Young garbage does not pile up."""
    garbage.settle()
    seen = cycle()
    garbage.settle()
    assert seen() is None


def test_a_cycle_among_what_was_set_aside_goes_with_the_next_full_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is kept for ever."""
    monkeypatch.setattr(garbage, "FULL_EVERY_TASKS", 5)
    one, two = Node(), Node()
    one.other, two.other = two, one
    seen = weakref.ref(one)
    garbage.settle()
    del one, two
    for _ in range(garbage.FULL_EVERY_TASKS):
        garbage.settle()
    assert seen() is None
