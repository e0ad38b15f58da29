"""Messages of syslog through a whole suite: from `logger` to rsyslog, with a pause in between."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from tests.contract.connectors.brokers import free_port
from tests.contract.connectors.rsyslog import RsyslogServer, Taken
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.test_pausing import state, tell
from tests.needed import lacking

NODES = ("coordinator", "processor-1", "receiver", "publisher")
TEXT = '''
@app:name('Logs')
@source(type='syslog', transport='tcp', port='{port}', @map(type='json',
    @attributes(n='$.n', host='trp:host', app='trp:app', severity='trp:severity',
                room='trp:sd.room@32473.name')))
define stream In (n int, host string, app string, severity int, room string);
@sink(type='syslog', url='tcp://127.0.0.1:{far}', severity='{{{{severity}}}}',
    app.name='{{{{app}}}}', structured.data="""[room@32473 name="{{{{room}}}}"]""",
    host.name='h', max.message.bytes='180', @map(type='json'))
define stream Out (n int, app string, severity int, room string);
from In select n, app, severity, room insert into Out;
'''
SOURCE = "source:In.0.syslog"


async def logged(port: int, text: str, *, app: str = "kit") -> None:
    """By the command of util-linux; it fails while nobody listens."""
    command = shutil.which("logger")
    if command is None:
        lacking("no command `logger`")
    words = [
        command, "-n", "127.0.0.1", "-P", str(port), "-T", "--rfc5424", "-p", "user.err", "-t", app,
        "--sd-id", "room@32473", "--sd-param", r'name="at\]tic"', "--", text,
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*words)
    assert await process.wait() == 0


async def test_messages_come_from_logger_and_go_to_rsyslog(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Fields of headers are attributes; what cannot be read or sent is a dead letter."""
    far, port = RsyslogServer(tmp_path / "far"), free_port()
    await far.start()
    try:
        async with cluster_of(*NODES) as cluster:
            app = await cluster.deploy(TEXT.format(port=port, far=far.port))
            await state(cluster, app, SOURCE, "running")
            await logged(port, '{"n": 1}')
            await logged(port, "no number")
            await logged(port, '{"n": 2}', app="x" * 48)

            async def arrived(count: int) -> list[Taken]:
                async def there() -> bool:
                    return len(far.taken()) >= count

                await until(there, f"{count} messages at rsyslog", seen=far.taken)
                return far.taken()

            async def buried() -> bool:
                return len(await cluster.watcher.bus.dead_letters.read(app)) == 2

            await until(buried, "dead letters")
            letters = await cluster.watcher.bus.dead_letters.read(app)
            origins = sorted(one.letter.origin.partition("/")[0] for one in letters)
            assert origins == ["publisher", "receiver"]
            assert any(one.letter.payload == b"no number" for one in letters)

            await tell(cluster, app, f"/{SOURCE}/pause", why="later")
            await state(cluster, app, SOURCE, "paused")
            refused = await asyncio.create_subprocess_exec(
                str(shutil.which("logger")), "-n", "127.0.0.1", "-P", str(port), "-T", "x",
                stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            assert await refused.wait() != 0
            await tell(cluster, app, f"/{SOURCE}/resume")
            await state(cluster, app, SOURCE, "running")
            await logged(port, '{"n": 3}')
            found = await arrived(2)
            assert [one.text for one in found] == [
                f'{{"event":{{"n":{n},"app":"kit","severity":3,"room":"at]tic"}}}}' for n in (1, 3)
            ]
            assert {(one.pri, one.app) for one in found} == {(11, "kit")}
            assert {one.structured for one in found} == {r'[room@32473 name="at\]tic"]'}
    finally:
        await far.stop()
