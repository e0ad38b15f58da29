"""Rows that their destination never takes, and a destination that takes none."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec
import pytest

from lockstep.events import OutputRow, UnavailableError
from lockstep.settings import load_settings
from lockstep.sinks import Message
from lockstep_services.publisher.patience import MAX_ROUNDS, MessagesAwayError, Patience
from lockstep_services.publisher.retrying import retry_pause_ms
from tests.unit.services.publisher.parts import Told, row
from tests.unit.services.publisher.test_upgraded_rows import World

NOW = "define stream S (v int);"
SETTINGS = load_settings({}).publisher
ATTEMPTS = SETTINGS.retry_max_attempts
PAUSES_MS = sum(retry_pause_ms(SETTINGS, attempt) for attempt in range(1, ATTEMPTS))
ROWS = [row(number, number) for number in range(1, 101)]


class Counting(Told):
    """Has no answer to some rows; notes what it was asked for."""

    def __init__(self, *odd: int) -> None:
        super().__init__()
        self.odd = odd
        self.asked: list[int] = []

    async def send(self, message: Message) -> None:
        """Away for those, and for all if `is_away`."""
        value = msgspec.json.decode(message.payload)["event"]["v"]
        self.asked.append(value)
        if value in self.odd:
            raise UnavailableError("no answer")
        await super().send(message)


class Wide(Counting):
    """Takes several at once."""

    in_flight: ClassVar[int] = 16


def world_of(told: Counting) -> World:
    """A sink to it."""
    world = World(NOW)
    world.pump.sink._lanes[0]._sink = told  # type: ignore[attr-defined]
    world.told = told
    return world


def numbers(world: World) -> list[int]:
    """Of the rows that have arrived, in their order."""
    return [event["v"] for event in world.events]


async def given_up(world: World) -> list[int]:
    """Of the rows in the error store."""
    return [event["v"] for _, event in await world.letters()]


@pytest.mark.parametrize("kind", [Counting, Wide])
async def test_a_row_without_an_answer_is_given_up_alone(kind: type[Counting]) -> None:
    """After all of its attempts; those behind it arrive, each once."""
    world = world_of(kind(20))
    await world.deliver((NOW, ROWS), takes_ms=PAUSES_MS + 1_000)
    assert sorted(numbers(world)) == [n for n in range(1, 101) if n != 20]
    assert kind is Wide or numbers(world) == sorted(numbers(world))
    assert await world.letters() == [
        (f"sink S.0.log: given up after {ATTEMPTS} attempts: no answer", {"v": 20})
    ]


@pytest.mark.parametrize("kind", [Counting, Wide])
async def test_where_nothing_gets_through_all_rows_are_given_up_at_once(
    kind: type[Counting],
) -> None:
    """As late as one row would be, and behind two looks at others."""
    told = kind()
    told.is_away = True
    world = world_of(told)
    await world.deliver((NOW, ROWS), takes_ms=PAUSES_MS + 1_000)
    assert await given_up(world) == list(range(1, 101))
    assert {reason for reason, _ in await world.letters()} == {
        f"sink S.0.log: given up after {ATTEMPTS} attempts: away"
    }
    assert len(told.asked) == (ATTEMPTS + 2) * told.in_flight


async def test_a_batch_of_many_such_rows_ends() -> None:
    """Behind the third each has one attempt, so that what comes later is not held up for ever."""
    odd = range(10, 100, 10)
    world = world_of(Counting(*odd))
    await world.deliver((NOW, ROWS), takes_ms=MAX_ROUNDS * PAUSES_MS + 1_000)
    assert numbers(world) == [n for n in range(1, 101) if n not in odd]
    assert await given_up(world) == list(odd)


async def test_a_row_that_is_given_up_in_between_is_skipped_by_nobody_else() -> None:
    """A publisher that ends before the cursor has moved leaves all rows to the next one, and one
    letter."""
    told = Counting(20, 50)
    world = world_of(told)
    with pytest.raises(AssertionError):  # it is not through
        await world.deliver((NOW, ROWS), takes_ms=PAUSES_MS + 1_000)
    assert await given_up(world) == [20]
    assert numbers(world) == [n for n in range(1, 50) if n != 20]
    told.odd = ()
    told.taken.clear()
    again = world_of(told)
    again.bus = again.pump._bus = world.bus
    again.pump._source = world.pump._source
    task = asyncio.create_task(again.pump.run())
    await again.clock.advance_ms(500)
    task.cancel()
    await asyncio.wait({task})
    assert numbers(again) == list(range(1, 101))
    assert await given_up(world) == [20]


def away(*failed: OutputRow, others_arrived: bool = False) -> MessagesAwayError:
    """Of rows."""
    return MessagesAwayError(UnavailableError("x"), failed, others_arrived=others_arrived)


def test_a_destination_that_was_heard_of_has_all_attempts_again() -> None:
    """It may be away from now on: what was given up in front of it says nothing about it."""
    patience = Patience(2)

    def outcome(error: UnavailableError, pending: list[OutputRow]) -> tuple[int, list[OutputRow]]:
        return patience.failed(error, pending), list(patience.spent(error, pending))

    first, second, third = ROWS[:3]
    assert outcome(away(first), ROWS[:3]) == (1, [])
    assert outcome(away(first), ROWS[:3]) == (2, [first])
    assert outcome(away(third, others_arrived=True), [third]) == (1, [])
    assert outcome(away(third), [third]) == (2, [third])
    assert outcome(UnavailableError("the store"), []) == (1, [])
    assert outcome(UnavailableError("the store"), []) == (2, [])
    assert outcome(UnavailableError("a file"), [second]) == (1, [])
    assert outcome(UnavailableError("a file"), [second]) == (2, [second])


def test_a_short_absence_behind_many_odd_rows_is_waited_for() -> None:
    """Behind the third odd row each has one attempt; a server that was heard of just now is not
    taken for away before it had all of them."""
    patience = Patience(10)
    for odd in ROWS[:3]:
        for _ in range(10):
            patience.failed(away(odd, others_arrived=True), ROWS)
            found = list(patience.spent(away(odd, others_arrived=True), ROWS))
        assert found == [odd]
    left, pauses = ROWS[3:], 0
    for answer in range(6):  # 503 six times, right behind rows that have arrived
        error = away(left[0], others_arrived=not answer)
        patience.failed(error, left)
        gone = patience.spent(error, left)
        left = [one for one in left if one not in gone]
        pauses += not gone
    assert (len(ROWS[3:]) - len(left), pauses) == (3, 3)
    for _ in range(7):  # it is away after all
        patience.failed(away(left[0]), left)
        gone = patience.spent(away(left[0]), left)
    assert (list(gone), patience.attempts) == (left, 10)
