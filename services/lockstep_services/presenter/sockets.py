"""Rows over WebSocket: what the event streams bring, with close codes that say why it ended.

A client only listens. One that takes nothing is cut, so that no more waits for it than its queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from aiohttp import WSCloseCode, WSMsgType, web

from lockstep.clock import Clock
from lockstep.frame import Problem, run_until
from lockstep.frame.callers import offered_protocols, opens_socket
from lockstep.settings import PresenterSettings
from lockstep_services.presenter.api import Lookup, cut, encode
from lockstep_services.presenter.feed import Feed
from lockstep_services.presenter.following import Ended, Gap, Heard, follow
from lockstep_services.presenter.forms import (
    CLOUDEVENTS_PROTOCOL,
    Form,
    form_of,
    wants_cloudevents,
)
from lockstep_services.presenter.listeners import Listeners
from lockstep_services.presenter.models import Shown
from lockstep_services.presenter.resuming import event_id, resume_point

PROTOCOLS: Final = ("lockstep.rows", CLOUDEVENTS_PROTOCOL)
PING_S: Final = 20.0
CLOSE_LIMIT_S: Final = 2.0
MAX_HEARD_BYTES: Final = 1_024
CODES: Final = {
    Ended.LAGGING: WSCloseCode.TRY_AGAIN_LATER,
    Ended.ANEW: WSCloseCode.SERVICE_RESTART,
    Ended.LEAVING: WSCloseCode.GOING_AWAY,
    Ended.READING: WSCloseCode.TRY_AGAIN_LATER,
}


class _EndedError(Exception):
    """The connection is to be closed, with this."""

    def __init__(self, code: WSCloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Sockets:
    """The WebSocket route."""

    def __init__(
        self,
        feed: Feed,
        lookup: Lookup,
        listeners: Listeners,
        clock: Clock,
        settings: PresenterSettings,
    ) -> None:
        self._feed = feed
        self._lookup = lookup
        self._listeners = listeners
        self._clock = clock
        self._send_limit_s = settings.send_limit_ms / 1000

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The path."""
        router.add_get("/v1/apps/{app}/streams/{stream}/ws", self._rows)

    async def _rows(self, request: web.Request) -> web.StreamResponse:
        models, stream = await self._lookup.stream(request)
        _check(request)
        is_cloud, since_ms = wants_cloudevents(request), models.view.log.since_ms
        resume = resume_point(request.query.get("after"), since_ms)
        listener = self._listeners.add(models.view.name, stream.schema.name, "websocket")
        closing = self._listeners.closing
        socket = web.WebSocketResponse(
            heartbeat=PING_S, timeout=CLOSE_LIMIT_S, max_msg_size=MAX_HEARD_BYTES,
            protocols=PROTOCOLS, compress=False,
        )  # fmt: skip
        try:
            await socket.prepare(request)
            heard = follow(self._feed, models, stream, resume, listener, closing, self._clock)
            is_cloud = is_cloud or socket.ws_protocol == CLOUDEVENTS_PROTOCOL
            form = form_of(models.view.name, stream.schema, since_ms, is_cloud=is_cloud)
            sending = partial(self._send, socket, heard, form, None if is_cloud else since_ms)
            await run_until(partial(_hear, socket), sending)
        except _EndedError as end:
            await _close(request, socket, end.code, end.reason)
        except TimeoutError:
            cut(request)
        except ConnectionError:
            pass
        except asyncio.CancelledError:
            if socket.prepared:
                code, reason = WSCloseCode.POLICY_VIOLATION, "the right to listen was taken"
                await _close(request, socket, code, reason)
            raise
        finally:
            self._listeners.remove(models.view.name, stream.schema.name, listener)
        return socket

    async def _send(
        self,
        socket: web.WebSocketResponse,
        heard: AsyncIterator[Heard],
        form: Form,
        since_ms: int | None,
    ) -> None:
        """Raises _EndedError, TimeoutError when the client takes nothing, ConnectionError."""
        async for one in heard:
            if isinstance(one, Ended):
                raise _EndedError(CODES[one], one.value)
            if isinstance(one, Gap):
                gap = form.note("gap", one.as_json(), self._clock.now_ms())
                messages: Sequence[Any] = [gap if since_ms is None else {"gap": gap}]
            else:
                messages = [_message(row, form, since_ms) for row in one or ()]
            for message in messages:
                async with asyncio.timeout(self._send_limit_s):
                    await socket.send_frame(encode(message), WSMsgType.TEXT)


def _check(request: web.Request) -> None:
    """Problem 426, 400. Offers without one that we speak would be logged, a token among them."""
    if not opens_socket(request):
        raise Problem(
            HTTPStatus.UPGRADE_REQUIRED, "this address takes WebSockets alone",
            hint="`sse` in the place of `ws` gives the same rows to an ordinary GET",
        )  # fmt: skip
    offered = offered_protocols(request)
    if offered and not set(PROTOCOLS) & set(offered):
        raise Problem(
            HTTPStatus.BAD_REQUEST, "no subprotocol is offered that this address speaks",
            hint=f"offer '{PROTOCOLS[0]}' or '{PROTOCOLS[1]}', beside a token's or alone, or none",
        )  # fmt: skip


def _message(row: Shown, form: Form, since_ms: int | None) -> Mapping[str, Any]:
    """Where `since_ms` is None the form itself says what to resume behind."""
    message = form.row(row)
    return message if since_ms is None else {**message, "after": event_id(row.id, since_ms)}


async def _hear(socket: web.WebSocketResponse) -> None:
    """Returns when the client has gone. Pings and pongs are answered on the way."""
    message = await socket.receive()
    if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
        raise _EndedError(WSCloseCode.UNSUPPORTED_DATA, "nothing is taken here")


async def _close(
    request: web.Request, socket: web.WebSocketResponse, code: WSCloseCode, reason: str
) -> None:
    try:
        async with asyncio.timeout(CLOSE_LIMIT_S):
            await socket.close(code=code, message=reason.encode())
    except TimeoutError:
        cut(request)
