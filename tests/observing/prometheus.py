"""A real Prometheus over a running suite, with the files that `lockstep observe` wrote."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from lockstep.embedded import free_port
from lockstep.telemetry.boards import files

POLL_S = 0.5
FALLBACK = " or vector(0)"


def found(folder: Path) -> Path | None:
    """The binary that `scripts/prometheus` put there, or one on PATH."""
    own = folder / "usr" / "bin" / "prometheus"
    there = str(own) if own.exists() else shutil.which("prometheus")
    return None if there is None else Path(there)


@contextlib.asynccontextmanager
async def running(binary: Path, folder: Path, targets: Sequence[str]) -> AsyncIterator[str]:
    """Its address, within the block. It scrapes `targets` every second."""
    for path, text in files().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    config = folder / "prometheus" / "prometheus.yml"
    hosts = ", ".join(f'"{urlsplit(url).netloc}"' for url in targets)
    text = re.sub(
        r"dns_sd_configs:\n.*\n",
        f"static_configs: [{{ targets: [{hosts}] }}]\n",
        config.read_text(),
    )
    config.write_text(re.sub(r"interval: \d+s", "interval: 1s", text))
    port = free_port()
    command = [
        str(binary), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
    ]  # fmt: skip
    with subprocess.Popen(command) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            await _ready(url)
            yield url
        finally:
            process.terminate()


async def _ready(url: str) -> None:
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{url}/-/ready") as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(POLL_S)


async def asked(url: str, path: str, **query: str) -> Any:
    """What the API answers."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/api/v1/{path}", params=query) as answer,
    ):
        body = await answer.json()
        assert body["status"] == "success", f"{query}: {body}"
        return body["data"]


async def without_data(url: str, expressions: Sequence[str]) -> list[str]:
    """Those that give nothing now, or nothing but NaN."""
    empty = []
    for expression in expressions:
        result = (await asked(url, "query", query=expression))["result"]
        if not any(sample["value"][1] != "NaN" for sample in result):
            empty.append(expression)
    return empty


def without_fallback(expression: str) -> str:
    """What `or_zero` was given; any other expression as it is."""
    return expression.removesuffix(FALLBACK)
