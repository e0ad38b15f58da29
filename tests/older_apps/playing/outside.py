"""The other side of sinks: servers that keep what apps bring them, told apart by the app's mark.

HTTP and HTTPS with a token endpoint and answers of choice, gRPC, TCP in the older products' frames,
WebSocket, HL7 over MLLP, SMTP. A WebSocket client, or who scrapes metrics, is served what a test
has put there.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import defaultdict
from email import message_from_bytes
from ssl import SSLContext
from typing import Any

from aiohttp import web
from aiosmtpd.smtp import SMTP, AuthResult

from lockstep.connectors.grpc.events import event_bytes, read_event
from lockstep.connectors.hl7.mllp import Header, block, read_block
from lockstep.connectors.tcp.frames import HEAD_BYTES, body_bytes, parsed
from tests.contract.connectors.grpc_peer import grpc_server
from tests.older_apps.playing.repointing import Account

HOST = "127.0.0.1"
MAX_FRAME_BYTES = 1_048_576
MAIL = Account("localhost", 0, "sender", "secret-of-the-mails")
_MARK = re.compile(rb"a\d+")


class Outside:
    """All of them."""

    def __init__(self, tls: SSLContext) -> None:
        self._tls = tls
        self.got: defaultdict[tuple[str, str], list[bytes]] = defaultdict(list)
        """By mark and type of sink."""
        self.answers: dict[str, bytes] = {}
        self.metrics: dict[str, str] = {}
        self.ports: dict[str, int] = {}
        self._sockets: defaultdict[str, list[web.WebSocketResponse]] = defaultdict(list)
        self._running = contextlib.AsyncExitStack()

    async def start(self) -> None:
        """Returns when all listen."""
        door = web.Application()
        door.router.add_get("/{mark}/metrics", self._scraped)
        door.router.add_route("*", "/{mark}/token", self._token)
        door.router.add_get("/{mark}/{path:.*}", self._joined)
        door.router.add_route("*", "/{mark}/{path:.*}", self._taken)
        runner = web.AppRunner(door, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        self._running.push_async_callback(runner.cleanup)
        for tls in (None, self._tls):
            await web.TCPSite(runner, HOST, 0, ssl_context=tls).start()
        self.ports["http"], self.ports["https"] = (each[1] for each in runner.addresses)
        for name, talk in (("tcp", self._frames), ("hl7", self._blocks)):
            server = await asyncio.start_server(talk, HOST, 0)
            self._running.push_async_callback(_ended, server)
            self.ports[name] = server.sockets[0].getsockname()[1]
        serving = grpc_server(self._called)
        self.ports["grpc"] = await self._running.enter_async_context(serving)
        loop = asyncio.get_running_loop()
        mails = await loop.create_server(self._mail, HOST, 0, ssl=self._tls)
        self._running.push_async_callback(_ended, mails)
        self.ports["smtp"] = mails.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Of all."""
        for sockets in self._sockets.values():
            for each in sockets:
                await each.close()
        await self._running.aclose()

    async def push(self, mark: str, payload: bytes) -> bool:
        """To the WebSocket client of an app; False: there is none yet."""
        there = [each for each in self._sockets[mark] if not each.closed]
        for each in there:
            await each.send_str(payload.decode())
        return bool(there)

    async def _taken(self, request: web.Request) -> web.Response:
        mark = request.match_info["mark"]
        self.got[mark, "http"].append(await request.read())
        return web.Response(body=self.answers.get(mark, b""), content_type="application/json")

    async def _token(self, request: web.Request) -> web.Response:
        return web.json_response({"access_token": "t", "token_type": "Bearer", "expires_in": 3600})

    async def _scraped(self, request: web.Request) -> web.Response:
        return web.Response(text=self.metrics.get(request.match_info["mark"], ""))

    async def _joined(self, request: web.Request) -> web.StreamResponse:
        mark = request.match_info["mark"]
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return await self._taken(request)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets[mark].append(socket)
        async for one in socket:
            data = one.data.encode() if isinstance(one.data, str) else one.data
            self.got[mark, "websocket"].append(data)
        return socket

    async def _called(self, messages: list[bytes], _context: Any) -> bytes:
        """Events of the default service, whose sequence bears the mark."""
        mark = ""
        for each in messages:
            payload, headers = read_event(each)
            mark = headers["sequence"].partition("-")[0]
            self.got[mark, "grpc"].append(payload.encode())
        return event_bytes(self.answers.get(mark, b"").decode(), {})

    async def _frames(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError), contextlib.closing(writer):
            while True:
                head = await reader.readexactly(HEAD_BYTES)
                length = body_bytes(head, MAX_FRAME_BYTES)
                context, message = parsed(await reader.readexactly(length))
                self.got[context.partition("/")[0], "tcp"].append(message)

    async def _blocks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """MLLP has no address: all apps' messages are one list."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError), contextlib.closing(writer):
            while True:
                message = await read_block(reader)
                header = Header.of(message)
                if header is not None:
                    self.got["", "hl7"].append(message)
                    writer.write(block(header.answer("AA")))
                    await writer.drain()

    def _mail(self) -> SMTP:
        def known(*_: object) -> AuthResult:
            return AuthResult(success=True)

        return SMTP(self, authenticator=known, auth_require_tls=False, hostname="localhost")

    async def handle_DATA(self, server: object, session: object, envelope: object) -> str:
        """A mail came: who sent it bears the mark."""
        sender = str(getattr(envelope, "mail_from", ""))
        content = getattr(envelope, "content", b"")
        text = message_from_bytes(content).get_payload(decode=True)
        body = text if isinstance(text, bytes) else b""
        self.got[sender.partition("@")[0], "email"].append(body)
        return "250 OK"


async def _ended(server: asyncio.Server) -> None:
    server.close()
