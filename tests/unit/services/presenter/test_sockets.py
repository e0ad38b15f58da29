"""WebSockets: rows and resuming, who may open one, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from tests.unit.services.presenter.rows import ALLOWED, STREAM, TEXT, send, shown, suite
from tests.unit.services.suite import CLUSTER, Doors, bearer

PATH = f"{STREAM}/ws"
ROWS = "lockstep.rows"


async def opened(doors: Doors, query: str = "", **how: Any) -> aiohttp.ClientWebSocketResponse:
    """A real client's socket; aiohttp.WSServerHandshakeError."""
    how.setdefault("headers", ALLOWED)
    client: aiohttp.ClientWebSocketResponse = await doors.session.ws_connect(
        doors.url + PATH + query, **how
    )
    return client


async def rows(client: aiohttp.ClientWebSocketResponse, count: int) -> list[Any]:
    """The next messages."""
    return [await client.receive_json(timeout=30) for _ in range(count)]


async def listeners(doors: Doors) -> str:
    """How many WebSockets there are."""
    _, text = await doors.ask(bearer(CLUSTER), "GET", "/metrics")
    start = 'lockstep_presenter_listeners{kind="websocket"'
    return next(line.split()[-1] for line in str(text).splitlines() if line.startswith(start))


async def test_rows_come_with_a_place_to_resume_behind() -> None:
    """The next socket goes on where the first one was, and pings are answered."""
    async with suite() as (doors, _):
        async with await opened(doors, "?after=0.0") as first:
            await send(doors, 1, 2, 3)
            found = await rows(first, 2)
            assert [one["event"]["v"] for one in found] == [1, 2]
            assert set(found[0]) == {"id", "timestamp_ms", "event", "after"}
        assert first.close_code == 1000
        async with await opened(doors, f"?after={found[-1]['after']}", autoping=False) as second:
            assert (await rows(second, 1))[0]["event"]["v"] == 3
            await second.ping(b"there?")
            pong = await second.receive(timeout=30)
            assert (pong.type, pong.data) == (WSMsgType.PONG, b"there?")
            await send(doors, 4)
            assert (await rows(second, 1))[0]["event"]["v"] == 4
            assert await listeners(doors) == "1.0"


async def test_who_has_missed_rows_is_told() -> None:
    """Before what is left."""
    async with suite(LOCKSTEP_PRESENTER__HISTORY_ROWS="2") as (doors, _):
        await send(doors, 1, 2, 3, 4)
        await shown(doors, 4)
        async with await opened(doors, "?after=0.0") as client:
            gap, *left = await rows(client, 3)
        assert gap == {"gap": {"after": "0.0", "reason": "history is gone"}}
        assert [one["event"]["v"] for one in left] == [3, 4]


def offered(token: str) -> list[str]:
    """What a browser's script passes to `new WebSocket`."""
    return [ROWS, "lockstep.bearer." + base64.urlsafe_b64encode(token.encode()).decode().strip("=")]


async def test_a_browser_shows_its_token_in_a_subprotocol_from_any_page() -> None:
    """It is never named back, nor logged where no other one is offered."""
    async with suite() as (doors, _):
        page = {"Origin": "https://dashboards.example"}
        async with await opened(doors, protocols=offered(CLUSTER), headers=page) as client:
            assert client.protocol == ROWS
        for protocols, status in ((offered("wrong"), 401), (["lockstep.bearer.%"], 401)):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await opened(doors, protocols=protocols, headers=page)
            assert refused.value.status == status
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await opened(doors, protocols=offered(CLUSTER)[1:], headers=page)
        assert refused.value.status == 400


async def test_a_cookie_or_an_open_door_serves_pages_of_its_own_alone() -> None:
    """Browsers open sockets to any site, cookies and passwords with them."""
    async with suite() as (doors, _):
        cookie = {"Cookie": f"lockstep_token={CLUSTER}"}
        own = {"Origin": doors.url}
        async with await opened(doors, headers={**cookie, **own}):
            pass
        basic = {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}
        for origin in ("https://evil.example", "null"):
            for shown in (cookie, basic):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await opened(doors, headers={**shown, "Origin": origin})
                assert refused.value.status == 403
    async with suite(LOCKSTEP_SERVER__TOKEN="") as (doors, _):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await opened(
                doors, protocols=offered("any"), headers={"Origin": "https://evil.example"}
            )
        assert refused.value.status == 403


async def test_an_ordinary_request_is_told_to_upgrade() -> None:
    """With a hint where it finds its rows."""
    async with suite() as (doors, _):
        status, answer = await doors.ask(bearer(CLUSTER), "GET", PATH)
        assert (status, "sse" in answer["hint"]) == (426, True)


async def test_there_is_a_limit_of_listeners() -> None:
    """503 before the socket is open."""
    async with suite(LOCKSTEP_PRESENTER__MAX_LISTENERS="1") as (doors, _):
        async with await opened(doors):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await opened(doors)
            assert refused.value.status == 503
        async with await opened(doors) as after:
            assert not after.closed


async def ended(client: aiohttp.ClientWebSocketResponse) -> tuple[int | None, Any]:
    """The code and the reason that the presenter gave."""
    async with asyncio.timeout(30):
        while (message := await client.receive()).type is WSMsgType.TEXT:
            pass
    assert message.type is WSMsgType.CLOSE
    return client.close_code, message.extra


