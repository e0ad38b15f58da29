"""A server that lets in who shows credentials, and a file of them that changes meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.patience import eventually, read_on
from tests.integration.bus.operated import OperatedNats

LIMITS = with_limits(connect_timeout_ms=5_000)
UNUSABLE = "the bus cannot be entered any more"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[OperatedNats]:
    """To be killed at will."""
    nats = OperatedNats(tmp_path / "nats", clock=SystemClock(), randomness=SystemRandomness())
    await nats.start()
    yield nats
    await nats.stop()


async def connect(server: OperatedNats, file: Path) -> NatsBus:
    """As the settings would name it."""
    url = f"nats://127.0.0.1:{server.port}?credentials={file}"
    return await NatsBus.connect(url, LIMITS, SystemRandomness())


def only(text: str, first: str, last: str) -> str:
    """The lines from one to another."""
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if first in line)
    end = next(at for at, line in enumerate(lines) if last in line)
    return "\n".join(lines[begin : end + 1]) + "\n"


def half(whole: str, how: str) -> str | None:
    """What somebody finds who reads too early; None: no file."""
    key = only(whole, "BEGIN USER NKEY SEED", "END USER NKEY SEED")
    return {
        "gone": None,
        "empty": "",
        "no key": only(whole, "BEGIN NATS USER JWT", "END NATS USER JWT"),
        "no token": key,
        "half a key": whole[: whole.index("END USER NKEY SEED") - 30],
    }[how]


@pytest.mark.parametrize("how", ["gone", "empty", "no key", "no token", "half a key"])
async def test_a_file_that_is_bad_for_a_moment_is_read_again(
    server: OperatedNats, tmp_path: Path, how: str
) -> None:
    """At a moment when the server is lost: whoever uses the bus is told, the log once, and once
    the file is whole all goes on."""
    file, renewed = tmp_path / "me.creds", server.credentials()
    file.write_text(server.credentials())
    bus = await connect(server, file)
    try:
        log = await bus.input_log(fresh_log())
        await log.append(one_event(1), dedup_id="1")
        with capture_logs() as told:
            written = half(renewed, how)
            file.write_text(written) if written is not None else file.unlink()
            await server.kill()
            await server.start()

            async def is_told() -> bool:
                return any(one["event"] == UNUSABLE for one in told)

            await eventually(is_told)
            with pytest.raises(UnavailableError, match=r"me\.creds"):
                bus._connection.check()
            await asyncio.sleep(1)
            file.write_text(renewed)
            await eventually(bus.healthy)
        assert len(loud(told, "me.creds")) == 1
        await log.append(one_event(2), dedup_id="2")
        found = [entry.record for entry in await read_on(log.read, 0, 2)]
        assert found == [one_event(1), one_event(2)]
    finally:
        await bus.close()


async def test_a_file_that_cannot_be_used_is_named_at_the_start(
    server: OperatedNats, tmp_path: Path
) -> None:
    """Somebody may be writing it: it may be tried again."""
    file = tmp_path / "me.creds"
    file.write_text("")
    with pytest.raises(UnavailableError, match=r"me\.creds cannot be used"):
        await connect(server, file)


def loud(told: list[Any], what: str) -> list[Any]:
    """Lines that speak of it, and that are written as the settings come."""
    return [one for one in told if one["log_level"] != "debug" and what in str(one)]
