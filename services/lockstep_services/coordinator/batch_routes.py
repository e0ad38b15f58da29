"""Scheduled scripts over REST: taken when all of them can be, listed, started, stopped, forgotten.

What they want is in the store, where the publisher that runs them looks. Each change names what was
seen, so any coordinator may make it.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.batch.book import Deployed, NotPossibleError, ScriptBook, UnknownScriptError
from lockstep.batch.checking import Given, Misreading, checked, misread_elsewhere
from lockstep.batch.model import Run, Script, Version
from lockstep.batch.run_book import RunBook
from lockstep.clock import Clock
from lockstep.events import LockstepError
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body, whole_number
from lockstep.settings import Settings
from lockstep.store import BatchEntries
from lockstep.telemetry import Logger

MAX_SCRIPTS_AT_ONCE: Final = 100
DEFAULT_RUNS: Final = 20
MAX_RUNS: Final = 1_000
MAX_DIGITS: Final = 9


class _File(msgspec.Struct):
    file: str
    text: str


class _Deploy(msgspec.Struct):
    scripts: list[_File]
    dry_run: bool = False


class BatchRoutes:
    """Handlers. `misread`: Spark's parser."""

    def __init__(
        self,
        entries: BatchEntries,
        clock: Clock,
        settings: Settings,
        log: Logger,
        misread: Misreading | None = None,
    ) -> None:
        self._has_archive = bool(settings.archive.folder)
        self._clock = clock
        self._log = log
        self._scripts = ScriptBook(entries, clock, settings.batch)
        self._runs = RunBook(self._scripts, entries, clock, settings.batch)
        timeout_ms = settings.batch.parse_timeout_ms
        self._misread = misread or partial(misread_elsewhere, timeout_ms=timeout_ms)
        self._parsing = asyncio.Lock()

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/batch", self._list)
        router.add_post("/v1/batch", self._deploy)
        router.add_get("/v1/batch/{script}", self._show)
        router.add_delete("/v1/batch/{script}", self._remove)
        router.add_get("/v1/batch/{script}/versions/{number}", self._version)
        router.add_get("/v1/batch/{script}/runs", self._history)
        router.add_post("/v1/batch/{script}/run", self._run)
        router.add_post("/v1/batch/{script}/pause", self._pause)
        router.add_post("/v1/batch/{script}/resume", self._resume)
        router.add_post("/v1/batch/{script}/cancel", self._cancel)

    async def _deploy(self, request: web.Request) -> web.Response:
        body: _Deploy = await read_body(request, _Deploy)
        if not 0 < len(body.scripts) <= MAX_SCRIPTS_AT_ONCE:
            raise Problem(HTTPStatus.BAD_REQUEST, f"1 to {MAX_SCRIPTS_AT_ONCE} scripts at once")
        given = [Given(one.file, one.text) for one in body.scripts]
        if not self._has_archive:
            raise Problem(
                HTTPStatus.CONFLICT, "there is no archive, so scripts have nothing to read",
                hint="set archive.folder",
            )  # fmt: skip
        async with self._parsing:
            found = await checked(given, self._misread)
        for one in found:
            self._scripts.check(one.header, one.text)
        try:
            await self._scripts.check_room([one.header.name for one in found])
            if body.dry_run:
                names = [one.header.name for one in found]
                return web.json_response({"scripts": [{"script": name} for name in names]})
            done = [
                await self._taken(await self._scripts.deploy(one.header, one.text)) for one in found
            ]
        except NotPossibleError as error:
            raise _conflict(error) from error
        return web.json_response({"scripts": done})

    async def _taken(self, deployed: Deployed) -> dict[str, Any]:
        script = deployed.script
        if deployed.changed:
            self._log.info("script deployed", script=script.name, version=script.version)
        version = await self._scripts.version(script.name, script.version)
        told = {"created": deployed.created, "changed": deployed.changed}
        return {**self._line(script, version), **told}

    def _line(self, script: Script, version: Version) -> dict[str, Any]:
        header = version.header
        after_ms = max(script.from_ms, self._clock.now_ms())
        due_ms = None if header.schedule is None else header.schedule.next_after(after_ms)
        return {
            "script": script.name,
            "language": str(version.language),
            "version": script.version,
            "cron": None if header.schedule is None else str(header.schedule),
            "output": str(header.output),
            "paused": script.is_paused,
            "next_ms": None if script.is_paused else due_ms,
        }

    async def _list(self, _request: web.Request) -> web.Response:
        found = []
        for script in await self._scripts.scripts():
            version = await self._scripts.version(script.name, script.version)
            last = [_told(one) for one in await self._runs.of(script.name, 1)]
            found.append({**self._line(script, version), "last": last[0] if last else None})
        return web.json_response({"scripts": found})

    async def _show(self, request: web.Request) -> web.Response:
        script = await self._found(request)
        versions = await self._scripts.versions(script.name)
        (now,) = [one for one in versions if one.number == script.version]
        header = now.header
        answer = {
            **self._line(script, now),
            "text": now.text,
            "retries": header.retries,
            "time_limit_ms": header.time_limit_ms,
            "missed": str(header.missed),
            "keep_ms": header.keep_ms,
            "versions": [
                {"version": one.number, "digest": one.digest, "deployed_ms": one.deployed_ms}
                for one in versions
            ],
        }
        return web.json_response(answer)

    async def _version(self, request: web.Request) -> web.Response:
        script = await self._found(request)
        number = request.match_info["number"]
        if not (number.isascii() and number.isdecimal() and len(number) <= MAX_DIGITS):
            raise Problem(HTTPStatus.BAD_REQUEST, "a version is a number from 1 on")
        try:
            found = await self._scripts.version(script.name, int(number))
        except UnknownScriptError as error:
            raise Problem(HTTPStatus.NOT_FOUND, error.message) from error
        told = {
            "script": found.script, "version": found.number, "digest": found.digest,
            "deployed_ms": found.deployed_ms, "text": found.text,
        }  # fmt: skip
        return web.json_response(told)

    async def _history(self, request: web.Request) -> web.Response:
        script = await self._found(request)
        limit = request.query.get("limit", str(DEFAULT_RUNS))
        wanted = whole_number(limit, MAX_RUNS)
        if not wanted:
            raise Problem(HTTPStatus.BAD_REQUEST, f"limit: 1 to {MAX_RUNS}")
        found = await self._runs.of(script.name, wanted)
        return web.json_response({"script": script.name, "runs": [_told(one) for one in found]})

    async def _remove(self, request: web.Request) -> web.Response:
        script = await self._found(request)
        await self._scripts.remove(script.name)
        self._log.info("script removed", script=script.name)
        return web.json_response({"script": script.name})

    async def _run(self, request: web.Request) -> web.Response:
        script = await self._found(request)
        return web.json_response(_told(await _possible(self._runs.add(script.name))))

    async def _cancel(self, request: web.Request) -> web.Response:
        script = await self._found(request)
        return web.json_response(_told(await _possible(self._runs.cancel(script.name))))

    async def _pause(self, request: web.Request) -> web.Response:
        return await self._paused(request, paused=True)

    async def _resume(self, request: web.Request) -> web.Response:
        return await self._paused(request, paused=False)

    async def _paused(self, request: web.Request, *, paused: bool) -> web.Response:
        script = await self._found(request)
        found = await self._scripts.pause(script.name, paused=paused)
        version = await self._scripts.version(found.name, found.version)
        return web.json_response(self._line(found, version))

    async def _found(self, request: web.Request) -> Script:
        try:
            return await self._scripts.script(request.match_info["script"])
        except UnknownScriptError as error:
            raise Problem(HTTPStatus.NOT_FOUND, error.message, hint=error.hint) from error


def _told(run: Run) -> dict[str, Any]:
    told = asdict(run)
    told["log"] = list(run.log)
    return told


async def _possible(asked: Any) -> Run:
    try:
        found: Run = await asked
    except NotPossibleError as error:
        raise _conflict(error) from error
    return found


def _conflict(error: LockstepError) -> Problem:
    return Problem(HTTPStatus.CONFLICT, error.message, hint=error.hint)
