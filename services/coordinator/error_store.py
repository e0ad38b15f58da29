"""The error store over REST: dead letters listed, sent again, forgotten."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from aiohttp import web

from lockstep.bus import Bus
from lockstep.frame import Problem
from services.coordinator.api import read_body

DEFAULT_LETTERS = 100
MAX_LETTERS = 1_000
SHOWN_PAYLOAD_BYTES = 4_096


class _Sequences(msgspec.Struct):
    sequences: list[int]


class ErrorStore:
    """Handlers over the bus's dead letters."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/errors", self._letters)
        router.add_post("/v1/apps/{app}/errors/replay", self._replay)
        router.add_post("/v1/apps/{app}/errors/purge", self._purge)

    async def _letters(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        after, limit = _number(request, "after", 0), _number(request, "limit", DEFAULT_LETTERS)
        found = await self._bus.dead_letters.read(
            app, request.query.get("stream"), after=after, max_records=min(limit, MAX_LETTERS)
        )
        body = [
            {
                "sequence": one.sequence,
                "stream": one.letter.stream,
                "reason": one.letter.reason,
                "payload": one.letter.payload[:SHOWN_PAYLOAD_BYTES].decode(errors="replace"),
                "content_type": one.letter.content_type,
                "clock_ms": one.letter.clock_ms,
                "origin": one.letter.origin,
                "position": one.letter.position,
            }
            for one in found
        ]
        return web.json_response({"app": app, "errors": body})

    async def _replay(self, request: web.Request) -> web.Response:
        """Sends refused input again by the bus's front door, as it was first sent."""
        app = request.match_info["app"]
        wanted = set((await read_body(request, _Sequences)).sequences)
        if not 0 < len(wanted) <= MAX_LETTERS:
            raise Problem(HTTPStatus.BAD_REQUEST, f"sequences: expected 1 to {MAX_LETTERS}")
        found = await self._bus.dead_letters.read(
            app, after=min(wanted) - 1, max_records=MAX_LETTERS
        )
        sent = []
        for one in found:
            letter = one.letter
            if one.sequence in wanted and not letter.origin.startswith("publisher/"):
                headers = {"Content-Type": letter.content_type}
                await self._bus.ingress.publish(app, letter.stream, letter.payload, headers=headers)
                sent.append(one.sequence)
        await self._bus.dead_letters.remove(sent)
        return web.json_response({"app": app, "replayed": sent})

    async def _purge(self, request: web.Request) -> web.Response:
        wanted = (await read_body(request, _Sequences)).sequences
        removed = await self._bus.dead_letters.remove(wanted)
        return web.json_response({"app": request.match_info["app"], "removed": removed})


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not text.isdigit() or len(text) > 15:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name}: expected a whole number")
    return int(text)
