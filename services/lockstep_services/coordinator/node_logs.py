"""The last log lines of any process, over REST: the coordinator asks the process for them, with
what its caller has shown."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
import msgspec
from aiohttp import web

from lockstep.control import Heartbeat, HeartbeatWatch
from lockstep.events.typed import from_json
from lockstep.frame import Context, Problem
from lockstep.frame.callers import TOKEN_COOKIE
from lockstep.frame.log_route import PATH, WrittenLines, wanted_lines
from lockstep.tls import calling
from lockstep_services.coordinator.status import SERVICES

TIMEOUT_S: Final = 5.0
"""A process that lives answers at once: what it is asked for stands in its memory."""
MAX_ANSWER_BYTES: Final = 16_777_216
RETRY_AFTER_MS: Final = 2_000


class NodeLogs:
    """Any coordinator may ask: nothing is written."""

    def __init__(self, context: Context, watch: HeartbeatWatch) -> None:
        self._watch = watch
        self._clock = context.clock
        self._tls = calling(context.settings.client.tls)
        self._token = context.settings.server.token.get_secret_value()
        self._session: aiohttp.ClientSession | None = None

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The path."""
        router.add_get("/v1/nodes/{node}/log", self._get)

    async def close(self) -> None:
        """Closes connections."""
        if self._session is not None:
            await self._session.close()

    async def _get(self, request: web.Request) -> web.Response:
        count, level = wanted_lines(request)
        beat = self._known(request.match_info["node"], request.query.get("service", ""))
        query = {"lines": str(count), "level": level}
        found = await self._asked(beat, query, self._shown(request))
        about = {"node": beat.node, "service": beat.service, "version": beat.version or None}
        return web.json_response({**about, "lines": found["lines"]})

    def _known(self, node: str, service: str) -> Heartbeat:
        """Also one that is silent: its last address is worth a try."""
        wanted = [one for one in SERVICES if service in ("", one)]
        heard = [self._watch.heard(one, node) for one in wanted]
        found = next((beat for beat in heard if beat is not None), None)
        if found is None:
            names = sorted({beat.node for one in SERVICES for beat in self._watch.alive(one)})
            what = f"no {service or 'process'} '{node}' is known"
            raise Problem(
                HTTPStatus.NOT_FOUND, what, hint=f"these live: {', '.join(names) or 'none'}"
            )
        return found

    def _shown(self, request: web.Request) -> Mapping[str, str]:
        """What the caller has shown, so that the process judges them by itself; the cluster's token
        where that was no header."""
        shown = request.headers.get("Authorization")
        if shown is None and (cookie := request.cookies.get(TOKEN_COOKIE)):
            shown = f"Bearer {cookie}"
        if shown is None and self._token:
            shown = f"Bearer {self._token}"
        return {} if shown is None else {"Authorization": shown}

    async def _asked(
        self, beat: Heartbeat, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> WrittenLines:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            connector = aiohttp.TCPConnector(ssl=self._tls or True)
            self._session = aiohttp.ClientSession(
                timeout=timeout, connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            async with self._session.get(
                beat.url + PATH, params=query, headers=headers, allow_redirects=False
            ) as response:
                if response.status != HTTPStatus.OK:
                    raise self._silent(beat, f"it answers {response.status}")
                if (response.content_length or 0) > MAX_ANSWER_BYTES:
                    raise self._silent(beat, "its answer is too large")
                return from_json(await response.read(), WrittenLines)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._silent(beat, "it does not answer") from error
        except msgspec.DecodeError as error:
            raise self._silent(beat, "its answer cannot be read") from error

    def _silent(self, beat: Heartbeat, what: str) -> Problem:
        ago_s = max(0, self._clock.now_ms() - beat.sent_ms) // 1_000
        return Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, f"no log of '{beat.node}': {what}",
            hint=f"the {beat.service} at {beat.url} was last heard of {ago_s} s ago;"
            " the log on its machine has all",
            retry_after_ms=RETRY_AFTER_MS,
        )  # fmt: skip
