"""Tokens of late events find their place in the order of beginnings, and look at few others."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from lockstep.patterns.chains import kernel
from lockstep.patterns.chains.kernel import BACK, COLUMNS, FIRST, FRONT, OLDER, YOUNGER
from lockstep.testing import VirtualApp

LOOPS = ("begin_age", "end_age", "stand_behind", "stand_in_front")


class Counted(np.ndarray[Any, Any]):
    """Tokens that count how often somebody looks at them."""

    looks = 0

    def __getitem__(self, key: Any) -> Any:
        Counted.looks += 1
        return super().__getitem__(key)


class Order:
    """The order of beginnings of one key, as the kernel's own loops keep it."""

    def __init__(self, size: int) -> None:
        self.tokens = np.zeros((size, COLUMNS), np.int64).view(Counted)
        self.ages = np.full((1, 3), -1, np.int64)

    def begin(self, token: int, time: int) -> None:
        """It began then."""
        self.tokens[token, FIRST] = time
        kernel.begin_age(token, self.tokens, self.ages)

    def end(self, token: int) -> None:
        """It is over."""
        kernel.end_age(token, self.tokens, self.ages)

    def walked(self, begin: int, link: int) -> list[int]:
        """All tokens from one end on."""
        found, token = [], int(self.ages[0, begin])
        while token != -1:
            found.append(token)
            token = int(self.tokens[token, link])
        return found


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> Order:
    """Loops that are not compiled, so that looks can be counted."""
    for name in LOOPS:
        monkeypatch.setattr(kernel, name, getattr(kernel, name).py_func)
    return Order(4_000)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_the_beginnings(order: Order, seed: int) -> None:
    """Whoever is late and whoever ends; who began at one time stand as they came."""
    rng = random.Random(seed)
    there: list[tuple[int, int]] = []
    for token in range(200):
        time = token // 2 - rng.choice((0, 0, 0, 5, 5, rng.randrange(100)))
        order.begin(token, time)
        there.append((time, token))
        while there and rng.random() < 0.4:
            order.end(there.pop(rng.randrange(len(there)))[1])
        assert order.walked(FRONT, YOUNGER) == [one for _, one in sorted(there)]
        assert order.walked(BACK, OLDER) == [one for _, one in sorted(there, reverse=True)]


def test_a_sender_that_is_behind_costs_no_walk_past_all_that_wait(order: Order) -> None:
    """Beside one whose clock is right; 1,000 others began in between."""
    for time in range(3_000):
        order.begin(time, time)
    Counted.looks = 0
    for number in range(400):
        order.begin(3_000 + 2 * number, 3_000 + number)
        order.begin(3_001 + 2 * number, 2_000 + number)
    assert Counted.looks < 800 * 10 + 1_000


def test_without_within_late_events_match_as_others() -> None:
    """Nobody keeps their order then."""
    text = (
        "define stream S (a long); define stream T (a long);"
        " from every e1=S -> e2=T[a == e1.a] select e1.a as a insert into O;"
    )
    with VirtualApp(text, executor="columnar", start_ms=10_000) as app:
        for number, time in enumerate((10_000, 9_000, 9_500, 8_000, 10_001)):
            app.send("S", (number,), timestamp_ms=time)
        for number in (3, 0, 4, 1, 2):
            app.send("T", (number,), timestamp_ms=10_002)
        assert [row.data for row in app.stream("O")] == [(3,), (0,), (4,), (1,), (2,)]
