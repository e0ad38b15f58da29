"""Sources and sinks that are classes of their own, in a whole suite on real servers."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

from lockstep.connectors.tcp.frames import HEAD_BYTES, body_bytes, frame, parsed
from tests.contract.connectors.brokers import free_port
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver", "publisher")
APP = """
@app:name('Carried')
@source(type='tcp', context='Sweets', port='{port}', @map(type='binary'))
define stream In (name string, amount double);
@source(type='file', dir.uri='file:{folder}', @map(type='csv'))
define stream Lines (name string, amount double);
@source(type='file', dir.uri='{parts}', mode='binary.chunked', buffer.size='4',
        action.after.process='keep', @map(type='binaryPassThrough',
            @attributes(part='0', number='trp:sequence.number', last='trp:eof')))
define stream Parts (part object, number int, last bool);
@source(type='fileeventlistener', dir.uri='{parts}')
define stream Files (path string, name string, status string);
@sink(type='tcp', url='tcp://127.0.0.1:{back}/Alerts', @map(type='binary'))
define stream Out (name string, amount double);
from In[amount > 1.0] select * insert into Out;
from Lines select * insert into Out;
from Parts select ifThenElse(last, 'last', 'part') as name, convert(number, 'double') as amount
insert into Out;
from Files select str:concat(name, ' ', status) as name, 0.0 as amount insert into Out;
"""


def binary(name: str, amount: float) -> bytes:
    """An event as the older products' clients write it."""
    text = name.encode()
    return struct.pack(f">iqi{len(text)}sd", 1, 1_000, len(text), text, amount)


async def connected(port: int) -> asyncio.StreamWriter:
    """When the receiver listens."""
    async with asyncio.timeout(60):
        while True:
            try:
                return (await asyncio.open_connection("127.0.0.1", port))[1]
            except OSError:
                await asyncio.sleep(0.05)


async def test_frames_and_files_go_in_and_frames_come_out(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Binary events by TCP, lines and parts of files, and what happens to files, become frames; a
    bad line becomes a dead letter."""
    folder, parts, port, back = tmp_path / "in", tmp_path / "parts", free_port(), free_port()
    folder.mkdir()
    parts.mkdir()
    got: asyncio.Queue[tuple[str, float]] = asyncio.Queue()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(HEAD_BYTES):
            context, body = parsed(await reader.readexactly(body_bytes(head, 1_000)))
            assert context == "Alerts"
            (length,) = struct.unpack_from(">i", body, 12)
            got.put_nowait((body[16 : 16 + length].decode(), struct.unpack(">d", body[-8:])[0]))

    server = await asyncio.start_server(accept, "127.0.0.1", back)
    async with server, cluster_of(*NODES) as cluster:
        text = APP.format(port=port, back=back, folder=folder, parts=parts)
        app = await cluster.deploy(text)
        writer = await connected(port)
        for name, amount in (("cake", 2.5), ("bun", 0.5), ("pie", 3.5)):
            writer.write(frame("Sweets", binary(name, amount)))
        await writer.drain()
        async with asyncio.timeout(60):
            assert [await got.get() for _ in range(2)] == [("cake", 2.5), ("pie", 3.5)]
        (folder / "a.csv").write_text("tart,4.5\nroll,much\nflan,5.5\n")
        async with asyncio.timeout(60):
            assert [await got.get() for _ in range(2)] == [("tart", 4.5), ("flan", 5.5)]
            while not (letters := await cluster.watcher.bus.dead_letters.read(app)):
                await asyncio.sleep(0.05)
            while (folder / "a.csv").exists():
                await asyncio.sleep(0.05)
        assert [each.letter.payload for each in letters] == [b"roll,much"]
        (parts / "b.bin").write_bytes(b"0123456789")
        async with asyncio.timeout(60):
            rows = [await got.get() for _ in range(4)]
        assert sorted(row for row in rows if row[1]) == [
            ("last", 3.0),
            ("part", 1.0),
            ("part", 2.0),
        ]
        assert ("b.bin created", 0.0) in rows
        writer.close()
