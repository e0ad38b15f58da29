"""On-demand queries over HTTP: put to the app's leader, and put again to its successor.

A query that changes a table is applied once per `Idempotency-Key` (made here when the client gives
none), so asking again after a leader was lost is harmless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.archive.asking import AskedTooMuchError
from lockstep.bus import Topics
from lockstep.clock import Clock, Randomness
from lockstep.control import (
    AppView,
    OnDemandAnswer,
    OnDemandQuestion,
    question_subject,
    refusal_of,
)
from lockstep.events import LockstepError, UnavailableError
from lockstep.events.typed import from_json
from lockstep.fleet.asking import Asking, Place
from lockstep.fleet.gathering import answered_together
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body
from lockstep.frame.callers import require
from lockstep.frame.turns import Turns
from lockstep.history.remembering import asks_the_past, remember
from lockstep.plan.fleet import FleetPlan
from lockstep.rights import Permission
from lockstep.settings import ArchiveSettings
from lockstep.siddhiql import SiddhiQLError, ast, check_on_demand, parse_on_demand
from lockstep_services.presenter.api import Lookup, answer

KEY_HEADER: Final = "Idempotency-Key"
MAX_KEY_CHARACTERS: Final = 200
MAX_QUERY_BYTES: Final = 65_536
TIMEOUT_MS: Final = 20_000
ATTEMPT_TIMEOUT_MS: Final = 8_000
AGAIN_MS: Final = 200


class Questions:
    """The routes of on-demand queries."""

    def __init__(
        self,
        lookup: Lookup,
        topics: Topics,
        clock: Clock,
        randomness: Randomness,
        archive: ArchiveSettings,
    ) -> None:
        self._archive = archive
        self._turns = Turns(archive.max_queries)
        self._lookup = lookup
        self._topics = topics
        self._clock = clock
        self._randomness = randomness

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_post("/v1/apps/{app}/query", self._query)
        router.add_post("/stores/query", self._store_query)

    async def _query(self, request: web.Request) -> web.Response:
        models = await self._lookup.app(request)
        return await self._answered(
            request,
            models.view.name,
            await read_body(request, dict[str, Any], max_bytes=MAX_QUERY_BYTES),
        )

    async def _store_query(self, request: web.Request) -> web.Response:
        body = await read_body(request, dict[str, Any], max_bytes=MAX_QUERY_BYTES)
        app = body.get("appName")
        if not isinstance(app, str) or not app:
            raise Problem(HTTPStatus.BAD_REQUEST, "appName: expected the name of an app")
        return await self._answered(request, app, body)

    async def _answered(self, request: web.Request, app: str, body: dict[str, Any]) -> web.Response:
        query = body.get("query")
        if not isinstance(query, str) or not query.strip():
            raise Problem(HTTPStatus.BAD_REQUEST, "query: expected an on-demand query")
        details = body.get("details", False)
        if not isinstance(details, bool):
            raise Problem(HTTPStatus.BAD_REQUEST, "details: expected true or false")
        require(request, Permission.OPERATE if _changes(query) else Permission.VIEW, app)
        view = await self._deployed(app)
        key = request.headers.get(KEY_HEADER)
        if key is not None and not 0 < len(key) <= MAX_KEY_CHARACTERS:
            message = f"{KEY_HEADER}: 1 to {MAX_KEY_CHARACTERS} characters"
            raise Problem(HTTPStatus.BAD_REQUEST, message)
        found = await self._found(request, view, query, key)
        result: dict[str, Any] = {"records": found.rows, "position": found.position}
        if found.rows_changed is not None:
            result["changed"] = found.rows_changed
        if details:
            result["details"] = [{"name": name, "dataType": kind} for name, kind in found.columns]
        return answer(result)

    async def read(self, request: web.Request, app: str, query: str) -> OnDemandAnswer:
        """What a query gives that changes nothing. Problem 400 for one that would: a page that asks
        again every few seconds must not write."""
        require(request, Permission.VIEW, app)
        if _changes(query):
            raise Problem(
                HTTPStatus.BAD_REQUEST, "the query changes what the app holds",
                hint="ask with from … select …; POST /v1/apps/{app}/query writes",
            )  # fmt: skip
        return await self._found(request, await self._deployed(app), query)

    async def _found(
        self, request: web.Request, view: AppView, query: str, key: str | None = None
    ) -> OnDemandAnswer:
        if asks_the_past(query):
            return await self._remembered(request, view, query)
        question = OnDemandQuestion(query, key or self._randomness.uuid_hex())
        return await self._ask(view, question)

    async def _deployed(self, app: str) -> AppView:
        """Problem 404: whoever leads it is not asked for what there is not."""
        view = await self._lookup.view(app)
        if view is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"no app named '{app}' is deployed")
        return view

    async def _remembered(self, request: web.Request, view: AppView, query: str) -> OnDemandAnswer:
        """The archive's answer, of a process on this machine: no leader is asked. Problem 400,
        429."""
        work = remember(view.plan, query, self._clock.now_ms(), self._archive)
        try:
            return _accepted(await self._turns.ask(request, work))
        except AskedTooMuchError as error:
            raise Problem(HTTPStatus.BAD_REQUEST, error.message, hint=error.hint) from error

    async def _ask(self, view: AppView, question: OnDemandQuestion) -> OnDemandAnswer:
        """The leader's answer, or that of the one that comes after it; of tables that are cut,
        those of their partitions together. Problem when refused."""
        if view.fleet is None:
            return await self._ask_unit(view.name, view.name, question)
        asking = Asking(view.fleet, {unit.group.name: unit.plan for unit in view.cut})
        try:
            asked = asking.of(question.query)
        except SiddhiQLError as error:
            return _accepted(refusal_of(error))
        if not asked.gathered:
            return await self._ask_places(view, question, asked.places)
        answers = await all_at_once(
            self._ask_places(view, OnDemandQuestion(one.query, question.request_id), one.places)
            for one in asked.gathered
        )
        tables = [one.table for one in asked.gathered]
        return await answer_of_all(
            view.fleet, question.query, dict(zip(tables, answers, strict=True))
        )

    async def _ask_places(
        self, view: AppView, question: OnDemandQuestion, places: Sequence[Place]
    ) -> OnDemandAnswer:
        keys = {Place(unit.group.name, unit.partition): unit.key for unit in view.cut}
        found = await all_at_once(
            self._ask_unit(view.name, keys[place], question) for place in places
        )
        return found[0] if len(found) == 1 else together(found)

    async def _ask_unit(self, app: str, unit: str, question: OnDemandQuestion) -> OnDemandAnswer:
        payload = msgspec.json.encode(question)
        deadline_ms = self._clock.monotonic_ms() + TIMEOUT_MS
        while True:
            left_ms = deadline_ms - self._clock.monotonic_ms()
            limit_ms = max(1, min(left_ms, ATTEMPT_TIMEOUT_MS))
            found = await self._attempt(app, unit, payload, limit_ms)
            if found.error is None or found.user_error:
                return _accepted(found)
            if left_ms <= AGAIN_MS:
                raise Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE, found.error, retry_after_ms=1_000,
                    hint="whether a write was applied is not known: repeat it with the header "
                    f"{KEY_HEADER}: {question.request_id}",
                )  # fmt: skip
            await self._clock.sleep_ms(AGAIN_MS)

    async def _attempt(
        self, app: str, unit: str, payload: bytes, timeout_ms: int
    ) -> OnDemandAnswer:
        try:
            raw = await self._topics.request(question_subject(unit), payload, timeout_ms=timeout_ms)
        except UnavailableError:
            return OnDemandAnswer(error=f"no processor leads '{app}' right now")
        return from_json(raw, OnDemandAnswer)


async def all_at_once(
    asking: Iterable[Coroutine[Any, Any, OnDemandAnswer]],
) -> list[OnDemandAnswer]:
    """The answers in the order of the questions. The first that is refused ends the others: who
    asks learns of it at once."""
    waiting = [asyncio.ensure_future(one) for one in asking]
    try:
        return await asyncio.gather(*waiting)
    finally:
        for one in waiting:
            one.cancel()


async def answer_of_all(
    fleet: FleetPlan, query: str, found: Mapping[str, OnDemandAnswer]
) -> OnDemandAnswer:
    """What a query gives over the rows of these tables, which several partitions have sent."""
    rows = {table: one.rows for table, one in found.items()}
    try:
        answered = await asyncio.to_thread(answered_together, fleet, query, rows)
        output = check_on_demand(query, fleet.app.checked).output
    except LockstepError as error:
        return _accepted(refusal_of(error))
    columns = [(one.name, str(one.type)) for one in output.attributes]
    position = min(one.position for one in found.values())
    return OnDemandAnswer([list(row) for row in answered], columns, position)


def _changes(query: str) -> bool:
    """Whether it changes what the app holds; what cannot be read changes nothing."""
    try:
        tree = parse_on_demand(query)
    except SiddhiQLError:
        return False
    return not isinstance(tree.action, ast.ReturnEvents | None)


def together(found: Sequence[OnDemandAnswer]) -> OnDemandAnswer:
    """The rows of all partitions, or how many they have changed; they hold at the earliest of their
    positions at least."""
    rows = [row for one in found for row in one.rows]
    position = min(one.position for one in found)
    changed = [one.rows_changed for one in found if one.rows_changed is not None]
    return OnDemandAnswer(rows, found[0].columns, position, sum(changed) if changed else None)


def _accepted(found: OnDemandAnswer) -> OnDemandAnswer:
    if found.error is None:
        return found
    if not found.user_error:
        raise UnavailableError(found.error, hint=found.hint)
    errors: list[dict[str, Any]] = []
    if found.line:
        errors.append({"line": found.line, "column": found.column})
    raise Problem(HTTPStatus.BAD_REQUEST, found.error, errors=errors, hint=found.hint)
