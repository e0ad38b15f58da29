"""What a text under trial is fed with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from nicegui import Client

from lockstep.clock import SeededRandomness
from lockstep_services.console.trial_feed import Feed

SCHEMAS = {"Reading": [("n", "int")], "Door": [("room", "string")]}


class Trial:
    """Notes what it is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Sequence[Sequence[Any]]]] = []

    async def send(self, stream: str, rows: Sequence[Sequence[Any]]) -> None:
        """To a stream."""
        self.sent.append((stream, rows))

    async def let_pass(self, _by_ms: int) -> None:
        """Time."""

    async def ask(self, _query: str) -> None:
        """A query."""


class Watched(SeededRandomness):
    """Notes who draws."""

    def __init__(self) -> None:
        super().__init__(1)
        self.was_in_loop: set[bool] = set()

    def fraction(self) -> float:
        """The next one."""
        self.was_in_loop.add(threading.current_thread() is threading.main_thread())
        return super().fraction()


async def test_values_are_drawn_beside_the_loop_and_go_to_the_stream_they_were_drawn_for(
    client: Client,
) -> None:
    """A thousand long texts would hold up everybody's pages for seconds."""
    trial = Trial()
    feed = Feed(trial.send, trial.let_pass, trial.ask)
    with client:
        feed.build()
        feed.offer(SCHEMAS)
        feed._many.value, feed._gap.value = 3, 0
        feed._randomness = watched = Watched()  # type: ignore[assignment]
        sending = asyncio.ensure_future(feed._send_random())
        await asyncio.sleep(0)
        feed._stream.value = "Door"  # somebody chooses it meanwhile
        await sending
    assert watched.was_in_loop == {False}
    assert [stream for stream, _ in trial.sent] == ["Reading"] * 3
    assert all(isinstance(n, int) for _, ((n,),) in trial.sent)
