"""What of an app in columns a question reads: the reference answers it from that alone. What other
parts hold may be millions of events, and folding waits while it is copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockstep.aggregations.columns import asked
from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.columns.units import Part, States
from lockstep.execute.columnar.hosted.named_window import NamedWindowUnit
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.columnar.sharing import Item
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedOnDemand, SourceKind
from lockstep.siddhiql.trees import below
from lockstep.tables.columns import PassiveTable, TableUnit
from lockstep.tables.lookup import stored_for

_KEPT = (SourceKind.TABLE, SourceKind.WINDOW, SourceKind.AGGREGATION)


def all_that_can_be_asked(units: Sequence[Part]) -> States:
    """The tables, named windows and aggregations."""
    states = States({})
    for unit in units:
        for item in _items_of(unit):
            _store(unit, item, states)
    return states


def what_is_asked(question: CheckedOnDemand, units: Sequence[Part]) -> States | None:
    """The store that a question looks at, no more of it than may be found where a key or a span of
    time tells that, and the tables of its conditions. None where nobody here holds one of them."""
    query = question.query
    whole = {f"table/{each.table}" for each in below(query) if isinstance(each, ast.InTable)}
    wanted = set(whole)
    if question.kind in _KEPT:
        wanted.add(f"{question.kind.value}/{query.source}")
    holders = {item: unit for unit in units for item in _items_of(unit)}
    states = States({})
    for item in sorted(wanted):
        unit = holders.get(item)
        if unit is None:
            return None
        if item in whole or not _store_some(question, unit, states):
            _store(unit, item, states)
    return states


def _items_of(unit: Part) -> Iterator[Item]:
    """The definitions whose content a unit holds."""
    match unit:
        case TableUnit():
            yield f"table/{unit.table}"
        case NamedWindowUnit():
            yield f"window/{unit.writes}"
        case AggregationUnit():
            yield f"aggregation/{unit.aggregation}"
        case HostedQueries():
            yield from unit.definitions


def _store(unit: Part, item: Item, states: States) -> None:
    if isinstance(unit, HostedQueries):
        unit.store_of(item, states)
    else:
        unit.store(states)


def _store_some(question: CheckedOnDemand, unit: Part, states: States) -> bool:
    """Adds what the question may find, where a unit can tell that."""
    match unit:
        case PassiveTable():
            return False
        case TableUnit():
            states.operators[f"table/{unit.table}/rows"] = stored_for(question, unit.state)
        case AggregationUnit():
            asked.stored_for(question, unit, states)
        case _:
            return False
    return True
