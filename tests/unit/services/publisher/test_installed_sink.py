"""The sink and the source of EXTENDING.md, installed as it says, in a whole suite in one process on
memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

USE_IT = """
import asyncio, json, socket
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import Process, open_world
from lockstep.settings import load_settings
from lockstep.siddhiql import SiddhiQLError, check
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.publisher.wiring import wire as publisher
from lockstep_services.receiver.wiring import wire as receiver
import aiohttp

APP = (
    "@app:name('Points') @source(type='datagrams', port='{udp}', @map(type='json'))"
    "define stream Reading (room string, mean double);"
    "@sink(type='graphite', host='127.0.0.1', port='{port}', metric='rooms.{{{{room}}}}',"
    " @map(type='text', @payload('{{{{mean}}}}')))"
    "define stream Mean (room string, mean double);"
    "from Reading select room, mean insert into Mean;"
)
for wrong in ("metrics='x'", "metric='{{{{roof}}}}'", "metric='x', port='many'"):
    text = APP.replace("port='{port}', metric='rooms.{{{{room}}}}'", wrong).format(udp=1)
    try:
        check(text)
    except SiddhiQLError as error:
        print(">", error.message, "|", error.hint)

async def main():
    points = asyncio.Queue()

    async def take(reader, writer):
        await points.put(await reader.read())
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        udp = probe.getsockname()[1]
    clock, randomness = SystemClock(), SystemRandomness()
    settings = load_settings({
        "LOCKSTEP_BUS__KIND": "memory", "LOCKSTEP_LEADER__KIND": "memory",
        "LOCKSTEP_STORE__KIND": "memory", "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
        "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "100",
        "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "200", "LOCKSTEP_TELEMETRY__LOG_LEVEL": "error",
    })
    world = await open_world(settings, clock, randomness)
    process = Process(settings, world, clock, randomness)
    for name, wire in (("coordinator", coordinator), ("processor", processor),
                       ("receiver", receiver), ("publisher", publisher)):
        process.add(name, wire)
    await process.start()
    url = process.running.url
    async with aiohttp.ClientSession() as session:
        async def call(method, path, body):
            async with session.request(method, url + path, json=body) as answer:
                assert answer.status < 300, await answer.text()
        await call("PUT", "/v1/apps", {"text": APP.format(port=port, udp=udp)})
        await call("POST", "/v1/apps/Points/streams/Reading/events", [["attic", 31.5]])
    come = {(await asyncio.wait_for(points.get(), 60)).decode().strip()}
    async with asyncio.timeout(60):
        while len(come) < 2:  # nobody may listen to the first ones
            row = {"event": {"room": "hall", "mean": 20.0}}
            sender.sendto(json.dumps(row).encode(), ("127.0.0.1", udp))
            try:
                come.add((await asyncio.wait_for(points.get(), 0.2)).decode().strip())
            except TimeoutError:
                pass
    sender.close()
    for point in sorted(come):
        print(">", point)
    await process.stop()
    await world.close()
    server.close()

asyncio.run(main())
"""


def shown_on_the_page(kind: str) -> list[str]:
    """The fenced blocks of a kind."""
    text = (ROOT / "libs/lockstep/EXTENDING.md").read_text()
    return [m[1] for m in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


@pytest.mark.processes
def test_both_work_exactly_as_shown(tmp_path: Path) -> None:
    """Found by their entry points; options are checked; a datagram comes out as a point."""
    (sink,) = (block for block in shown_on_the_page("python") if "SINKS" in block)
    (source,) = (block for block in shown_on_the_page("python") if "SOURCES" in block)
    code_lines = [line for line in sink.splitlines() if line.strip()]
    assert len(code_lines) <= 20
    for name, text in (("graphite", sink), ("datagrams", source)):
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[lockstep.extensions]\n{name} = {name}\n")
    path = [str(tmp_path), str(ROOT), *(entry for entry in sys.path if entry)]
    done = subprocess.run(
        [sys.executable, "-c", USE_IT],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    shown = [line[2:] for line in done.stdout.splitlines() if line.startswith("> ")]
    assert shown == [
        "the sink 'graphite' has no option 'metrics' | did you mean 'metric'?",
        "{{roof}} names no attribute of 'Mean' | did you mean 'room'?",
        "sink 'graphite': 'port' is 'many' | write a whole number from 0 on",
        "rooms.attic 31.5",
        "rooms.hall 20.0",
    ], done.stderr[-3000:]
