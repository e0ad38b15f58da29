"""Aggregators of others: a step that fails leaves no trace, whatever came before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.aggregators.contract import growing
from lockstep.aggregators.installed import STEPS_MIN, Guarded, guarded_aggregator
from lockstep.events import AttributeType
from lockstep.functions.guarding import Owner
from lockstep.operators.errors import EventError
from lockstep.operators.limits import LimitError
from lockstep.siddhiql.catalogue import Argument


class Clumsy:
    """Does half of a step on a negative number, and lets nobody have a copy of its state."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self.grows = False

    def never_shrinks(self) -> None:
        self.grows = True

    def add(self, x: int) -> None:
        self.held.append(x)
        if x < 0:
            raise RuntimeError("half done")

    def remove(self, x: int) -> None:
        self.held.remove(abs(x))
        if x < 0:
            raise KeyError("half done")

    def reset(self) -> None:
        self.held.clear()

    def value(self) -> int:
        return sum(self.held)

    def is_empty(self) -> bool:
        return not self.held

    def snapshot(self) -> Any:
        return self.held

    def restore(self, state: Any) -> None:
        self.held = state


OWNER = Owner(("my", "clumsy"), "my_extension")


def made(kind: type[Any] = Clumsy) -> Guarded:
    """A guarded one."""
    found: Guarded = guarded_aggregator(kind(), OWNER, [[Argument(AttributeType.INT)]], kind)
    return found


STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove", "reset"]), st.integers(-3, 3)))


@given(STEPS)
def test_what_fails_leaves_no_trace(steps: list[tuple[str, int]]) -> None:
    """The same as without the steps that failed."""
    aggregator, plain = made(), Clumsy()
    for name, x in steps:
        values = () if name == "reset" else (x,)
        try:
            getattr(aggregator, name)(*values)
        except EventError:
            continue
        getattr(plain, name)(*values)
        assert aggregator.value() == plain.value()
        assert aggregator.is_empty() == plain.is_empty()
    assert aggregator.snapshot() == plain.held


def test_a_restored_one_goes_back_to_what_was_restored() -> None:
    """Also behind more steps than are kept."""
    aggregator = made()
    aggregator.restore([5])
    for x in range(3 * STEPS_MIN):
        aggregator.add(x)
        with pytest.raises(EventError, match=r"my:clumsy, of .*, failed: RuntimeError: half"):
            aggregator.add(-1)
    assert aggregator.snapshot() == [5, *range(3 * STEPS_MIN)]


def test_it_still_knows_that_nothing_leaves() -> None:
    """One that keeps less then must not begin to keep all."""
    aggregator = growing(made)()
    with pytest.raises(EventError):
        aggregator.add(-1)
    assert aggregator._own.grows


class Limited(Clumsy):
    """Goes over a limit."""

    def add(self, x: int) -> None:
        raise LimitError("too much")


class Opaque(Clumsy):
    """What it holds cannot be written once there is something."""

    def snapshot(self) -> Any:
        return [object() for _ in self.held]


def test_a_limit_undoes_the_whole_event() -> None:
    """By the executor, in every query."""
    with pytest.raises(LimitError):
        made(Limited).add(1)


def test_a_state_that_cannot_be_written_is_told_soon() -> None:
    """Not when the app begins anew for want of a snapshot."""
    aggregator = made(Opaque)
    for x in range(STEPS_MIN):
        aggregator.add(x)
    with pytest.raises(EventError, match="a state that cannot be kept: a value of type object"):
        aggregator.add(0)
