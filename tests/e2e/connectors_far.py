"""The other side of sinks that talk to somebody's server, in a process of its own that may be
killed: HTTP, WebSocket, TCP frames, HL7, SMTP and gRPC; and what `connectors_agents` has.

`python -m tests.e2e.connectors_far FOLDER http=PORT tcp=PORT …`. What arrives is a line of
FOLDER/<name>, written before it is acknowledged: the message's identity, a tab, its number. It
refuses what is not called "ok". Whoever holds a WebSocket at /feed gets what is posted to /push.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from email import message_from_bytes
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
from aiohttp import WSMsgType, web
from aiosmtpd.smtp import SMTP

from lockstep.connectors.grpc.events import event_bytes, read_event
from lockstep.connectors.hl7.mllp import Header, block, read_block
from lockstep.connectors.tcp.frames import HEAD_BYTES, FrameError, body_bytes, parsed
from tests.contract.connectors.grpc_peer import CONSUME, PROCESS, metadata_of
from tests.e2e.connectors_agents import Agents, Metrics

HOST: Final = "127.0.0.1"
GOOD: Final = "ok"
LIMIT_BYTES: Final = 1_000_000


class Book:
    """What has arrived, by name; outlives this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}

    def write(self, name: str, identity: str, number: int) -> None:
        """A line, at once."""
        if name not in self._files:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._files[name] = os.open(self._folder / name, flags, 0o600)
        os.write(self._files[name], f"{identity}\t{number}\n".encode())

    def take(self, name: str, identity: str, payload: bytes) -> int | None:
        """The number of a message as the sinks write it; None for one that is refused."""
        event = json.loads(payload)["event"]
        if event["name"] != GOOD:
            return None
        self.write(name, identity, event["n"])
        return int(event["n"])


class Web:
    """HTTP and WebSockets."""

    def __init__(self, book: Book, metrics: Metrics, agents: Agents) -> None:
        self._book = book
        self._metrics = metrics
        self._asked = {**metrics.asked, **agents.asked}
        self._listeners: set[web.WebSocketResponse] = set()

    async def start(self, port: int) -> None:
        app = web.Application()
        app.router.add_post("/in", self._hook)
        app.router.add_post("/call", self._call)
        app.router.add_post("/push", self._push)
        app.router.add_get("/sink", self._socket)
        app.router.add_get("/feed", self._feed)
        app.router.add_post("/asked/{name}/{what}", self._told)
        self._metrics.routes(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, HOST, port).start()

    async def _hook(self, request: web.Request) -> web.Response:
        identity = request.headers["Idempotency-Key"]
        taken = self._book.take("http", identity, await request.read())
        return web.Response(status=400 if taken is None else 200)

    async def _call(self, request: web.Request) -> web.Response:
        identity = request.headers["Idempotency-Key"]
        taken = self._book.take("http-call", identity, await request.read())
        if taken is None:
            return web.Response(status=400)
        return web.json_response({"event": {"n": taken}})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        async for one in response:
            if one.type is WSMsgType.TEXT:
                self._book.take("websocket", "", one.data.encode())
        return response

    async def _feed(self, request: web.Request) -> web.WebSocketResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        self._listeners.add(response)
        async for _ in response:
            pass
        self._listeners.discard(response)
        return response

    async def _told(self, request: web.Request) -> web.Response:
        """What to give to those who ask."""
        asked = self._asked[request.match_info["name"]]
        if request.match_info["what"] == "freeze":
            asked.is_frozen = True
        else:
            asked.poison()
        return web.Response()

    async def _push(self, request: web.Request) -> web.Response:
        """503 while nobody listens."""
        payload = await request.text()
        listening = [one for one in self._listeners if not one.closed]
        for one in listening:
            with contextlib.suppress(ConnectionError):
                await one.send_str(payload)
        return web.Response(status=200 if listening else 503)


class Frames:
    """The older products' TCP server."""

    def __init__(self, book: Book) -> None:
        self._book = book

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(FrameError, asyncio.IncompleteReadError, OSError):
            while True:
                length = body_bytes(await reader.readexactly(HEAD_BYTES), LIMIT_BYTES)
                _, message = parsed(await reader.readexactly(length))
                self._book.take("tcp", "", message)
        writer.close()


class Calls(grpc.GenericRpcHandler):
    """gRPC: the default service of the older products."""

    def __init__(self, book: Book) -> None:
        self._book = book

    async def start(self, port: int) -> None:
        server = grpc.aio.server(handlers=(self,))
        server.add_insecure_port(f"{HOST}:{port}")
        await server.start()
        self._server = server

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """A method by its path."""
        if details.method == PROCESS:
            return grpc.unary_unary_rpc_method_handler(self._process)
        return (
            grpc.stream_unary_rpc_method_handler(self._consume)
            if (details.method == CONSUME)
            else None
        )

    async def _process(self, message: bytes, context: Any) -> bytes:
        taken = await self._taken("grpc-call", message, context)
        return event_bytes(json.dumps({"event": {"n": taken}}), {})

    async def _consume(self, messages: Any, context: Any) -> bytes:
        async for message in messages:
            await self._taken("grpc", message, context)
        return b""

    async def _taken(self, name: str, message: bytes, context: Any) -> int:
        identity = metadata_of(context)["idempotency-key"]
        taken = self._book.take(name, identity, read_event(message)[0].encode())
        if taken is None:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not ok")
        assert taken is not None
        return taken


class Clinic:
    """HL7: the number is the control id, the name the sending facility."""

    def __init__(self, book: Book) -> None:
        self._book = book

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                header = Header.of(await read_block(reader))
                if header is None:
                    break
                good = header.field(4) == GOOD
                if good:
                    self._book.write("hl7", header.field(10), int(header.field(10)))
                writer.write(block(header.answer("AA" if good else "AR")))
                await writer.drain()
        writer.close()


class Mails:
    """SMTP; the name is who gets the mail."""

    def __init__(self, book: Book) -> None:
        self._book = book

    async def handle_RCPT(self, _s: Any, _k: Any, envelope: Any, address: str, _o: Any) -> str:
        """Nobody of another name."""
        if not address.startswith(f"{GOOD}@"):
            return "550 no such box"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """Taken."""
        mail = message_from_bytes(envelope.content)
        self._book.take("email", str(mail["Message-ID"]), str(mail.get_payload()).encode())
        return "250 taken"


async def serve(folder: Path, ports: dict[str, int]) -> None:
    """Until it is killed."""
    book = Book(folder)
    mails, agents = Mails(book), Agents(folder, book.write)
    await Web(book, Metrics(folder, book.write), agents).start(ports["http"])
    calls = Calls(book)
    await calls.start(ports["grpc"])
    agents.start(ports["asked"], ports["set"])
    await asyncio.start_server(Frames(book).talk, HOST, ports["tcp"])
    await asyncio.start_server(Clinic(book).talk, HOST, ports["hl7"])
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: SMTP(mails, loop=loop), HOST, ports["smtp"])
    await asyncio.Event().wait()


def main(folder: str, *ports: str) -> None:
    """As the command says."""
    named = (one.split("=", 1) for one in ports)
    asyncio.run(serve(Path(folder), {name: int(port) for name, port in named}))


if __name__ == "__main__":
    main(*sys.argv[1:])
