"""The console's process says when it is there, and ends in good order when it is asked to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import Final, NoReturn

import pytest
import uvicorn

from lockstep_services.console import server

PATIENCE_S: Final = 60
SETTINGS: Final = {
    "LOCKSTEP_SERVER__PORT": "0",
    "LOCKSTEP_CLIENT__URL": "http://127.0.0.1:1",
    "LOCKSTEP_TELEMETRY__LOG_FORMAT": "json",
}


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_good_order(number: signal.Signals) -> None:
    """With exit code 0, as the other services do, and with the lines that they write."""
    with subprocess.Popen(
        [sys.executable, "-m", "lockstep_services.console"],
        env={**os.environ, **SETTINGS}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        told = []
        for line in process.stdout:
            told.append(json.loads(line))
            if told[-1]["message"] == "ready":
                process.send_signal(number)
        code = process.wait()
    assert code == 0
    assert [line["message"] for line in told] == ["listening", "ready", "stopping"]
    assert told[0]["url"].startswith("http://127.0.0.1:")
    assert told[2]["signal"] == number.name


async def test_it_ends_where_that_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end comes first, the line after it."""

    def full() -> NoReturn:
        raise OSError("no room")

    monkeypatch.setattr(server, "get_logger", full)
    serving = server._Server(uvicorn.Config("nobody"))
    serving.config.loaded_app = None  # NiceGUI asks all servers of a process which app they have
    async with asyncio.timeout(PATIENCE_S):
        with serving.capture_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            while not serving.should_exit:
                await asyncio.sleep(0)
