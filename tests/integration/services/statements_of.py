"""What statements of apps promise, whatever database makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from lockstep.events import AttributeType, FencedError
from lockstep_services.publisher.sinks.rdbms_call import Statements

ADD = ("UPDATE purses SET balance = balance + ", " WHERE id = ", "")
ASK = ("SELECT id, balance, '100%' FROM purses WHERE id >= ", " ORDER BY id")
KINDS = (AttributeType.DOUBLE, AttributeType.INT)
Sql = Callable[..., Awaitable[Any]]


async def add(statements: Statements, call: str, values: Sequence[Any]) -> int:
    """Something to a purse."""
    return await statements.change(call, ADD, KINDS, values)


async def play(make: Callable[[], Statements], balance: Callable[[], Awaitable[float]]) -> None:
    """A publisher, one that replaces it, and the first one again, which does not know."""
    first, second = make(), make()
    await first.take_over(forget=False)
    assert await add(first, "A/main/0/1.0", (1.5, 1)) == 1
    assert await add(first, "A/main/0/1.0", (1.5, 1)) == 1  # its answer got lost
    assert await add(first, "A/main/0/2.0", (1.0, 99)) == 0
    assert await balance() == 1.5
    with pytest.raises(first.unfit):
        await first.change("A/main/0/3.0", ("UPDATE nothing SET a = ", ""), KINDS[:1], (1.0,))
    with pytest.raises(first.unfit):
        await first.rows(("DELETE FROM purses WHERE id = ", ""), KINDS[1:], (1,), 5)
    await second.take_over(forget=False)
    assert await add(second, "A/main/0/1.0", (1.5, 1)) == 1
    assert await add(second, "A/main/0/3.0", (4.0, 1)) == 1
    for call in ("A/main/0/3.0", "A/main/0/4.0"):
        with pytest.raises(FencedError):
            await add(first, call, (100.0, 1))
    assert await balance() == 5.5
    found = await second.rows(ASK, KINDS[1:], (1,), 1)
    assert [(int(row[0]), float(row[1]), row[2]) for row in found] == [
        (1, 5.5, "100%"),
        (2, 0.0, "100%"),
    ]
    assert len(await second.rows(ASK, KINDS[1:], (1,), 5)) == 3  # a limit ends with its question
    await second.take_over(forget=True)
    assert await add(second, "A/main/0/1.0", (1.0, 1)) == 1  # another row of that identity
    assert await balance() == 6.5
