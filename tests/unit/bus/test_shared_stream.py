"""Streams of the bus that are made again where they are gone: how often that is tried."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from lockstep.bus.errors import LogGoneError
from lockstep.bus.nats import shared_stream
from lockstep.bus.nats.errors import ApiError, NobodyAnswersError
from lockstep.bus.nats.jetstream import JetStream, StreamConfig
from lockstep.bus.nats.shared_stream import SharedStream
from lockstep.events import LockstepError, UnavailableError

NAME = "dead"
_NO_STREAM = 10059
_OTHER = 10071


class FakeStreams:
    """A server with one stream, which may be gone; `known`: None while nobody says so."""

    def __init__(self) -> None:
        self.known: bool | None = False
        self.asked = 0
        self.made = 0
        self.refuses = False
        self.error: LockstepError = NobodyAnswersError("nobody answers")

    async def is_there(self, name: str) -> bool | None:
        """After a moment."""
        assert name == NAME
        self.asked += 1
        await asyncio.sleep(0)
        return self.known

    async def ensure_stream(self, config: StreamConfig) -> None:
        """Made, unless it refuses."""
        assert config["name"] == NAME
        self.made += 1
        await asyncio.sleep(0)
        if self.refuses:
            raise UnavailableError("no room")
        self.known = True

    async def call(self) -> str:
        """Served where the stream is there."""
        await asyncio.sleep(0)
        if not self.known:
            raise self.error
        return "served"


def stream_on(server: FakeStreams) -> SharedStream:
    """The stream of such a server."""
    return SharedStream(cast(JetStream, server), {"name": NAME})


@pytest.mark.parametrize(
    "error",
    [
        NobodyAnswersError("nobody answers"),
        LogGoneError(NAME),
        ApiError("stream not found", where=NAME, code=_NO_STREAM),
    ],
)
async def test_many_that_find_a_stream_gone_make_it_once(error: LockstepError) -> None:
    """However the server says so; all are served, and one warning tells of it."""
    server = FakeStreams()
    server.error = error
    stream = stream_on(server)
    told: list[Any]
    with capture_logs() as told:
        found = await asyncio.gather(*(stream.served(server.call) for _ in range(20)))
    assert found == ["served"] * 20
    assert (server.asked, server.made) == (1, 1)
    assert [(one["stream"], one["log_level"]) for one in told] == [(NAME, "warning")]
    assert "lost" in told[0]["event"]


async def test_it_is_not_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not make it is not asked at every attempt to store something."""
    server = FakeStreams()
    server.refuses = True
    stream = stream_on(server)
    told: list[Any]
    with capture_logs() as told:
        with pytest.raises(UnavailableError, match="no room"):
            await stream.served(server.call)
        for _ in range(3):
            with pytest.raises(NobodyAnswersError):
                await stream.served(server.call)
        assert (server.asked, server.made) == (1, 1)
        assert told == []
        server.refuses = False
        monkeypatch.setattr(shared_stream, "LOOK_AGAIN_S", 0.0)
        assert await stream.served(server.call) == "served"
    assert [one["stream"] for one in told] == [NAME]


async def test_nothing_is_made_while_nobody_says_that_it_is_gone() -> None:
    """The server may have no leader at the moment."""
    server = FakeStreams()
    server.known = None
    with pytest.raises(NobodyAnswersError):
        await stream_on(server).served(server.call)
    assert (server.asked, server.made) == (1, 0)


async def test_other_errors_are_told_as_they_are() -> None:
    """They do not mean that the stream is gone."""
    server = FakeStreams()
    server.error = ApiError("wrong last sequence", where=NAME, code=_OTHER)
    with pytest.raises(ApiError, match="wrong last sequence"):
        await stream_on(server).served(server.call)
    assert (server.asked, server.made) == (0, 0)
