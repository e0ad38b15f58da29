"""The error store reads what is asked for, and never more of it at once than fits in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from lockstep.bus import DeadLetter, StoredDeadLetter
from lockstep.bus.contract import LETTERS_BYTES
from lockstep.bus.memory.dead_letters import MemoryDeadLetters
from lockstep.bus.memory.ingress import MemoryIngress
from lockstep.bus.subjects import ID_HEADER
from lockstep_services.coordinator.error_store import MAX_LETTERS, replay_id
from tests.unit.services.suite import CLUSTER, bearer, running

ROOT = bearer(CLUSTER)
TEXT = "@app:name('A') define stream S (n int); from S select n insert into Out;"
ERRORS = "/v1/apps/A/errors"
LARGE_BYTES = 3_000_000


class Letters:
    """What is stored, and how much each reading gave."""

    def __init__(self, doors: Any, bus: Any) -> None:
        self._doors = doors
        self.bus = bus
        self.read: list[int] = []
        self.sent: list[tuple[bytes, str]] = []

    async def add(self, count: int, *, size_bytes: int = 3, stream: str = "S") -> list[int]:
        """The numbers of so many new ones; each is a millisecond younger than the one before."""
        payload = b"x" * size_bytes
        return [
            (
                await self.bus.dead_letters.append(
                    DeadLetter("A", stream, "no number", payload, "text/plain", at_ms, "receiver")
                )
            ).position
            for at_ms in range(count)
        ]

    async def listed(self, query: str) -> list[int]:
        """The numbers that the list gives."""
        self.read.clear()
        status, answer = await self._doors.ask(ROOT, "GET", ERRORS + query)
        assert status == 200, answer
        return [one["sequence"] for one in answer["errors"]]

    async def asked(self, verb: str, **selection: Any) -> Any:
        """What replaying or purging answers."""
        self.read.clear()
        status, answer = await self._doors.ask(ROOT, "POST", f"{ERRORS}/{verb}", selection)
        assert status == 200, answer
        return answer


@asynccontextmanager
async def store(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Letters]:
    """An error store whose readings are counted."""
    async with running("coordinator") as (doors, process):
        assert (await doors.ask(ROOT, "PUT", "/v1/apps", {"text": TEXT}))[0] in (200, 201)
        letters = Letters(doors, process._world.bus)
        real = MemoryDeadLetters.read

        async def read(self: Any, *given: Any, **more: Any) -> Sequence[StoredDeadLetter]:
            found = await real(self, *given, **more)
            letters.read.append(len(found))
            return found

        monkeypatch.setattr(MemoryDeadLetters, "read", read)
        yield letters


async def test_no_more_is_read_than_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By number, by range, or so many: of 50 letters those alone."""
    async with store(monkeypatch) as letters:
        numbers = await letters.add(50)
        one = numbers[16]
        assert (await letters.asked("replay", sequences=[one]))["replayed"] == [one]
        assert letters.read == [1]
        two = numbers[17]
        assert (await letters.asked("replay", first=two, last=two))["replayed"] == [two]
        assert letters.read == [1]
        assert await letters.listed("?limit=1") == numbers[:1]
        assert letters.read == [1]
        assert await letters.listed(f"?limit=2&after={numbers[20]}") == numbers[21:23]
        assert letters.read == [2]


async def test_numbers_that_are_close_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a page of them is sent again; those that are far from one another, each for itself."""
    async with store(monkeypatch) as letters:
        numbers = await letters.add(300)
        chosen = numbers[:100:2]
        assert (await letters.asked("replay", sequences=chosen))["replayed"] == chosen
        assert letters.read == [99]
        far = numbers[101::60]
        assert (await letters.asked("purge", sequences=far))["removed"] == len(far)
        assert letters.read == [1] * len(far)


async def test_numbers_that_are_gone_cost_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that is there is found, in any order and together with other limits."""
    async with store(monkeypatch) as letters:
        first, second, third = await letters.add(3)
        gone = list(range(third + 1, third + 500))
        answer = await letters.asked("purge", sequences=[*gone, third, first, third])
        assert (answer["removed"], letters.read) == (2, [3, 0])
        assert await letters.listed("") == [second]
        for limits in ({"first": second + 1}, {"last": first}, {"stream": "T"}, {"until_ms": 0}):
            assert (await letters.asked("purge", sequences=[second], **limits))["removed"] == 0
        assert (await letters.asked("purge", sequences=[second], first=second))["removed"] == 1


