"""Which events to send to an app: those that bring rows to all its sinks on the reference engine.

Drawn anew until they do, in process and on a virtual clock, before anything is started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.clock import SystemClock
from lockstep.events import AttributeType, LockstepError
from lockstep.mapping import annotated
from lockstep.siddhiql import CheckedApp, ast
from lockstep.siddhiql.trees import below
from lockstep.testing import VirtualApp
from tests.older_apps.playing.inventing import Inventor, Step

ANSWERS: Final = ("http-response", "http-call-response", "grpc-call-response",
                  "rdbms-call-response")  # fmt: skip
"""Sources that nobody sends to: what a server answered comes in by them."""
SEEDS: Final = 12
PAUSES_MS: Final = (20, 1_100, 5_200, 11_000, 61_000)
"""Waited after each half of the events: windows of up to a minute end within the longest."""
CLOCK_PAUSE_MS: Final = 31_000
LONG_PAUSES_MS: Final = (301_000, 3_600_000, 86_400_000)
"""Never waited; they tell that it was the time which lacked."""
TABLE_ROWS: Final = 3
MIN_ROUNDS: Final = 6
MANY_ROUNDS: Final = 60
"""Where few ones bring nothing: patterns of narrow conditions."""
MAX_ROUNDS: Final = 130


@dataclass(frozen=True, slots=True)
class Chosen:
    """`reached`: the goals that got rows on the reference, `missed` those that did not.
    `needs_ms`: a time after which a missed one would have, if that is known."""

    steps: tuple[Step, ...]
    pause_ms: int
    reached: frozenset[str]
    missed: frozenset[str]
    needs_ms: int | None = None


def goals(checked: CheckedApp) -> frozenset[str]:
    """Where rows shall arrive: streams with sinks, else stored tables, else what queries insert
    into."""
    sinks = {schema.name for schema, _, _ in annotated(checked, "sink")}
    stored = {
        each.name
        for each in checked.tables.values()
        if any(one.name.lower() == "store" for one in each.annotations)
        and each.name not in {table.name for table in checked.external}
    }
    if sinks or stored:
        return frozenset(sinks | stored)
    targets = {each.target for each in below(checked.app.execution) if _inserts(each)}
    return frozenset(targets & (checked.streams.keys() | checked.tables.keys())) or frozenset(
        entries(checked)
    )


def entries(checked: CheckedApp) -> list[str]:
    """The streams that events are sent to: those with sources; else those that are read and that
    no query fills; else those with sinks alone."""
    sources = [
        (schema.name, (source.get("type") or "").lower())
        for schema, _, source in annotated(checked, "source")
    ]
    with_source = [name for name, kind in sources if kind not in ANSWERS]
    answered = {name for name, kind in sources if kind in ANSWERS}
    filled = {each.target for each in below(checked.app.execution) if _inserts(each)}
    defined = [
        each.name for each in checked.app.definitions if isinstance(each, ast.StreamDefinition)
    ]
    read = {each.source for each in below(checked.app) if isinstance(each, ast.StreamInput)}
    open_ones = [
        name for name in defined if name in read and name not in filled and name not in answered
    ]
    found = list(dict.fromkeys([*with_source, *open_ones]))
    return found or [name for name in defined if name not in filled | answered]


def _inserts(node: object) -> bool:
    return isinstance(node, ast.InsertInto | ast.UpdateTable | ast.UpdateOrInsert)


def choose(text: str, checked: CheckedApp) -> Chosen:
    """Events, and what they bring about."""
    wanted = goals(checked)
    best = Chosen((), 0, frozenset(), wanted)
    pauses_ms = (CLOCK_PAUSE_MS,) if _by_the_clock(checked) else PAUSES_MS
    tries = [(pause_ms, MIN_ROUNDS) for pause_ms in pauses_ms]
    tries.insert(1, (pauses_ms[0], MANY_ROUNDS))
    for pause_ms, at_least in tries:
        for seed in range(SEEDS):
            found = _tried(text, checked, wanted, seed, pause_ms, at_least)
            if len(found.reached) > len(best.reached):
                best = found
            if not best.missed:
                return best
    for pause_ms in LONG_PAUSES_MS:
        later = _tried(text, checked, wanted, 0, pause_ms)
        if later.reached - best.reached:
            return Chosen(best.steps, best.pause_ms, best.reached, best.missed, pause_ms)
    if not best.steps:
        return _tried(text, checked, wanted, 0, PAUSES_MS[0])
    return best


def _by_the_clock(checked: CheckedApp) -> bool:
    """It waits for a time of day, which comes sooner or later."""
    nodes = below((checked.app.definitions, checked.app.execution))
    return any(isinstance(each, ast.FunctionCall) and each.name == "cron" for each in nodes)


def _tried(
    text: str,
    checked: CheckedApp,
    wanted: frozenset[str],
    seed: int,
    pause_ms: int,
    at_least: int = MIN_ROUNDS,
) -> Chosen:
    steps = drawn(checked, seed, pause_ms, at_least)
    reached = played(text, steps, wanted, pause_ms)
    return Chosen(tuple(steps), pause_ms, reached, wanted - reached)


def drawn(checked: CheckedApp, seed: int, pause_ms: int, at_least: int = MIN_ROUNDS) -> list[Step]:
    """Rows of tables that no query fills; then rounds, each an event of every stream; in the middle
    of them a pause."""
    inventor = Inventor(checked, seed)
    streams = entries(checked)
    rounds = min(MAX_ROUNDS, max(at_least, inventor.most + 2))
    written = [
        _written(checked, inventor, table) for table in unfilled(checked) for _ in range(TABLE_ROWS)
    ]
    return written + [
        Step(
            name,
            inventor.row(checked.streams[name]),
            pause_ms if number == 0 and turn == rounds // 2 else 0,
        )
        for turn in range(rounds)
        for number, name in enumerate(streams)
    ]


def unfilled(checked: CheckedApp) -> list[str]:
    """The tables that wait for rows of an operator."""
    filled = {
        each.target
        for each in below(checked.app.execution)
        if isinstance(each, ast.InsertInto | ast.UpdateOrInsert)
    }
    followed = {each.name for each in checked.external}
    return [name for name in checked.tables if name not in filled | followed]


def _written(checked: CheckedApp, inventor: Inventor, table: str) -> Step:
    schema = checked.schemas[table]
    row = inventor.row(schema)
    given = ", ".join(
        f"{_literal(value, each.type)} as {each.name}"
        for value, each in zip(row, schema.attributes, strict=True)
    )
    return Step(table, row, write=f"select {given} update or insert into {table} "
                f"on {_key(checked, table)}")  # fmt: skip


def _key(checked: CheckedApp, table: str) -> str:
    """Rows of one key are one."""
    keys = [
        name
        for one in checked.tables[table].annotations
        if one.name.lower() == "primarykey"
        for name in one.positional
    ] or [checked.schemas[table].names[0]]
    return " and ".join(f"{table}.{name} == {name}" for name in keys)


def _literal(value: Any, kind: AttributeType) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    suffix = {AttributeType.LONG: "L", AttributeType.FLOAT: "f"}.get(kind, "")
    return f"{value}{suffix}"


def played(
    text: str, steps: Sequence[Step], wanted: frozenset[str], pause_ms: int
) -> frozenset[str]:
    """The goals that get rows of these events on the reference."""
    with VirtualApp(text, start_ms=SystemClock().now_ms()) as app:
        for number, step in enumerate(steps):
            app.advance(step.pause_ms or 2)
            if step.write:
                app.write(step.write, request_id=f"row {number}")
            else:
                app.send(step.stream, step.row)
        app.advance(pause_ms)
        return frozenset(name for name in wanted if _has_rows(app, name))


def _has_rows(app: VirtualApp, name: str) -> bool:
    try:
        if name in app.plan.checked.tables:
            return bool(app.on_demand(f"from {name} select *"))
        return bool(app.stream(name))
    except LockstepError:
        return False
