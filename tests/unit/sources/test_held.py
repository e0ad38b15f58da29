"""What a queue hides while a source has it."""

from __future__ import annotations

from lockstep.sources import Held


async def test_a_message_is_hidden_until_it_is_durable_and_then_told() -> None:
    """In the order in which they came, as many as go in one request."""
    held = Held(2)
    held.take(["a", "b", "c"])
    assert list(held.hidden()) == [["a", "b"], ["c"]]
    assert list(held.durable()) == []
    for handle in ("b", "a", "c"):
        await held.acknowledging(handle)()
    assert list(held.hidden()) == []
    assert list(held.durable()) == [["b", "a"], ["c"]]
    held.forget(["b", "a"])
    assert list(held.durable()) == [["c"]]


async def test_what_is_not_hidden_any_more_can_still_become_durable() -> None:
    """A queue shows it to others when the source goes; it is deleted all the same."""
    held = Held(10)
    held.take(["a", "b"])
    acknowledge = held.acknowledging("a")
    held.clear()
    await acknowledge()
    assert (list(held.hidden()), list(held.durable())) == ([], [["a"]])