async def test_large_letters_come_in_several_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that ends early is not the end, for whoever selects by whatever."""
    async with store(monkeypatch) as letters:
        numbers = await letters.add(8, size_bytes=LARGE_BYTES)
        at_once = LETTERS_BYTES // LARGE_BYTES + 1
        assert await letters.listed("") == numbers
        assert await letters.listed("?since_ms=5") == numbers[5:]
        assert await letters.listed("?until_ms=0") == numbers[:1]
        assert await letters.listed(f"?last={numbers[4]}") == numbers[:5]
        assert max(letters.read) == at_once
        assert (await letters.asked("purge", until_ms=3))["removed"] == 4
        assert (await letters.asked("purge", first=1)) == {"app": "A", "removed": 4, "more": False}
        assert await letters.listed("?after=0") == []


def refused_again(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is sent in becomes a letter again at once: nothing has been mended."""

    async def publish(
        _self: Any, app: str, stream: str, payload: bytes, *, headers: Any = None
    ) -> None:
        letters.sent.append((payload, headers[ID_HEADER]))
        at_ms = 1_000 + len(letters.sent)
        again = DeadLetter(app, stream, "no number", payload, "text/plain", at_ms, "receiver")
        await letters.bus.dead_letters.append(again)

    monkeypatch.setattr(MemoryIngress, "publish", publish)


@pytest.mark.parametrize("size_bytes", [3, LARGE_BYTES], ids=["one page", "pages"])
async def test_what_is_refused_again_is_sent_once(
    monkeypatch: pytest.MonkeyPatch, size_bytes: int
) -> None:
    """It is a letter behind the last one, which the same request does not run after."""
    async with store(monkeypatch) as letters:
        numbers = await letters.add(8, size_bytes=size_bytes)
        refused_again(letters, monkeypatch)
        for selection in ({"first": 1}, {"stream": "S", "last": 10**9}, {"since_ms": 0}):
            answer = await letters.asked("replay", **selection)
            assert (answer["replayed"], answer["more"]) == (numbers, False)
            numbers = await letters.listed("")
            assert len(numbers) == 8
        assert len(letters.sent) == 24


async def test_the_end_of_what_was_looked_at_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes on behind it does not meet again what cannot be sent."""
    async with store(monkeypatch) as letters:
        numbers = await letters.add(MAX_LETTERS + 2)
        refused_again(letters, monkeypatch)
        answer = await letters.asked("replay", first=1)
        assert (len(answer["replayed"]), answer["more"]) == (MAX_LETTERS, True)
        assert answer["next"] == numbers[MAX_LETTERS - 1]
        answer = await letters.asked("replay", first=answer["next"] + 1, last=numbers[-1])
        assert (answer["replayed"], answer["more"]) == (numbers[MAX_LETTERS:], False)
        answer = await letters.asked("purge", first=1)
        assert (answer["removed"], answer["more"]) == (MAX_LETTERS, True)
        assert answer["next"] == numbers[-1] + MAX_LETTERS


async def test_the_id_of_a_replay_is_the_letters_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same each time for one letter, another one for each other letter."""
    async with store(monkeypatch) as letters:
        (number,) = await letters.add(1)
        monkeypatch.setattr(MemoryDeadLetters, "remove", lambda _self, _numbers: _nothing())
        refused_again(letters, monkeypatch)
        for _ in range(2):
            await letters.asked("replay", sequences=[number])
        (_, first), (_, second) = letters.sent
        assert first == second
        await letters.asked("replay", sequences=[number + 1])
        assert letters.sent[-1][1] != first
        one = DeadLetter("A", "S", "no number", b"one", "text/plain", 5, "receiver")
        twin = StoredDeadLetter(7, one)
        others = [
            StoredDeadLetter(8, one),
            StoredDeadLetter(7, replace(one, clock_ms=6)),
            StoredDeadLetter(7, replace(one, payload=b"two")),
        ]
        ids = {replay_id("A", each) for each in (twin, *others)}
        assert len(ids) == 4


async def _nothing() -> int:
    return 0
