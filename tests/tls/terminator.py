"""Ends TLS in front of a server that was built without it: `python -m tests.tls.terminator …`.

It asks its clients for certificates, and hands what they say to the server plainly. It speaks
PostgreSQL's request for TLS, too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Final

from lockstep.tls import TlsFiles, serving

HOST: Final = "127.0.0.1"
SSL_REQUEST: Final = bytes.fromhex("0000000804d2162f")
CHUNK_BYTES: Final = 65_536


@contextlib.asynccontextmanager
async def terminating(port: int, files: TlsFiles, *, postgres: bool = False) -> AsyncIterator[int]:
    """The port of a process that does it for the server at `port`."""
    words = [files.authority, files.certificate, files.key, str(port), str(int(postgres))]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, *words, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline())
    finally:
        process.terminate()
        await process.wait()


async def serve(files: TlsFiles, to_port: int, *, postgres: bool) -> None:
    """For ever; says its port first."""
    context = serving(files)
    assert context is not None

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if postgres:
                assert await reader.readexactly(len(SSL_REQUEST)) == SSL_REQUEST
                writer.write(b"S")
                await writer.drain()
                await writer.start_tls(context)
            inner_reader, inner_writer = await asyncio.open_connection(HOST, to_port)
            await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))

    server = await asyncio.start_server(one, HOST, 0, ssl=None if postgres else context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends; the other one hears of it."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for word in ("authority", "certificate", "key"):
        parser.add_argument(word)
    parser.add_argument("port", type=int)
    parser.add_argument("postgres", type=int)
    given = parser.parse_args()
    own = TlsFiles(given.authority, given.certificate, given.key)
    asyncio.run(serve(own, given.port, postgres=bool(given.postgres)))
