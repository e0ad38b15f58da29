"""One question to the partitions of a table."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import pytest

from lockstep.control import OnDemandAnswer
from lockstep.frame import Problem
from lockstep_services.presenter.questions import all_at_once, together

PARTITIONS = 5


async def test_all_partitions_are_asked_before_one_answers() -> None:
    """The answer takes as long as the slowest, and not as long as all of them."""
    asked = asyncio.Barrier(PARTITIONS)

    async def ask(partition: int) -> OnDemandAnswer:
        async with asyncio.timeout(30):
            await asked.wait()
        return OnDemandAnswer([[partition]], [("n", "int")], 10 + partition)

    found = together(await all_at_once(ask(partition) for partition in range(PARTITIONS)))
    assert found.rows == [[partition] for partition in range(PARTITIONS)]
    assert found.position == 10


async def test_who_is_refused_by_one_does_not_wait_for_the_others() -> None:
    """Nothing is asked on for an answer that nobody gets."""
    ended = []

    async def ask(partition: int) -> OnDemandAnswer:
        if partition == 1:
            raise Problem(HTTPStatus.BAD_REQUEST, "no such table")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(partition)
        raise AssertionError("nobody answers")

    async with asyncio.timeout(30):
        with pytest.raises(Problem, match="no such table"):
            await all_at_once(ask(partition) for partition in range(3))
        await asyncio.sleep(0)
    assert sorted(ended) == [0, 2]
