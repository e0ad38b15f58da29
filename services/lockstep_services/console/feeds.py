"""What a page's widgets are fed with: a digest of each app twice a second, and queries
as often as the board wants.

A digest holds at most 60 of a stream's rows, so a fast stream costs a page no more than a slow one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Final

from lockstep.cli.refusals import RefusedError
from lockstep.clock import Clock
from lockstep.editing import known
from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep_services.console.suite import Suite, live_path
from lockstep_services.console.widgets import Rows

KEPT_ROWS: Final = 2_000
SAMPLED_OVER: Final = 120.0
"""Rows a second; of faster streams not every row is shown."""
AGAIN_MS: Final = 1_000
Attributes = Sequence[Mapping[str, str]]
"""Names and types, as the presenter tells them."""


class Feeds:
    """Of one page; ends with it."""

    def __init__(self, suite: Suite, clock: Clock, refresh_ms: int) -> None:
        """`refresh_ms`: how long a query rests after its answer; 0: it is asked once."""
        self._refresh_ms = refresh_ms
        self._queries: dict[str, tuple[str, str]] = {}
        self._suite = suite
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._streams: dict[tuple[str, str], Rows] = {}
        self._last: dict[tuple[str, str], tuple[int, ...]] = {}
        """Identity of the newest row of each stream."""

        self._tables: dict[tuple[str, str], Rows] = {}
        self._answers: dict[tuple[str, str], Rows] = {}
        self._troubles: dict[tuple[str, str], str] = {}
        """Of an app and a query; of an app's digests with no query."""

        self.is_refused = False
        """Whether the person's token is taken no more."""

    def follow(self, app: str) -> None:
        """Digests of an app from now on."""
        if app and app not in self._tasks:
            self._tasks[app] = asyncio.create_task(self._follow(app))

    def ask(self, app: str, query: str) -> None:
        """The answer to a query, again and again."""
        key = f"{app}\n{query}"
        if app and query and key not in self._tasks:
            self._queries[key] = (app, query)
            self._tasks[key] = asyncio.create_task(self._ask(app, query))

    def pace(self, refresh_ms: int) -> None:
        """Queries are asked now, and then so often."""
        self._refresh_ms = refresh_ms
        for key, (app, query) in self._queries.items():
            self._tasks[key].cancel()
            self._tasks[key] = asyncio.create_task(self._ask(app, query))

    def rows(self, app: str, of: str, source: str) -> Rows | None:
        """What there is; None when nothing came yet."""
        kept = {"stream": self._streams, "table": self._tables, "query": self._answers}[of]
        return kept.get((app, source))

    def trouble(self, app: str, of: str, source: str) -> str:
        """Why what there is may be old; empty when nothing is wrong."""
        return self._troubles.get((app, source if of == "query" else ""), "")

    async def close(self) -> None:
        """Nothing is followed any more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()

    async def _follow(self, app: str) -> None:
        while True:
            try:
                overview = await self._suite.show(live_path(app))
                attributes = {
                    kind: {one["name"]: one["attributes"] for one in overview[kind]}
                    for kind in ("streams", "tables")
                }
                async with aclosing(self._suite.digests(app)) as digests:
                    async for digest in digests:
                        if digest["edition"] != overview["edition"]:
                            break  # upgraded in between: the names are those of other rows
                        self._troubles.pop((app, ""), None)
                        self._take(app, digest, attributes)
            except LockstepError as error:
                self._failed(app, "", error)
            await self._clock.sleep_ms(AGAIN_MS)

    def _take(
        self, app: str, digest: Mapping[str, Any], known: Mapping[str, Mapping[str, Attributes]]
    ) -> None:
        for name, one in digest["streams"].items():
            self._append(app, name, one, known["streams"].get(name, ()))
        for name, one in digest["tables"].items():
            attributes = known["tables"].get(name, ())
            rows = [_exact(row, attributes) for row in one["rows"]]
            # A presenter of the release before tells no reason.
            missing = one.get("missing") or ""
            names = _names(attributes)
            self._tables[app, name] = Rows(names, rows, (), 0.0, one["count"], missing)

    def _append(self, app: str, name: str, one: Mapping[str, Any], attributes: Attributes) -> None:
        """Rows of a stream behind those that are here: who connects again gets the last ones again.

        It begins anew with other attributes, as after an upgrade, and with rows from before the
        last one: then the log is another one, or a presenter is still reading it.
        """
        key, came = (app, name), [(_identity(row[0]), row) for row in one["rows"]]
        names = _names(attributes)
        before, last = self._streams.get(key), self._last.get(key, ())
        if before is None or before.names != names or (came and came[-1][0] < last):
            before, last = Rows(names, [], []), ()
        fresh = [row for identity, row in came if identity > last]
        rows = [*before.rows, *(_exact(row[2:], attributes) for row in fresh)][-KEPT_ROWS:]
        times = [*before.times, *(row[1] for row in fresh)][-KEPT_ROWS:]
        self._streams[key] = Rows(names, rows, times, one["rate"], one["total"])
        self._last[key] = came[-1][0] if came else last

    async def _ask(self, app: str, query: str) -> None:
        while True:
            try:
                found = await self._suite.query(app, query)
                columns = [one["name"] for one in found["details"]]
                self._answers[app, query] = Rows(columns, found["records"])
                self._troubles.pop((app, query), None)
            except LockstepError as error:
                self._failed(app, query, error)
            if not self._refresh_ms:
                return
            await self._clock.sleep_ms(self._refresh_ms)

    def _failed(self, app: str, query: str, error: LockstepError) -> None:
        self._troubles[app, query] = str(error)
        if isinstance(error, RefusedError) and error.status == HTTPStatus.UNAUTHORIZED:
            self.is_refused = True


def _identity(text: str) -> tuple[int, ...]:
    """Of a row, as "position.ordinal"."""
    return tuple(map(int, text.split(".")))


def _names(attributes: Attributes) -> Sequence[str]:
    return [one["name"] for one in attributes]


def _exact(row: Sequence[Any], attributes: Attributes) -> Sequence[Any]:
    """With its longs as numbers: digests, which are for browsers, have large ones as texts."""
    return [
        int(value) if isinstance(value, str) and one["type"] == "long" else value
        for value, one in zip(row, attributes, strict=False)
    ]


async def sources(suite: Suite, app: str) -> Mapping[str, Sequence[str]]:
    """Streams and tables of an app with their attributes, as `stream X` and `table T`."""
    overview = await suite.show(live_path(app))
    found = {f"stream {one['name']}": _names(one["attributes"]) for one in overview["streams"]}
    found |= {f"table {one['name']}": _names(one["attributes"]) for one in overview["tables"]}
    text = (await suite.ask(app_path(app)))["text"]
    return {**found, **{f"query {line}": () for line in suggested_queries(text)}}


def suggested_queries(text: str) -> list[str]:
    """Of tables, named windows and aggregations of a text."""
    kinds = ("table", "window", "aggregation")
    found = known(text).names.values()
    return [query_of(one.kind, one.name) for one in found if one.kind in kinds]


def query_of(kind: str, name: str) -> str:
    """What reads all that a table, a named window or an aggregation holds."""
    if kind != "aggregation":
        return f"from {name} select *"
    within = "'2000-01-01 00:00:00', '2100-01-01 00:00:00'"
    return f"from {name} within {within} per 'hours' select *"
