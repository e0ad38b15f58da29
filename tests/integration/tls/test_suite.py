"""A whole suite of processes that speak over TLS alone and ask one another for certificates."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, running_processes
from lockstep.cli.replay import send_retrying
from lockstep.client import EventClient
from lockstep.tls import TlsFiles, calling, serving
from tests.contract.patience import PATIENCE_S, eventually
from tests.tls.certificates import Authority
from tests.tls.servers import secured

PLAN = [
    ("coordinator-1", "coordinator"),
    ("coordinator-2", "coordinator"),
    ("processor-1", "processor"),
    ("publisher", "publisher"),
    ("presenter", "presenter"),
    ("receiver", "receiver"),
]
APP = """\
@app:name('{name}')
define stream Reading (room string, celsius double);
@sink(type='http', publisher.url='https://127.0.0.1:{port}/in', @map(type='json'),
  tls.ca.file='{ca}', tls.certificate.file='{certificate}', tls.key.file='{key}')
define stream Hot (room string, celsius double);
from Reading[celsius > 30.0] select room, celsius insert into Hot;
"""
READY_S = 170

pytestmark = pytest.mark.timeout(400)


@asynccontextmanager
async def hook(files: TlsFiles, got: list[Any]) -> AsyncIterator[int]:
    """A destination that asks for certificates, too; its port."""

    async def take(request: web.Request) -> web.Response:
        got.append(await request.json())
        return web.Response()

    application = web.Application()
    application.router.add_post("/in", take)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving(files)).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def test_events_go_in_and_come_out(tmp_path: Path) -> None:
    """Over mTLS from the client to the sink's destination; strangers get nothing anywhere; doors
    show new certificates without a restart."""
    authority = Authority(tmp_path / "certificates")
    got: list[Any] = []
    own = authority.files(authority.give("client"))
    async with (
        secured(tmp_path / "servers", authority) as settings,
        hook(authority.files(authority.give("hook")), got) as port,
        running_processes(
            tmp_path / "suite",
            plan=PLAN,
            overrides={**settings, "LOCKSTEP_PROCESSOR__EXECUTOR": "reference"},
        ) as suite,
    ):
        named = {"ca": own.authority, "certificate": own.certificate, "key": own.key, "port": port}
        await deployed_by_each_coordinator(suite, named)
        async with EventClient([suite.addresses.receiver], app="App1", tls=own) as client:
            await client.send("Reading", {"room": "attic", "celsius": 33.5})
            await client.send("Reading", {"room": "hall", "celsius": 20.0})
        async with asyncio.timeout(PATIENCE_S):
            while not got:
                await asyncio.sleep(0.05)
        assert got == [{"event": {"room": "attic", "celsius": 33.5}}]
        assert await shown_by_the_command(suite) == ["attic"]
        for process in suite.processes.values():
            await refuses_strangers(process.url, authority)
        before = [await serial(process.url, own) for process in suite.processes.values()]
        authority.give("door")
        after = [await serial(process.url, own) for process in suite.processes.values()]
        assert set(before).isdisjoint(after)
        assert len(set(before)) == len(set(after)) == 1


async def deployed_by_each_coordinator(suite: ProcessSuite, named: dict[str, Any]) -> None:
    """One of the two passes it on to the other."""
    for number, process in enumerate(suite.of("coordinator"), start=1):
        async with Client(replace(suite.addresses, coordinator=process.url)) as client:
            text = APP.format(name=f"App{number}", **named)
            await send_retrying(partial(client.deploy, text))
    async with Client(suite.addresses) as client:
        ready = await client.replicas(
            "App1", lambda one: bool(one["ready"]), count=1, limit_ms=READY_S * 1000, poll_ms=100
        )
        assert ready


async def shown_by_the_command(suite: ProcessSuite) -> list[str]:
    """As a person asks, with what the suite left in its folder."""
    folder = suite.processes["receiver"].log.parents[1]
    url = f"{suite.addresses.presenter}/v1/apps/App1/streams/Hot/latest"
    main = "from lockstep.cli import main; main()"
    command = [sys.executable, "-c", main, "--directory", str(folder), "list", "--json"]
    listing = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await listing.communicate()
    assert sorted(one["app"] for one in json.loads(said)) == ["App1", "App2"]
    rows: list[str] = []

    async def there() -> bool:
        async with Client(suite.addresses) as client:
            rows[:] = [row["event"]["room"] for row in (await client.request("GET", url))["events"]]
        return bool(rows)

    await eventually(there)
    return rows


async def refuses_strangers(url: str, authority: Authority) -> None:
    """No certificate: nothing but health. A strange one, or no TLS: not even that."""
    assert await status(f"{url}/readyz", authority.files()) == 200
    assert await status(f"{url}/openapi.json", authority.files()) == 403
    stranger = Authority(authority.folder / "other", "other").give("stranger")
    files = TlsFiles(str(authority.file), str(stranger.certificate), str(stranger.key))
    for place, shown in ((url, files), (url.replace("https", "http"), TlsFiles())):
        with pytest.raises((aiohttp.ClientError, ConnectionError, ssl.SSLError)):
            await status(f"{place}/readyz", shown)


async def status(url: str, files: TlsFiles) -> int:
    """Of an answer to who shows that."""
    connector = aiohttp.TCPConnector(ssl=calling(files) or True)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as response:
        await response.read()
        return response.status


async def serial(url: str, files: TlsFiles) -> str:
    """The number of the certificate that a door shows to a new connection."""
    host, port = url.removeprefix("https://").split(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=calling(files))
    found = writer.get_extra_info("peercert")["serialNumber"]
    writer.close()
    return str(found)
