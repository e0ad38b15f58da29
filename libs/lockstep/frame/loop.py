"""The event loop of a service that has its process to itself: uvloop's, which does less in Python
for each message than asyncio's own, and keeps the same promises."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import uvloop


def run(main: Coroutine[None, None, None]) -> None:
    """Until `main` returns, or raises."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)