async def test_who_speaks_is_closed() -> None:
    """1003, or 1009 when it is much."""
    async with suite() as (doors, _):
        async with await opened(doors) as client:
            await client.send_str("{}")
            assert await ended(client) == (1003, "nothing is taken here")
        async with await opened(doors) as client:
            await client.send_str("x" * 2_000)
            assert (await ended(client))[0] == 1009


async def test_a_right_that_is_taken_ends_it() -> None:
    """1008, within the time in which accounts are looked at."""
    async with suite() as (doors, _):
        asked = {"name": "wall", "grants": [{"role": "view", "app": "A"}]}
        _, made = await doors.ask(bearer(CLUSTER), "POST", "/v1/tokens", asked)
        async with await opened(doors, protocols=offered(made["token"]), headers={}) as client:
            await doors.ask(bearer(CLUSTER), "DELETE", f"/v1/tokens/{made['id']}")
            assert await ended(client) == (1008, "the right to listen was taken")


async def test_a_presenter_that_stops_and_a_changed_app_say_so() -> None:
    """1001 and 1012: to be opened again, from where it was."""
    async with suite() as (doors, process):
        async with await opened(doors) as client:
            text = TEXT.replace("Out (v int, s string)", "Out (v int)").replace(
                "v, s insert", "v insert"
            )
            status, answer = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", {"text": text})
            assert status == 200, answer
            assert (await ended(client))[0] == 1012
        async with await opened(doors) as client:
            stopping = asyncio.create_task(process.stop())
            assert await ended(client) == (1001, "the presenter stops; connect again to resume")
            await stopping


class SlowClient:
    """A socket with a small buffer that reads when it is told."""

    def __init__(self, doors: Doors) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self._socket.setblocking(False)
        self._host, _, self._port = doors.url.removeprefix("http://").partition(":")
        self._kept = b""

    async def open(self) -> None:
        """The handshake."""
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self._socket, (self._host, int(self._port)))
        lines = (
            f"GET {PATH} HTTP/1.1", f"Host: {self._host}:{self._port}", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode(),
            "Sec-WebSocket-Version: 13", f"Authorization: {bearer(CLUSTER)}", "", "",
        )  # fmt: skip
        await loop.sock_sendall(self._socket, "\r\n".join(lines).encode())
        while b"\r\n\r\n" not in self._kept:
            self._kept += await loop.sock_recv(self._socket, 4_096)
        head, _, self._kept = self._kept.partition(b"\r\n\r\n")
        assert b" 101 " in head

    async def _take(self, count: int) -> bytes:
        while len(self._kept) < count:
            more = await asyncio.get_running_loop().sock_recv(self._socket, 65_536)
            if not more:
                raise ConnectionError
            self._kept += more
        taken, self._kept = self._kept[:count], self._kept[count:]
        return taken

    async def frame(self) -> tuple[int, bytes]:
        """Opcode and payload; ConnectionError when it is cut."""
        first, length = await self._take(2)
        if length == 126:
            (length,) = struct.unpack("!H", await self._take(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", await self._take(8))
        return first & 15, await self._take(length)

    async def rest(self) -> None:
        """Reads until it is cut: ConnectionError."""
        while True:
            await self.frame()

    def close(self) -> None:
        """Without a word."""
        self._socket.close()


@contextlib.asynccontextmanager
async def slow(doors: Doors) -> AsyncIterator[SlowClient]:
    """Open, and closed with the block."""
    client = SlowClient(doors)
    try:
        await client.open()
        yield client
    finally:
        client.close()


SMALL = {"LOCKSTEP_PRESENTER__SSE_QUEUE_EVENTS": "8", "LOCKSTEP_PRESENTER__HISTORY_ROWS": "8"}
LARGE_TEXT = "x" * 400_000


async def flood(doors: Doors) -> None:
    """More than sockets buffer, a row at a time, until the presenter drops or cuts the listener."""
    async with asyncio.timeout(60):
        for number in range(1_000):
            await send(doors, number, text=LARGE_TEXT)
            _, text = await doors.ask(bearer(CLUSTER), "GET", "/metrics")
            if (
                'listeners_dropped_total{kind="websocket"' in text
                or await listeners(doors) == "0.0"
            ):
                return


async def test_a_slow_client_is_told_and_keeps_what_it_had() -> None:
    """Rows without a gap, then 1013; behind the last one it resumes."""
    async with suite(**SMALL) as (doors, _), slow(doors) as client:
        await flood(doors)
        found: list[int] = []
        async with asyncio.timeout(60):
            while (frame := await client.frame())[0] == WSMsgType.TEXT.value:
                found.append(json.loads(frame[1])["event"]["v"])
        assert found == list(range(len(found)))
        assert len(found) >= 8
        code, reason = struct.unpack("!H", frame[1][:2])[0], frame[1][2:]
        assert (code, reason) == (1013, b"too slow; connect again to resume")


async def test_a_client_that_takes_nothing_is_cut() -> None:
    """Nothing waits for it any more."""
    async with (
        suite(**SMALL, LOCKSTEP_PRESENTER__SEND_LIMIT_MS="300") as (doors, _),
        slow(doors) as client,
    ):
        await flood(doors)
        async with asyncio.timeout(30):
            while await listeners(doors) != "0.0":
                await asyncio.sleep(0.02)
            with pytest.raises(ConnectionError):
                await client.rest()
