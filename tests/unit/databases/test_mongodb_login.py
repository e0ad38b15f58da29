"""A MongoDB that lets nobody in. That of the tests lets everybody in, so a few lines play one."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import bson
import pytest

from lockstep.databases import DatabaseError, mongodb_at
from lockstep.databases.mongodb.client import MongoClient
from lockstep.events import UnavailableError

HEADER = struct.Struct("<iiii")
MESSAGE, REPLY, QUERY = 2013, 1, 2004
HELLO = {
    "ok": 1.0, "isWritablePrimary": True, "minWireVersion": 0, "maxWireVersion": 21,
    "maxBsonObjectSize": 16_777_216, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 1_000,
}  # fmt: skip


def answer_to(request: int, operation: int, document: dict[str, Any]) -> bytes:
    """A message of the protocol, as its question was."""
    body = bytes(bson.encode(document))
    if operation == MESSAGE:
        return HEADER.pack(21 + len(body), 0, request, MESSAGE) + b"\0" * 5 + body
    return HEADER.pack(36 + len(body), 0, request, REPLY) + struct.pack("<iqii", 8, 0, 0, 1) + body


@asynccontextmanager
async def server(refusal: dict[str, Any]) -> AsyncIterator[int]:
    """Greets everybody and refuses all else; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                length, request, _, operation = HEADER.unpack(await reader.readexactly(16))
                body = await reader.readexactly(length - 16)
                greets = operation == QUERY or b"hello" in body or b"ismaster" in body
                said = HELLO if greets else {"ok": 0.0, **refusal}
                writer.write(answer_to(request, operation, said))
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("refusal", "kind", "said"),
    [
        ({"code": 18, "errmsg": "Authentication failed."}, UnavailableError, "refuses the login"),
        ({"code": 13, "errmsg": "not authorized on shop"}, DatabaseError, "not authorized"),
    ],
)
async def test_a_login_that_is_refused_is_waited_for(
    refusal: dict[str, Any], kind: type[Exception], said: str
) -> None:
    """A right that is missing is not: it is there or not whenever one asks."""
    async with server(refusal) as port:
        client = MongoClient(mongodb_at(f"mongodb://ann:wrong@127.0.0.1:{port}/shop", "shop"))
        with pytest.raises(kind, match=said) as caught:
            await client.find("things", {}, ("a",), 1)
        await client.close()
    assert "wrong" not in str(caught.value)
