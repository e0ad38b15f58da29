"""Random patterns and inputs: restored in front of every event, a machine tells no difference."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.unit.patterns.drive import (
    Condition,
    Driver,
    absent,
    both,
    checked,
    count,
    either,
    every,
    on,
)

STREAMS = "ABC"


def _last(slot: Any) -> Any:
    return slot[-1] if isinstance(slot, list) else slot


class Maker:
    """Builds a random chain; slots are numbered in order of writing, as the checker does."""

    def __init__(self, rng: random.Random, is_sequence: bool) -> None:
        self.rng = rng
        self.is_sequence = is_sequence
        self.slot = 0

    def condition(self) -> Condition | None:
        """None, or a limit on the candidate's value."""
        slot, limit = self.slot, self.rng.randint(1, 7)
        self.slot += 1
        if self.rng.random() < 0.6:
            return None
        return lambda m: _last(m.slots[slot]).data[0] > limit

    def state(self) -> Any:
        """One event."""
        return on(self.rng.choice(STREAMS), self.condition())

    def absence(self, *, timed: bool) -> Any:
        """An absence of one of the streams."""
        wait_ms = self.rng.choice([500, 1000]) if timed else None
        return absent(self.rng.choice(STREAMS), wait_ms, self.condition())

    def element(self) -> Any:
        """Any kind of state."""
        kind = self.rng.randrange(8)
        if kind == 0:
            limits = [(0, None), (1, None), (0, 1), (1, 2), (2, 2), (2, 3), (2, None), (0, 2)]
            return count(self.state(), *self.rng.choice(limits))
        if kind == 1:
            return self.rng.choice([both, either])(self.state(), self.state())
        if kind == 2:
            return self.absence(timed=True)
        if kind == 3:
            return both(self.absence(timed=self.rng.random() < 0.5), self.state())
        if kind == 4:
            return either(self.state(), self.absence(timed=True))
        return self.state()

    def chain(self) -> list[Any]:
        """Two to four elements; `every` anywhere in patterns, at the beginning in sequences."""
        elements: list[Any] = []
        for place in range(self.rng.randint(2, 4)):
            may_repeat = place == 0 or not self.is_sequence
            if may_repeat and self.rng.random() < 0.5:
                length = 1 if self.is_sequence else self.rng.randint(1, 2)
                elements.append(every(*[self.element() for _ in range(length)]))
            else:
                elements.append(self.element())
        return elements


def _script(rng: random.Random) -> list[tuple[str, int, int]]:
    steps, now = [], 0
    for _ in range(25):
        now += rng.choice([0, 100, 200, 500, 700, 1100])
        steps.append((rng.choice(STREAMS), now, rng.randint(0, 9)))
    return steps


def _run(pattern: Any, steps: list[tuple[str, int, int]], *, cut: bool) -> list[Any]:
    driver = Driver(pattern, cut=cut)
    for stream, now, value in steps:
        if stream in driver._receivers:
            driver.send(stream, (now, value))
        else:
            driver.advance(now)
    driver.advance(steps[-1][1] + 5000)
    return driver.chunks


@pytest.mark.parametrize("is_sequence", [False, True], ids=["pattern", "sequence"])
@pytest.mark.parametrize("block", range(10))
def test_cut_in_front_of_every_event(block: int, is_sequence: bool) -> None:
    """Forty random cases a block give the same chunks whole and cut."""
    for seed in range(block * 40, block * 40 + 40):
        rng = random.Random(seed)
        elements = Maker(rng, is_sequence).chain()
        within_ms = rng.choice([None, 1500, 4000])
        pattern = checked(*elements, within_ms=within_ms, is_sequence=is_sequence)
        steps = _script(rng)
        whole, cut = _run(pattern, steps, cut=False), _run(pattern, steps, cut=True)
        assert cut == whole, f"seed {seed}"
