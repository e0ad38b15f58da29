"""What sources and sinks promise: declared by each type, and told by the page as declared."""

from __future__ import annotations

from pathlib import Path

from lockstep.siddhiql.catalogue import Delivery, Extension, ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.checking.connectors import declared_connector

PAGE = Path(__file__).parents[3] / "libs/lockstep/siddhiql/EXTENSIONS.md"
HEAD = "| type | way | delivers | reconnect | poison | pressure | repeat |\n"


def _carrying() -> list[Extension]:
    """All sources and sinks under the names that they have now."""
    found = [
        one
        for kind in (ExtensionKind.SOURCE, ExtensionKind.SINK)
        for one in default_catalogue().of(kind)
        if not declared_connector(one).older_name_of
    ]
    return sorted(found, key=lambda one: (one.name.lower(), one.kind is ExtensionKind.SINK))


def _row(one: Extension) -> str:
    promise = one.promise
    assert promise is not None
    cells = (promise, promise.reconnect, promise.poison, promise.pressure, promise.repeat)
    return f"| `{one.name}` | {one.kind.value} | {' | '.join(map(str, cells))} |\n"


def test_every_source_and_sink_says_how_often_it_delivers() -> None:
    """With what happens when a connection ends, with poison, with pressure, with what repeats."""
    silent = [f"{one.kind.value} {one.name}" for one in _carrying() if one.promise is None]
    assert silent == []


def test_a_weaker_promise_holds_where_the_condition_does_not() -> None:
    """Who names a condition says what is left without it, and that is less."""
    order = list(Delivery)
    for one in _carrying():
        promise = one.promise
        assert promise is not None
        assert bool(promise.where) == (promise.otherwise is not None), one.name
        if promise.otherwise is not None:
            between = [delivery for delivery, where in promise.between if where]
            assert len(between) == len(promise.between), one.name
            steps = [order.index(d) for d in (promise.delivery, *between, promise.otherwise)]
            assert steps == sorted(set(steps)), one.name


def test_the_page_has_the_table_of_promises() -> None:
    """Row by row what is declared."""
    told = PAGE.read_text().split(HEAD)[1].split("\n\n")[0].splitlines(keepends=True)[1:]
    told[-1] = told[-1].rstrip("\n") + "\n"
    assert told == [_row(one) for one in _carrying()]
