"""What a page's widgets are fed with: a digest of each app twice a second, and queries
as often as the board wants.

A digest holds at most 60 of a stream's rows, so a fast stream costs a page no more than a slow one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from lockstep.clock import Clock
from lockstep.editing import known
from lockstep.events import LockstepError
from lockstep_services.console.suite import Suite, app_path
from lockstep_services.console.widgets import Rows

KEPT_ROWS: Final = 2_000
SAMPLED_OVER: Final = 120.0
"""Rows a second; of faster streams not every row is shown."""
AGAIN_MS: Final = 1_000


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
        self.troubles: dict[str, str] = {}

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

    async def close(self) -> None:
        """Nothing is followed any more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()

    async def _follow(self, app: str) -> None:
        while True:
            try:
                overview = await self._suite.show(f"/v1/live/{app}")
                names = {
                    kind: {one["name"]: _names(one) for one in overview[kind]}
                    for kind in ("streams", "tables")
                }
                async with aclosing(self._suite.digests(app)) as digests:
                    async for digest in digests:
                        if digest["edition"] != overview["edition"]:
                            break  # upgraded in between: the names are those of other rows
                        self.troubles.pop(app, None)
                        self._take(app, digest, names)
            except LockstepError as error:
                self.troubles[app] = str(error)
            await self._clock.sleep_ms(AGAIN_MS)

    def _take(
        self, app: str, digest: Mapping[str, Any], names: Mapping[str, Mapping[str, Sequence[str]]]
    ) -> None:
        for name, one in digest["streams"].items():
            self._append(app, name, one, names["streams"].get(name, ()))
        for name, one in digest["tables"].items():
            known = names["tables"].get(name, ())
            # A presenter of the release before tells no reason.
            missing = one.get("missing") or ""
            self._tables[app, name] = Rows(known, one["rows"], (), 0.0, one["count"], missing)

    def _append(self, app: str, name: str, one: Mapping[str, Any], names: Sequence[str]) -> None:
        """Rows of a stream behind those that are here: who connects again gets the last ones again.

        It begins anew with other attributes, as after an upgrade, and with rows from before the
        last one: then the log is another one, or a presenter is still reading it.
        """
        key, came = (app, name), [(_identity(row[0]), row) for row in one["rows"]]
        before, last = self._streams.get(key), self._last.get(key, ())
        if before is None or before.names != names or (came and came[-1][0] < last):
            before, last = Rows(names, [], []), ()
        fresh = [row for identity, row in came if identity > last]
        rows = [*before.rows, *(row[2:] for row in fresh)][-KEPT_ROWS:]
        times = [*before.times, *(row[1] for row in fresh)][-KEPT_ROWS:]
        self._streams[key] = Rows(names, rows, times, one["rate"], one["total"])
        self._last[key] = came[-1][0] if came else last

    async def _ask(self, app: str, query: str) -> None:
        while True:
            try:
                found = await self._suite.query(app, query)
                columns = [one["name"] for one in found["details"]]
                self._answers[app, query] = Rows(columns, found["records"])
                self.troubles.pop(query, None)
            except LockstepError as error:
                self.troubles[query] = str(error)
            if not self._refresh_ms:
                return
            await self._clock.sleep_ms(self._refresh_ms)


def _identity(text: str) -> tuple[int, ...]:
    """Of a row, as "position.ordinal"."""
    return tuple(map(int, text.split(".")))


def _names(one: Mapping[str, Any]) -> Sequence[str]:
    return [each["name"] for each in one["attributes"]]


async def sources(suite: Suite, app: str) -> Mapping[str, Sequence[str]]:
    """Streams and tables of an app with their attributes, as `stream X` and `table T`."""
    overview = await suite.show(f"/v1/live/{app}")
    found = {f"stream {one['name']}": _names(one) for one in overview["streams"]}
    found |= {f"table {one['name']}": _names(one) for one in overview["tables"]}
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
