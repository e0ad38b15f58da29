"""Rotel: a collector that takes OTLP, gathers spans of all senders in batches, and hands them on.

What it hands on is kept by a receiver of OTLP in this process, as a store of traces would.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from lockstep.embedded import free_port
from tests.otlp.receiver import Seen, Spans, receiving

HOST: Final = "127.0.0.1"
PATH: Final = "/v1/traces"
POLL_S: Final = 0.1
READY_S: Final = 60.0
STOP_S: Final = 20.0


def found(folder: Path) -> Path | None:
    """The program that `scripts/rotel` put there, or one on PATH."""
    own = folder / "rotel" / "rotel-agent"
    there = str(own) if own.exists() else shutil.which("rotel")
    return None if there is None else Path(there)


class Rotel:
    """A process on ports of its own, which it keeps when it is started again."""

    def __init__(self, binary: Path, folder: Path, store: Spans) -> None:
        self._port = free_port()
        self._store = store
        self._log = folder / "rotel.out"
        self._command = [
            str(binary), "start", f"--pid-file={folder / 'rotel.pid'}",
            f"--log-file={folder / 'rotel.log'}",
            f"--otlp-grpc-endpoint={HOST}:{free_port()}",
            f"--otlp-http-endpoint={HOST}:{self._port}",
            "--exporter=otlp", "--otlp-exporter-protocol=http",
            f"--otlp-exporter-endpoint={store.url.removesuffix(PATH)}",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def otlp_url(self) -> str:
        """Where spans go."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def start(self) -> None:
        """Until it listens; TimeoutError, RuntimeError when it ends instead."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        async with asyncio.timeout(READY_S):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection(HOST, self._port)
                    writer.close()
                    return
                if self._process.poll() is not None:
                    raise RuntimeError(f"Rotel ended: {self._log.read_text()}")
                await asyncio.sleep(POLL_S)

    async def stop(self) -> None:
        """Also when it does not run."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            await asyncio.to_thread(process.wait, STOP_S)

    def trace(self, trace_id: str) -> Sequence[Seen]:
        """What came of a trace by now."""
        return [span for span in self.spans() if span.trace_id == trace_id]

    def spans(self) -> Sequence[Seen]:
        """All that came by now."""
        return tuple(self._store.seen)


@contextlib.asynccontextmanager
async def running(binary: Path, folder: Path) -> AsyncIterator[Rotel]:
    """Ready within the block; its log is left in `folder`."""
    with receiving() as store:
        rotel = Rotel(binary, folder, store)
        try:
            await rotel.start()
            yield rotel
        finally:
            await rotel.stop()
