"""Tables that are looked up: what was answered lately is not asked for again, and nothing is kept
for apps that are gone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from lockstep.clock import VirtualClock
from lockstep.control import AppView
from lockstep.databases import TableShape
from lockstep.events import Attribute, AttributeType, Life, StreamSchema
from lockstep.plan import build
from lockstep.siddhiql import check
from lockstep.store import Deployment
from lockstep.telemetry import Metrics
from lockstep_services.receiver.lookups import Lookups
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.values import RawEvent

TEXT = (
    "@app:name('A') define stream In (v int);"
    " @store(type='rdbms', mode='lookup', table.name='t', @cache(size='9')) @PrimaryKey('v')"
    " define table T (v int, w int);"
    " from In join T on In.v == T.v select In.v as v, T.w as w insert into Out;"
)
PLAN = build(check(TEXT))
SCHEMA = StreamSchema("In", (Attribute("v", AttributeType.INT),))


class Asked:
    """A database that notes what it was asked for."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.is_closed = False

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """One row of each key."""
        self.keys += [key[0] for key in keys]
        return [(key[0], 0) for key in keys]

    async def close(self) -> None:
        """Gives its connections back."""
        self.is_closed = True


async def test_answers_are_kept_for_one_version_of_an_app() -> None:
    """Those of the one before go."""
    asked = Asked()
    lookups = Lookups(
        VirtualClock(), lambda *_: cast(Any, SimpleNamespace(dsn="d")), Metrics(), lambda _: asked
    )

    async def send(version: str, value: int) -> None:
        view = AppView(Deployment("A", TEXT, version, Life(0, 1), 1, 0), PLAN)
        await lookups.answered(view, [Run(SCHEMA, [(RawEvent((value,), None),)], 10)])

    for version, value in (("1", 5), ("1", 5), ("1", 6), ("2", 5), ("2", 5), ("1", 5)):
        await send(version, value)
    assert asked.keys == [5, 6, 5, 5]


async def test_what_is_kept_of_an_app_goes_with_it() -> None:
    """Its answers, and the connections to databases that no other app has asked."""
    opened = {"own": Asked(), "shared": Asked()}
    asks = {"A": "own", "B": "own", "C": "shared"}

    def datasource_of(app: str, *_: Any) -> Any:
        return SimpleNamespace(dsn=asks[app])

    lookups = Lookups(VirtualClock(), datasource_of, Metrics(), lambda one: opened[one.dsn])

    async def send(app: str) -> None:
        view = AppView(Deployment(app, TEXT, "1", Life(0, 1), 1, 0), PLAN)
        async with lookups.turn(app):
            await lookups.answered(view, [Run(SCHEMA, [(RawEvent((5,), None),)], 10)])

    for app in asks:
        await send(app)
    asks["B"] = "shared"
    await lookups.keep(["B", "C"])
    assert [sorted(one) for one in (lookups._caches, lookups._turns)] == [["B", "C"]] * 2
    assert [one.is_closed for one in opened.values()] == [False, False]
    await lookups.keep(["C"])
    assert [one.is_closed for one in opened.values()] == [True, False]
    await send("B")
    assert opened["shared"].keys == [5, 5]


async def test_a_key_with_nan_has_no_row() -> None:
    """As a null has none: it is like no other value. Its event goes on with the others."""
    asked = Asked()
    text = (
        "@app:name('A') define stream In (v double);"
        " @store(type='rdbms', mode='lookup', table.name='t') @PrimaryKey('v')"
        " define table T (v double, w int);"
        " from In join T on In.v == T.v select In.v as v, T.w as w insert into Out;"
    )
    lookups = Lookups(
        VirtualClock(), lambda *_: cast(Any, SimpleNamespace(dsn="d")), Metrics(), lambda _: asked
    )
    view = AppView(Deployment("A", text, "1", Life(0, 1), 1, 0), build(check(text)))
    schema = StreamSchema("In", (Attribute("v", AttributeType.DOUBLE),))
    events = tuple(RawEvent((value,), None) for value in (1.5, math.nan, 2.5))
    [run] = await lookups.answered(view, [Run(schema, [events], 10)])
    assert asked.keys == [1.5, 2.5]
    assert run.events == 3
