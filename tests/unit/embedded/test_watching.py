"""What the supervisor of the embedded servers does about each of them; no real one is started."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.embedded import EmbeddedServers
from lockstep.embedded.errors import NoServerError
from lockstep.embedded.servers import _RESTARTS_MAX, _WATCH_EVERY_MS

ERRORS = [
    OSError(errno.ENOSPC, "No space left on device"),
    ValueError("invalid literal for int()"),
    NoServerError("no program"),
]


class Stub:
    """A server that has ended; `start` fails with the errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.wanted, self.running, self.is_stopped = True, False, False
        self.starts = 0
        self._errors = list(errors)

    async def start(self) -> None:
        """It runs, in the end."""
        self.starts += 1
        if self._errors:
            raise self._errors.pop(0)
        self.running = True

    async def stop(self) -> None:
        """In good order."""
        self.is_stopped = True


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts stubs in the place of servers."""

    def replace(servers: EmbeddedServers, **stubs: Stub) -> None:
        monkeypatch.setattr(servers, "_servers", stubs)

    return replace


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_server_that_cannot_start_is_tried_again_and_the_others_are_watched(
    tmp_path: Path, put: Callable[..., None], error: Exception
) -> None:
    """Whatever is in its way; all are stopped in the end."""
    postgres, nats, clock = Stub(error), Stub(), VirtualClock()
    async with EmbeddedServers.start(tmp_path, want=(), clock=clock) as servers:
        put(servers, postgres=postgres, nats=nats)
        await clock.advance_ms(_WATCH_EVERY_MS)
        assert (postgres.running, nats.running) == (False, True)
        nats.running = False
        await clock.advance_ms(_WATCH_EVERY_MS)
        assert (postgres.running, nats.running) == (True, True)
    assert (postgres.is_stopped, nats.is_stopped) == (True, True)


async def test_a_defect_of_the_supervisor_leaves_no_server_behind(
    tmp_path: Path, put: Callable[..., None]
) -> None:
    """It comes out of the block, behind the servers' end."""
    redis, clock = Stub(ZeroDivisionError()), VirtualClock()

    async def watched() -> None:
        async with EmbeddedServers.start(tmp_path, want=(), clock=clock) as servers:
            put(servers, redis=redis)
            await clock.advance_ms(_WATCH_EVERY_MS)

    with pytest.raises(ZeroDivisionError):
        await watched()
    assert redis.is_stopped


async def test_each_server_is_started_so_many_times(
    tmp_path: Path, put: Callable[..., None]
) -> None:
    """One that keeps ending is left down, and does not use up the starts of another."""
    redis, nats, clock = Stub(), Stub(), VirtualClock()
    nats.running = True

    async def ended(stub: Any) -> None:
        stub.running = False
        await clock.advance_ms(_WATCH_EVERY_MS)

    async with EmbeddedServers.start(tmp_path, want=(), clock=clock) as servers:
        put(servers, redis=redis, nats=nats)
        for _ in range(_RESTARTS_MAX + 3):
            await ended(redis)
        assert (redis.starts, redis.wanted) == (_RESTARTS_MAX, False)
        await ended(nats)
        assert nats.running
