"""Tables that are looked up: what was answered lately is not asked for again."""

from __future__ import annotations

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

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """One row of each key."""
        self.keys += [key[0] for key in keys]
        return [(key[0], 0) for key in keys]

    async def close(self) -> None:
        """Nothing to give back."""


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
